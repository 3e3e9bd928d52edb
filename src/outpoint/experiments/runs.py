"""Running one sampler on one problem with many seeds, and keeping what figures and tables need.

The seeds are the chains of one call of :func:`outpoint.learn`, which share a score table and are
independent of each other. As in the paper they start at the empty DAG, keep 1,000 DAGs at even
distances, and have no burn-in; only our sampler warms up. Each result is a file, so that a run that
was interrupted goes on with the sampler it was at.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import outpoint as op
from outpoint.arrays import Floats, Integers
from outpoint.experiments.problems import NO_REVERSALS, OURS, PRIOR, Problem
from outpoint.posterior import ExactPosterior, SampledPosterior
from outpoint.runs import Progress
from outpoint.runs.checkpoint import read_checkpoint, write_checkpoint

SUFFIX = ".result"

SEED = 1
N_DRAWS = 1000
"""DAGs kept of each chain."""


class Extent(NamedTuple):
    """How much of the paper's experiment to run: seeds, and the share of its steps."""

    n_seeds: int = 100
    share: float = 1.0

    def steps_of(self, problem: Problem, method: str) -> int:
        """Recorded steps of each chain."""
        return max(N_DRAWS, round(problem.steps[method] * self.share))


FULL = Extent()
QUICK = Extent(n_seeds=4, share=0.02)


class Outcome(NamedTuple):
    """The results of all seeds of one sampler.

    ``log_scores`` and ``n_edges`` are those of the kept DAGs (seed, draw); ``edges`` are shares of
    the DAGs in the second half of each chain (seed, parent, child); ``best_met`` are the best log
    scores of all DAGs that the chains had in hand, kept or not. Times, of all seeds together, begin
    when the score table is built.
    """

    log_scores: Floats
    n_edges: Integers
    edges: Floats
    best_met: Floats
    seconds: Floats
    cpu_seconds: Floats

    @property
    def best(self) -> Floats:
        """The best log score among the DAGs that each seed has kept."""
        return np.asarray(self.log_scores.max(axis=1))


class Exact(NamedTuple):
    """The posterior itself: best log score, edge probabilities, and 1,000 independent draws.

    ``best_share`` is the probability of the best DAG and those equivalent to it. ``half_edges``
    are the shares of the edges in each half of the draws: they have the errors that chains would
    have if their DAGs were independent.
    """

    best_log_score: Floats
    log_evidence: Floats
    best_share: Floats
    edges: Floats
    log_scores: Floats
    n_edges: Integers
    half_edges: Floats


class Results(NamedTuple):
    """All samplers of a problem, by name, and the exact posterior."""

    problem: Problem
    extent: Extent
    exact: Exact
    outcomes: dict[str, Outcome]

    @property
    def best(self) -> float:
        """The best possible log score."""
        return float(self.exact.best_log_score)

    @property
    def is_published(self) -> bool:
        """Whether the paper has runs of this length on these data."""
        return self.problem.is_published and self.extent.share == 1.0


def second_half(draws: NDArray[Any]) -> NDArray[Any]:
    """The draws (seed, draw, ...) without the first half of each chain, its burn-in."""
    return draws[:, draws.shape[1] // 2 :]


def run_sampler(
    problem: Problem,
    method: str,
    extent: Extent,
    directory: Path,
    report: Callable[[float], None] = lambda fraction: None,
) -> Outcome:
    """Run all seeds of one sampler, or read what an earlier run left in ``directory``."""
    n_steps = extent.steps_of(problem, method)
    settings = _settings(problem) | {
        "method": method,
        "steps": n_steps,
        "seeds": extent.n_seeds,
        "seed": SEED,
    }
    path = directory / f"{method.replace(' ', '-')}{SUFFIX}"
    saved = _read(path, settings, Outcome._fields)
    if saved is not None:
        return Outcome(**saved)
    name = method.removesuffix(NO_REVERSALS)
    _compile(name)
    clock = _Stopwatch()

    def follow(progress: Progress) -> None:
        if progress.stage == "sampling":
            clock.start()
            report(progress.fraction)

    posterior = op.learn(
        problem.data,
        problem.score,
        name,
        problem.max_parents,
        structure_prior=PRIOR,
        chains=extent.n_seeds,
        steps=n_steps,
        seed=SEED,
        warmup=None if method == OURS else 0,
        draws=N_DRAWS,
        edge_reversals=name == method,
        start="empty",
        progress=follow,
    )
    seconds, cpu_seconds = clock.read()
    assert isinstance(posterior, SampledPosterior)
    if not posterior.is_complete:
        raise KeyboardInterrupt
    dags = posterior.dags().to_numpy()
    outcome = Outcome(
        posterior.log_scores.to_numpy(),
        dags.sum(axis=(2, 3)),
        second_half(dags).mean(axis=1),
        np.array([record.best_log_score for record in posterior.records]),
        seconds,
        cpu_seconds,
    )
    write_checkpoint(path, settings, outcome._asdict())
    return outcome


def solve_exactly(problem: Problem, directory: Path) -> Exact:
    """The exact posterior of a problem, computed once."""
    path, settings = directory / f"exact{SUFFIX}", _settings(problem)
    saved = _read(path, settings, Exact._fields)
    if saved is not None:
        return Exact(**saved)
    posterior = op.learn(
        problem.data,
        problem.score,
        "exact",
        progress=False,
        max_parents=problem.max_parents,
        structure_prior=PRIOR,
        seed=SEED,
    )
    assert isinstance(posterior, ExactPosterior)
    dags = posterior.dags().to_numpy()[0]
    exact = Exact(
        np.array(posterior.map_log_score),
        np.array(posterior.log_evidence),
        np.array(posterior.map_probability * op.count_members(posterior.map_dag)),
        posterior.edge_probabilities.to_numpy(),
        posterior.log_scores.to_numpy()[0],
        dags.sum(axis=(1, 2)),
        np.stack([half.mean(axis=0) for half in np.array_split(dags, 2)]),
    )
    write_checkpoint(path, settings, exact._asdict())
    return exact


def _compile(method: str) -> None:
    """Let a sampler take a few steps, so that compiling is not counted as its time."""
    score = op.CustomScore(lambda child, parents: 0.0)
    op.learn(
        np.eye(3), score, method, chains=1, steps=N_DRAWS, seed=SEED, start="empty", progress=False
    )


class _Stopwatch:
    """Seconds and processor seconds since it was first started."""

    def __init__(self) -> None:
        self._begun: tuple[float, float] | None = None

    def start(self) -> None:
        if self._begun is None:
            self._begun = perf_counter(), process_time()

    def read(self) -> tuple[Floats, Floats]:
        assert self._begun is not None
        return np.array(perf_counter() - self._begun[0]), np.array(process_time() - self._begun[1])


def _settings(problem: Problem) -> dict[str, Any]:
    """The settings that determine a result, as JSON."""
    return {
        "version": op.__version__,
        "problem": problem.name,
        "data": problem.data.fingerprint(),
        "max_parents": problem.max_parents,
    }


def _read(
    path: Path, settings: dict[str, Any], fields: tuple[str, ...]
) -> dict[str, NDArray[Any]] | None:
    """The arrays of a result with these settings and fields, or None if it is not there."""
    if not path.exists():
        return None
    found, arrays = read_checkpoint(path)
    return arrays if found == settings and set(arrays) == set(fields) else None

"""Small runs of every kind, and what two of them must have in common to be the same."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import outpoint as op
from outpoint.mcmc import SAMPLERS
from outpoint.posterior.assessment import assess_records
from outpoint.runs import ChainRecord, driving, runner, teams
from tests.figures import leave_out_reports

ROOT = Path(__file__).parents[2]

USUAL_STEPS = 1000
"""Default number of steps in these tests: runs of unknown length are looked at early."""


def make_numbers(n: int = 5, n_obs: int = 40, seed: int = 1) -> op.Dataset:
    rng = np.random.default_rng(seed)
    dag = op.random_dag(n, rng, names=list("abcdefgh"[:n]))
    return op.simulate(dag, n_obs, rng, coefficients=(0.3, 0.9))


NUMBERS = make_numbers()

FIXED: dict[str, Any] = {"steps": 3000, "draws": 150, "chains": 3, "seed": 5}
OPEN: dict[str, Any] = {
    "until_converged": True,
    "steps": 9000,
    "draws": 45,
    "chains": 3,
    "seed": 6,
}
"""Long enough for the draws to be halved where the chains do not agree before, between rounds."""

CASES: dict[str, dict[str, Any]] = {
    "mcmc": {"method": "mcmc", **FIXED},
    "partition": {"method": "partition", **FIXED},
    "partition+rev": {"method": "partition+rev", **FIXED, "max_parents": 2},
    "order": {"method": "order", **FIXED},
    "structure+rev": {"method": "structure+rev", **FIXED, "start": "order"},
    "mcmc until converged": {"method": "mcmc", **OPEN},
    "structure until converged": {"method": "structure", **OPEN},
    "order until converged": {"method": "order", **OPEN},
}

ALL_CASES = CASES | {"exact": {"method": "exact", "seed": 5}}


def use_short_rounds(patch: Any = None, *, steps: int = 200, seconds: float = 0.0) -> None:
    """Many rounds in a short run, early checks in one of unknown length, and no reports."""
    change = setattr if patch is None else patch.setattr
    change(driving, "FIRST_ROUND", steps)
    change(teams.ThreadTeam, "round_seconds", seconds)
    change(teams.WorkerTeam, "round_seconds", seconds)
    change(runner, "PIECE_SECONDS", seconds)
    use_usual_steps(patch)
    leave_out_reports(patch)


def use_usual_steps(patch: Any = None, steps: int = USUAL_STEPS) -> None:
    """Another default length of all samplers."""
    change = dict.__setitem__ if patch is None else patch.setitem
    for name, sampler in list(SAMPLERS.items()):
        change(SAMPLERS, name, replace(sampler, usual_steps=steps))


def judge_by(patch: Any, rule: Callable[[Sequence[ChainRecord]], bool]) -> None:
    """Let runs end by a rule of the test, whatever their chains are like."""

    def judge(records: Sequence[ChainRecord], *rest: Any) -> Any:
        found = assess_records(records, *rest)
        return replace(found, converged=rule(records), smallest_ess=None)

    patch.setattr("outpoint.sampling.assess_records", judge)


def learn(case: str, out: Path | None = None, **options: Any) -> op.Posterior:
    return op.learn(
        NUMBERS,
        **ALL_CASES[case] | {"out": out, "checkpoint_seconds": 0.0, "resume": True} | options,
    )


def results(directory: Path) -> dict[str, Any]:
    """Everything in the files of a run that must not depend on how it went."""
    summary = json.loads((directory / "summary.json").read_text())
    del summary["elapsed_seconds"]
    files = {
        name: (directory / name).read_bytes() for name in ("edges.csv", "map.dot", "posterior.npz")
    }
    return files | {"summary.json": summary}


def differing(one: Path, other: Path) -> list[str]:
    first, second = results(one), results(other)
    return [name for name in first if first[name] != second[name]]


def same_draws(one: op.Posterior, other: op.Posterior) -> bool:
    return (
        np.array_equal(one.dags(), other.dags())
        and np.array_equal(one.log_scores, other.log_scores)
        and np.array_equal(one.chain_edges, other.chain_edges)
        and one.verdict == other.verdict
    )


class Stopwatch:
    """Interrupts a run, as Ctrl-C does, when its chains have taken so many steps."""

    def __init__(self, step: int) -> None:
        self._step = step

    def __call__(self, progress: Any) -> None:
        if progress.chains and min(chain.step for chain in progress.chains) >= self._step:
            raise KeyboardInterrupt


def interrupt(case: str, out: Path, step: int = 1500, **options: Any) -> None:
    """Leave a run behind that was interrupted after about so many steps."""
    try:
        posterior = learn(case, out, progress=Stopwatch(step), **options)
    except KeyboardInterrupt:
        return
    assert not posterior.is_complete, "the run was over before it was interrupted"


def python(*words: str, timeout: float = 600.0, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=timeout,
        **options,
    )


def environment(**more: str) -> dict[str, str]:
    """That of this process; the package is found from any directory."""
    places = [str(Path(op.__file__).parents[1]), str(ROOT), os.environ.get("PYTHONPATH", "")]
    path = os.pathsep.join(place for place in places if place)
    return {**os.environ, "PYTHONPATH": path, **more}

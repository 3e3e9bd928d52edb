"""From a score table to a sampled posterior: the plan, the budget, who runs the chains, and where.

A run with a place on disk leaves checkpoints in its directory ``checkpoint`` while it works. They
are removed when it has done what it was meant to do: taken a given number of steps, or converged.
Otherwise they stay, so that it can be continued.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint import __version__
from outpoint.errors import GraphError, OptionError
from outpoint.graphs import Dag
from outpoint.mcmc import SWEEP, Settings, is_possible
from outpoint.posterior import RunInfo, SampledPosterior
from outpoint.posterior.diagnostics import quick_rhat
from outpoint.posterior.effects import GaussianModel
from outpoint.posterior.files import CHECKPOINT
from outpoint.preparation import checked_count
from outpoint.runs import (
    Budget,
    ChainRecord,
    Report,
    RunPlan,
    ThreadTeam,
    WorkerTeam,
    drive,
    opened_run,
    remove_run,
)
from outpoint.runs.dask import dask_executor
from outpoint.runs.teams import Team
from outpoint.scores import StructurePrior
from outpoint.tables import ScoreTable
from outpoint.tables.view import TableView, view_table

DEFAULT_STEPS = {"mcmc": 50_000}
PAPER_STEPS = 1_000_000
"""Default length of the paper's chains, whose steps are short."""

LONGEST = {None: 10, True: 100}
"""How many times the usual number of steps a run may take to converge: by default, or if asked."""

ORDER_STEPS = 20_000
"""Steps of the order chain behind ``start="order"`` and ``start="search"``."""

COVERED = 0.9
"""Least share of a run that the kept draws are spread over."""

ENGINES = ("threads", "dask")
UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True, kw_only=True)
class SamplingOptions:
    """What a user can ask of a sampled run, checked and with its defaults."""

    method: str
    max_parents: int
    seed: int
    chains: int = 4
    steps: int | None = None
    warmup: int | None = None
    draws: int = 1000
    time: float | None = None
    until_converged: bool | None = None
    moves: Any = None
    edge_reversals: bool = True
    start: Any = None
    engine: str = "threads"
    scheduler: str | None = None
    out: Path | None = None
    checkpoint_seconds: float = 30.0

    def __post_init__(self) -> None:
        for name, least in (("chains", 1), ("steps", 1), ("warmup", 0), ("draws", 1)):
            value = getattr(self, name)
            if value is not None or name in ("chains", "draws"):
                checked_count(value, name, least)
        pause = self.checkpoint_seconds
        if isinstance(pause, bool) or not isinstance(pause, int | float) or not pause >= 0:
            raise OptionError(f"checkpoint_seconds is a number from 0, not {pause!r}.")
        if self.engine not in ENGINES:
            raise OptionError(f"unknown engine {self.engine!r}: choose threads or dask.")
        if self.scheduler is not None and self.engine != "dask":
            raise OptionError("a scheduler belongs to engine 'dask'.")
        if self.scheduler is not None and self.out is None:
            raise OptionError(
                "with a scheduler give a directory (out) that all workers can read and write."
            )
        known_start = isinstance(self.start, str) and self.start in ("empty", "order", "search")
        if not (self.start is None or isinstance(self.start, Dag) or known_start):
            raise OptionError(f"start is 'empty', 'order', 'search' or a Dag, not {self.start!r}.")

    @property
    def is_open_ended(self) -> bool:
        """Whether the number of steps is found out on the way."""
        return self.time is not None or self.stops_when_converged

    @property
    def stops_when_converged(self) -> bool:
        """Whether to stop when the chains agree: if asked, and by default for our own sampler."""
        if self.until_converged is None:
            is_free = self.steps is None and self.time is None
            return self.method == "mcmc" and is_free and self.chains > 1
        return self.until_converged

    @property
    def usual_steps(self) -> int:
        """The default number of steps of the method."""
        return DEFAULT_STEPS.get(self.method, PAPER_STEPS)

    @property
    def budget(self) -> Budget:
        """How long to run."""
        steps = None if self.steps is None else int(self.steps)
        if steps is None and not self.is_open_ended:
            steps = self.usual_steps
        if self.stops_when_converged:
            if steps is None and self.time is None:
                steps = LONGEST[self.until_converged] * self.usual_steps
            first_check = min(self.usual_steps, steps or self.usual_steps)
            first_check = -(-first_check // SWEEP) * SWEEP
            steps = None if steps is None else -(-steps // SWEEP) * SWEEP
            return Budget(
                steps=steps, seconds=self.time, until_converged=True, first_check=first_check
            )
        return Budget(steps=steps, seconds=self.time)

    @property
    def settings(self) -> Settings:
        """What one chain does."""
        expected = self.budget.steps or self.usual_steps
        if self.is_open_ended:
            expected = min(expected, self.usual_steps)
        n_draws = min(int(self.draws), expected)
        warmup = expected // 4 if self.warmup is None else int(self.warmup)
        by_orders = isinstance(self.start, str) and self.start != "empty"
        return Settings(
            method=self.method,
            moves=self.moves,
            n_warmup=-(-warmup // SWEEP) * SWEEP,
            n_draws=n_draws,
            thin=_spacing(expected, n_draws),
            edge_thin=min(20 if self.method == "mcmc" else 100, expected),
            max_parents=self.max_parents,
            edge_reversals=self.edge_reversals,
            order_steps=ORDER_STEPS if by_orders else 0,
            best_of_orders=by_orders and self.start == "search",
        )


def _spacing(n_steps: int, n_draws: int) -> int:
    """Steps between draws: so many draws, or fewer if they would miss the end of the run."""
    spacing = max(1, n_steps // n_draws)
    return spacing if spacing * n_draws >= COVERED * n_steps else spacing + 1


@contextmanager
def workers(options: SamplingOptions) -> Iterator[Executor | None]:
    """The workers of a cluster if the options ask for one."""
    if options.engine == "threads":
        yield None
        return
    with dask_executor(options.scheduler) as pool:
        yield pool


def parse_seconds(text: Any) -> float | None:
    """A time such as 90, ``"90s"``, ``"10m"``, ``"1.5h"`` or ``"2d"`` in seconds."""
    if text is None:
        return None
    if isinstance(text, int | float) and not isinstance(text, bool):
        seconds = float(text)
    else:
        matched = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-z]*)\s*", str(text))
        if isinstance(text, bool) or matched is None or matched[2] not in UNITS:
            raise OptionError(f"a time is given as 90s, 10m or 2h, not {text!r}.")
        seconds = float(matched[1]) * UNITS[matched[2]]
    if not seconds > 0:
        raise OptionError(f"the time must be positive, not {text!r}.")
    return seconds


def sample_posterior(
    table: ScoreTable,
    prior: StructurePrior,
    options: SamplingOptions,
    facts: dict[str, Any],
    make_info: Callable[[], RunInfo],
    report: Report,
    pool: Executor | None = None,
    model: GaussianModel | None = None,
) -> SampledPosterior:
    """Run the chains and return what they found; ``facts`` identify the data and the model.

    With a ``pool`` its workers run the chains, otherwise threads of this process.

    Raises KeyboardInterrupt if it is interrupted before there is anything to return.
    """
    if table.candidates.shape[1] < 1:
        raise OptionError("sampling needs at least one candidate parent (n_candidates).")
    view = view_table(table)
    plan = RunPlan(
        settings=options.settings,
        start=_start_masks(table, view, prior, options.start),
        scatter=options.start is None,
        n_chains=int(options.chains),
        n_draws=options.settings.n_draws,
        open_ended=options.is_open_ended,
        seed=options.seed,
    )

    def posterior_of(records: Sequence[ChainRecord], ending: str = "steps") -> SampledPosterior:
        if (
            options.is_open_ended
            and max(record.n_steps for record in records) > options.usual_steps
        ):
            records = [record.without_beginning() for record in records]
        return SampledPosterior(
            make_info(),
            table.names,
            table.candidates,
            records,
            model=model,
            is_complete=ending != "interrupted",
        )

    everything = _all_facts(facts, view, plan, prior, options)
    with _team(view, plan, options.out, everything, pool) as team:
        ending = drive(
            team,
            plan,
            options.budget,
            has_converged=lambda records: posterior_of(records).converged,
            compute_rhat=quick_rhat,
            report=report,
            checkpoint_seconds=options.checkpoint_seconds,
        )
        records = team.records()
    is_empty = not all(record.n_draws and len(record.edge_batches) for record in records)
    if ending.reason == "interrupted" and is_empty:
        raise KeyboardInterrupt
    return posterior_of(records, ending.reason)


def remove_checkpoints(out: Path) -> None:
    """Delete what is only needed to continue the run in ``out``."""
    remove_run(out / CHECKPOINT)


@contextmanager
def _team(
    view: TableView,
    plan: RunPlan,
    place: Path | None,
    facts: dict[str, Any],
    pool: Executor | None,
) -> Iterator[Team]:
    """Who runs the chains, in the directory of the run if it has one."""
    with ExitStack() as stack:
        if place is None and pool is not None:
            place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="outpoint-")))
        if place is None:
            yield ThreadTeam(view, plan)
            return
        directory = place.resolve() / CHECKPOINT
        run = stack.enter_context(opened_run(directory, facts, _digest(view)))
        if pool is None:
            yield ThreadTeam(view, plan, directory, run)
        else:
            yield WorkerTeam(pool, view, plan, directory, run)


def _all_facts(
    facts: dict[str, Any],
    view: TableView,
    plan: RunPlan,
    prior: StructurePrior,
    options: SamplingOptions,
) -> dict[str, Any]:
    """Everything that decides the draws, as JSON."""
    settings = asdict(plan.settings)
    moves = settings.pop("moves")
    del settings["n_draws"]
    known = np.stack([prior.required, np.isneginf(prior.edge_log_weight)])
    return {
        "version": __version__,
        **facts,
        "method": settings.pop("method"),
        "required and forbidden edges": hashlib.sha256(known.tobytes()).hexdigest(),
        "steps": None if plan.open_ended else options.budget.steps,
        "candidates": view.candidates.shape[1],
        "seed": plan.seed,
        "chains": plan.n_chains,
        "draws": plan.n_draws,
        "open-ended": plan.open_ended,
        "start": [int(mask) for mask in plan.start] + [plan.scatter],
        "moves": moves if moves is None or isinstance(moves, str) else dict(moves),
        **settings,
    }


def _digest(view: TableView) -> NDArray[np.float64]:
    """Sums of the scores that hardly any other table shares."""
    digest: NDArray[np.float64] = view.log_sums[:, -1].copy()
    return digest


def _start_masks(
    table: ScoreTable, view: TableView, prior: StructurePrior, start: Any
) -> NDArray[np.uint32]:
    """The parent sets of the DAG where chains start; it must have a finite score."""
    if isinstance(start, Dag):
        if set(start.names) != set(table.names):
            raise GraphError("the start DAG's nodes are not the columns of the data.")
        adjacency = start.reorder(table.names).adjacency
    else:
        adjacency = prior.required
    masks = np.zeros(table.n_nodes, dtype=np.uint32)
    for child, candidates in enumerate(table.candidates):
        masks[child] = int(adjacency[candidates, child] @ (1 << np.arange(len(candidates))))
        if adjacency[:, child].sum() != adjacency[candidates, child].sum():
            raise OptionError(
                f"the start DAG gives {table.names[child]} a parent that is not among its "
                "candidates: choose another start, or more n_candidates."
            )
    if not is_possible(view, masks):
        raise OptionError(
            "the chains would start in a DAG that the score or the constraints exclude: "
            "give start=Dag with an admissible one."
        )
    return masks

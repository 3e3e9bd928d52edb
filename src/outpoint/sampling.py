"""From a score table to a sampled posterior: the plan, the budget, who runs the chains, and where.

A run with a directory leaves checkpoints there. They stay when it has ended, so that it can be
continued if it turns out to have been too short.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from outpoint import __version__
from outpoint.errors import CheckpointError, GraphError, OptionError, require
from outpoint.graphs import Dag
from outpoint.mcmc import SWEEP, Sampler, Settings, is_possible
from outpoint.mcmc.restoring import check_codes
from outpoint.narrowing import Narrowed
from outpoint.options import LEARN, Options, Role, options_of
from outpoint.pacing import effort_options
from outpoint.posterior import RunInfo, SampledPosterior
from outpoint.posterior.assessment import assess_records
from outpoint.posterior.diagnostics import quick_rhat
from outpoint.posterior.effects import GaussianModel
from outpoint.progress import Clock
from outpoint.runs import (
    CANDIDATES,
    EFFORT,
    HOTTEST,
    SCORES,
    START,
    STARTS,
    Budget,
    ChainRecord,
    ProgressCallback,
    RunDirectory,
    ThreadTeam,
    WorkerTeam,
    drive,
    open_run,
)
from outpoint.runs.dask import dask_executor
from outpoint.runs.teams import Team
from outpoint.scores import StructurePrior
from outpoint.tables.parent_sets import Codes
from outpoint.tables.view import TableView, view_table

Start = Literal["empty", "order", "search"] | Dag
"""Where chains may start."""

LONGEST = {None: 25, True: 250}
"""How many times the usual number of steps a run may take to converge: by default, or if asked."""

LONGEST_BY_NODES = 20_000_000
"""Most steps times nodes of a run that stops by itself by default: larger networks have longer
steps."""

ORDER_STEPS = 20_000
"""Steps of the order chain behind ``start="order"``."""

COVERED = 0.9
"""Least share of a run that the kept draws are spread over."""

ENOUGH_ESS = 200
PRECISE_ESS = 400
SHORT_RUN = 2
"""Effective draws of every edge with which a run that has converged may stop by itself. While it
has fewer than ``SHORT_RUN`` times the usual number of steps it needs ``PRECISE_ESS``, with which
probabilities are known to within .025; after that ``ENOUGH_ESS`` will do."""

PLANNED = "planned_steps"
"""The option with the length that a run was planned for, which its record holds."""

WRITING_SHARE = 0.2
WRITING_SECONDS = 3.0
"""The share of a given time that is left for writing the results, and its upper limit."""


@dataclass(frozen=True)
class Plan:
    """What the options of a sampled run mean for its sampler, its size and its directory.

    The seed and ``max_parents`` in ``asked`` are those that were chosen.
    """

    asked: Options
    sampler: Sampler
    n_nodes: int
    run: RunDirectory | None = None

    @property
    def is_open_ended(self) -> bool:
        """Whether the number of steps is decided along the way."""
        return self.asked.time is not None or self.stops_when_converged

    @property
    def stops_when_converged(self) -> bool:
        """Whether to stop when the chains agree: if asked, and by default for some samplers."""
        if self.asked.until_converged is None:
            is_free = self.asked.steps is None and self.asked.time is None
            return self.sampler.goes_on and is_free and self.asked.chains > 1
        return self.asked.until_converged

    @property
    def budget(self) -> Budget:
        """How long to run."""
        usual = self.sampler.usual_steps
        steps = self.asked.steps
        if steps is None and not self.is_open_ended:
            steps = usual
        if self.stops_when_converged:
            if steps is None and self.asked.time is None:
                steps = LONGEST[self.asked.until_converged] * usual
                if self.asked.until_converged is None:
                    steps = max(usual, min(steps, LONGEST_BY_NODES // self.n_nodes))
            first_check = -(-min(usual, steps or usual) // SWEEP) * SWEEP
            steps = None if steps is None else -(-steps // SWEEP) * SWEEP
            return Budget(
                steps=steps,
                seconds=self.sampling_end,
                until_converged=True,
                first_check=first_check,
            )
        return Budget(steps=steps, seconds=self.sampling_end)

    @property
    def sampling_end(self) -> float | None:
        """When sampling is to end, so that what comes after it is done in time."""
        if self.asked.time is None or self.run is None:
            return self.asked.time
        return self.asked.time - min(WRITING_SHARE * self.asked.time, WRITING_SECONDS)

    @property
    def expected_steps(self) -> int:
        """The length that warm-up and thinning are made for."""
        if self.asked.planned_steps is not None:
            return self.asked.planned_steps
        steps = self.budget.steps or self.sampler.usual_steps
        return min(steps, self.sampler.usual_steps) if self.is_open_ended else steps

    @property
    def n_warmup(self) -> int:
        """Steps that are not recorded, in whole sweeps."""
        share = self.sampler.warmup_share * self.expected_steps
        return -(-int(share if self.asked.warmup is None else self.asked.warmup) // SWEEP) * SWEEP

    def as_taken(
        self, n_steps: int, n_warmup: int, effort: tuple[float, float]
    ) -> dict[str, float]:
        """The options that make a run of this length again, whatever ended it.

        ``effort`` is what went into the choice of candidates, for which time may be short, too.
        """
        taken: dict[str, float] = {"steps": n_steps}
        usual = replace(self, asked=replace(self.asked, warmup=None))
        if n_warmup != usual.n_warmup:
            taken["warmup"] = n_warmup
        if n_steps != self.expected_steps:
            taken[PLANNED] = self.expected_steps
        return taken | effort_options(effort)

    def settings(
        self,
        start: Codes,
        required: NDArray[np.bool_],
        hottest: float,
        starts: Codes | None = None,
    ) -> Settings:
        """What the chains do; they start at ``start``, or scattered, or at ``starts`` if given."""
        assert self.asked.max_parents is not None
        expected = self.expected_steps
        n_draws = min(self.asked.draws, expected)
        thin = _spacing(expected, n_draws)
        return Settings(
            method=self.sampler.name,
            start=start,
            max_parents=self.asked.max_parents,
            moves=self.asked.moves,
            edge_reversals=self.asked.edge_reversals,
            scatter=self.asked.start is None,
            required=required,
            hottest=hottest,
            starts=starts if self.asked.start is None and self.sampler.has_ladder else None,
            order_steps=ORDER_STEPS if _is(self.asked.start, "order") else 0,
            n_chains=self.asked.chains,
            seed=self.asked.known_seed,
            n_warmup=self.n_warmup,
            n_draws=n_draws,
            thin=thin,
            edge_thin=min(self.sampler.edge_thin, thin),
        )


def _is(start: Start | None, name: str) -> bool:
    return isinstance(start, str) and start == name


def _spacing(n_steps: int, n_draws: int) -> int:
    """Steps between two draws, to keep ``n_draws`` or, if these would miss the end, fewer."""
    spacing = max(1, n_steps // n_draws)
    return spacing if spacing * n_draws >= COVERED * n_steps else spacing + 1


@contextmanager
def workers(asked: Options) -> Iterator[Executor | None]:
    """The workers of a cluster if the options ask for one, otherwise None."""
    if asked.engine == "threads":
        yield None
        return
    with dask_executor(asked.scheduler) as pool:
        yield pool


def sample_posterior(
    narrowed: Narrowed,
    prior: StructurePrior,
    plan: Plan,
    facts: dict[str, Any],
    make_info: Callable[[dict[str, float]], RunInfo],
    report: ProgressCallback,
    pool: Executor | None = None,
    model: GaussianModel | None = None,
    clock: Clock | None = None,
) -> SampledPosterior:
    """Run the chains and return what they found; ``facts`` identify the data and the model.

    ``make_info`` is told the options that make the run again, none if no options do.

    The chains run in the workers of the ``pool`` if there is one, otherwise in threads of this
    process. ``clock`` has been running since the work before, which counts as time of the run.

    Raises KeyboardInterrupt if it is interrupted before there is anything to return.
    """
    table = narrowed.table
    view = view_table(table)
    start = narrowed.start
    if start is None:
        start = _start_codes(narrowed, view, prior, plan)
    settings = plan.settings(start, prior.required, narrowed.hottest, narrowed.starts)

    def trimmed(records: Sequence[ChainRecord]) -> list[ChainRecord]:
        """As many draws as planned; of a run that became longer, all but those of its beginning."""
        n_steps = max(record.n_steps for record in records)
        if n_steps <= plan.expected_steps:
            return [record.with_draws(slice(settings.n_draws)) for record in records]
        is_long = n_steps > plan.sampler.usual_steps
        return [record.without_beginning() if is_long else record for record in records]

    def has_converged(records: Sequence[ChainRecord]) -> bool:
        found = assess_records(trimmed(records), table.names, table.parent_sets, plan.sampler.name)
        is_short = records[0].n_steps < SHORT_RUN * plan.sampler.usual_steps
        enough = PRECISE_ESS if is_short else ENOUGH_ESS
        return found.converged and (found.smallest_ess is None or found.smallest_ess >= enough)

    everything = _all_facts(facts, view, settings, prior, plan.asked)
    with _team(view, settings, plan, everything, narrowed.effort, pool) as team:
        ending = drive(
            team,
            settings,
            plan.budget,
            has_converged=has_converged,
            compute_rhat=quick_rhat,
            report=report,
            checkpoint_seconds=plan.asked.checkpoint_seconds,
            clock=clock or Clock(),
        )
        records = team.records()
        n_warmup = team.n_warmup
        if plan.run is None:
            records = [record.in_memory() for record in records]  # files they are in may go now
    is_empty = not all(record.n_draws and len(record.edge_batches) for record in records)
    if ending.reason == "interrupted" and is_empty:
        raise KeyboardInterrupt
    is_complete = ending.reason != "interrupted"
    can_repeat = is_complete and not any(record.is_cut for record in records)
    kept = trimmed(records)
    missing = narrowed.lacking(np.concatenate([record.codes for record in kept]))
    taken = plan.as_taken(records[0].n_steps, n_warmup, narrowed.effort)
    return SampledPosterior(
        make_info(taken if can_repeat else {}),
        table.names,
        table.parent_sets,
        kept,
        model=model,
        lost_mass=table.lost_mass,
        missing=missing,
        is_complete=is_complete,
    )


@contextmanager
def _team(
    view: TableView,
    settings: Settings,
    plan: Plan,
    facts: dict[str, Any],
    effort: tuple[float, float],
    pool: Executor | None,
) -> Iterator[Team]:
    """The team that runs the chains, in the directory of the run if it has one."""
    with ExitStack() as stack:
        directory = plan.run
        if directory is None and pool is not None:
            place = stack.enter_context(tempfile.TemporaryDirectory(prefix="outpoint-"))
            directory = RunDirectory(place)
        if directory is None:
            yield ThreadTeam(view, settings)
            return
        arrays: dict[str, NDArray[Any]] = {
            SCORES: _digest(view),
            START: settings.start,
            CANDIDATES: view.candidates,
            HOTTEST: np.array([settings.hottest]),
            STARTS: settings.start[:0] if settings.starts is None else settings.starts,
            EFFORT: np.array(effort),
        }
        run = open_run(
            directory,
            facts,
            {**plan.asked.chosen(options_of(LEARN, Role.STOP)), PLANNED: plan.expected_steps},
            plan.asked.record(Role.POSTERIOR, Role.DRAWS, Role.PACE),
            arrays,
        )
        _check_starts(view, settings, directory)
        if pool is None:
            yield ThreadTeam(view, settings, directory, run)
        else:
            yield WorkerTeam(pool, view, settings, directory, run)


def _all_facts(
    facts: dict[str, Any],
    view: TableView,
    settings: Settings,
    prior: StructurePrior,
    asked: Options,
) -> dict[str, Any]:
    """Everything that decides the draws, as JSON."""
    known = np.stack([prior.required, np.isneginf(prior.edge_log_weight)])
    given, start = asked.candidates, asked.start
    return {
        "version": __version__,
        **facts,
        "given candidates": given and {name: sorted(own) for name, own in given.items()},
        "method": settings.method,
        "required and forbidden edges": hashlib.sha256(known.tobytes()).hexdigest(),
        "candidates": view.candidates.shape[1],
        "seed": settings.seed,
        "chains": settings.n_chains,
        "draws": settings.n_draws,
        "start": sorted(map(list, start.edges)) if isinstance(start, Dag) else start,
        "moves": settings.moves,
        "edge_reversals": settings.edge_reversals,
        "n_warmup": settings.n_warmup,
        "thin": settings.thin,
        "edge_thin": settings.edge_thin,
    }


def _digest(view: TableView) -> NDArray[np.float64]:
    """Sums of the scores that hardly any other table shares."""
    digest: NDArray[np.float64] = view.log_sums[view.mask_start[1:] - 1]
    return digest


def _check_starts(view: TableView, settings: Settings, run: RunDirectory) -> None:
    """Refuse first states, which may be those of a saved run, unless they are DAGs with a score."""
    try:
        starts = settings.starts
        codes = settings.start[None] if starts is None else np.vstack([settings.start, starts])
        check_codes(view, codes)
        require(all(is_possible(view, own) for own in codes), "its first states do not exist")
    except ValueError as error:
        raise CheckpointError(f"{run.identity} does not fit this run ({error}).") from None


def _start_codes(narrowed: Narrowed, view: TableView, prior: StructurePrior, plan: Plan) -> Codes:
    """The parent sets of the DAG where the first chain starts; it must have a finite score.

    By default that is the best DAG of a search that is independent of the chains.
    """
    start, table = plan.asked.start, narrowed.table
    if isinstance(start, Dag):
        if set(start.names) != set(table.names):
            raise GraphError("the start DAG's nodes are not the columns of the data.")
        adjacency = start.reorder(table.names).adjacency
    elif start is None or _is(start, "search"):
        adjacency = narrowed.best
    else:
        adjacency = prior.required
    codes = table.codes_of(adjacency)
    if not is_possible(view, codes):
        raise OptionError(
            "the chains would start in a DAG that the score or the constraints exclude: "
            "give start=Dag with an admissible one."
        )
    return codes

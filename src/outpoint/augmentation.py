"""Runs on tables with holes: chains over completed tables, until they agree or time is up."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from math import inf
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint import __version__
from outpoint.arrays import Booleans
from outpoint.data import Dataset
from outpoint.errors import OptionError
from outpoint.missing import AugmentedChain, make_cells
from outpoint.missing.exclusion import Exclusion
from outpoint.missing.records import by_candidate, make_records
from outpoint.missing.setup import Setup
from outpoint.missing.teams import Team, ThreadTeam, WorkerTeam
from outpoint.missing.widening import Beginning, first_limits, widen
from outpoint.model import Model, prepare
from outpoint.naming import option
from outpoint.narrowing import narrow
from outpoint.options import LEARN, Options, Role, options_of
from outpoint.pacing import MOST_PILOTS, Pace
from outpoint.parts import Split
from outpoint.parts.part import everyone_else
from outpoint.posterior import RunInfo
from outpoint.posterior.augmented import (
    EXACT_TABLES,
    METHODS,
    SAMPLED_TABLES,
    AugmentedPosterior,
    Holes,
    assess_augmented,
)
from outpoint.posterior.diagnostics import MIN_BATCHES
from outpoint.processors import n_threads
from outpoint.progress import ChainStatus, Clock, Progress, ProgressCallback
from outpoint.runs import (
    CANDIDATES,
    EFFORT,
    HOTTEST,
    LIMITS,
    SCORES,
    START,
    STARTS,
    RunDirectory,
    open_run,
    saved_arrays,
)
from outpoint.scores import resolve_score
from outpoint.streams import named_seed
from outpoint.tables.parent_sets import MOST_CANDIDATES, ParentSets

INTEGRATING = ("auto", "exact", "mcmc", *METHODS)
"""Methods that integrate missing values out."""

USUAL_TABLES = 100
"""Completed tables of each chain that are recorded before the chains are first compared."""

MOST_TABLES = 4000
"""Most of them in a run that ends when its chains agree."""

WARMUP_TABLES = 50

WARMUP_SHARE = 0.25
"""Where time is limited, warming up may take this share of what is left when it begins."""

GROWTH = 1.5
"""How much longer chains become from one comparison to the next."""

ENOUGH_ESS = 200
"""Effective draws of every edge from which on a run that has converged stops by itself."""

LEAST_FOR_THREADS = 12
"""Smaller tables are solved so quickly that chains in several threads would only wait in line."""

LARGEST = 16
"""Most variables of a part that is solved anew for every completed table."""

USUAL_CANDIDATES = 12
"""Candidate parents of each node where completed tables are sampled."""

FIRST_TABLES = 3
FIRST_ROUNDS = 2
FIRST_SWEEPS = 10
FIRST_EFFORT, FIRST_PILOTS = 0.25, 1.0
"""Completed tables that suggest candidates: how many, how often each is drawn anew given the best
DAG so far, in how many sweeps, and how much is searched and tried on each."""

MOST_WIDENINGS = 4
WIDENING = 0.5
"""Rounds that give nodes more candidates and parents, and what one of them counts as pilots."""

CHOOSING_SHARE = 0.3
"""Share of a given time after which no further table is asked for candidates."""


def prepare_completed(dataset: Dataset, asked: Options) -> Model:
    """The model of the table as given, with the score of a first completed table."""
    score = resolve_score(asked.score, dataset)
    cells = make_cells(dataset, score)
    first = cells.start(np.random.default_rng(0))
    model = prepare(cells.complete(first), replace(asked, score=cells.score, allow_degenerate=True))
    return replace(model, data=dataset, score=score)


def choose_method(asked: Options, split: Split, n_nodes: int) -> str:
    """The method for each completed table: solve it exactly where that is quick, or sample it."""
    if asked.method in METHODS:
        return asked.method
    is_small = split.largest <= LARGEST and n_nodes <= MOST_CANDIDATES
    if asked.method == "exact" and not is_small:
        raise OptionError(
            f"completed tables are solved exactly for up to {LARGEST} variables, and there are "
            f"{n_nodes}: sample them with {option('method', 'mcmc')}."
        )
    return EXACT_TABLES if is_small and asked.method != "mcmc" else SAMPLED_TABLES


@dataclass(frozen=True)
class Budget:
    """How many completed tables each chain records; they are compared now and then."""

    n_warmup: int
    most: int | None
    until_converged: bool

    @classmethod
    def of(cls, asked: Options) -> "Budget":
        """The budget that the options of a run ask for."""
        n_warmup = WARMUP_TABLES if asked.warmup is None else int(asked.warmup)
        until = asked.until_converged
        if until is None:
            until = asked.steps is None and asked.time is None and asked.chains > 1
        most = asked.steps
        if most is None and asked.time is None:
            most = MOST_TABLES if until else USUAL_TABLES
        return cls(n_warmup, most, until)

    def next_check(self, n_tables: int) -> int:
        """The number of tables at the next comparison, which depends on ``n_tables`` alone."""
        check = USUAL_TABLES
        while check <= n_tables:
            check = int(GROWTH * check)
        return check

    def is_check(self, n_tables: int) -> bool:
        """Whether chains of ``n_tables`` tables are compared."""
        return self.until_converged and n_tables > 0 and self.next_check(n_tables - 1) == n_tables


def augment(
    model: Model,
    split: Split,
    asked: Options,
    run: RunDirectory | None,
    pool: Executor | None,
    make_info: Callable[[dict[str, float]], RunInfo],
    report: ProgressCallback,
    clock: Clock,
) -> AugmentedPosterior:
    """Run chains over completed tables and return what they found.

    The chains run in the workers of the ``pool`` if there is one, otherwise in threads here.

    Raises KeyboardInterrupt if it is interrupted before there is anything to return.
    """
    budget = Budget.of(asked)
    seed = named_seed(asked.known_seed, "augment")
    setup = Setup(
        model,
        split,
        is_exact=asked.method == EXACT_TABLES,
        begin=_begin(model, split, asked, run, pool, report, clock),
        n_warmup=budget.n_warmup,
        seeds=tuple(np.random.SeedSequence(seed).spawn(asked.chains)),
    )
    sets = ParentSets(setup.begin.candidates, np.zeros((0, 0), dtype=np.int16))

    def has_converged(chains: Sequence[AugmentedChain]) -> bool:
        records = make_records(chains, sets)
        if records[0].n_steps < MIN_BATCHES:
            return False
        found = assess_augmented(records, model.data.names, sets)
        return found.converged and (found.smallest_ess or np.inf) >= ENOUGH_ESS

    with _team(setup, asked, run, pool, budget) as team:
        is_complete = _drive(team, budget, has_converged, report, clock, asked.checkpoint_seconds)
    chains = team.chains
    if not min(chain.n_steps for chain in chains):
        raise KeyboardInterrupt
    records = make_records(chains, sets)
    taken: dict[str, float] = {"steps": records[0].n_steps, "warmup": chains[0].n_warmup}
    if 0 < setup.begin.pilots < MOST_PILOTS:
        taken["pilots"] = setup.begin.pilots
    return AugmentedPosterior(
        make_info(taken if is_complete else {}),
        model.data.names,
        sets,
        records,
        holes=_holes(chains, model, sets),
        missing=None if setup.is_exact else _excluded(chains).missing,
        is_complete=is_complete,
    )


def _begin(
    model: Model,
    split: Split,
    asked: Options,
    run: RunDirectory | None,
    pool: Executor | None,
    report: ProgressCallback,
    clock: Clock,
) -> Beginning:
    """Where chains begin; candidates are taken from a run that is continued."""
    if asked.method == EXACT_TABLES:
        n = model.data.n_nodes
        return Beginning(everyone_else(n), np.zeros(n, dtype=np.int32), [], [], 0.0)
    if (
        run is not None
        and asked.resume
        and all(run.chain(index).exists() for index in range(asked.chains))
    ):
        saved = saved_arrays(run)
        candidates = saved[CANDIDATES].copy()
        limits = np.minimum(saved[LIMITS], model.max_parents).astype(np.int32)
        return Beginning(candidates, limits, [], [], float(saved[EFFORT][1]))
    begin = _suggest(model, asked, pool, report, clock)
    if begin.pilots < FIRST_TABLES:
        return begin
    return _widened(begin, model, split, asked, report, clock)


def _suggest(
    model: Model,
    asked: Options,
    pool: Executor | None,
    report: ProgressCallback,
    clock: Clock,
) -> Beginning:
    """Candidates from a few tables, each completed anew given the best DAG that was found on it."""
    cells = make_cells(model.data, model.score)
    n = model.data.n_nodes
    number = None if asked.candidates else min(n - 1, asked.n_candidates or USUAL_CANDIDATES)
    votes, dags, tables = np.zeros((n, n)), [], []
    rng = np.random.default_rng(named_seed(asked.known_seed, "first tables"))
    most = FIRST_TABLES if asked.pilots is None else max(1, min(FIRST_TABLES, int(asked.pilots)))
    required = model.prior.required
    limits = first_limits(n, number or USUAL_CANDIDATES, required, model.max_parents)
    limited = replace(model, max_parents=int(limits.max()))
    for table in range(most):
        if table and clock.seconds > CHOOSING_SHARE * (clock.seconds + clock.left()):
            break
        values = cells.start(rng)
        for turn in range(FIRST_ROUNDS):
            done = (FIRST_ROUNDS * table + turn) / (FIRST_ROUNDS * most)
            report(Progress("choosing candidate parents on completed tables", done))
            problem = replace(limited, scorer=cells.scorer(values)).problem
            pace = Pace(clock, FIRST_EFFORT, FIRST_PILOTS)
            seed = named_seed(asked.known_seed, "first tables", FIRST_ROUNDS * table + turn)
            found, _ = narrow(problem, number, asked.candidates, seed, pool, pace=pace)
            for _ in range(FIRST_SWEEPS):
                cells.redraw(values, found.best, rng)
        for child, own in enumerate(found.table.candidates):
            votes[own[own >= 0], child] += 1.0
        votes += np.where(found.best | found.best.T, float(FIRST_TABLES), 0.0)
        dags.append(found.best)
        tables.append(values)
    votes += np.where(required, inf, 0.0)
    ranked = np.argsort(-votes, axis=0, kind="stable")
    width = found.table.candidates.shape[1]
    candidates = np.sort([ranked[ranked[:, v] != v, v][:width] for v in range(n)], axis=1)
    chosen = candidates.astype(np.int32)
    is_candidate = np.zeros((n, n), dtype=np.bool_)
    is_candidate[chosen, np.arange(n)[:, None]] = True
    fitted = [_fitted(dag & is_candidate, required, limits) for dag in dags]
    return Beginning(chosen, limits, fitted, tables, float(len(tables)))


def _fitted(dag: Booleans, required: Booleans, limits: NDArray[np.int32]) -> Booleans:
    """A DAG of candidates in which no node has too many parents."""
    out: Booleans = dag | required
    for v in np.flatnonzero(out.sum(axis=0) > limits):
        spare = np.flatnonzero(out[:, v] & ~required[:, v])
        out[spare[limits[v] - int(required[:, v].sum()) :], v] = False
    return out


def _widened(
    begin: Beginning,
    model: Model,
    split: Split,
    asked: Options,
    report: ProgressCallback,
    clock: Clock,
) -> Beginning:
    """More candidates and parents for nodes that need them, as short chains show."""
    pilots = float(MOST_PILOTS) if asked.pilots is None else asked.pilots
    rounds = min(MOST_WIDENINGS, int((pilots - FIRST_TABLES) / WIDENING))
    for number in range(rounds):
        if clock.seconds > CHOOSING_SHARE * (clock.seconds + clock.left()):
            return begin._replace(pilots=FIRST_TABLES + WIDENING * number)
        report(Progress("looking for parents beyond the candidates", number / rounds))
        seed = named_seed(asked.known_seed, "widening", number)
        seeds = np.random.SeedSequence(seed).spawn(len(begin.tables))
        setup = Setup(model, split, is_exact=False, begin=begin, n_warmup=0, seeds=tuple(seeds))
        chains = setup.make_chains(*range(setup.n_chains))
        wider = widen(
            begin,
            chains,
            model.prior.required,
            model.max_parents,
            adds_candidates=asked.candidates is None and asked.n_candidates is None,
        )
        if wider is None:
            break
        begin = wider
    return begin._replace(pilots=pilots)


@contextmanager
def _team(
    setup: Setup,
    asked: Options,
    directory: RunDirectory | None,
    pool: Executor | None,
    budget: Budget,
) -> Iterator[Team]:
    """The team that completes tables, in the directory of the run if it has one."""
    with ExitStack() as stack:
        if directory is None and pool is not None:
            place = stack.enter_context(TemporaryDirectory(prefix="outpoint-"))
            directory = RunDirectory(place)
        name = "" if directory is None else _open(directory, setup, asked, budget)
        if pool is not None and directory is not None:
            yield WorkerTeam(setup, pool, directory, name)
            return
        is_large = not setup.is_exact or setup.split.largest >= LEAST_FOR_THREADS
        n_workers = min(setup.n_chains, n_threads()) if is_large else 1
        yield ThreadTeam(setup, n_workers, directory, name)


def _open(run: RunDirectory, setup: Setup, asked: Options, budget: Budget) -> str:
    """Make or find the run in its directory and return its name, for the chains' files."""
    if not asked.resume:
        run.discard_checkpoint()
    model, begin = setup.model, setup.begin
    n = model.data.n_nodes
    facts = {
        "version": __version__,
        **model.facts,
        "knowledge": model.knowledge.as_dict(),
        "method": asked.method,
        "seed": asked.known_seed,
        "chains": asked.chains,
        "n_warmup": budget.n_warmup,
    }
    none = np.zeros(n, dtype=np.int32)
    arrays: dict[str, NDArray[Any]] = {
        SCORES: np.nansum(model.data.values, axis=0),
        START: none,
        CANDIDATES: begin.candidates,
        LIMITS: begin.limits,
        HOTTEST: np.zeros(1),
        STARTS: none[:0],
        EFFORT: np.array([1.0, max(1.0, begin.pilots)]),
    }
    stopping = asked.chosen(options_of(LEARN, Role.STOP))
    request = asked.record(Role.POSTERIOR, Role.DRAWS, Role.PACE)
    return open_run(run, facts, {**stopping, "planned_steps": None}, request, arrays)


def _drive(
    team: Team,
    budget: Budget,
    has_converged: Callable[[Sequence[AugmentedChain]], bool],
    report: ProgressCallback,
    clock: Clock,
    checkpoint_seconds: float,
) -> bool:
    """Advance all chains together until they are done; return False if that was interrupted."""
    chains = team.chains
    piece, saved = 1, clock.seconds
    end_of_warmup = clock.seconds + WARMUP_SHARE * clock.left()
    is_complete = True
    try:
        while True:
            steps = [chain.step for chain in chains]
            done = min(chain.n_steps for chain in chains)
            if max(steps) == min(steps):
                if not done and clock.seconds > end_of_warmup:
                    for chain in chains:
                        chain.n_warmup = min(chain.n_warmup, chain.step)
                if budget.is_check(done) and has_converged(chains):
                    break
                if budget.most is not None and done >= budget.most:
                    break
                if done and clock.left() <= 0:
                    break
            end = max(steps)
            if end == min(steps):
                ends = [budget.next_check(done) if budget.until_converged else inf]
                ends.append(inf if budget.most is None else budget.most)
                end = int(min(end + piece, chains[0].n_warmup + min(ends)))
            begun = perf_counter()
            team.advance_to(end)
            pace = (perf_counter() - begun) / max(1, end - min(steps))
            piece = max(1, int(team.round_seconds / max(pace, 1e-6)))
            if clock.seconds - saved >= checkpoint_seconds:
                team.save()
                saved = clock.seconds
            report(_progress(chains, budget, clock))
    except KeyboardInterrupt:
        is_complete = False
    finally:
        team.stop()
    team.save()
    return is_complete


def _progress(chains: Sequence[AugmentedChain], budget: Budget, clock: Clock) -> Progress:
    check = budget.next_check(chains[0].n_steps)
    end = budget.most if not budget.until_converged else min(check, budget.most or check)
    fraction = chains[0].step / (chains[0].n_warmup + (end or check))
    if clock.is_limited:
        fraction = max(fraction if end else 0.0, clock.seconds / (clock.seconds + clock.left()))
    statuses = tuple(
        ChainStatus(
            chain.step,
            np.array([scores[0] for scores in chain.log_scores[-400:]]),
            max((score for _, score in chain.best), default=-np.inf),
        )
        for chain in chains
    )
    return Progress("completing the table", min(1.0, fraction), statuses)


def _excluded(chains: Sequence[AugmentedChain]) -> Exclusion:
    """What all chains have found of parent sets that they cannot have."""
    return sum((chain.excluded for chain in chains), Exclusion.none(len(chains[0].ancestors)))


def _holes(chains: Sequence[AugmentedChain], model: Model, sets: ParentSets) -> Holes:
    """The drawn cells of equally many completed tables of each chain, and what goes with them."""
    n_tables = min(chain.n_steps for chain in chains)
    spacing = max(chain.spacing for chain in chains)
    numbers = np.arange(0, n_tables, spacing)
    tables = [chain.tables[:: spacing // chain.spacing][: len(numbers)] for chain in chains]
    squares = [np.mean(np.square(chain.edges[:n_tables]), axis=0) for chain in chains]
    return Holes(
        data=model.data,
        score=model.score,
        tables=np.stack(tables),
        numbers=numbers,
        squares=np.stack([by_candidate(own, sets) for own in squares]),
        ancestors=np.stack([chain.ancestors / chain.n_steps for chain in chains]),
    )

"""Which candidate parents to sample with, beyond the sizes where all nodes can be candidates.

Chains draw from all parent sets of the table, those that leave the candidates too, but they mix
well only if these are rare; and of sets that are too large to be all scored one by one, the table
has only those with at most one member outside (see :mod:`outpoint.tables.outside`). Candidates
therefore come from the best DAGs of independent searches over all sets, filled up by the scores,
and are then put to the test: short pilot chains show which edges from outside are used, and a look
around their draws which would be if the table had larger sets with two members outside (see
:mod:`outpoint.tables.missing`). These become candidates, too: a node of which larger sets would be
missing gets as many as it uses, if there is room. There is another pilot where much was used from
outside; what the last one has used becomes candidates, too. Then the choice is frozen.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import OptionError
from outpoint.kernels import run_chunked
from outpoint.kinds import checked_count
from outpoint.mcmc import SWEEP, Settings, make_chain
from outpoint.mcmc.ladder import affordable_rung, measure_barrier
from outpoint.mcmc.samplers.tempered import TemperedChain
from outpoint.mcmc.trace import spread_edges
from outpoint.model import Problem
from outpoint.naming import named
from outpoint.pacing import MOST_PILOTS, USUAL_EFFORT, Pace
from outpoint.runs import CANDIDATES, EFFORT, HOTTEST, START, STARTS, Progress, ProgressCallback
from outpoint.runs.record import record_chain
from outpoint.search import default_steps, search_dags
from outpoint.search.winners import Winners, list_winners
from outpoint.streams import named_seed
from outpoint.tables import ScoreTable
from outpoint.tables.build import (
    MOST_NEEDED,
    Families,
    assemble_table,
    check_n_candidates,
    default_candidates,
    score_families,
    share_candidates,
)
from outpoint.tables.missing import Missing, estimate_missing
from outpoint.tables.outside import OwnSets
from outpoint.tables.parent_sets import Codes
from outpoint.tables.pruning import Candidates, choose_candidates
from outpoint.tables.view import TableView, view_table

SEARCH_RUNS = 2
"""Annealing runs over orders."""

QUICK_RUNS = 32
TRIED_STEPS = 20_000
"""Most steps of a search that are taken to see how long it takes."""

QUICKER = 8
"""How many times shorter further runs are: they end near the best DAGs, but not all at the same.
There are as many as the replicas of four chains begin with."""

PILOT_CHAINS = 2
PILOT_WARMUP = 128 * SWEEP
PILOT_STEPS = 128 * SWEEP
"""Pilot chains: enough for their ladders to carry states from one end to the other a few times."""

TRIAL_STEPS = 2 * SWEEP
"""Steps that are taken to see how long a pilot takes."""

PILOT_HOTTEST = 0.03
"""Where the ladders of pilots end."""

MOST_ROUNDS = MOST_PILOTS
"""Pilots at most."""

WORTH_IT = 0.02
"""Least probability at which the parent in an edge that pilots use should be a candidate."""

WORTH_A_PILOT = 0.25
"""Probability of an edge from outside from which on there is another pilot. Edges that are seldom
used are used by one pilot and not by the next, so that a smaller number would ask for more of them
without end; they are sampled from outside as well."""

WORTH_A_LOOK = 0.02
"""Change of an edge by sets that the table lacks from which on there is another pilot, as long as
each of them leaves clearly less."""

WORTH_WIDENING = 0.005
"""Change of an edge by sets that the table lacks from which on a node gets more candidates."""

PER_CHANGE = 8.0
"""Mass of such sets that counts as much as a change of an edge, as in verdicts."""

UNTOLD = 0.2
"""Mass of such sets from which on a node gets as many candidates as it can have: what is further
away than they are is not seen from the draws."""

LITTLE_USE = 0.1
"""Total use of the parents that are left out, below which it is not known well."""

FALLING = 0.7
"""What counts as clearly less, relative to the pilot before."""

ELSEWHERE = 0.1
"""What the use of an edge counts for the candidate that would turn it around, and to be neighbours
in all searched DAGs: modes that pilots have not been in need these more than companions that are
used now and then."""

STAYING = 0.01
"""What being a candidate already counts: less than to be a neighbour in any searched DAG, but nodes
that need no other candidates keep theirs, and their tables."""

Adjacency = NDArray[np.bool_]


class Narrowed(NamedTuple):
    """A table over the chosen candidates, the best DAG of the searches, and how deep ladders go.

    ``starts`` are good DAGs for replicas to begin at, found independently, the best one first;
    ``start`` is where the first chain of a run that is continued began: it needs no ``best``.
    ``lacking`` says from draws what the table lacks; ``effort`` are the share of the usual
    searching and the number of pilots.
    """

    table: ScoreTable
    best: Adjacency
    hottest: float
    lacking: Callable[[Codes], Missing]
    starts: Codes | None = None
    start: Codes | None = None
    effort: tuple[float, float] = USUAL_EFFORT


def narrow(
    problem: Problem,
    n_candidates: int | None,
    given: Any,
    seed: int,
    pool: Executor | None = None,
    saved: Mapping[str, NDArray[Any]] | None = None,
    families: Families | None = None,
    report: ProgressCallback = lambda progress: None,
    pace: Pace | None = None,
) -> tuple[Narrowed, Families]:
    """Choose candidates for each node, beginning with ``given`` if there are any.

    Each gets ``n_candidates``, or, if there is no such number, as many as it uses.

    What a run that is continued has chosen when it began is taken from ``saved``: a search or a
    pilot need not end in the same place on another machine. ``families`` may have been scored
    before; they are returned with the choice. ``pace`` says how much searching there is time for,
    and how many pilots.
    """
    pace = pace or Pace()
    n = problem.n_nodes
    lists = None if given is None else _check_given(problem.names, given)
    is_fixed = n_candidates is not None or lists is not None
    n_candidates = _check_number(problem, n_candidates, lists)
    is_complete = n_candidates == n - 1
    if families is None or not families.are_for(n, problem.max_parents, is_complete=is_complete):
        families = score_families(
            problem.scorer,
            problem.prior,
            max_parents=problem.max_parents,
            is_complete=is_complete,
            pool=pool,
        )
    stage = _Stage(problem, families, n_candidates)
    known = saved.get(CANDIDATES) if saved else None
    if known is not None and saved and (known.shape[1] == n_candidates or not is_fixed):
        return _chosen_before(stage, saved, problem.prior.required), families
    candidates = stage.choose() if lists is None else lists
    table = stage.assemble(candidates, only_winners=not is_complete)
    report(Progress("searching for good DAGs", 0.0))
    required, winners = problem.prior.required, list_winners(table)
    of_search = named_seed(seed, "search")
    n_steps = _search_steps(table, winners, problem, of_search, pace)
    searched, powers = _search(table, winners, required, of_search, SEARCH_RUNS, n_steps)
    if table.is_complete:
        found = Narrowed(
            table=table,
            best=searched[0],
            hottest=0.0,
            lacking=stage.lacking(table),
            effort=pace.effort,
        )
        return found, families
    of_quick = named_seed(seed, "quick searches")
    quick, _ = _search(table, winners, required, of_quick, QUICK_RUNS, n_steps // QUICKER, powers)
    near = np.mean([dag | dag.T for dag in searched + quick], axis=0)
    table = stage.assemble(stage.choose(near) if lists is None else lists)
    dags = searched[:1] + quick
    table, hottest = _try_candidates(
        stage, table, dags, near, problem, seed, pace, report, may_widen=not is_fixed
    )
    best = table.fitted(dags[0])
    found = Narrowed(
        table=table,
        best=best,
        hottest=hottest,
        lacking=stage.lacking(table),
        starts=_codes(table, dags),
        effort=pace.effort,
    )
    return found, families


def _try_candidates(
    stage: "_Stage",
    table: ScoreTable,
    dags: list[Adjacency],
    near: NDArray[np.float64],
    problem: Problem,
    seed: int,
    pace: Pace,
    report: ProgressCallback,
    *,
    may_widen: bool,
) -> tuple[ScoreTable, float]:
    """The table over what pilots use, each run on the table of the one before; where ladders end.

    ``near`` is how often nodes are neighbours in the DAGs of the searches. What counts is the mean
    use over pilots, with what their tables lacked: in the largest of several short samples many
    parents would stand out that are drawn now and then.
    """
    view = view_table(table)
    pace.plan_pilots(
        PILOT_WARMUP + PILOT_STEPS,
        lambda: _begin_trial(table, view, dags, problem, named_seed(seed, "trial")),
    )
    use = np.zeros_like(near)
    begun, lacked = pace.seconds, 1.0
    for round_number in range(MOST_ROUNDS):
        report(Progress("trying candidate parents", round_number / MOST_ROUNDS))
        of_pilot = named_seed(seed, "pilot", round_number)
        pilot = _run_pilot(table, view, dags, problem, of_pilot, min(1.0, pace.pilots))
        missing = stage.lacking(table)(pilot.codes)
        most_used = np.maximum(pilot.outside, missing.edges).max()
        if most_used < WORTH_IT:
            break
        seen = np.maximum(pilot.edges, missing.edges)
        use += (seen - use) / (round_number + 1)
        changes = missing.changes(pilot.edges)
        if may_widen:
            stage.widen(use, missing.mass, changes)
        kept = np.maximum(
            near, STAYING * spread_edges(np.ones(table.candidates.shape), table.candidates)
        )
        worth = np.maximum(use, ELSEWHERE * np.maximum(use.T, near))
        table = stage.assemble(stage.choose(np.where(worth >= WORTH_IT, 2.0 + worth, kept)))
        lacks = changes.max()
        goes_on = most_used >= WORTH_A_PILOT or WORTH_A_LOOK <= lacks <= FALLING * lacked
        if not (round_number == 0 or goes_on) or not pace.allows_pilot(
            round_number + 1, pace.seconds - begun
        ):
            break
        begun, lacked = pace.seconds, lacks
        view = view_table(table)
    return table, pilot.hottest


def _chosen_before(
    stage: "_Stage", saved: Mapping[str, NDArray[Any]], required: Adjacency
) -> Narrowed:
    """What a run that is continued chose when it began."""
    table = stage.assemble(saved[CANDIDATES].copy())
    return Narrowed(
        table=table,
        best=required,
        hottest=float(saved[HOTTEST][0]),
        lacking=stage.lacking(table),
        starts=saved[STARTS] if len(saved[STARTS]) else None,
        start=saved[START],
        effort=tuple(saved[EFFORT].tolist()),
    )


class _Stage:
    """Families that have been scored once, and tables over some candidates or others."""

    def __init__(self, problem: Problem, families: Families, n_candidates: int) -> None:
        self._problem = problem
        self._families = families
        self._usual = n_candidates
        self._numbers = np.full(problem.n_nodes, n_candidates)
        self._per_use = np.zeros(problem.n_nodes)
        self._used = np.zeros(problem.n_nodes, dtype=np.int64)
        self._outside: dict[int, OwnSets] = {}

    def choose(self, preferred: NDArray[np.float64] | None = None) -> Candidates:
        """Candidates by the scores, those with a positive entry of ``preferred`` first."""
        return choose_candidates(
            *self._families, self._numbers, self._problem.prior.required, preferred
        )

    def widen(
        self,
        use: NDArray[np.float64],
        missing: NDArray[np.float64],
        changes: NDArray[np.float64],
    ) -> None:
        """Share candidates out by what is missing, and by the use of others [parent, child].

        What a node has needed in any pilot counts: it must not lose what it was given for that.
        Where most is missing, the draws tell little of what would be used without a limit.
        """
        needs = np.maximum(changes, missing / PER_CHANGE)
        self._used[missing >= UNTOLD] = MOST_NEEDED
        self._used = np.maximum(self._used, (use >= WORTH_IT).sum(axis=0))
        most_used_first = -np.sort(-use.T, axis=1)
        unused = np.zeros((len(use), len(use) + 1))
        unused[:, :-1] = np.cumsum(most_used_first[:, ::-1], axis=1)[:, ::-1]
        left_out = np.maximum(unused[np.arange(len(use)), self._numbers], LITTLE_USE)
        self._per_use = np.maximum(self._per_use, needs / left_out**2)
        self._numbers = share_candidates(
            self._usual,
            self._per_use,
            unused,
            self._used,
            self._problem.max_parents,
            self._problem.scorer.affordable,
            WORTH_WIDENING,
        )

    def lacking(self, table: ScoreTable) -> Callable[[Codes], Missing]:
        """A function of draws on this table that says what it lacks."""
        problem, scored = self._problem, self._families.scored_parents
        return lambda codes: estimate_missing(table, scored, problem.scorer, problem.prior, codes)

    def assemble(self, candidates: Candidates, *, only_winners: bool = False) -> ScoreTable:
        """The table over these candidates; for a search alone, ``only_winners`` may be enough."""
        problem = self._problem
        return assemble_table(
            problem.names,
            self._families,
            problem.scorer,
            problem.prior,
            candidates,
            problem.max_parents,
            only_winners=only_winners,
            known=self._outside,
        )


def _check_number(problem: Problem, n_candidates: int | None, lists: Candidates | None) -> int:
    """How many candidates each node gets; refuses a number and lists that do not agree."""
    n = problem.n_nodes
    if n_candidates is None:
        n_candidates = (
            default_candidates(n, problem.max_parents) if lists is None else len(lists[0])
        )
    if n_candidates == 0:
        raise OptionError(
            f"sampling needs at least one candidate parent ({named('n_candidates')})."
        )
    n_candidates = min(checked_count(n_candidates, "n_candidates", 1), n - 1)
    if lists is not None and lists.shape[1] != n_candidates:
        raise OptionError(
            f"candidates lists {lists.shape[1]} variables for each, but n_candidates is "
            f"{n_candidates}: give one of the two."
        )
    check_n_candidates(n_candidates, problem.prior)
    return n_candidates


def _check_given(names: Sequence[str], given: Any) -> Candidates:
    """A user's lists of candidates as node numbers, equally many for each node."""
    number = {name: i for i, name in enumerate(names)}
    try:
        lists = [sorted({number[name] for name in given[child]}) for child in names]
        if len(given) != len(names):
            raise KeyError
    except (KeyError, TypeError):
        raise OptionError(
            f"{named('candidates')} must give for every variable a list of other variables, its "
            "likely parents."
        ) from None
    if any(child in chosen for child, chosen in enumerate(lists)):
        raise OptionError("a variable cannot be a candidate parent of itself.")
    if len({len(chosen) for chosen in lists}) != 1 or not lists[0]:
        raise OptionError(
            f"{named('candidates')} must give the same number of variables for all of them."
        )
    return np.array(lists, dtype=np.int32)


def _search(
    table: ScoreTable,
    winners: Winners,
    required: Adjacency,
    seed: int,
    n_runs: int,
    n_steps: int,
    powers: NDArray[np.float64] | None = None,
) -> tuple[list[Adjacency], NDArray[np.float64]]:
    """The best DAGs of some annealing runs, best first, and the powers of the runs.

    If all runs fail, the only DAG is that of the required edges.
    """
    found = search_dags(
        table,
        required,
        space="order",
        n_runs=n_runs,
        n_steps=n_steps,
        seed=seed,
        powers=powers,
        winners=winners,
    )
    ranked = np.argsort(-found.log_scores, kind="stable")
    possible = [found.adjacencies[i] for i in ranked if np.isfinite(found.log_scores[i])]
    return possible or [required], found.powers


def _search_steps(
    table: ScoreTable, winners: Winners, problem: Problem, seed: int, pace: Pace
) -> int:
    """Steps of an annealing run, fewer than usual if the time is short."""
    n_steps = default_steps(problem.n_nodes)
    required = problem.prior.required
    n_tried = min(n_steps // QUICKER, TRIED_STEPS)
    runs = SEARCH_RUNS + (0 if table.is_complete else QUICK_RUNS / QUICKER)

    def try_part() -> float:
        _search(table, winners, required, seed, SEARCH_RUNS, n_tried, np.ones(1))
        return float(SEARCH_RUNS * n_tried)

    pace.plan_searches(runs * n_steps, try_part)
    return max(QUICKER, int(pace.search_effort * n_steps))


def _codes(table: ScoreTable, dags: list[Adjacency]) -> Codes:
    """The parent sets of these DAGs; searches over other candidates may know larger sets."""
    return np.array([table.codes_of(table.fitted(dag)) for dag in dags])


class _Pilot(NamedTuple):
    """Edge probabilities [parent, child] of all chains, and where ladders may end.

    ``outside`` counts edges from outside the candidates alone, in the chain that uses them most;
    ``codes`` are the DAGs that were drawn, chain after chain.
    """

    edges: NDArray[np.float64]
    outside: NDArray[np.float64]
    hottest: float
    codes: Codes


def _pilot_settings(
    table: ScoreTable,
    dags: list[Adjacency],
    problem: Problem,
    seed: int,
    n_warmup: int,
    n_steps: int,
) -> Settings:
    """Chains that begin at these DAGs."""
    starts = _codes(table, dags)
    return Settings(
        method="mcmc",
        start=starts[0],
        starts=starts,
        max_parents=problem.max_parents,
        hottest=PILOT_HOTTEST,
        n_chains=PILOT_CHAINS,
        seed=seed,
        n_warmup=n_warmup,
        n_draws=n_steps // SWEEP,
        thin=SWEEP,
        edge_thin=SWEEP,
    )


def _begin_trial(
    table: ScoreTable, view: TableView, dags: list[Adjacency], problem: Problem, seed: int
) -> Callable[[], float]:
    """Begin a pilot; return a function that takes steps of it and returns their number.

    How long they take says how long the pilot would take.
    """
    settings = _pilot_settings(table, dags, problem, seed, TRIAL_STEPS, TRIAL_STEPS)
    chains = [make_chain(view, settings, index) for index in range(PILOT_CHAINS)]

    def work(begin: int, end: int) -> None:
        for chain in chains[begin:end]:
            chain.advance(TRIAL_STEPS)

    def take_steps() -> float:
        run_chunked(work, PILOT_CHAINS)
        return float(TRIAL_STEPS)

    return take_steps


def _run_pilot(
    table: ScoreTable,
    view: TableView,
    dags: list[Adjacency],
    problem: Problem,
    seed: int,
    share: float,
) -> _Pilot:
    """Run short chains that begin at these DAGs, with a ``share`` of the usual steps."""
    n = table.n_nodes
    n_warmup, n_steps = (int(share * n) // SWEEP * SWEEP for n in (PILOT_WARMUP, PILOT_STEPS))
    settings = _pilot_settings(table, dags, problem, seed, n_warmup, n_steps)
    inside = np.zeros((PILOT_CHAINS, *table.candidates.shape))
    outside = np.zeros((PILOT_CHAINS, n, n))
    hottest = np.zeros(PILOT_CHAINS)
    codes = np.zeros((PILOT_CHAINS, n_steps // SWEEP, n), dtype=np.int32)

    def work(begin: int, end: int) -> None:
        for index in range(begin, end):
            chain = make_chain(view, settings, index)
            assert isinstance(chain, TemperedChain)
            chain.advance(n_warmup + n_steps)
            record = record_chain(chain, chain.take_draws())
            inside[index] = record.edges
            if record.outside_edges.size:
                outside[index] = record.outside_edges
            codes[index] = record.codes
            rungs = chain.ladder
            affordable = affordable_rung(measure_barrier(rungs.rejection, rungs.attempts))
            hottest[index] = rungs.power[max(1, affordable)]

    run_chunked(work, PILOT_CHAINS)
    edges = spread_edges(inside, table.candidates) + outside
    drawn = codes.reshape(-1, n)
    return _Pilot(edges.mean(axis=0), outside.max(axis=0), float(hottest.min()), drawn)

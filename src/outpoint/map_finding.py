"""The best DAG: exactly where that is possible, by repeated stochastic search where it is not."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from outpoint.arrays import Booleans, Floats
from outpoint.data import Data, Entry
from outpoint.data.cells import DecimalMark
from outpoint.data.reading import Names, Treatment
from outpoint.errors import OptionError
from outpoint.exact import find_optima, is_best_quick, require_best_feasible
from outpoint.graphs import Cpdag, Dag
from outpoint.kinds import checked_seed
from outpoint.model import MOST_TOGETHER, Model, prepare, read, require_fitting
from outpoint.naming import named
from outpoint.options import Options, carried_out_by
from outpoint.parts import (
    Beside,
    Split,
    can_be_scored,
    describe_parts,
    find_parts_optima,
    find_split,
    limit_beside,
    limit_parents,
    require_scorable,
    separate_parts,
)
from outpoint.parts.solution import complete_best
from outpoint.posterior.info import RunInfo, make_info
from outpoint.processors import limited_threads
from outpoint.progress import FractionCallback, Progress, ProgressCallback
from outpoint.scores import GivenEdgePrior, Knowledge, Score
from outpoint.search import (
    PATIENCE,
    TABU,
    bound_miss_probability,
    climb_hills,
    count_orders,
    default_steps,
    search_dags,
)
from outpoint.showing import GivenProgress, shown
from outpoint.tables import ScoreTable
from outpoint.tables.table import tie_tolerance

MANY_RUNS, MANY_NODES, FEW_RUNS = 50, 30, 20
"""Default number of runs: for small problems, and for larger ones."""

EXACT_TRIES = 100
"""DAGs drawn among the exact optima, to see whether there are several classes of them."""


@dataclass(frozen=True, eq=False, repr=False)
class MapResult:
    """The best DAG and what is known about its being the best.

    ``hits`` of ``runs`` found it. ``miss_probability`` bounds, as the paper does, the probability
    that a better DAG was missed: 0 if the search was exact, None for hill climbing, which has no
    such bound. Where orders were searched the bound uses ``n_linear_extensions``, the number of
    orders of the DAG, or an upper bound on it if ``linear_extensions_exact`` is False.

    ``optima`` holds one DAG of each class of equivalent DAGs that was found with this score,
    ``dag`` first; if there is more than one, data and prior do not decide between them. ``info`` is
    the record of the data, the model and the search, as posteriors have it. Where only some parts
    of the problem were searched and others solved exactly, ``searched_sizes`` and ``exact_sizes``
    are their numbers of variables, and the bound is about the searched ones.
    """

    dag: Dag
    log_score: float
    method: str
    hits: int
    runs: int
    miss_probability: float | None
    space: str | None
    n_linear_extensions: int | None
    linear_extensions_exact: bool
    optima: tuple[Dag, ...]
    run_log_scores: Floats
    n_steps: int | None
    n_candidates: int
    info: RunInfo
    exact_sizes: tuple[int, ...] = ()
    searched_sizes: tuple[int, ...] = ()

    def __repr__(self) -> str:
        """The score, how it was found, and the DAG."""
        return (
            f"MapResult(log_score={self.log_score:.6f}, method={self.method!r}, "
            f"{self.hits} of {self.runs} runs, {self.dag!r})"
        )

    @property
    def score(self) -> str:
        """Name of the score."""
        return self.info.score

    @property
    def max_parents(self) -> int:
        """Most parents of a node."""
        return self.info.max_parents

    @property
    def seed(self) -> int:
        """Seed of all randomness."""
        return self.info.seed

    @property
    def seconds(self) -> float:
        """Seconds of work."""
        return self.info.elapsed_seconds or 0.0

    @property
    def cpdag(self) -> Cpdag:
        """The class of DAGs that data cannot tell from the best one."""
        return self.dag.cpdag(self.info.targets)

    @property
    def is_proven(self) -> bool:
        """Whether no DAG can be better."""
        return self.method == "exact"

    @property
    def verdict(self) -> str:
        """How far the result can be trusted, in words."""
        if self.is_proven:
            text = "This is the best DAG: all others are excluded by dynamic programming."
        elif self.miss_probability is None:
            text = (
                f"{self.hits} of {self.runs} climbs ended here; hill climbing gives no bound on "
                "what it has missed."
            )
        else:
            text = f"{self.hits} of {self.runs} runs found it; {self._bound_in_words()}."
        if self.searched_sizes:
            text = (
                f"{describe_parts(self.exact_sizes)} solved by dynamic programming, "
                f"{describe_parts(self.searched_sizes)} searched. For the searched parts: {text}"
            )
        if len(self.optima) > 1:
            kind = "equivalent" if self.info.targets else "Markov equivalent"
            text += f" {len(self.optima)} DAGs that are not {kind} were found with this score."
        return text

    def _bound_in_words(self) -> str:
        """The bound, and where W comes from."""
        bound = (
            f"a better DAG was missed with probability at most about {self.miss_probability:.2g}"
        )
        if self.miss_probability == 0:
            bound = "the bound on having missed a better DAG is 0, as far as these runs can tell"
        if self.space == "partition":
            return bound
        exactly = "" if self.linear_extensions_exact else "up to "
        text = f"as it has {exactly}{_rounded(self.n_linear_extensions)} orders, {bound}"
        if (self.miss_probability or 0.0) > 0.5:
            text += " (no information; space='partition' has a sharper bound)"
        return text


def _rounded(count: int | None) -> str:
    """A count for reading: small ones in full, large ones as a power of ten."""
    if count is None or count < 1_000_000:
        return f"{count:,}"
    return f"10^{len(str(count)) - 1}"


class _Found(NamedTuple):
    """What an engine hands back: the best DAG of each run, and further optimal ones."""

    adjacencies: list[Booleans]
    log_scores: Floats
    beside: Beside | None = None


def _find_map(data: Data, asked: Options) -> MapResult:
    """Prepare the model, search with the engine of the method, and say what was found."""
    with limited_threads(asked.threads), shown(asked.progress) as show:
        return _find(data, asked, show or (lambda progress: None))


def _find(data: Data, asked: Options, report: ProgressCallback) -> MapResult:
    started = time.perf_counter()
    # candidates do not limit the parents here
    model = prepare(read(data, asked), replace(asked, n_candidates=None))
    split = find_split(model.scorer, model.prior)
    method = _chosen_method(asked, split)
    beside = None
    if method == "exact":
        model = limit_parents(model, split, asked.max_parents)
    elif method == "search" and (limited := limit_beside(model, split, asked)) is not None:
        model, beside = limited, separate_parts(limited, split, best=True)
    problem = model.problem if beside is None else beside.problem(model.data.names)
    n_nodes = problem.n_nodes
    if method != "exact":
        require_fitting(n_nodes, MOST_TOGETHER)
    _refuse_foreign(method, asked)
    runs, steps = asked.runs, asked.steps
    asked = replace(asked, method=method, seed=checked_seed(asked.seed))
    n_runs = _default_runs(method, n_nodes) if runs is None else runs
    n_steps = default_steps(n_nodes) if steps is None else steps
    report(Progress("scoring parent sets", 0.0))
    table = None
    if method != "exact" or len(split.parts) == 1:
        table = problem.tabulate(
            n_nodes - 1 if method == "exact" else asked.n_candidates,
            only_winners=method == "search",
        )
    report(Progress("searching", 0.0))
    found = (
        _find_by_parts(model, split, asked.known_seed)
        if table is None
        else _search(
            table,
            problem.prior.required,
            asked,
            n_runs=n_runs,
            n_steps=n_steps,
            progress=lambda fraction: report(Progress("searching", fraction)),
        )
    )
    if beside is not None:
        found = _with_exact_parts(model, beside, found, asked.known_seed)
    return _conclude(
        model,
        table,
        found,
        method=method,
        space=asked.space if method == "search" else None,
        n_runs=n_runs,
        n_steps=n_steps if method == "search" else None,
        info=make_info(model.record, asked, seconds=time.perf_counter() - started),
    )


@carried_out_by(_find_map)
def find_map(
    data: Data,
    score: Score = "auto",
    method: str = "auto",
    max_parents: int | None = None,
    runs: int | None = None,
    steps: int | None = None,
    seed: int | None = None,
    *,
    space: str = "order",
    tabu: int = TABU,
    patience: int = PATIENCE,
    n_candidates: int | None = None,
    structure_prior: str | None = None,
    knowledge: Knowledge | str | Path | None = None,
    edge_prior: GivenEdgePrior | None = None,
    forbidden: Iterable[tuple[str, str]] = (),
    required: Iterable[tuple[str, str]] = (),
    tiers: Sequence[Sequence[str]] | None = None,
    roots: Iterable[str] = (),
    columns: Names | None = None,
    drop: Names = (),
    categorical: Names = (),
    continuous: Names = (),
    ordinal: Names | Mapping[str, Sequence[str]] = (),
    normal_scores: Names = (),
    discretize: Mapping[str, int] | None = None,
    weights: str | None = None,
    missing: Treatment = "auto",
    na: Names | None = None,
    decimal: DecimalMark | None = None,
    separator: str | None = None,
    cardinality_row: bool | None = None,
    interventions: str | Iterable[Entry] | None = None,
    strict: bool = False,
    allow_degenerate: bool = False,
    memory_limit: float | None = None,
    threads: int | None = None,
    progress: GivenProgress = None,
) -> MapResult:
    """Find the DAG with the best score (maximum a posteriori, or penalised likelihood).

    Parameters
    ----------
    data, score, max_parents, structure_prior, knowledge, edge_prior, forbidden, required, tiers, \
roots, columns, drop, categorical, continuous, ordinal, normal_scores, discretize, weights, \
missing, na, decimal, separator, cardinality_row, interventions, strict, allow_degenerate
        As for :func:`outpoint.learn`; ``score="bic"`` is a penalised likelihood.
    method
        ``"exact"``: dynamic programming over all sets of nodes, up to about 22 variables.
        ``"search"``: repeated annealing runs. ``"hill_climb"``: greedy changes of single edges
        with a tabu list and restarts. ``"auto"`` is exact up to 22 variables and searches beyond,
        or if ``runs``, ``steps`` or ``space`` are given or ``memory_limit`` is too low.
    runs, steps
        Number of runs of a search and steps of each; by default 50 runs (20 beyond 30 variables)
        of order n^2 log n steps. For hill climbing ``runs`` is the number of starts.
    seed
        Seed of all randomness; the result does not depend on the number of threads.
    space
        What is searched: ``"order"``, which finds more, or ``"partition"``, where each DAG counts
        once and the bound on missed DAGs is sharper.
    tabu, patience
        Hill climbing: steps for which a changed pair of nodes is left alone, and steps without
        improvement after which a climb ends.
    n_candidates
        Candidate parents per node with a table of all their subsets; sets that leave the
        candidates are searched as well, so this affects speed more than the result.
    memory_limit
        Bytes the exact method may use (default: what is free).
    threads
        As for :func:`outpoint.learn`.
    progress
        By default a run of more than two seconds shows how far it is, on a terminal and in a
        notebook. ``False`` shows nothing; ``True`` shows it everywhere and at once; a function is
        called with a :class:`outpoint.runs.Progress` now and then.
    """
    raise NotImplementedError  # _find_map is called instead


def _find_by_parts(model: Model, split: Split, seed: int) -> _Found:
    """The best DAGs, put together from the best of each part."""
    optima, log_score = find_parts_optima(
        model.scorer,
        model.prior,
        split,
        model.max_parents,
        np.random.default_rng(seed),
        EXACT_TRIES,
    )
    return _Found(optima, np.full(len(optima), log_score))


def _with_exact_parts(model: Model, beside: Beside, found: _Found, seed: int) -> _Found:
    """What was found on the searched parts, completed by the best DAG of all other parts."""
    rng = np.random.default_rng(seed)
    own = (model.scorer, model.prior, beside.exact, model.max_parents)
    (first, *_), log_score = find_parts_optima(*own, rng, 0)
    dags, log_scores = complete_best(beside.folded, np.array(found.adjacencies), first)
    return _Found(dags, log_scores + log_score, beside)


def _search(
    table: ScoreTable,
    required: Booleans,
    asked: Options,
    *,
    n_runs: int,
    n_steps: int,
    progress: FractionCallback,
) -> _Found:
    """What the engine of this method finds."""
    seed = asked.known_seed
    if asked.method == "exact":
        optima, log_score = find_optima(table, np.random.default_rng(seed), EXACT_TRIES)
        return _Found(optima, np.full(len(optima), log_score))
    if asked.method == "search":
        runs = search_dags(
            table,
            required,
            space=asked.space,
            n_runs=n_runs,
            n_steps=n_steps,
            seed=seed,
            progress=progress,
        )
        return _Found(runs.adjacencies, runs.log_scores)
    climbs = climb_hills(
        table,
        required,
        n_runs=n_runs,
        seed=seed,
        tabu=asked.tabu,
        patience=asked.patience,
        progress=progress,
    )
    return _Found(climbs.adjacencies, climbs.log_scores)


def _conclude(
    model: Model,
    table: ScoreTable | None,
    found: _Found,
    *,
    method: str,
    space: str | None,
    n_runs: int,
    n_steps: int | None,
    info: RunInfo,
) -> MapResult:
    """Choose the best DAG, count its hits, and bound the chance that a better one was missed."""
    best, beside = float(found.log_scores.max()), found.beside
    if best == -np.inf:
        raise OptionError("no admissible DAG was found: the scores or constraints exclude them.")
    is_hit = found.log_scores >= best - tie_tolerance(best)
    optima = _classes(
        model.data.names,
        [dag for dag, hit in zip(found.adjacencies, is_hit, strict=True) if hit],
        info.targets,
    )
    hits = 1 if method == "exact" else int(is_hit.sum())
    n_orders, is_exact, miss = None, False, None
    if method == "exact":
        miss = 0.0
    elif space == "partition":
        miss = bound_miss_probability(hits, n_runs)
    elif space == "order":
        within = optima[0]
        if beside is not None:
            nodes = beside.folded.nodes
            names = tuple(model.data.names[v] for v in nodes)
            within = Dag(names, within.adjacency[np.ix_(nodes, nodes)])
        n_orders, is_exact = count_orders(within, n_runs)
        miss = bound_miss_probability(hits, n_runs, n_orders)
    n_candidates = model.data.n_nodes - 1
    if table is not None and beside is None:
        best = sum(table.log_score(v, s) for v, s in enumerate(optima[0].parent_sets))
    if table is not None:
        n_candidates = table.candidates.shape[1]
    return MapResult(
        dag=optima[0],
        log_score=best,
        method=method,
        hits=hits,
        runs=n_runs,
        miss_probability=miss,
        space=space,
        n_linear_extensions=n_orders,
        linear_extensions_exact=is_exact,
        optima=optima,
        run_log_scores=found.log_scores[:n_runs],
        n_steps=n_steps,
        n_candidates=n_candidates,
        info=info,
        exact_sizes=() if beside is None else beside.exact.sizes,
        searched_sizes=() if beside is None else beside.sizes,
    )


def _classes(
    names: tuple[str, ...],
    adjacencies: list[Booleans],
    targets: tuple[tuple[str, ...], ...],
) -> tuple[Dag, ...]:
    """One DAG of each equivalence class, fewest edges first, whatever their order."""
    unique = {adjacency.tobytes(): adjacency for adjacency in adjacencies}
    ranked = sorted(unique, key=lambda key: (int(unique[key].sum()), key))
    classes: dict[bytes, Dag] = {}
    for key in ranked:
        dag = Dag(names, unique[key])
        classes.setdefault(dag.cpdag(targets).adjacency.tobytes(), dag)
    return tuple(classes.values())


def _chosen_method(asked: Options, split: Split) -> str:
    """The engine to use; a search if options were given that only a search has."""
    method = asked.method
    if method == "auto":
        is_searched = any(asked.is_given(name) for name in ("runs", "steps", "space"))
        is_exact = not is_searched and is_best_quick(split.largest, asked.memory_limit)
        is_exact = is_exact and can_be_scored(split, asked.max_parents)
        method = "exact" if is_exact else "search"
    if method == "exact":
        require_best_feasible(split.largest, asked.memory_limit)
        require_scorable(split, asked.max_parents)
    return method


def _default_runs(method: str, n_nodes: int) -> int:
    if method == "exact":
        return 1
    return MANY_RUNS if n_nodes <= MANY_NODES else FEW_RUNS


def _refuse_foreign(method: str, asked: Options) -> None:
    """Refuse options that the method does not have."""
    for name in ("space", "steps"):
        if method != "search" and asked.is_given(name):
            raise OptionError(f"{named(name)} belongs to method 'search', not to {method!r}.")
    if method == "exact" and asked.runs is not None:
        raise OptionError(
            f"{named('runs')} belongs to 'search' and 'hill_climb'; 'exact' needs a single one."
        )

"""The one function that wires the stages together: data, score, table, engine, posterior."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint import __version__
from outpoint.data import Dataset, load_dataset
from outpoint.errors import GraphError, OptionError
from outpoint.exact import is_quick, require_feasible, solve
from outpoint.graphs import Dag
from outpoint.mcmc import METHODS as SAMPLERS
from outpoint.mcmc import Settings, check_method, is_possible
from outpoint.mcmc.trace import Trace
from outpoint.posterior import ExactPosterior, Posterior, RunInfo, SampledPosterior
from outpoint.runs import run_chains
from outpoint.scores import StructurePrior, build_prior, resolve_score
from outpoint.tables import ScoreTable, build_table, check_max_parents
from outpoint.tables.view import TableView, view_table

METHODS = ("auto", "exact", *SAMPLERS)

DEFAULT_STEPS = {"mcmc": 50_000}
PAPER_STEPS = 1_000_000
"""Default length of the paper's chains, whose steps are short."""

ORDER_STEPS = 20_000
"""Steps of the order chain behind ``start="order"`` and ``start="search"``."""

Progress = Callable[[str, float], None]


def learn(
    data: Any,
    score: Any = "auto",
    method: str = "auto",
    max_parents: int | None = None,
    chains: int = 4,
    steps: int | None = None,
    seed: int | None = None,
    *,
    warmup: int | None = None,
    draws: int = 1000,
    moves: Any = None,
    edge_reversals: bool = True,
    start: Any = None,
    n_candidates: int | None = None,
    structure_prior: str = "uniform",
    edge_prior: Any = None,
    forbidden: Iterable[tuple[str, str]] = (),
    required: Iterable[tuple[str, str]] = (),
    tiers: Sequence[Sequence[str]] | None = None,
    roots: Iterable[str] = (),
    allow_degenerate: bool = False,
    memory_limit: float | None = None,
    progress: Progress | None = None,
) -> Posterior:
    """Posterior over the DAGs that may have generated ``data``.

    Parameters
    ----------
    data
        A path, a pandas or polars DataFrame, a 2-D array, a :class:`Dataset`, or the name of a
        bundled data set.
    score
        ``"auto"`` (by the kind of data), ``"bge"``, ``"bdeu"``, or a score object such as
        ``BGe(alpha_mu=0.1)`` or ``CustomScore(function)``.
    method
        ``"exact"``: the posterior itself, for up to about 20 variables. ``"mcmc"``: our sampler.
        ``"partition"``, ``"partition+rev"``, ``"structure"``, ``"structure+rev"``: the paper's
        samplers; ``"order"``: order MCMC, which is biased. ``"auto"`` is exact where that takes
        seconds and ``"mcmc"`` otherwise.
    max_parents
        Most parents a node may have; no limit by default up to 20 variables, 3 beyond.
    chains, steps, warmup, draws
        Number of chains; recorded steps of each; unrecorded steps before them (a quarter of
        ``steps`` by default); DAGs kept of each chain. Not used by ``"exact"``.
    seed
        Seed of all randomness; a fresh one is chosen and recorded if none is given.
    moves
        Weights of the partition moves, a dict with keys among ``split_join``, ``node_move``,
        ``swap_any``, ``swap_adjacent``, ``node_gibbs``, ``rev`` and ``parents``; or ``"paper"``.
    edge_reversals
        Whether structure MCMC may turn edges around in a step.
    start
        Where chains start: ``"empty"`` for the required edges alone, ``"order"`` for the end of a
        short order chain, ``"search"`` for the best DAG such a chain meets, or a :class:`Dag`. By
        default the first chain starts empty and the others at DAGs drawn from random orders, so
        that agreement between them means something.
    n_candidates
        Number of candidate parents per node for sampling; all nodes by default up to 20 variables,
        the most promising ones beyond.
    structure_prior
        ``"uniform"`` over DAGs, or ``"fair"``: the same weight for each number of parents.
    edge_prior
        A probability for every edge, or a table of them [parent, child].
    forbidden, required
        Edges (parent, child) that no DAG, or every DAG, has.
    tiers
        Groups of variables from causes to effects; no edge points back to an earlier group.
    roots
        Variables without parents.
    allow_degenerate
        Go on with constant or identical columns or fewer rows than columns.
    memory_limit
        Bytes the exact engine may use (default: what is free).
    progress
        Called with the name of the stage and the fraction of it that is done.
    """
    started = time.perf_counter()
    dataset = load_dataset(data)
    limit = check_max_parents(dataset.n_nodes, max_parents)
    prior = build_prior(
        dataset.names,
        structure_prior=structure_prior,
        edge_prior=edge_prior,
        forbidden=forbidden,
        required=required,
        tiers=tiers,
        roots=roots,
        max_parents=limit,
    )
    seed = _checked_seed(seed)
    known_start = isinstance(start, str) and start in ("empty", "order", "search")
    if not (start is None or isinstance(start, Dag) or known_start):
        raise OptionError(f"start is 'empty', 'order', 'search' or a Dag, not {start!r}.")
    method = _chosen_method(method, dataset, moves, memory_limit)
    counts = _checked_counts(method, chains, steps, warmup, draws)
    chosen = resolve_score(score, dataset)
    scorer = chosen.bind(dataset, allow_degenerate=allow_degenerate)
    report = progress or (lambda stage, fraction: None)
    report("scoring parent sets", 0.0)
    if method == "exact":
        n_candidates = dataset.n_nodes - 1
    table = build_table(dataset.names, scorer, prior, max_parents=limit, n_candidates=n_candidates)

    def info() -> RunInfo:
        return RunInfo(
            source=dataset.source,
            fingerprint=dataset.fingerprint(),
            n_observations=dataset.n_obs,
            score=chosen.name,
            structure_prior=structure_prior,
            max_parents=limit,
            method=method,
            seed=seed,
            version=__version__,
            elapsed_seconds=time.perf_counter() - started,
        )

    if method == "exact":
        report("summing over all DAGs", 0.0)
        solution = solve(table, lambda fraction: report("summing over all DAGs", fraction))
        return ExactPosterior(info(), solution)
    report("sampling", 0.0)
    options = {"moves": moves, "max_parents": limit, "edge_reversals": edge_reversals}
    traces = _sample(table, prior, method, counts, seed, start, options, report)
    return SampledPosterior(info(), table, traces, counts[1])


def _sample(
    table: ScoreTable,
    prior: StructurePrior,
    method: str,
    counts: tuple[int, int, int, int],
    seed: int,
    start: Any,
    options: dict[str, Any],
    report: Progress,
) -> list[Trace]:
    """Run the chains and return what they recorded; ``options`` are further settings."""
    n_chains, n_steps, n_warmup, n_draws = counts
    view = view_table(table)
    goes_by_orders = isinstance(start, str) and start != "empty"
    settings = Settings(
        method=method,
        n_draws=n_draws,
        thin=max(1, n_steps // n_draws),
        edge_thin=min(20 if method == "mcmc" else 100, n_steps),
        order_steps=ORDER_STEPS if goes_by_orders else 0,
        best_of_orders=goes_by_orders and start == "search",
        **options,
    )
    ended = run_chains(
        view,
        settings,
        _start_masks(table, view, prior, start),
        n_chains=n_chains,
        n_steps=n_steps,
        n_warmup=n_warmup,
        seed=seed,
        scatter=start is None,
        progress=lambda fraction: report("sampling", fraction),
    )
    return [chain.trace for chain in ended]


def log_score(
    data: Any,
    dag: Dag,
    score: Any = "auto",
    *,
    structure_prior: str = "uniform",
    edge_prior: Any = None,
    allow_degenerate: bool = False,
) -> float:
    """Log score, prior included, of one DAG: the sum of its nodes' local scores."""
    dataset = load_dataset(data)
    if not isinstance(dag, Dag):
        raise GraphError(f"log_score needs an outpoint.Dag, not {type(dag).__name__}.")
    if set(dag.names) != set(dataset.names):
        raise GraphError("the DAG's nodes are not the columns of the data.")
    scorer = resolve_score(score, dataset).bind(dataset, allow_degenerate=allow_degenerate)
    prior = build_prior(dataset.names, structure_prior=structure_prior, edge_prior=edge_prior)
    total = 0.0
    for child, parents in enumerate(dag.reorder(dataset.names).parent_sets):
        family = scorer.families(child, np.array([parents], dtype=np.int16))
        total += float(family[0]) + prior.log_weight(child, parents)
    return total


def _checked_seed(seed: int | None) -> int:
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise OptionError(f"a seed is a whole number from 0, not {seed!r}.")
    return int(seed)


def _chosen_method(method: str, data: Dataset, moves: Any, memory_limit: float | None) -> str:
    """The engine to use; refuses unknown ones and problems that do not fit."""
    if method not in METHODS:
        raise OptionError(f"unknown method {method!r}: choose one of {', '.join(METHODS)}.")
    if method == "auto":
        method = "exact" if is_quick(data.n_nodes) and moves is None else "mcmc"
    if method == "exact":
        if moves is not None:
            raise OptionError("moves belongs to the partition samplers, not to method 'exact'.")
        require_feasible(data.n_nodes, memory_limit)
    else:
        check_method(method, moves)
    return method


def _checked_counts(
    method: str, chains: int, steps: int | None, warmup: int | None, draws: int
) -> tuple[int, int, int, int]:
    """Chains, steps, warm-up steps and draws, with their defaults."""
    steps = DEFAULT_STEPS.get(method, PAPER_STEPS) if steps is None else steps
    if warmup is None and isinstance(steps, int | np.integer):
        warmup = int(steps) // 4
    wanted = {
        "chains": (chains, 1),
        "steps": (steps, 1),
        "warmup": (warmup, 0),
        "draws": (draws, 1),
    }
    for name, (value, least) in wanted.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise OptionError(f"{name} is a whole number from {least}, not {value!r}.")
    return int(chains), int(steps), int(warmup or 0), min(int(draws), int(steps))


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

"""The one function that wires the stages together: data, score, table, engine, posterior."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from outpoint import __version__
from outpoint.data import Dataset, load_dataset
from outpoint.errors import GraphError, OptionError, TooLargeError
from outpoint.exact import estimate_seconds, is_quick, require_feasible, solve
from outpoint.graphs import Dag
from outpoint.posterior import Posterior, RunInfo
from outpoint.scores import build_prior, resolve_score
from outpoint.tables import build_table, check_max_parents

METHODS = ("auto", "exact")

Progress = Callable[[str, float], None]


def learn(
    data: Any,
    score: Any = "auto",
    method: str = "auto",
    max_parents: int | None = None,
    *,
    seed: int | None = None,
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
        ``"exact"``: the posterior itself, for up to about 20 variables; ``"auto"`` chooses it.
    max_parents
        Most parents a node may have; no limit by default up to 20 variables, 3 beyond.
    seed
        Seed of the draws; a fresh one is chosen and recorded if none is given.
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
    _checked_method(method, dataset, memory_limit)
    chosen = resolve_score(score, dataset)
    scorer = chosen.bind(dataset, allow_degenerate=allow_degenerate)
    report = progress or (lambda stage, fraction: None)
    report("scoring parent sets", 0.0)
    table = build_table(
        dataset.names, scorer, prior, max_parents=limit, n_candidates=dataset.n_nodes - 1
    )
    report("summing over all DAGs", 0.0)
    solution = solve(table, lambda fraction: report("summing over all DAGs", fraction))
    info = RunInfo(
        source=dataset.source,
        fingerprint=dataset.fingerprint(),
        n_observations=dataset.n_obs,
        score=chosen.name,
        structure_prior=structure_prior,
        max_parents=limit,
        seed=seed,
        version=__version__,
        elapsed_seconds=time.perf_counter() - started,
    )
    return Posterior(info, solution)


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


def _checked_method(method: str, data: Dataset, memory_limit: float | None) -> None:
    if method not in METHODS:
        raise OptionError(f"unknown method {method!r}: choose one of {', '.join(METHODS)}.")
    if method == "auto" and not is_quick(data.n_nodes):
        require_feasible(data.n_nodes, memory_limit)
        raise TooLargeError(
            f"the exact posterior of {data.n_nodes} variables would take about "
            f"{estimate_seconds(data.n_nodes) / 60:.0f} minutes: use fewer variables, or insist "
            "with method='exact' (--method exact)."
        )
    require_feasible(data.n_nodes, memory_limit)

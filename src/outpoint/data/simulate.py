"""Data simulated from a known graph.

Gaussian: every node is a weighted sum of its parents plus independent noise (the paper's
simulations: weight 2, unit noise). With the same weight everywhere variances grow exponentially
along paths; "bounded" coefficients keep them alike in DAGs of any size. Categorical: every node has
a table of probabilities given its parents, drawn from a Dirichlet distribution or given.

Mixed: any node may be a parent of any other. A parent contributes to each child by its weight: a
continuous one its value, a categorical one a score
of its level, from -1 to 1 in equal steps in an order drawn for every edge. A continuous child
is the sum of the contributions and normal noise. The levels of a categorical child have log odds:
a continuous parent's contribution counts for them by such a score of theirs, and each level of a
categorical parent brings scores of its own (multinomial logit).

Randomness is consumed in the order of the node numbers, parameters first, then one number per cell,
so the result does not depend on which of several ancestral orders is used.

A variable that is set from outside in a row does not listen to its parents there: a continuous one
is its noise alone, a categorical one takes each of its levels with the same probability. It is made
from the same random number as without the intervention, so rows that are only observed, and nodes
that no target can reach, are the same whatever is set elsewhere.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, cast

import numpy as np
import numpy.typing as npt

from outpoint.arguments import COUNT, NONE, Either, ListOf, takes
from outpoint.arrays import Booleans, Floats
from outpoint.data.dataset import Dataset
from outpoint.data.interventions import (
    Entry,
    Interventions,
    check_length,
    mark_targets,
    parse_interventions,
)
from outpoint.errors import GraphError, OptionError, TooLargeError
from outpoint.graphs.layers import peel_order
from outpoint.graphs.random import Seed, make_generator
from outpoint.kinds import Items, Tested, choice, is_whole, number, whole

LARGEST_SCORE = 1.0


def simulate_mixture(
    adjacency: Booleans,
    order: Sequence[int],
    weights: Floats,
    noise_sd: Floats,
    levels: Sequence[int],
    listens: Booleans,
    rng: np.random.Generator,
) -> Floats:
    """Values, and codes of the nodes with levels, (row, node); ``levels`` is 0 for the others.

    Where a node does not listen (row, node), because it is set, its parents contribute nothing.
    Scores are drawn first, edge by edge, then one number per cell.
    """
    scores = {
        (u, v): _draw_scores(levels[u], levels[v], rng) for u, v in np.argwhere(adjacency).tolist()
    }
    noise = rng.standard_normal(listens.shape)
    uniform = rng.random(listens.shape)
    values = np.zeros(listens.shape)
    for v in order:
        contributions = [
            weights[u, v] * _contribution(values[:, u], levels[u], levels[v], scores[u, v])
            for u in np.flatnonzero(adjacency[:, v]).tolist()
        ]
        signal = sum(contributions, np.zeros((len(values), max(levels[v], 1))))
        signal = np.where(listens[:, v, None], signal, 0.0)
        if levels[v] == 0:
            values[:, v] = signal[:, 0] + noise_sd[v] * noise[:, v]
        else:
            odds = np.exp(signal - signal.max(axis=1, keepdims=True))
            thresholds = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)[:, :-1]
            values[:, v] = (uniform[:, v, None] >= thresholds).sum(axis=1)
    return values


def bound_weights(
    adjacency: Booleans,
    order: Sequence[int],
    weights: Floats,
    noise_sd: Floats,
    levels: Sequence[int],
    most_signal: float,
) -> None:
    """Scale down, in place, the weights of nodes to which their parents may contribute too much.

    Standard deviations of sums are at most sums of standard deviations, and those of scores at
    most 1, so the parents of a node contribute at most ``most_signal`` times the largest noise.
    """
    most = most_signal * float(noise_sd.max(initial=0.0))
    spread = np.full(len(levels), LARGEST_SCORE)
    for v in order:
        parents = np.flatnonzero(adjacency[:, v])
        signal = float(np.abs(weights[parents, v]) @ spread[parents])
        if signal > most:
            weights[parents, v] *= most / signal
            signal = most
        if levels[v] == 0:
            spread[v] = np.hypot(signal, noise_sd[v])


def _draw_scores(parent_levels: int, child_levels: int, rng: np.random.Generator) -> Floats:
    """Scores of an edge: those of a categorical child's levels, in a row for each parent level.

    For a continuous child, one column with the scores of the parent's levels.
    """
    if child_levels == 0:
        n_scores = max(parent_levels, 1)
        return rng.permutation(_equal_steps(n_scores))[:, None]
    rows = [rng.permutation(_equal_steps(child_levels)) for _ in range(max(parent_levels, 1))]
    return np.array(rows)


def _equal_steps(n_levels: int) -> Floats:
    return np.linspace(-LARGEST_SCORE, LARGEST_SCORE, n_levels) if n_levels > 1 else np.ones(1)


def _contribution(values: Floats, parent_levels: int, child_levels: int, scores: Floats) -> Floats:
    """What a parent adds to its child, (row, level of the child) or (row, 1)."""
    if parent_levels > 0:
        return np.asarray(scores[values.astype(np.int64)])
    return np.asarray(values[:, None] * scores[0]) if child_levels > 0 else values[:, None]


Coefficients = float | tuple[float, float] | Floats | Literal["bounded"]
LevelCounts = int | Sequence[int | None]

MOST_SIGNAL = 2.0
"""Bounded coefficients: the parents of a node contribute at most this many sds of noise."""

MAX_TABLE_CELLS = 10_000_000


MOST_ROWS = 10**8


class DagLike(Protocol):
    """What simulation needs to know of a graph; adjacency is ``[parent, child]``."""

    @property
    def names(self) -> Sequence[str]: ...
    @property
    def adjacency(self) -> Booleans: ...


def is_graph(value: Any) -> bool:
    """Whether this has names and a square adjacency matrix for them."""
    names, adjacency = list(map(str, value.names)), value.adjacency
    return isinstance(adjacency, np.ndarray) and adjacency.shape == (len(names),) * 2


GRAPH = Tested("a Dag", test=is_graph)
LEVELS = ListOf("a list of whole numbers or None", item=Either("a number", kinds=(COUNT, NONE)))
NUMBERS = Tested(
    "a number or an array of numbers",
    test=lambda given: not isinstance(given, str) and np.asarray(given, dtype=np.float64).size > 0,
)


@takes(
    dag=GRAPH,
    n_obs=whole(1, MOST_ROWS),
    kind=choice("gaussian", "categorical", "mixed"),
    coefficients=Either(
        "a number, a pair (low, high), a matrix [parent, child] or 'bounded'",
        kinds=(choice("bounded"), NUMBERS),
    ),
    noise_sd=NUMBERS,
    levels=Either("a whole number, or one for each node", kinds=(COUNT, LEVELS)),
    concentration=number(0, 1e300),
    interventions=Items("a list with an entry for each row"),
)
def simulate(
    dag: DagLike,
    n_obs: int,
    rng: Seed = None,
    *,
    kind: Literal["gaussian", "categorical", "mixed"] = "gaussian",
    coefficients: Coefficients = 2.0,
    noise_sd: float | Sequence[float] = 1.0,
    levels: LevelCounts = 2,
    concentration: float = 1.0,
    interventions: Sequence[Entry] = (),
) -> Dataset:
    """Simulate ``n_obs`` rows from ``dag``.

    For ``kind="gaussian"``, ``coefficients`` is one number for all edges, an ``(n, n)`` matrix
    ``[parent, child]``, a tuple ``(low, high)`` between which the edges draw theirs uniformly, or
    ``"bounded"``: 2, and less, in proportion, where the parents of a node would together contribute
    a standard deviation of more than twice the (largest) ``noise_sd``, so that no variance exceeds
    5 times that of the noise. ``noise_sd`` is one number or one per node. For
    ``kind="categorical"``, ``levels`` is one number of levels or one per node, and the rows of the
    tables are Dirichlet(``concentration``) draws.

    For ``kind="mixed"``, ``levels`` has one entry per node, ``None`` for a continuous one; with one
    number, every second node is categorical. Parents of both kinds contribute to children of both
    kinds, with coefficients as above (for categorical children in log odds); ``"bounded"`` ones are
    smaller where the contributions to a node might exceed twice the noise.

    ``rng`` is a seed or a NumPy Generator.

    ``interventions`` has one entry per row, the nodes that are set from outside in it, such as
    ``[[]] * 200 + [["a"]] * 100``: a continuous node is then its noise alone, a categorical one
    takes each level with the same probability.
    """
    generator = make_generator(rng)
    if kind == "gaussian":
        return _simulate_gaussian(dag, n_obs, generator, coefficients, noise_sd, interventions)
    if kind == "categorical":
        tables = draw_tables(dag, generator, levels=levels, concentration=concentration)
        return simulate_from_tables(dag, tables, n_obs, generator, interventions=interventions)
    return _simulate_mixed(dag, n_obs, generator, coefficients, noise_sd, levels, interventions)


def _simulate_gaussian(
    dag: DagLike,
    n_obs: int,
    rng: np.random.Generator,
    coefficients: Coefficients,
    noise_sd: float | Sequence[float],
    interventions: Sequence[Entry],
) -> Dataset:
    n_nodes = len(dag.names)
    is_bounded = isinstance(coefficients, str) and coefficients == "bounded"
    weights = draw_weights(dag, MOST_SIGNAL if is_bounded else coefficients, rng)
    spread = noise_of(noise_sd, n_nodes)
    if is_bounded:
        _bound_weights(dag, weights, spread)
    values = rng.standard_normal((n_obs, n_nodes)) * spread
    targets, listens = _read_interventions(interventions, dag, n_obs)
    with np.errstate(over="ignore", invalid="ignore"):
        for v in ancestral_order(dag):
            parents = _parents(dag, v)
            signal = values[:, parents] @ weights[parents, v]
            values[:, v] += np.where(listens[:, v], signal, 0.0)
    if not np.isfinite(values).all():
        raise OptionError("The simulated values overflow; use smaller coefficients, or 'bounded'.")
    return Dataset(tuple(dag.names), values, source="simulated", interventions=targets)


def _simulate_mixed(
    dag: DagLike,
    n_obs: int,
    rng: np.random.Generator,
    coefficients: Coefficients,
    noise_sd: float | Sequence[float],
    levels: LevelCounts,
    interventions: Sequence[Entry],
) -> Dataset:
    n_nodes = len(dag.names)
    if isinstance(levels, (int, np.integer)):
        levels = [None if v % 2 == 0 else int(levels) for v in range(n_nodes)]
    is_continuous = [one is None for one in levels]
    counts = _level_counts([2 if one is None else one for one in levels], n_nodes)
    sizes = [0 if none else count for none, count in zip(is_continuous, counts, strict=True)]
    adjacency, order = np.asarray(dag.adjacency, dtype=bool), ancestral_order(dag)
    is_bounded = isinstance(coefficients, str) and coefficients == "bounded"
    weights = draw_weights(dag, MOST_SIGNAL if is_bounded else coefficients, rng)
    spread = noise_of(noise_sd, n_nodes)
    if is_bounded:
        bound_weights(adjacency, order, weights, spread, sizes, MOST_SIGNAL)
    targets, listens = _read_interventions(interventions, dag, n_obs)
    values = simulate_mixture(adjacency, order, weights, spread, sizes, listens, rng)
    labels = tuple(tuple(str(k) for k in range(size)) if size else None for size in sizes)
    return Dataset(tuple(dag.names), values, labels, source="simulated", interventions=targets)


def noise_of(noise_sd: float | Sequence[float], n_nodes: int) -> Floats:
    """The standard deviation of the noise of every node."""
    spread = _numbers(noise_sd, "noise_sd")
    if spread.shape not in ((), (n_nodes,)) or not np.isfinite(spread).all() or (spread < 0).any():
        raise OptionError(
            f"noise_sd must be one number of at least 0, or {n_nodes} of them, one per node."
        )
    return np.broadcast_to(spread, n_nodes)


def draw_weights(dag: DagLike, coefficients: Coefficients, rng: np.random.Generator) -> Floats:
    """The matrix ``[parent, child]`` of edge coefficients."""
    n_nodes = len(dag.names)
    adjacency = np.asarray(dag.adjacency, dtype=bool)
    given = _numbers(coefficients, "coefficients")
    if not np.isfinite(given).all():
        raise OptionError("coefficients must be finite numbers.")
    if given.shape == ():
        return np.where(adjacency, given, 0.0)
    if given.shape == (2,):
        low, high = given
        if low > high:
            raise OptionError(f"coefficients=({low:g}, {high:g}) must be given as (low, high).")
        weights = np.zeros((n_nodes, n_nodes))
        weights[adjacency] = rng.uniform(low, high, size=int(adjacency.sum()))
        return weights
    if given.shape != (n_nodes, n_nodes):
        raise OptionError(
            "coefficients must be a number, a tuple (low, high) or a "
            f"{n_nodes} x {n_nodes} matrix [parent, child], not of shape {given.shape}."
        )
    extra = np.argwhere((given != 0) & ~adjacency)
    if extra.size:
        parent, child = (dag.names[v] for v in extra[0])
        raise OptionError(
            f"coefficients has an entry for {parent} -> {child}, which is not an edge; set it to 0."
        )
    return given


def _bound_weights(dag: DagLike, weights: Floats, noise_sd: Floats) -> None:
    """Scale down, in place, the weights of nodes to which their parents would contribute too much.

    Along an ancestral order the covariance matrix, and with it every contribution, is known.
    """
    most = MOST_SIGNAL * float(noise_sd.max(initial=0.0))
    covariance = np.zeros_like(weights)
    for v in ancestral_order(dag):
        parents = _parents(dag, v)
        with_others = weights[parents, v] @ covariance[parents]
        signal = math.sqrt(max(float(with_others[parents] @ weights[parents, v]), 0.0))
        if signal > most:
            weights[parents, v] *= most / signal
            with_others *= most / signal
        covariance[v] = covariance[:, v] = with_others
        covariance[v, v] = min(signal, most) ** 2 + noise_sd[v] ** 2


def draw_tables(
    dag: DagLike,
    rng: Seed = None,
    *,
    levels: LevelCounts = 2,
    concentration: float = 1.0,
) -> list[Floats]:
    """Random conditional probability tables, in the layout of :func:`simulate_from_tables`."""
    generator = make_generator(rng)
    sizes = _level_counts(levels, len(dag.names))
    if not (isinstance(concentration, (int, float)) and 0 < concentration < math.inf):
        raise OptionError(f"concentration must be a positive number, not {concentration!r}.")
    tables: list[Floats] = []
    for v, size in enumerate(sizes):
        shape = tuple(sizes[parent] for parent in _parents(dag, v))
        if math.prod(shape) * size > MAX_TABLE_CELLS:
            raise TooLargeError(
                f"The table of {dag.names[v]!r} with {len(shape)} parents would have more than "
                f"{MAX_TABLE_CELLS} cells; use fewer parents or levels."
            )
        tables.append(generator.dirichlet(np.full(size, float(concentration)), size=shape))
    return tables


@takes(dag=GRAPH, n_obs=whole(1, MOST_ROWS))
def simulate_from_tables(
    dag: DagLike,
    tables: Sequence[npt.ArrayLike] | Mapping[str, npt.ArrayLike],
    n_obs: int,
    rng: Seed = None,
    *,
    labels: Sequence[Sequence[str]] | None = None,
    interventions: Sequence[Entry] = (),
) -> Dataset:
    """Simulate ``n_obs`` rows from known conditional probability tables.

    The table of a node has one axis per parent, in the order of the node numbers, and a last axis
    over the node's own levels, along which it sums to 1. ``tables`` is in node order or by name;
    ``labels`` names the levels of every node (by default ``"0"``, ``"1"``, ...);
    ``interventions`` are those of :func:`simulate`.
    """
    checked = _validate_tables(dag, tables)
    sizes = [table.shape[-1] for table in checked]
    if labels is None:
        labels = [[str(level) for level in range(size)] for size in sizes]
    if [len(one) for one in labels] != sizes:
        raise OptionError("labels must name every level of every node, in the order of the nodes.")
    uniform = make_generator(rng).random((n_obs, len(sizes)))
    codes = np.zeros((n_obs, len(sizes)), dtype=np.int64)
    targets, listens = _read_interventions(interventions, dag, n_obs)
    for v in ancestral_order(dag):
        parents = _parents(dag, v)
        rows = checked[v][tuple(codes[:, parent] for parent in parents)]
        rows = np.where(listens[:, v, None], rows, 1.0 / sizes[v])
        # inverse distribution function: the level is the number of thresholds at or below u
        thresholds = np.cumsum(rows, axis=1)[:, :-1]
        codes[:, v] = (uniform[:, v, None] >= thresholds).sum(axis=1)
    return Dataset(
        tuple(dag.names),
        codes.astype(np.float64),
        tuple(tuple(one) for one in labels),
        source="simulated",
        interventions=targets,
    )


def _read_interventions(
    interventions: Sequence[Entry], dag: DagLike, n_obs: int
) -> tuple[Interventions, Booleans]:
    """The targets of each row, and whether a node depends on its parents (row, node).

    A node does so unless it is set.
    """
    targets = parse_interventions(interventions, dag.names)
    check_length(targets, n_obs)
    return targets, ~mark_targets(targets, dag.names, n_obs)


def _validate_tables(
    dag: DagLike, tables: Sequence[npt.ArrayLike] | Mapping[str, npt.ArrayLike]
) -> list[Floats]:
    names = list(dag.names)
    if isinstance(tables, Mapping):
        if set(tables) != set(names):
            raise OptionError(f"tables must have one entry for each of the nodes {names}.")
        tables = [tables[name] for name in names]
    if len(tables) != len(names):
        raise OptionError(f"There are {len(tables)} tables for {len(names)} nodes; give one each.")
    arrays = [_numbers(table, "tables") for table in tables]
    for v, (name, array) in enumerate(zip(names, arrays, strict=True)):
        parents = _parents(dag, v)
        parent_sizes = tuple(arrays[parent].shape[-1:] for parent in parents)
        if array.ndim == 0 or array.shape[:-1] != tuple(s for one in parent_sizes for s in one):
            raise OptionError(
                f"The table of {name!r} has shape {array.shape}, but needs one axis for each "
                f"of its {len(parents)} parents, with their numbers of levels, and one for its own."
            )
        sums = array.sum(axis=-1)
        if not (array >= 0).all() or not np.allclose(sums, 1.0, rtol=0, atol=1e-9):
            raise OptionError(
                f"The table of {name!r} does not hold probabilities; they must not be negative and "
                "must sum to 1 along the last axis."
            )
    return arrays


def _parents(dag: DagLike, v: int) -> list[int]:
    return [int(parent) for parent in np.flatnonzero(np.asarray(dag.adjacency)[:, v])]


def ancestral_order(dag: DagLike) -> list[int]:
    """The nodes, each after its parents."""
    order = peel_order(np.asarray(dag.adjacency, dtype=bool))
    if len(order) < len(dag.names):
        raise GraphError("The graph has a cycle; only acyclic graphs can be simulated.")
    return order


def _level_counts(levels: LevelCounts, n_nodes: int) -> list[int]:
    counts: list[Any] = (
        [levels] * n_nodes if isinstance(levels, (int, np.integer)) else list(levels)
    )
    whole = all(map(is_whole, counts))
    if len(counts) != n_nodes or not whole or min(counts, default=2) < 2:
        raise OptionError(
            f"levels must be a whole number of at least 2, or {n_nodes} of them, one per node."
        )
    return [int(count) for count in counts]


def _numbers(given: Any, option: str) -> Floats:
    try:
        return cast(Floats, np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise OptionError(f"{option} must hold numbers only.") from error

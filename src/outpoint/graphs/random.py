"""Random DAGs: exactly uniform ones, those of the paper's simulations, and Erdős-Rényi ones.

Filling a triangular matrix at random and permuting the nodes does not give uniform DAGs: a DAG
turns up once per order it is compatible with. The uniform law is drawn layer by layer instead
(Kuipers and Moffa, Statistics and Computing 2015): with p nodes placed, the last layer of s nodes
among them, and u nodes left, the next layer has r nodes in exactly

    C(u, r) (c(p) - c(p - s))^r after(p, u - r)

of the ways to go on (see `counting` for c and after). The size r is drawn from these integers,
without rounding; then the labels are permuted, and the parents of each node drawn uniformly among
the sets that touch the layer before. A bound on the number of parents only changes c, so it stays
exactly uniform. Beyond 200 nodes the integers get slow, and the same sizes are drawn by
floating-point weights that are right to about 1e-12 (see `layer_weights`).
"""

from __future__ import annotations

from collections.abc import Iterable
from math import comb
from typing import Literal

import numpy as np

from outpoint.arguments import NAMES, RANDOM, SHARE, takes
from outpoint.arrays import Booleans, Integers
from outpoint.errors import OptionError
from outpoint.graphs.counting import layer_counts, layer_weights
from outpoint.graphs.dag import Dag
from outpoint.graphs.validation import MOST_NODES, default_names, validate_names
from outpoint.kinds import checked, choice, whole

Law = Literal["uniform", "paper", "erdos_renyi"]
Counting = Literal["auto", "exact", "floating"]
Seed = np.random.Generator | np.random.SeedSequence | int | None


NODES = whole(0, MOST_NODES)

MAX_EXACT_NODES = 200
"""Up to this number of nodes layers are drawn by integers:
some tenths of a second for the first draw."""


@takes(
    n=NODES,
    law=choice("uniform", "paper", "erdos_renyi"),
    max_parents=whole(0),
    edge_probability=SHARE,
    names=NAMES,
)
def random_dag(
    n: int,
    rng: Seed = None,
    *,
    law: Law = "uniform",
    max_parents: int | None = None,
    edge_probability: float | None = None,
    names: Iterable[str] | None = None,
) -> Dag:
    """Draw a DAG on n nodes.

    `law` is one of

    - "uniform": every DAG, or every DAG with at most `max_parents` parents per node, is equally
      likely, exactly up to 200 nodes and to about 1e-12 beyond;
    - "paper": the simulations of the paper (appendix A): a uniform triangular 0/1 matrix, parents
      in excess of `max_parents` removed at random, and the nodes permuted at random;
    - "erdos_renyi": a uniformly random order of the nodes, each forward edge present with
      `edge_probability`, parents in excess of `max_parents` removed at random.

    `rng` is a NumPy Generator, a seed, or None for fresh entropy; `names` are x1, x2, ... unless
    given.
    """
    checked_names = default_names(n) if names is None else validate_names(names)
    if len(checked_names) != n:
        raise OptionError(f"there are {len(checked_names)} names for {n} nodes")
    probability = _validate_law(law, edge_probability)
    generator = make_generator(rng)
    if law == "uniform":
        adjacency = _sample_uniform(n, max_parents, n <= MAX_EXACT_NODES, generator)
    else:
        adjacency = _sample_triangular(n, probability, max_parents, generator)
    return Dag(checked_names, adjacency)


@takes(
    n=NODES,
    n_draws=whole(0, 10**7),
    max_parents=whole(0),
    method=choice("auto", "exact", "floating"),
)
def sample_uniform_dags(
    n: int,
    n_draws: int,
    rng: Seed = None,
    *,
    max_parents: int | None = None,
    method: Counting = "auto",
) -> Booleans:
    """Independent uniform DAGs on n nodes, as adjacency matrices (draw, parent, child).

    `method` says how layers are weighed: "exact" by integers, "floating" by floating-point weights,
    which are right to about 1e-12 and faster for large n; "auto" is exact up to 200 nodes.
    """
    is_exact = n <= MAX_EXACT_NODES if method == "auto" else method == "exact"
    generator = make_generator(rng)
    draws = [_sample_uniform(n, max_parents, is_exact, generator) for _ in range(n_draws)]
    return np.array(draws, dtype=np.bool_).reshape(n_draws, n, n)


def make_generator(rng: Seed) -> np.random.Generator:
    """A NumPy Generator from a Generator, a seed or None."""
    return np.random.default_rng(None if rng is None else checked("rng", RANDOM, rng))


def _validate_law(law: Law, edge_probability: float | None) -> float:
    """The edge probability that goes with a law."""
    if law != "erdos_renyi":
        if edge_probability is not None:
            raise OptionError(f'edge_probability belongs to law="erdos_renyi", not to law="{law}"')
        return 0.5
    if edge_probability is None or not 0 <= edge_probability <= 1:
        raise OptionError(
            f'law="erdos_renyi" needs an edge_probability from 0 to 1, not {edge_probability}'
        )
    return edge_probability


def _sample_triangular(
    n: int, probability: float, max_parents: int | None, rng: np.random.Generator
) -> Booleans:
    """Independent edges along a random order; where a node has too many parents, random ones go."""
    forward = np.triu(rng.random((n, n)) < probability, k=1)
    if max_parents is not None:
        for parents in forward.T:
            members = np.flatnonzero(parents)
            excess = max(members.size - max_parents, 0)
            parents[rng.permutation(members)[:excess]] = False
    labels = rng.permutation(n)
    adjacency = np.zeros((n, n), dtype=np.bool_)
    adjacency[np.ix_(labels, labels)] = forward
    return adjacency


def _sample_uniform(
    n: int, max_parents: int | None, is_exact: bool, rng: np.random.Generator
) -> Booleans:
    """A uniform DAG: layer sizes, labels, then the parents of each node."""
    bound = None if max_parents is None or max_parents >= n - 1 else max_parents
    labels = rng.permutation(n)
    adjacency = np.zeros((n, n), dtype=np.bool_)
    placed = previous = 0
    sample_sizes = _sample_layer_sizes if is_exact else _sample_layer_sizes_floating
    for size in sample_sizes(n, bound, rng):
        if placed:
            for child in labels[placed : placed + size]:
                chosen = _sample_parents(placed, previous, bound, rng)
                adjacency[labels[:placed][chosen], child] = True
        placed += size
        previous = size
    return adjacency


def _sample_layer_sizes(n: int, bound: int | None, rng: np.random.Generator) -> list[int]:
    """The sizes of the layers, outpoints first, with their exact probabilities."""
    counts = layer_counts(n, bound)
    sizes: list[int] = []
    placed = 0
    while placed < n:
        left = n - placed
        if sizes:
            before = placed - sizes[-1]
            parent_sets = counts.choices(placed) - counts.choices(before)
            total = counts.after(before, left)
        else:
            parent_sets, total = 1, counts.total()
        rank = _sample_below(total, rng)
        size = 0
        # Small layers carry nearly all of the mass, so few terms are ever computed.
        while rank >= 0:
            size += 1
            rank -= comb(left, size) * parent_sets**size * counts.after(placed, left - size)
        sizes.append(size)
        placed += size
    return sizes


def _sample_layer_sizes_floating(n: int, bound: int | None, rng: np.random.Generator) -> list[int]:
    """The sizes of the layers, drawn by floating-point weights."""
    weights = layer_weights(n, bound)
    sizes: list[int] = []
    placed = 0
    while placed < n:
        sizes.append(weights.sample_size(placed, sizes[-1] if sizes else 0, rng))
        placed += sizes[-1]
    return sizes


def _sample_below(bound: int, rng: np.random.Generator) -> int:
    """A uniform integer from 0 to bound - 1, of any size, by rejection."""
    n_bits = (bound - 1).bit_length()
    n_bytes = (n_bits + 7) // 8
    while True:
        value = int.from_bytes(rng.bytes(n_bytes), "little") >> (8 * n_bytes - n_bits)
        if value < bound:
            return value


def _sample_parents(
    placed: int, previous: int, bound: int | None, rng: np.random.Generator
) -> Integers:
    """A uniform set among the `placed` nodes that touches the last `previous` of them."""
    if bound is not None:
        return _sample_bounded_parents(placed - previous, previous, bound, rng)
    while True:  # at least every second set touches the last layer
        chosen = np.flatnonzero(rng.random(placed) < 0.5)
        if chosen.size and chosen[-1] >= placed - previous:
            return chosen


def _sample_bounded_parents(
    earlier: int, previous: int, bound: int, rng: np.random.Generator
) -> Integers:
    """Such a set of at most `bound` members: by exact counts how many from where, then which."""
    splits = [
        (near, far)
        for near in range(1, min(bound, previous) + 1)
        for far in range(min(bound - near, earlier) + 1)
    ]
    rank = _sample_below(
        sum(comb(previous, near) * comb(earlier, far) for near, far in splits), rng
    )
    for near, far in splits:
        rank -= comb(previous, near) * comb(earlier, far)
        if rank < 0:
            break
    return np.concatenate(
        [
            rng.choice(earlier, size=far, replace=False),
            earlier + rng.choice(previous, size=near, replace=False),
        ]
    )

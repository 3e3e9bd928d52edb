"""Best DAGs of orders and partitions by listing parent sets, and small tables to search."""

from collections.abc import Sequence
from itertools import permutations
from math import inf

import numpy as np

from tests.reference import Score, admissible_sets, all_dags
from tests.tables.helpers import KnownTable, random_table

TABLES = {
    "complete": lambda n: random_table(n, n - 1, seed=1),
    "bounded": lambda n: random_table(n, 2, seed=2, spread=3.0),
    "candidates": lambda n: random_table(n, 3, 2, seed=3, spread=3.0),
    "one candidate": lambda n: random_table(n, 2, 1, seed=4),
    "constrained": lambda n: random_table(
        n, 3, 3, seed=5, required=[("v0", "v1"), ("v2", "v1")], forbidden=[("v3", "v0")]
    ),
}


def best_of_order(score: Score, order: Sequence[int]) -> float:
    """The best score of a DAG whose edges point forward in the order, from the definition."""
    return sum(
        max((score(v, s) for s in admissible_sets(v, order[:place])), default=-inf)
        for place, v in enumerate(order)
    )


def best_of_layers(score: Score, layers: Sequence[Sequence[int]]) -> float:
    """The best score of a DAG that has exactly these layers."""
    total = 0.0
    earlier: list[int] = []
    previous: list[int] = []
    for layer in layers:
        for v in layer:
            sets = admissible_sets(v, earlier, previous) if earlier else [()]
            total += max((score(v, s) for s in sets), default=-inf)
        earlier += layer
        previous = list(layer)
    return total


def best_score(known: KnownTable, n: int) -> float:
    """The best score of all DAGs, by listing them."""
    return max(
        sum(known.score(v, tuple(np.flatnonzero(dag[:, v]).tolist())) for v in range(n))
        for dag in all_dags(n)
    )


def all_orders(n: int) -> list[tuple[int, ...]]:
    return list(permutations(range(n)))


def floor(value: float) -> float:
    """Scores as searches see them: impossible is finite, and how much so does not matter."""
    return value if value > -1e29 else -inf

"""One graph for a whole posterior: the edges that are probable enough, as far as they fit together.

Edges enter by falling probability. One that would close a directed cycle with those before it is
left out, and a warning names it; above a threshold of 0.5 that is rare, as it takes edges that are
each likely and seldom present together.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from outpoint.arrays import Booleans, Floats
from outpoint.graphs import Cpdag, Dag
from outpoint.graphs.layers import Reach


class ConsensusWarning(UserWarning):
    """Probable edges do not fit into one graph without a cycle."""


def build_consensus_dag(edges: Floats, names: Sequence[str], threshold: float) -> Dag:
    """The DAG of the edges with at least this probability, most probable first."""
    adjacency, left_out = _select_acyclic(edges, threshold)
    if left_out:
        _warn(left_out, names, "were left out: each", "was left out: it")
    return Dag.from_adjacency(adjacency, names)


def build_consensus_cpdag(
    compelled: Floats, undirected: Floats, names: Sequence[str], threshold: float
) -> Cpdag:
    """Pairs that are adjacent with at least this probability, directed where that is compelled.

    An edge gets a direction if its compelled direction alone reaches the threshold and closes no
    cycle, and is undirected otherwise. The result need not be the CPDAG of any DAG.
    """
    directed, left_out = _select_acyclic(compelled, threshold)
    if left_out:
        _warn(left_out, names, "were left undirected: each", "was left undirected: it")
    adjacent = at_least(compelled + compelled.T + undirected, threshold)
    return Cpdag(tuple(names), adjacent & ~directed.T)


def _select_acyclic(
    probability: Floats, threshold: float
) -> tuple[Booleans, list[tuple[int, int]]]:
    """The probable edges that close no cycle as a matrix, and the others."""
    n = len(probability)
    parents, children = np.nonzero(at_least(probability, threshold) & ~np.eye(n, dtype=np.bool_))
    ranked = np.argsort(-probability[parents, children], kind="stable")
    chosen = np.zeros((n, n), dtype=np.bool_)
    reach = Reach(n)
    left_out = []
    for u, v in zip(parents[ranked].tolist(), children[ranked].tolist(), strict=True):
        if reach.closes_cycle(u, v):
            left_out.append((u, v))
            continue
        chosen[u, v] = True
        reach.add(u, v)
    return chosen, left_out


def at_least(probability: Floats, threshold: float) -> Booleans:
    """Which probabilities reach the threshold; sums of weights may miss it by rounding."""
    return probability >= threshold - 1e-12


def _warn(left_out: list[tuple[int, int]], names: Sequence[str], many: str, one: str) -> None:
    shown = ", ".join(f"{names[u]} -> {names[v]}" for u, v in left_out[:5])
    more = f" and {len(left_out) - 5} more" if len(left_out) > 5 else ""
    rest = "would close a cycle with more probable edges."
    what = many if len(left_out) > 1 else one
    warnings.warn(f"{shown}{more} {what} {rest}", ConsensusWarning, stacklevel=5)

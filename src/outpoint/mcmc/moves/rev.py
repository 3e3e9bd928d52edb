"""The edge reversal move of Grzegorczyk & Husmeier (2008) on DAGs.

An edge i -> j is chosen uniformly, both ends lose all their parents, and new parents are drawn:
first of i, containing j, then of j, neither making a cycle. The sums that normalise the two draws,
and those of the way back, make up the acceptance ratio

    (N / N') (Z*_i / Z*_j) (Z+_j / Z+_i),

with N and N' the numbers of edges before and after, Z* sums over sets with the other end, and Z+
over sets that avoid all descendants of both ends.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import inlined, kernel
from outpoint.mcmc.dag import mark_descendants, set_parents
from outpoint.mcmc.metropolis import log_uniform
from outpoint.mcmc.sums import log_sum_any, log_sum_with, sample_any, sample_with
from outpoint.tables.bits import count_bits


class Reversal(NamedTuple):
    """Scratch space: nodes blocked as parents of i, of j, and of either."""

    below_first: NDArray[np.int64]
    below_second: NDArray[np.int64]
    below_both: NDArray[np.int64]


@kernel
def make_reversal(n):
    """Scratch space."""
    return Reversal(
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
    )


@inlined
def pick_edge(dag, n_edges, rng):
    """One edge (parent, child), uniformly."""
    pick = int(rng.random() * n_edges)
    child = 0
    while pick >= dag.n_parents[child]:
        pick -= dag.n_parents[child]
        child += 1
    return dag.parents[child, pick], child


@inlined
def reverse_edge(view, dag, scratch, rng):
    """One step of the move on ``dag``, in place; returns whether it was accepted."""
    n_edges = 0
    for node in range(dag.n_parents.size):
        n_edges += dag.n_parents[node]
    if n_edges == 0:
        return False
    first, second = pick_edge(dag, n_edges, rng)
    n_first, n_second = dag.n_parents[first], dag.n_parents[second]
    dag.n_parents[first] = dag.n_parents[second] = 0
    n_kept = n_edges - n_first - n_second
    _block_descendants(dag, first, second, scratch)
    log_with_first = log_sum_with(view, first, second, scratch.below_first, 1)
    log_with_second = log_sum_with(view, second, first, scratch.below_second, 1)
    log_any_first = log_sum_any(view, first, scratch.below_both, 1)
    log_any_second = log_sum_any(view, second, scratch.below_both, 1)
    log_sums_ratio = log_with_first - log_with_second + log_any_second - log_any_first
    threshold = log_uniform(rng) - log_sums_ratio
    # The proposal has at least one edge more than those kept: this may decide already.
    if not threshold < np.log(n_edges / (n_kept + 1)):
        dag.n_parents[first], dag.n_parents[second] = n_first, n_second
        return False
    first_mask = sample_with(view, first, second, scratch.below_first, 1, log_with_first, rng)
    second_mask = sample_any(view, second, scratch.below_both, 1, log_any_second, rng)
    n_proposed = n_kept + count_bits(first_mask) + count_bits(second_mask)
    if not threshold < np.log(n_edges / n_proposed):
        dag.n_parents[first], dag.n_parents[second] = n_first, n_second
        return False
    set_parents(view, dag, first, first_mask, view.dense[first, first_mask])
    set_parents(view, dag, second, second_mask, view.dense[second, second_mask])
    return True


@inlined
def _block_descendants(dag, first, second, scratch):
    """Mark each end with its descendants in the graph without the parents of both ends."""
    for u in range(dag.n_parents.size):
        scratch.below_first[u] = scratch.below_second[u] = 0
    mark_descendants(dag, first, scratch.below_first)
    mark_descendants(dag, second, scratch.below_second)
    for u in range(dag.n_parents.size):
        scratch.below_both[u] = scratch.below_first[u] | scratch.below_second[u]

"""The edge reversal move of Grzegorczyk & Husmeier (2008) on DAGs.

An edge i -> j is chosen uniformly, both ends lose all their parents, and new parents are drawn:
first of i, containing j, then of j, neither making a cycle. The sums that normalise the two draws,
and those of the way back, make up the acceptance ratio

    (N / N') (Z*_i / Z*_j) (Z+_j / Z+_i),

with N and N' the numbers of edges before and after, Z* sums over sets with the other end, and Z+
over sets that avoid all descendants of both ends.

Sums run over inside and outside sets alike. Lists of outside sets are long and nearly all reversals
are rejected, so a bound on the ratio comes first, in which every outside set counts. With the
``inside_only`` part of a view the move leaves nodes with outside sets as they are and draws inside
sets alone, by looking them up: much faster, reversible all the same, and enough for most steps.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import borrowed, inlined, kernel
from outpoint.mcmc.dag import mark_descendants, set_parents
from outpoint.mcmc.metropolis import log_uniform
from outpoint.mcmc.sums import (
    allowed_mask,
    log_inside_with,
    log_sum_any,
    log_sum_with,
    sample_any,
    sample_with,
)
from outpoint.tables.bits import count_bits
from outpoint.tables.logspace import log_add


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


@kernel
def reverse_edge(view, dag, scratch, rng):
    """One step of the move on ``dag``, in place; returns whether it was accepted."""
    view, dag, scratch = borrowed(view), borrowed(dag), borrowed(scratch)
    n_edges = 0
    for node in range(dag.n_parents.size):
        n_edges += dag.n_parents[node]
    if n_edges == 0:
        return False
    first, second = pick_edge(dag, n_edges, rng)
    if view.outside.score.size == 0 and (dag.code[first] < 0 or dag.code[second] < 0):
        return False
    n_first, n_second = dag.n_parents[first], dag.n_parents[second]
    dag.n_parents[first] = dag.n_parents[second] = 0
    n_kept = n_edges - n_first - n_second
    _block_descendants(dag, first, second, scratch)
    log_draw = log_uniform(rng)
    # The proposal has at least one edge more than those kept.
    log_edges = np.log(n_edges / (n_kept + 1))
    accepted = False
    if log_draw < log_edges + _most(view, first, second, scratch):
        accepted = _try_reversal(view, dag, first, second, scratch, n_edges, n_kept, log_draw, rng)
    if not accepted:
        dag.n_parents[first], dag.n_parents[second] = n_first, n_second
    return accepted


@inlined
def _most(view, first, second, scratch):
    """An upper bound on the log ratio of sums; the ratio itself if there are no outside sets."""
    with_first = log_inside_with(view, first, second, scratch.below_first, 1)
    with_second = log_inside_with(view, second, first, scratch.below_second, 1)
    any_first = view.log_sums[first, allowed_mask(view, first, scratch.below_both, 1)]
    any_second = view.log_sums[second, allowed_mask(view, second, scratch.below_both, 1)]
    if view.outside.score.size > 0:
        with_first = log_add(with_first, _log_all_outside(view, first))
        any_second = log_add(any_second, _log_all_outside(view, second))
        if with_second == -np.inf or any_first == -np.inf:
            return np.inf
    return with_first - with_second + any_second - any_first


@inlined
def _log_all_outside(view, node):
    first = view.outside.start[node]
    return view.outside.log_tail[first] if first < view.outside.start[node + 1] else -np.inf


@inlined
def _try_reversal(view, dag, first, second, scratch, n_edges, n_kept, log_draw, rng):
    """Draw new parents for both ends, and give them these if that is accepted."""
    log_with_first = log_sum_with(view, first, second, scratch.below_first, 1)
    if log_with_first == -np.inf:
        return False
    log_with_second = log_sum_with(view, second, first, scratch.below_second, 1)
    log_any_first = log_sum_any(view, first, scratch.below_both, 1)
    log_any_second = log_sum_any(view, second, scratch.below_both, 1)
    threshold = log_draw - (log_with_first - log_with_second + log_any_second - log_any_first)
    if not threshold < np.log(n_edges / (n_kept + 1)):
        return False
    first_code = sample_with(view, first, second, scratch.below_first, 1, log_with_first, rng)
    second_code = sample_any(view, second, scratch.below_both, 1, log_any_second, rng)
    n_proposed = n_kept + _size(view, first_code) + _size(view, second_code)
    if not threshold < np.log(n_edges / n_proposed):
        return False
    set_parents(view, dag, first, first_code)
    set_parents(view, dag, second, second_code)
    return True


@inlined
def _size(view, code):
    """Number of members of the set with this code."""
    if code >= 0:
        return count_bits(code)
    size = 0
    for k in range(view.outside.members.shape[1]):
        size += view.outside.members[~code, k] >= 0
    return size


@inlined
def _block_descendants(dag, first, second, scratch):
    """Mark each end with its descendants in the graph without the parents of both ends."""
    for u in range(dag.n_parents.size):
        scratch.below_first[u] = scratch.below_second[u] = 0
    mark_descendants(dag, first, scratch.below_first)
    mark_descendants(dag, second, scratch.below_second)
    for u in range(dag.n_parents.size):
        scratch.below_both[u] = scratch.below_first[u] | scratch.below_second[u]

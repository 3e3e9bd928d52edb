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

Formulas: docs/math.md#new-edge-reversal.
"""

from typing import NamedTuple

import numpy as np

from outpoint.kernels import borrowed, inlined, kernel
from outpoint.mcmc.dag import set_parents
from outpoint.mcmc.edges import list_edges, mark_below
from outpoint.mcmc.metropolis import log_uniform
from outpoint.mcmc.moves.blocks import (
    LEAST_BLOCK_POWER,
    DagBlock,
    begin_block,
    end_block,
    make_dag_block,
)
from outpoint.mcmc.moves.step import Step
from outpoint.mcmc.sums import (
    allowed_mask,
    log_inside_with,
    log_sum_any,
    log_sum_with,
    sample_any,
    sample_with,
)
from outpoint.mcmc.trace import remember_best
from outpoint.tables.logspace import count_bits, log_add
from outpoint.tables.view import TableView, inside_only, inside_sum

HOT_BLOCK = 5
"""Reversals in a block of a replica at power b, times 1 - b: the nearer it is to the posterior, the
longer are blocks that are accepted as often as not."""


@inlined
def reverse_edge(view, dag, scratch, rng):
    """One step of the move on ``dag``, in place; returns whether it was accepted.

    The edges of ``dag`` must have been listed in ``scratch``; they still are afterwards.
    """
    n_edges = scratch.child_start[dag.n_parents.size]
    if n_edges == 0:
        return False
    pick = int(rng.random() * n_edges)
    first, second = scratch.edge_parent[pick], scratch.edge_child[pick]
    if view.outside.score.size == 0 and (dag.code[first] < 0 or dag.code[second] < 0):
        return False
    n_kept = n_edges - dag.n_parents[first] - dag.n_parents[second]
    _block_descendants(scratch, first, second)
    log_draw = log_uniform(rng)
    # The proposal has at least one edge more than those kept.
    log_edges = np.log(n_edges / (n_kept + 1))
    if not log_draw < log_edges + _most(view, first, second, scratch):
        return False
    if not _try_reversal(view, dag, first, second, scratch, n_edges, n_kept, log_draw, rng):
        return False
    list_edges(dag, scratch)
    return True


@inlined
def _most(view, first, second, scratch):
    """An upper bound on the log ratio of sums; the ratio itself if there are no outside sets."""
    level = scratch.stamp[0]
    with_first = log_inside_with(view, first, second, scratch.below_first, level)
    with_second = log_inside_with(view, second, first, scratch.below_second, level)
    any_first = inside_sum(view, first, allowed_mask(view, first, scratch.below_both, level))
    any_second = inside_sum(view, second, allowed_mask(view, second, scratch.below_both, level))
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
    level = scratch.stamp[0]
    log_with_first = log_sum_with(view, first, second, scratch.below_first, level)
    if log_with_first == -np.inf:
        return False
    log_with_second = log_sum_with(view, second, first, scratch.below_second, level)
    log_any_first = log_sum_any(view, first, scratch.below_both, level)
    log_any_second = log_sum_any(view, second, scratch.below_both, level)
    threshold = log_draw - (log_with_first - log_with_second + log_any_second - log_any_first)
    if not threshold < np.log(n_edges / (n_kept + 1)):
        return False
    first_code = sample_with(view, first, second, scratch.below_first, level, log_with_first, rng)
    second_code = sample_any(view, second, scratch.below_both, level, log_any_second, rng)
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
def _block_descendants(scratch, first, second):
    """Mark each end with its descendants in the graph without the parents of both ends."""
    scratch.stamp[0] += 1
    mark_below(scratch, first, first, second, scratch.below_first)
    mark_below(scratch, second, first, second, scratch.below_second)


class Reversals(NamedTuple):
    """Scratch space of blocks of reversals, and the view without outside sets."""

    inside: TableView
    block: DagBlock


def make_reversals(view: TableView) -> Reversals:
    """Scratch space for DAGs over this table."""
    return Reversals(inside_only(view), make_dag_block(view))


@inlined
def reverse_edges(view, state, scratch, block, full_share, power, is_cold, trace, rng):
    """Draw a DAG, reverse edges of it, return to partitions.

    Each reversal draws from all sets with the probability ``full_share``, otherwise from inside
    sets only. Returns how many were tried and accepted.
    """
    if power < LEAST_BLOCK_POWER:
        return 0, 0
    dag, listed = scratch.block.dag, scratch.block.listed
    begin_block(view, state, scratch.block, rng)
    gap = 1.0 - power
    n_tries = block if block * gap <= HOT_BLOCK else int(HOT_BLOCK / gap)
    n_accepted = 0
    for _ in range(n_tries):
        table = view if rng.random() < full_share else scratch.inside
        if reverse_edge(table, dag, listed, rng):
            n_accepted += 1
            if is_cold:
                remember_best(trace, dag)
    if n_accepted > 0:
        end_block(view, state, scratch.block, power, is_cold, rng)
    return n_tries, n_accepted


@kernel
def take_reversals(move, view, state, scratch, plan, power, is_cold, trace, rng):
    """One step: a block of reversals."""
    view, state, scratch, trace = (
        borrowed(view),
        borrowed(state),
        borrowed(scratch),
        borrowed(trace),
    )
    return reverse_edges(
        view, state, scratch, plan.block, plan.full_reversals, power, is_cold, trace, rng
    )


REVERSALS = Step("rev", take_reversals, make_reversals)

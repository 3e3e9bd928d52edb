"""The edge reversal move of Grzegorczyk & Husmeier (2008) on DAGs.

An edge i -> j is chosen uniformly, both ends lose all their parents, and new parents are drawn:
first of i, containing j, then of j, neither making a cycle. The sums that normalise the two draws,
and those of the way back, make up the acceptance ratio

    (N / N') (Z*_i / Z*_j) (Z+_j / Z+_i),

with N and N' the numbers of edges before and after, Z* sums over sets with the other end, and Z+
over sets that avoid all descendants of both ends.

Sums run over inside sets and over near ones, with one member outside the candidates, and both are
looked up. Nodes with other outside sets stay as they are, which is reversible all the same.

Formulas: docs/math.md#new-edge-reversal.
"""

import numpy as np

from outpoint.kernels import borrowed, inlined, kernel
from outpoint.mcmc.dag import set_parents
from outpoint.mcmc.edges import list_edges, mark_below
from outpoint.mcmc.metropolis import log_uniform
from outpoint.mcmc.moves.blocks import (
    LEAST_BLOCK_POWER,
    begin_block,
    end_block,
    make_dag_block,
)
from outpoint.mcmc.moves.step import Step
from outpoint.mcmc.sums import (
    allowed_mask,
    draw_tabulated,
    is_tabulated,
    log_inside_with,
    log_tabulated,
)
from outpoint.mcmc.trace import remember_best
from outpoint.tables.logspace import count_bits, log_add

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
    if not (is_tabulated(view, dag.code[first]) and is_tabulated(view, dag.code[second])):
        return False
    n_kept = n_edges - dag.n_parents[first] - dag.n_parents[second]
    _block_descendants(scratch, first, second)
    level = scratch.stamp[0]
    log_draw = log_uniform(rng)
    with_first = log_tabulated(view, first, second, scratch.below_first, level)
    any_second = log_tabulated(view, second, -1, scratch.below_both, level)
    # The sums of the way back have the present sets; the proposal has one more edge than is kept.
    log_least = _log_known(view, dag, second, first, scratch.below_second, level)
    log_least += _log_known(view, dag, first, -1, scratch.below_both, level)
    if not log_draw < with_first + any_second - log_least + np.log(n_edges / (n_kept + 1)):
        return False
    with_second = log_tabulated(view, second, first, scratch.below_second, level)
    any_first = log_tabulated(view, first, -1, scratch.below_both, level)
    threshold = log_draw - (with_first - with_second + any_second - any_first)
    if not threshold < np.log(n_edges / (n_kept + 1)):
        return False
    first_code = draw_tabulated(view, first, second, scratch.below_first, level, with_first, rng)
    second_code = draw_tabulated(view, second, -1, scratch.below_both, level, any_second, rng)
    n_proposed = n_kept + _size(view, first_code) + _size(view, second_code)
    if not threshold < np.log(n_edges / n_proposed):
        return False
    set_parents(view, dag, first, first_code)
    set_parents(view, dag, second, second_code)
    list_edges(dag, scratch)
    return True


@inlined
def _log_known(view, dag, node, member, layer, level):
    """A part of such a sum that has the present parents of ``node``, and takes one look-up."""
    inside = log_inside_with(view, node, member, allowed_mask(view, node, layer, level))
    return inside if dag.code[node] >= 0 else log_add(inside, dag.log_score[node])


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


@inlined
def reverse_edges(view, state, scratch, block, power, is_cold, trace, rng):
    """Draw a DAG, reverse edges of it, return to partitions; returns how many were tried and done.

    Hot replicas take shorter blocks.
    """
    if power < LEAST_BLOCK_POWER:
        return 0, 0
    dag, listed = scratch.dag, scratch.listed
    begin_block(view, state, scratch, rng)
    gap = 1.0 - power
    n_tries = block if block * gap <= HOT_BLOCK else int(HOT_BLOCK / gap)
    n_accepted = 0
    for _ in range(n_tries):
        if reverse_edge(view, dag, listed, rng):
            n_accepted += 1
            if is_cold:
                remember_best(trace, dag)
    if n_accepted > 0:
        end_block(view, state, scratch, power, is_cold, rng)
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
    return reverse_edges(view, state, scratch, plan.block, power, is_cold, trace, rng)


REVERSALS = Step("rev", take_reversals, make_dag_block)

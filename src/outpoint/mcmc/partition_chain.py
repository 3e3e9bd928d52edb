"""Chains on labelled partitions: any mix of moves, blocks of edge reversals, tempered replicas.

A chain has one or more replicas. Replica 0 targets the posterior; the others, if any, target its
powers, move more freely, and hand their states down by swaps (:mod:`outpoint.mcmc.replicas`). Only
replica 0 is recorded. Steps on DAGs draw one from the partition, take it through a block of REV
moves or whatever else keeps the posterior over DAGs, and go on from the partition it belongs to.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import borrowed, inlined, kernel
from outpoint.mcmc.crossover import (
    Crossover,
    choose_part,
    exchange,
    find_differing,
    make_crossover,
)
from outpoint.mcmc.dag import DagState, find_layers, make_dag
from outpoint.mcmc.metropolis import accepts
from outpoint.mcmc.moves import FAMILIES, NODE_GIBBS, OUTSIDE, PARENTS, REV, STILL, propose
from outpoint.mcmc.moves.families import JointRedraw, make_joint_redraw, redraw_families
from outpoint.mcmc.moves.node_gibbs import Placement, make_placement, place_node
from outpoint.mcmc.moves.outside import Redraw, make_redraw, redraw_node
from outpoint.mcmc.moves.parents import resample_parents
from outpoint.mcmc.moves.rev import Reversal, list_edges, make_reversal, reverse_edge
from outpoint.mcmc.partition import (
    PartitionState,
    copy_partition,
    dag_to_partition,
    hold_outside,
    layers_to_partition,
    log_posterior_weight,
    make_partition,
    sample_dag,
    score_changed,
    score_nodes,
    score_partition,
)
from outpoint.mcmc.replicas import (
    add_moments,
    draw_partition,
    log_gain,
    replica_state,
    swap_replicas,
)
from outpoint.mcmc.trace import add_edges_given_partition, record_dag, remember_best
from outpoint.tables.view import TableView, inside_only, most_parents

HOT_BLOCK = 10
HOT_FAMILIES = 3
"""Reversals, and joint redraws of parents, in a block of a replica other than 0."""

ONE_SHARE = 0.5
"""Redraws of one node's parents among all, where there are outside sets."""

LEAST_BLOCK_POWER = 0.15
"""Below this power blocks of steps on DAGs are hardly ever accepted, and not tried."""


class Workspace(NamedTuple):
    """Scratch space of one chain, and the view without outside sets."""

    inside: TableView
    proposal: PartitionState
    placement: Placement
    dag: DagState
    reversal: Reversal
    families: JointRedraw
    redraw: Redraw
    crossover: Crossover


class Plan(NamedTuple):
    """What a chain does: fixed while it is being recorded.

    ``cumulative`` are the summed probabilities of the moves in the order of ``MOVES``; a step of
    replica 0 that picks REV takes ``block`` of them, one that picks FAMILIES ``families``. A share
    ``full_reversals`` of the reversals draws from all sets, the others from inside sets; replicas
    other than 0 make a share ``hot_redraws`` of their redraws, the others are mere placements.
    Replicas are swapped every ``sweep`` steps.
    With ``fresh_sizes`` the last replica is drawn afresh before each swap, see
    :func:`~outpoint.mcmc.replicas.draw_partition`; its power must be 0. Between swaps neighbours
    try ``exchanges`` of parts of their DAGs. A draw is kept every ``thin`` steps, edge
    probabilities are added every ``edge_thin``.
    """

    cumulative: NDArray[np.float64]
    block: int
    families: int
    full_reversals: float
    hot_redraws: float
    sweep: int
    fresh_sizes: NDArray[np.float64]
    exchanges: int
    thin: int
    edge_thin: int


def make_workspace(view: TableView) -> Workspace:
    """Scratch space for one chain."""
    n_nodes = len(view.candidates)
    longest = int(np.diff(view.outside.start).max())
    return Workspace(
        inside_only(view),
        make_partition(n_nodes),
        make_placement(n_nodes),
        make_dag(n_nodes, most_parents(view)),
        make_reversal(n_nodes, most_parents(view)),
        make_joint_redraw(view),
        make_redraw(n_nodes, longest),
        make_crossover(n_nodes, most_parents(view)),
    )


@kernel
def run_partition_chain(
    view, replicas, ladder, work, plan, trace, first_step, n_steps, recording, rng
):
    """Take steps ``first_step + 1 .. first_step + n_steps`` of replica 0, the others alongside."""
    view, replicas, ladder = borrowed(view), borrowed(replicas), borrowed(ladder)
    work, plan, trace = borrowed(work), borrowed(plan), borrowed(trace)
    last = replicas.slot.size - 1
    step = first_step
    while step < first_step + n_steps:
        # Sweeps end at multiples of ``sweep``, however the run is cut into calls.
        sweep_end = min((step // plan.sweep + 1) * plan.sweep, first_step + n_steps)
        for replica in range(last, -1, -1):
            state = replica_state(replicas, replica)
            if replica == last and last > 0 and plan.fresh_sizes.size > 0:
                draw_partition(state, plan.fresh_sizes, rng)
                score_partition(view, state)
                continue
            power = ladder.power[replica]
            for now in range(step + 1, sweep_end + 1):
                _take_step(view, state, work, plan, power, replica == 0, trace, rng)
                if replica == 0 and recording:
                    _record(view, state, work, plan, trace, now, rng)
            if last > 0:
                add_moments(view, state, ladder, replica)
        step = sweep_end
        if step % plan.sweep == 0:
            swap_replicas(view, replicas, ladder, (step // plan.sweep) % 2, rng)
            # The pairs that have not just been swapped.
            for upper in range(1 - (step // plan.sweep) % 2, last, 2):
                cross_over(view, replicas, ladder.power, upper, plan.exchanges, work, rng)


@inlined
def _record(view, state, work, plan, trace, step, rng):
    """Add edge probabilities, keep a draw, at the steps planned for it."""
    if step % plan.edge_thin == 0:
        add_edges_given_partition(trace, view, state)
    if step % plan.thin == 0:
        sample_dag(view, state, rng, work.dag)
        record_dag(trace, work.dag, log_posterior_weight(state))


@inlined
def _take_step(view, state, work, plan, power, is_cold, trace, rng):
    """One step of one replica; only those of replica 0 are counted."""
    pick = rng.random()
    move = 0
    while pick >= plan.cumulative[move]:
        move += 1
    if move == REV:
        reverse_edges(
            view, state, work, plan.block, plan.full_reversals, power, is_cold, trace, rng
        )
        return
    if move == FAMILIES:
        redraw_together(view, state, work, plan.families, power, is_cold, trace, rng)
        return
    done = False
    if move == PARENTS:
        done = is_cold and redraw_parents(view, state, work, rng)
    elif move in (NODE_GIBBS, OUTSIDE):
        node = int(rng.random() * state.order.size)
        if move == NODE_GIBBS or not (is_cold or rng.random() < plan.hot_redraws):
            done = place_node(view, state, node, power, work.placement, rng)
        else:
            done = redraw_node(view, state, node, power, work.placement, work.redraw, rng)
    elif move != STILL:
        done = _try_move(view, state, work.proposal, move, power, rng)
    if is_cold:
        trace.attempts[move] += 1
        trace.accepted[move] += done


@kernel
def _try_move(view, state, proposal, move, power, rng):
    """Propose a move, accept or reject it; without a neighbour the chain stays, and it counts."""
    view, state, proposal = borrowed(view), borrowed(state), borrowed(proposal)
    log_ratio, begin, end = propose(move, state, proposal, rng)
    if begin < 0:
        return False
    for node in range(state.log_tau.size):
        proposal.log_tau[node] = state.log_tau[node]
        proposal.held[node] = state.held[node]
    change = score_nodes(view, proposal, begin, end)
    if not accepts(power * change, log_ratio, rng):
        return False
    copy_partition(proposal, state)
    return True


@kernel
def reverse_edges(view, state, work, block, full_share, power, is_cold, trace, rng):
    """Draw a DAG, reverse edges of it, return to partitions.

    Each reversal draws from all sets with the probability ``full_share``, otherwise from inside
    sets only. A block of them is reversible for the posterior over DAGs, so it is accepted as it is
    at power 1. To the power b the target is w^b, w the weight of the partition, and a DAG drawn
    from it has P(G) / w: the block must be accepted with the probability min(1, (w / w')^(1 - b)).
    Hot replicas take short blocks, as long ones end near the posterior and would be refused.
    """
    view, state, work, trace = borrowed(view), borrowed(state), borrowed(work), borrowed(trace)
    if power < LEAST_BLOCK_POWER:
        return
    _sample_listed_dag(view, state, work, rng)
    n_tries = block if is_cold else min(block, HOT_BLOCK)
    n_accepted = 0
    for _ in range(n_tries):
        table = view if rng.random() < full_share else work.inside
        if reverse_edge(table, work.dag, work.reversal, rng):
            n_accepted += 1
            if is_cold:
                remember_best(trace, work.dag)
    _end_block(view, state, work, REV, n_tries, n_accepted, power, is_cold, trace, rng)


@kernel
def redraw_together(view, state, work, block, power, is_cold, trace, rng):
    """Draw a DAG, redraw parents of a few nodes of it together, ``block`` times; return.

    Joint redraws know inside sets only, so where there are others some redraws are of one node,
    from all sets. Such a block is accepted like one of reversals.
    """
    view, state, work, trace = borrowed(view), borrowed(state), borrowed(work), borrowed(trace)
    if power < LEAST_BLOCK_POWER:
        return
    _sample_listed_dag(view, state, work, rng)
    n_tries = block if is_cold else min(block, HOT_FAMILIES)
    n_changed = 0
    for _ in range(n_tries):
        if view.outside.score.size > 0 and rng.random() < ONE_SHARE:
            node = int(rng.random() * state.order.size)
            is_changed = resample_parents(view, work.dag, work.reversal, node, rng)
        else:
            is_changed = redraw_families(view, work.dag, work.reversal, work.families, rng)
        if is_changed:
            n_changed += 1
            if is_cold:
                remember_best(trace, work.dag)
    _end_block(view, state, work, FAMILIES, n_tries, n_changed, power, is_cold, trace, rng)


@inlined
def _end_block(view, state, work, move, n_tries, n_changed, power, is_cold, trace, rng):
    """Count a block of steps on DAGs, and go on from where it has led to, if that is accepted."""
    if is_cold:
        trace.attempts[move] += n_tries
        trace.accepted[move] += n_changed
    if n_changed > 0:
        dag_to_partition(view, work.dag, work.proposal)
        if is_cold or accepts(log_gain(view, state, work.proposal, power, 1.0), 0.0, rng):
            copy_partition(work.proposal, state)


@inlined
def _sample_listed_dag(view, state, work, rng):
    """Draw a DAG from the partition, and list its edges."""
    sample_dag(view, state, rng, work.dag)
    list_edges(work.dag, work.reversal)


@kernel
def redraw_parents(view, state, work, rng):
    """Draw a DAG, one node's parents anew, and return to partitions; returns whether it changed."""
    view, state, work = borrowed(view), borrowed(state), borrowed(work)
    _sample_listed_dag(view, state, work, rng)
    node = int(rng.random() * state.order.size)
    if not resample_parents(view, work.dag, work.reversal, node, rng):
        return False
    dag_to_partition(view, work.dag, state)
    return True


@kernel
def cross_over(view, replicas, power, upper, n_tries, work, rng):
    """Let two neighbouring replicas exchange parts of DAGs drawn from them; returns how often."""
    if n_tries == 0:
        return 0
    view, replicas, work = borrowed(view), borrowed(replicas), borrowed(work)
    scratch = work.crossover
    first, second = scratch.first, scratch.second
    ours, theirs = replica_state(replicas, upper), replica_state(replicas, upper + 1)
    sample_dag(view, ours, rng, first)
    sample_dag(view, theirs, rng, second)
    n_differing = find_differing(first, second, scratch.differing)
    n_accepted = 0
    for _ in range(n_tries if n_differing > 0 else 0):
        choose_part(first, second, n_differing, scratch, rng)
        exchange(view, first, second, n_differing, scratch)
        is_accepted = False
        our_layers = find_layers(first, scratch.ours.layer)
        their_layers = find_layers(second, scratch.theirs.layer) if our_layers >= 0 else -1
        if their_layers >= 0:
            log_ratio = _gain(view, first, ours, scratch.ours, power[upper])
            log_ratio += _gain(view, second, theirs, scratch.theirs, power[upper + 1])
            is_accepted = accepts(log_ratio, 0.0, rng)
        if is_accepted:
            layers_to_partition(scratch.ours.layer, our_layers, scratch.ours)
            layers_to_partition(scratch.theirs.layer, their_layers, scratch.theirs)
            copy_partition(scratch.ours, ours)
            copy_partition(scratch.theirs, theirs)
            n_accepted += 1
        else:
            exchange(view, first, second, n_differing, scratch)
    return n_accepted


@inlined
def _gain(view, dag, old, state, power):
    """Score ``state``, which has the layers of ``dag``; returns its gain over ``old``."""
    hold_outside(dag, state)
    score_changed(view, old, state)
    return log_gain(view, old, state, power, 1.0)

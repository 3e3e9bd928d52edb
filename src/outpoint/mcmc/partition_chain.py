"""Chains on labelled partitions: any mix of moves, blocks of edge reversals, tempered replicas.

A chain has one or more replicas. Replica 0 targets the posterior; the others, if any, target its
powers, move more freely, and hand their states down by swaps (:mod:`outpoint.mcmc.replicas`). Only
replica 0 is recorded, and only it takes steps on DAGs: a DAG is drawn from its partition, goes
through a block of REV moves or whatever else keeps the posterior over DAGs, and becomes the
partition it belongs to.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import borrowed, inlined, kernel
from outpoint.mcmc.dag import DagState, find_layers, make_dag
from outpoint.mcmc.metropolis import accepts
from outpoint.mcmc.moves import NODE_GIBBS, PARENTS, REV, STILL, propose
from outpoint.mcmc.moves.node_gibbs import Placement, make_placement, place_node
from outpoint.mcmc.moves.parents import resample_parents
from outpoint.mcmc.moves.rev import Reversal, make_reversal, reverse_edge
from outpoint.mcmc.partition import (
    PartitionState,
    copy_partition,
    layers_to_partition,
    make_partition,
    sample_dag,
    score_nodes,
    score_partition,
)
from outpoint.mcmc.replicas import (
    add_moments,
    draw_partition,
    note_before,
    replica_state,
    swap_replicas,
)
from outpoint.mcmc.trace import add_edges_given_partition, record_dag, remember_best


class Workspace(NamedTuple):
    """Scratch space of one chain."""

    proposal: PartitionState
    placement: Placement
    dag: DagState
    reversal: Reversal
    layer: NDArray[np.int64]
    before: NDArray[np.float64]


class Plan(NamedTuple):
    """What a chain does: fixed while it is being recorded.

    ``cumulative`` are the summed probabilities of the moves in the order of ``MOVES``; a step of
    replica 0 that picks REV takes ``block`` of them. Replicas are swapped every ``sweep`` steps.
    With ``fresh_sizes`` the last replica is drawn afresh before each swap, see
    :func:`~outpoint.mcmc.replicas.draw_partition`; its power must be 0. A draw is kept every
    ``thin`` steps, edge probabilities are added every ``edge_thin``.
    """

    cumulative: NDArray[np.float64]
    block: int
    sweep: int
    fresh_sizes: NDArray[np.float64]
    thin: int
    edge_thin: int


def make_workspace(n_nodes: int, n_candidates: int) -> Workspace:
    """Scratch space for one chain."""
    return Workspace(
        make_partition(n_nodes),
        make_placement(n_nodes),
        make_dag(n_nodes, n_candidates),
        make_reversal(n_nodes),
        np.zeros(n_nodes, dtype=np.int64),
        np.zeros(1 + n_nodes),
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
            note_before(state, work.before)
            for now in range(step + 1, sweep_end + 1):
                _take_step(view, state, work, plan, power, replica == 0, trace, rng)
                if replica == 0 and recording:
                    _record(view, state, work, plan, trace, now, rng)
            if last > 0:
                add_moments(state, work.before, ladder, replica)
        step = sweep_end
        if step % plan.sweep == 0:
            swap_replicas(replicas, ladder, (step // plan.sweep) % 2, rng)


@inlined
def _record(view, state, work, plan, trace, step, rng):
    """Add edge probabilities, keep a draw, at the steps planned for it."""
    if step % plan.edge_thin == 0:
        add_edges_given_partition(trace, view, state, work.placement.allowed)
    if step % plan.thin == 0:
        sample_dag(view, state, rng, work.dag)
        total = 0.0
        for node in range(state.log_tau.size):
            total += state.log_tau[node]
        record_dag(trace, work.dag, total)


@inlined
def _take_step(view, state, work, plan, power, is_cold, trace, rng):
    """One step of one replica; only replica 0 reverses edges and is counted."""
    pick = rng.random()
    move = 0
    while pick >= plan.cumulative[move]:
        move += 1
    if move in (REV, PARENTS):
        if is_cold:
            change_dag(view, state, work, move, plan.block, trace, rng)
        return
    done = False
    if move == NODE_GIBBS:
        node = int(rng.random() * state.order.size)
        done = place_node(view, state, node, power, work.placement, rng)
    elif move != STILL:
        done = _try_move(view, state, work.proposal, move, power, rng)
    if is_cold:
        trace.attempts[move] += 1
        trace.accepted[move] += done


@inlined
def _try_move(view, state, proposal, move, power, rng):
    """Propose a move, accept or reject it; without a neighbour the chain stays, and it counts."""
    log_ratio, begin, end = propose(move, state, proposal, rng)
    if begin < 0:
        return False
    for node in range(state.log_tau.size):
        proposal.log_tau[node] = state.log_tau[node]
    change = score_nodes(view, proposal, begin, end)
    if not accepts(power * change, log_ratio, rng):
        return False
    copy_partition(proposal, state)
    return True


@kernel
def change_dag(view, state, work, move, block, trace, rng):
    """Draw a DAG, do something to it that keeps the posterior, return to partitions.

    ``REV`` takes a block of edge reversals, ``PARENTS`` draws one node's parents anew.
    """
    view, state, work, trace = borrowed(view), borrowed(state), borrowed(work), borrowed(trace)
    sample_dag(view, state, rng, work.dag)
    n_accepted = 0
    if move == PARENTS:
        node = int(rng.random() * state.order.size)
        n_accepted += resample_parents(view, work.dag, node, work.reversal.below_first, rng)
        trace.attempts[PARENTS] += 1
    else:
        for _ in range(block):
            if reverse_edge(view, work.dag, work.reversal, rng):
                n_accepted += 1
                remember_best(trace, work.dag)
        trace.attempts[REV] += block
    trace.accepted[move] += n_accepted
    if n_accepted > 0:
        n_layers = find_layers(work.dag, work.layer)
        layers_to_partition(work.layer, n_layers, state)
        score_partition(view, state)

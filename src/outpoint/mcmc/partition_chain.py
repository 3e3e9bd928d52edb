"""Chains on labelled partitions: any mix of moves, blocks of edge reversals, tempered replicas.

A chain has one or more replicas. Replica 0 targets the posterior; the others, if any, target its
powers ``power[r] < 1``, move more freely, and hand their states down by swaps (MATH section 5).
Only replica 0 is recorded, and only it takes steps on DAGs: a DAG is drawn from its partition, goes
through a block of REV moves or whatever else keeps the posterior over DAGs, and becomes the
partition it belongs to.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import borrowed, inlined, kernel
from outpoint.mcmc.dag import DagState, find_layers, make_dag
from outpoint.mcmc.metropolis import accepts
from outpoint.mcmc.moves.node_gibbs import Placement, make_placement, place_node
from outpoint.mcmc.moves.node_move import propose_node_move
from outpoint.mcmc.moves.parents import resample_parents
from outpoint.mcmc.moves.rev import Reversal, make_reversal, reverse_edge
from outpoint.mcmc.moves.split_join import propose_split_join
from outpoint.mcmc.moves.swap import propose_swap_adjacent, propose_swap_any
from outpoint.mcmc.partition import (
    PartitionState,
    copy_partition,
    layers_to_partition,
    make_partition,
    sample_dag,
    score_nodes,
    score_partition,
)
from outpoint.mcmc.trace import MOVES, add_edges_given_partition, record_dag, remember_best

STILL, SPLIT_JOIN, NODE_MOVE, SWAP_ANY, SWAP_ADJACENT, NODE_GIBBS, REV, _, PARENTS = range(
    len(MOVES)
)


class Replicas(NamedTuple):
    """The states of all replicas, stacked; ``slot[r]`` is the row of replica r."""

    order: NDArray[np.int64]
    layer: NDArray[np.int64]
    start: NDArray[np.int64]
    n_layers: NDArray[np.int64]
    log_tau: NDArray[np.float64]
    slot: NDArray[np.int64]


class Workspace(NamedTuple):
    """Scratch space of one chain."""

    proposal: PartitionState
    placement: Placement
    dag: DagState
    reversal: Reversal
    layer: NDArray[np.int64]


class Plan(NamedTuple):
    """What a chain does: fixed while it is being recorded.

    ``cumulative`` are the summed probabilities of the moves in the order of ``MOVES``; a step of
    replica 0 that picks REV takes ``block`` of them. Replicas are swapped every ``sweep`` steps.
    A draw is kept every ``thin`` steps, edge probabilities are added every ``edge_thin``.
    """

    cumulative: NDArray[np.float64]
    block: int
    power: NDArray[np.float64]
    sweep: int
    thin: int
    edge_thin: int


def make_replicas(n_replicas: int, start: PartitionState) -> Replicas:
    """All replicas in the same state."""

    def stack(array):
        return np.repeat(array[None], n_replicas, axis=0)

    return Replicas(
        stack(start.order),
        stack(start.layer),
        stack(start.start),
        stack(start.n_layers),
        stack(start.log_tau),
        np.arange(n_replicas),
    )


def make_workspace(n_nodes: int, n_candidates: int) -> Workspace:
    """Scratch space for one chain."""
    return Workspace(
        make_partition(n_nodes),
        make_placement(n_nodes),
        make_dag(n_nodes, n_candidates),
        make_reversal(n_nodes),
        np.zeros(n_nodes, dtype=np.int64),
    )


@kernel
def run_partition_chain(view, replicas, work, plan, trace, first_step, n_steps, recording, rng):
    """Take steps ``first_step + 1 .. first_step + n_steps`` of replica 0, the others alongside."""
    view, replicas, work = borrowed(view), borrowed(replicas), borrowed(work)
    plan, trace = borrowed(plan), borrowed(trace)
    n_replicas = replicas.slot.size
    step = first_step
    while step < first_step + n_steps:
        # Sweeps end at multiples of ``sweep``, however the run is cut into calls.
        sweep_end = min((step // plan.sweep + 1) * plan.sweep, first_step + n_steps)
        for replica in range(n_replicas - 1, -1, -1):
            state = _replica(replicas, replica)
            for now in range(step + 1, sweep_end + 1):
                _take_step(view, state, work, plan, plan.power[replica], replica == 0, trace, rng)
                if replica == 0 and recording:
                    _record(view, state, work, plan, trace, now, rng)
        step = sweep_end
        if step % plan.sweep == 0:
            _swap_replicas(replicas, plan.power, (step // plan.sweep) % 2, trace, rng)


@inlined
def _replica(replicas, replica):
    row = replicas.slot[replica]
    return PartitionState(
        replicas.order[row],
        replicas.layer[row],
        replicas.start[row],
        replicas.n_layers[row],
        replicas.log_tau[row],
    )


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
        place_node(view, state, node, power, work.placement, rng)
        done = True
    elif move != STILL:
        done = _try_move(view, state, work.proposal, move, power, rng)
    if is_cold:
        trace.attempts[move] += 1
        trace.accepted[move] += done


@inlined
def _try_move(view, state, proposal, move, power, rng):
    """Propose a move, accept or reject it; without a neighbour the chain stays, and it counts."""
    if move == SPLIT_JOIN:
        log_ratio, begin, end = propose_split_join(state, proposal, rng)
    elif move == NODE_MOVE:
        log_ratio, begin, end = propose_node_move(state, proposal, rng)
    elif move == SWAP_ANY:
        log_ratio, begin, end = propose_swap_any(state, proposal, rng)
    else:
        log_ratio, begin, end = propose_swap_adjacent(state, proposal, rng)
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
        resample_parents(view, work.dag, node, work.reversal.below_first, rng)
        trace.attempts[PARENTS] += 1
        n_accepted = 1
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


@inlined
def _swap_replicas(replicas, power, parity, trace, rng):
    """Swap neighbouring replicas, even and odd pairs in turn."""
    slot = replicas.slot
    for upper in range(parity, slot.size - 1, 2):
        ours, theirs = 0.0, 0.0
        for node in range(replicas.log_tau.shape[1]):
            ours += replicas.log_tau[slot[upper], node]
            theirs += replicas.log_tau[slot[upper + 1], node]
        trace.swap_attempts[upper] += 1
        if accepts((power[upper] - power[upper + 1]) * (theirs - ours), 0.0, rng):
            slot[upper], slot[upper + 1] = slot[upper + 1], slot[upper]
            trace.swap_accepted[upper] += 1

"""What replicas do between sweeps: fresh draws, swaps, and exchanges of parts of their DAGs.

In an exchange the parent sets of some nodes change places between a DAG of one replica and a DAG of
another. All local scores are still there, so the product of the two posterior probabilities stays
what it was, and only cycles and the powers of the replicas decide. A swap of whole replicas
succeeds where one is better in all its parts; in a large sparse network parts far from each other
go wrong independently, and this way each replica can take over what another has found. A DAG drawn
from a replica at power b has the law P(G) w_b / w: its partition, with what is held, weighs w in
the posterior and w_b at the power.

The nodes are those within some distance of a node that has other parents in the two DAGs, over
nodes of the same kind, along the edges of both. After the exchange the same nodes differ and the
same edges are there, so the way back is chosen with the same probability.

Formulas: docs/math.md#exchange-of-parts.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import borrowed, inlined, kernel
from outpoint.mcmc.dag import DagState, find_layers, make_dag, set_parents
from outpoint.mcmc.metropolis import accepts
from outpoint.mcmc.partition import (
    PartitionState,
    copy_partition,
    hold_outside,
    layers_to_partition,
    make_partition,
    sample_dag,
    score_changed,
    score_partition,
)
from outpoint.mcmc.replicas import (
    add_moments,
    draw_partition,
    log_gain,
    replica_state,
    swap_replicas,
)

DISTANCES = 6
"""Distances are drawn from 0 to one less; the last one means as far as it goes."""


class Crossover(NamedTuple):
    """Scratch space: two DAGs, the partitions they get, and the nodes that change places.

    ``step[v]`` is 0 for a differing node that stays, otherwise one more than its distance.
    """

    first: DagState
    second: DagState
    ours: PartitionState
    theirs: PartitionState
    differing: NDArray[np.int64]
    step: NDArray[np.int64]


def make_crossover(n_nodes: int, max_parents: int) -> Crossover:
    """Scratch space for DAGs with this number of nodes and parents."""
    return Crossover(
        make_dag(n_nodes, max_parents),
        make_dag(n_nodes, max_parents),
        make_partition(n_nodes),
        make_partition(n_nodes),
        *(np.zeros(n_nodes, dtype=np.int64) for _ in range(2)),
    )


@inlined
def find_differing(first, second, differing):
    """List the nodes whose parents differ; return their number."""
    count = 0
    for node in range(first.code.size):
        if first.code[node] != second.code[node]:
            differing[count] = node
            count += 1
    return count


@inlined
def choose_part(first, second, n_differing, scratch, rng):
    """Draw a differing node and a distance, and mark the differing nodes within it."""
    step = scratch.step
    for i in range(n_differing):
        step[scratch.differing[i]] = 0
    step[scratch.differing[int(rng.random() * n_differing)]] = 1
    distance = int(rng.random() * DISTANCES)
    if distance == DISTANCES - 1:
        distance = n_differing
    for now in range(1, distance + 1):
        if not _go_further(first, second, n_differing, now, scratch):
            break


@inlined
def _go_further(first, second, n_differing, now, scratch):
    """Mark differing nodes one edge away from those of step ``now``; return whether any are."""
    step = scratch.step
    goes_on = False
    for i in range(n_differing):
        node = scratch.differing[i]
        own = first.n_parents[node]
        for k in range(own + second.n_parents[node]):
            u = first.parents[node, k] if k < own else second.parents[node, k - own]
            if first.code[u] == second.code[u]:
                continue
            if step[node] == 0 and step[u] == now:
                step[node] = now + 1
                goes_on = True
            elif step[u] == 0 and step[node] == now:
                step[u] = now + 1
                goes_on = True
    return goes_on


@inlined
def exchange(view, first, second, n_differing, scratch):
    """Let the marked nodes change parents between the two DAGs."""
    for i in range(n_differing):
        node = scratch.differing[i]
        if scratch.step[node] > 0:
            ours = first.code[node]
            set_parents(view, first, node, second.code[node])
            set_parents(view, second, node, ours)


@inlined
def cross_over(view, replicas, power, upper, n_tries, scratch, rng):
    """Let two neighbouring replicas exchange parts of DAGs drawn from them; returns how often."""
    if n_tries == 0:
        return 0
    first, second = scratch.first, scratch.second
    ours = borrowed(replica_state(replicas, upper))
    theirs = borrowed(replica_state(replicas, upper + 1))
    sample_dag(view, ours, rng, first)
    sample_dag(view, theirs, rng, second)
    n_differing = find_differing(first, second, scratch.differing)
    n_accepted = 0
    for _ in range(n_tries if n_differing > 0 else 0):
        choose_part(first, second, n_differing, scratch, rng)
        exchange(view, first, second, n_differing, scratch)
        is_accepted = False
        our_layers = find_layers(first, ours.order, scratch.ours.layer)
        their_layers = -1
        if our_layers >= 0:
            their_layers = find_layers(second, theirs.order, scratch.theirs.layer)
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


NOTHING = np.int64(0), np.int64(0)
"""What kernels return that are called by their address and have no result."""


@kernel
def begin_sweep(view, replicas, ladder, scratch, plan, step, rng):
    """Draw the last replica afresh, if that is planned."""
    view, replicas, ladder, plan = (
        borrowed(view),
        borrowed(replicas),
        borrowed(ladder),
        borrowed(plan),
    )
    if plan.fresh_sizes.size > 0:
        state = borrowed(replica_state(replicas, replicas.slot.size - 1))
        draw_partition(state, plan.fresh_sizes, rng)
        score_partition(view, state)
    return NOTHING


@kernel
def end_sweep(view, replicas, ladder, scratch, plan, step, rng):
    """Add up the log weights of replicas that took steps; swap them where a sweep is complete."""
    view, replicas, ladder = borrowed(view), borrowed(replicas), borrowed(ladder)
    plan, scratch = borrowed(plan), borrowed(scratch)
    last = replicas.slot.size - 1
    for replica in range(last + (plan.fresh_sizes.size == 0)):
        state = borrowed(replica_state(replicas, replica))
        add_moments(view, state, ladder, replica)
    if step % plan.sweep == 0:
        first = step // plan.sweep * plan.rounds
        for now in range(first, first + plan.rounds):
            parity = now % 2
            swap_replicas(view, replicas, ladder, parity, rng)
            # The pairs that have not just been swapped.
            for upper in range(1 - parity, last, 2):
                cross_over(view, replicas, ladder.power, upper, plan.exchanges, scratch, rng)
    return NOTHING

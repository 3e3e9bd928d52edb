"""What replicas do between sweeps: fresh draws, swaps, and exchanges of parts."""

import numpy as np

from outpoint.kernels import borrowed, kernel
from outpoint.mcmc.crossover import cross_over
from outpoint.mcmc.partition import score_partition
from outpoint.mcmc.replicas import add_moments, draw_partition, replica_state, swap_replicas

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

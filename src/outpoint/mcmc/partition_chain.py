"""Chains on labelled partitions: any mix of moves, blocks of edge reversals, tempered replicas.

A chain has one or more replicas. Replica 0 targets the posterior; the others, if any, target its
powers, move more freely, and hand their states down by swaps (:mod:`outpoint.mcmc.replicas`). Only
replica 0 is recorded. Steps on DAGs draw one from the partition, take it through a block of REV
moves or whatever else keeps the posterior over DAGs, and go on from the partition it belongs to.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.borrowing import call_at, lent_at
from outpoint.kernels import borrowed, inlined, kernel
from outpoint.mcmc.moves import STILL
from outpoint.mcmc.partition import log_posterior_weight, sample_dag
from outpoint.mcmc.replicas import replica_state
from outpoint.mcmc.steps import BEGIN, END
from outpoint.mcmc.trace import add_edges_given_partition, record_dag


class Plan(NamedTuple):
    """What a chain does: fixed while it is being recorded.

    ``cumulative`` are the summed probabilities of the moves in the order of ``MOVES``; a step of
    replica 0 that picks REV takes ``block`` of them, one that picks FAMILIES ``families``. Their
    walks begin at nodes by the summed probabilities ``focus``.
    Replicas other than 0 make a share ``hot_redraws`` of their redraws, the others are placements
    after a try to hold or to release a single set. Replicas are swapped every ``sweep`` steps.
    With ``fresh_sizes`` the last replica is drawn afresh before each swap, see
    :func:`~outpoint.mcmc.replicas.draw_partition`; its power must be 0. Neighbours that are not
    swapped try ``exchanges`` of parts of their DAGs; there are ``rounds`` of both after a sweep. A
    draw is kept every ``thin`` steps, edge probabilities are added every ``edge_thin``.
    """

    cumulative: NDArray[np.float64]
    block: int
    families: int
    focus: NDArray[np.float64]
    hot_redraws: float
    sweep: int
    fresh_sizes: NDArray[np.float64]
    exchanges: int
    rounds: int
    thin: int
    edge_thin: int


@kernel
def run_partition_chain(
    view, replicas, ladder, steps, drawn, plan, trace, first_step, n_steps, recording, rng
):
    """Take steps ``first_step + 1 .. first_step + n_steps`` of replica 0, the others alongside.

    ``drawn`` is room for a DAG.
    """
    view, replicas, ladder = borrowed(view), borrowed(replicas), borrowed(ladder)
    steps, drawn, plan, trace = borrowed(steps), borrowed(drawn), borrowed(plan), borrowed(trace)
    last = replicas.slot.size - 1
    is_fresh = last > 0 and plan.fresh_sizes.size > 0
    step = first_step
    while step < first_step + n_steps:
        # Sweeps end at multiples of ``sweep``, however the run is cut into calls.
        sweep_end = min((step // plan.sweep + 1) * plan.sweep, first_step + n_steps)
        if last > 0:
            _between_sweeps(view, replicas, ladder, steps, plan, BEGIN, step, rng)
        for replica in range(last - is_fresh, -1, -1):
            state = borrowed(replica_state(replicas, replica))
            power = ladder.power[replica]
            for now in range(step + 1, sweep_end + 1):
                _take_step(view, state, steps, plan, power, replica == 0, trace, rng)
                if replica == 0 and recording:
                    _record(view, state, drawn, plan, trace, now, rng)
        step = sweep_end
        if last > 0:
            _between_sweeps(view, replicas, ladder, steps, plan, END, step, rng)


@inlined
def _between_sweeps(view, replicas, ladder, steps, plan, which, step, rng):
    scratch = lent_at(steps.scratch[which])
    call_at(steps.kernel[which], (view, replicas, ladder, scratch, plan, step, rng))


@inlined
def _take_step(view, state, steps, plan, power, is_cold, trace, rng):
    """One step of one replica; only those of replica 0 are counted."""
    pick = rng.random()
    move = 0
    while pick >= plan.cumulative[move]:
        move += 1
    n_tries, n_done = 1, 0
    if move != STILL:
        scratch = lent_at(steps.scratch[move])
        n_tries, n_done = call_at(
            steps.kernel[move],
            (move, view, state, scratch, plan, power, is_cold, trace, rng),
        )
    if is_cold:
        trace.attempts[move] += n_tries
        trace.accepted[move] += n_done


@inlined
def _record(view, state, drawn, plan, trace, step, rng):
    """Add edge probabilities, keep a draw, at the steps planned for it."""
    if step % plan.edge_thin == 0:
        add_edges_given_partition(trace, view, state)
    if step % plan.thin == 0:
        sample_dag(view, state, rng, drawn)
        record_dag(trace, drawn, log_posterior_weight(state))

"""Tempered replicas of a partition chain: their states, swaps, round trips and fresh draws.

Replica 0 targets the posterior, the others its powers (see :mod:`outpoint.mcmc.ladder`). States
stay in their rows and replicas move between rows, so a row is a walker on the ladder. A walker that
goes from replica 0 to the last one and back has made a round trip.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import borrowed, inlined
from outpoint.mcmc.metropolis import accepts
from outpoint.mcmc.partition import PartitionState
from outpoint.mcmc.sums import INSIDE
from outpoint.tables.outside import outside_penalty

NOWHERE, GOING_UP, COMING_DOWN = 0, 1, 2

HOT_ROWS = 64
"""Most batches of the log weight of the last replica."""


class Replicas(NamedTuple):
    """The states of all replicas, stacked in rows; ``slot[r]`` is the row of replica r.

    ``trip[row]`` says how far the walker is on a round trip: ``NOWHERE`` before it has been replica
    0, ``GOING_UP`` from there, ``COMING_DOWN`` from the last replica.
    """

    states: PartitionState
    slot: NDArray[np.int64]
    trip: NDArray[np.int64]


class Ladder(NamedTuple):
    """The powers, and what was counted on them.

    For pair r, the replicas r and r + 1: ``attempts`` to swap it, ``accepted`` ones, and the summed
    probabilities of ``rejection``. ``round_trips`` has one entry. ``moments`` are the number of
    sweeps of each replica that takes steps, and the sums of its log weight and of the square of it
    after them; log weights lie in the thousands, so they are taken relative to the first one,
    ``origin``. ``hot_sums`` adds those of the last replica up in batches of sweeps, which become
    twice as long whenever all rows are taken.
    """

    power: NDArray[np.float64]
    attempts: NDArray[np.int64]
    accepted: NDArray[np.int64]
    rejection: NDArray[np.float64]
    round_trips: NDArray[np.int64]
    moments: NDArray[np.float64]
    origin: NDArray[np.float64]
    hot_sums: NDArray[np.float64]


def make_replicas(n_replicas: int, start: PartitionState) -> Replicas:
    """All replicas in the same state."""
    rows = np.zeros(n_replicas, dtype=np.int64)
    return _replicas_of(PartitionState._make([array[None] for array in start]), rows)


def choose_replicas(replicas: Replicas, chosen: NDArray[np.int64]) -> Replicas:
    """Replicas in the states of those with the numbers ``chosen``; walkers begin anew."""
    return _replicas_of(replicas.states, replicas.slot[chosen])


def set_state(replicas: Replicas, replica: int, state: PartitionState) -> None:
    """Put one replica into this state."""
    for array, own in zip(replicas.states, state, strict=True):
        array[replicas.slot[replica]] = own


def _replicas_of(states: PartitionState, rows: NDArray[np.int64]) -> Replicas:
    chosen = PartitionState._make([np.ascontiguousarray(array[rows]) for array in states])
    return Replicas(chosen, np.arange(len(rows)), np.full(len(rows), NOWHERE))


def make_ladder(power: NDArray[np.float64]) -> Ladder:
    """A ladder on which nothing has happened yet."""
    n_pairs = len(power) - 1
    return Ladder(
        np.array(power, dtype=np.float64),
        np.zeros(n_pairs, dtype=np.int64),
        np.zeros(n_pairs, dtype=np.int64),
        np.zeros(n_pairs),
        np.zeros(1, dtype=np.int64),
        np.zeros((len(power), 3)),
        np.zeros(len(power)),
        np.zeros(HOT_ROWS),
    )


@inlined
def replica_state(replicas, replica):
    """The partition of a replica."""
    states, row = replicas.states, replicas.slot[replica]
    return PartitionState(
        states.order[row],
        states.layer[row],
        states.start[row],
        states.n_layers[row],
        states.log_tau[row],
        states.held[row],
    )


@inlined
def log_weight(view, state, power):
    """Log weight of a state to a power; held sets lose what they lose there."""
    total = 0.0
    for node in range(state.log_tau.size):
        total += power * state.log_tau[node]
        if state.held[node] != INSIDE:
            total -= outside_penalty(view.penalty, node, power)
    return total


@inlined
def log_gain(view, old, new, power, before):
    """How much more the log weight grows from ``old`` to ``new`` at one power than at another."""
    grown = log_weight(view, new, power) - log_weight(view, old, power)
    return grown - (log_weight(view, new, before) - log_weight(view, old, before))


@inlined
def swap_replicas(view, replicas, ladder, parity, rng):
    """Swap neighbouring replicas, even and odd pairs in turn, and follow the walkers."""
    slot, power = replicas.slot, ladder.power
    last = slot.size - 1
    for upper in range(parity, last, 2):
        ours = borrowed(replica_state(replicas, upper))
        theirs = borrowed(replica_state(replicas, upper + 1))
        log_ratio = log_gain(view, ours, theirs, power[upper], power[upper + 1])
        ladder.attempts[upper] += 1
        ladder.rejection[upper] += 1.0 - np.exp(min(0.0, log_ratio))
        if accepts(log_ratio, 0.0, rng):
            slot[upper], slot[upper + 1] = slot[upper + 1], slot[upper]
            ladder.accepted[upper] += 1
    if last > 0:
        if replicas.trip[slot[last]] == GOING_UP:
            replicas.trip[slot[last]] = COMING_DOWN
        if replicas.trip[slot[0]] == COMING_DOWN:
            ladder.round_trips[0] += 1
        replicas.trip[slot[0]] = GOING_UP


@inlined
def add_moments(view, state, ladder, replica):
    """Add the log weight of a replica after a sweep."""
    moments = ladder.moments[replica]
    log_now = log_weight(view, state, 1.0)
    if moments[0] == 0.0:
        ladder.origin[replica] = log_now
    gap = log_now - ladder.origin[replica]
    if replica == ladder.power.size - 1:
        _add_to_batch(ladder.hot_sums, int(moments[0]), gap)
    moments[0] += 1.0
    moments[1] += gap
    moments[2] += gap * gap


@inlined
def _add_to_batch(sums, count, value):
    """Add the value number ``count`` to its batch; full rows are merged in pairs before."""
    size = 1
    while count >= sums.size * size:
        size *= 2
    if size > 1 and 2 * count == sums.size * size:
        half = sums.size // 2
        for row in range(half):
            sums[row] = sums[2 * row] + sums[2 * row + 1]
        sums[half:] = 0.0
    sums[count // size] += value


def hot_batches(ladder: Ladder) -> NDArray[np.float64]:
    """Mean log weights of the last replica in the complete batches, if it takes steps."""
    count, size = int(ladder.moments[-1, 0]), 1
    while count > len(ladder.hot_sums) * size:
        size *= 2
    batches: NDArray[np.float64] = ladder.origin[-1] + ladder.hot_sums[: count // size] / size
    return batches


@inlined
def draw_partition(state, sizes, rng):
    """A partition drawn uniformly from all labelled partitions, not scored.

    ``sizes[m, k]`` is the probability that the first layer of m nodes has at most k of them.
    """
    n = state.order.size
    for place in range(n):
        state.order[place] = place
    for place in range(n - 1):
        other = place + int(rng.random() * (n - place))
        state.order[place], state.order[other] = state.order[other], state.order[place]
    place = 0
    level = 0
    while place < n:
        pick = rng.random()
        size = 1
        while size < n - place and pick >= sizes[n - place, size]:
            size += 1
        state.start[level] = place
        for i in range(place, place + size):
            state.layer[state.order[i]] = level
        place += size
        level += 1
    state.start[level] = n
    state.n_layers[0] = level

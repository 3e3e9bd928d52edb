"""How many tempered replicas, and at which powers: measured in the warm-up, then frozen.

Replicas target the posterior to the powers 1 = b_0 > ... > b_{M-1}. The last power is 0: all
admissible partitions weigh the same. Where every partition is admissible the replica there is drawn
afresh before every swap, so that each trip down the ladder is an independent start. Elsewhere it
moves like the others, and the ladder ends at the first power at which moves are measured to be
free: a sweep must make a partition forget what it was, its score and the depth of every node, at
least half as fast as if the nodes it places were put anywhere at random.

With neighbours swapped in turn, even and odd pairs, the sum of their mean rejection probabilities
is a property of the path from the posterior to the hot end, whatever the powers between, once
there are enough: its barrier L. Equal rejection on all pairs is the best spacing, and about 2 L + 1
replicas are the best number (Syed, Bouchard-Côté, Deligiannidis & Doucet, JRSS B 2022). An easy
posterior has a low barrier and gets a short ladder.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FIRST_LADDER = (*np.geomspace(1.0, 0.01, 7).tolist(), 0.0)
"""Where tuning begins: if this is too short, the measured barrier at most doubles it each time."""

MOST_REPLICAS = 200
LEAST_REJECTION = 1e-3
"""Keeps powers apart between which every swap was accepted."""

LEAST_SWEEPS = 64
"""Sweeps that memory must have been measured on to decide about the depth."""

FREE_SHARE = 0.5
"""How fast a free replica forgets, in terms of one whose placements are all fresh."""


def tuning_steps(n_warmup: int, sweep: int, first: int = 16) -> list[int]:
    """Ends of the tuning rounds: each twice as long as the one before, the last one longest."""
    steps, end, length = [], 0, first * sweep
    while 2 * (end + length) <= n_warmup:
        end += length
        steps.append(end)
        length *= 2
    return [*steps, n_warmup] if n_warmup else []


def measure_barrier(rejection: Floats, attempts: NDArray[np.int64]) -> Floats:
    """Mean rejection probability of each pair; pairs that were never tried count as one half."""
    return np.where(attempts > 0, rejection / np.maximum(attempts, 1), 0.5)


def space_powers(power: Floats, rejection: Floats) -> Floats:
    """A ladder with the same ends, equal rejection on all pairs, and as many replicas as it takes.

    ``rejection`` are the mean rejection probabilities of the pairs of the present ladder; between
    two of its powers the barrier is taken to grow evenly.
    """
    barrier = np.concatenate([[0.0], np.cumsum(np.maximum(rejection, LEAST_REJECTION))])
    n_replicas = int(np.clip(np.ceil(2 * barrier[-1]) + 1, 2, MOST_REPLICAS))
    spaced = np.interp(np.linspace(0.0, barrier[-1], n_replicas), barrier, power)
    spaced[0], spaced[-1] = power[0], power[-1]
    return spaced


def fit_depth(
    power: Floats, rejection: Floats, memory: Floats, n_nodes: int, sweep: int
) -> tuple[Floats, Floats]:
    """The ladder cut where replicas begin to move freely, or longer if none does."""
    rung = max(1, free_rung(memory, n_nodes, sweep))
    if power[-1] > 0 and memory[-1] > most_memory(n_nodes, sweep):
        return np.append(power, [power[-1] / 2, 0.0]), np.append(rejection, [0.5, 0.5])
    return power[: rung + 1], rejection[:rung]


def nearest_rungs(new: Floats, old: Floats) -> NDArray[np.int64]:
    """For each new power, the replica of the old ladder whose state it takes over."""
    places = np.interp(-new, -old, np.arange(len(old)))
    return np.round(places).astype(np.int64)


def memory_of(moments: Floats) -> Floats:
    """The largest correlation over one sweep, of each replica, from sums over sweeps.

    ``moments[r, s]`` are, for statistic s of replica r, the number of sweeps and the sums of
    x, y, x², y², xy, with x before and y after the sweep.
    """
    count = np.maximum(moments[..., 0], 1.0)
    x, y, xx, yy, xy = (moments[..., i] / count for i in range(1, 6))
    spread = np.sqrt(np.maximum(xx - x * x, 0.0) * np.maximum(yy - y * y, 0.0))
    # What never varies, such as the depth of a node that must come first, has nothing to forget.
    varies = spread > 1e-12 * (1.0 + np.abs(xy))
    correlation = np.where(varies, (xy - x * y) / np.where(varies, spread, 1.0), 0.0)
    return correlation.max(axis=-1)


def most_memory(n_nodes: int, sweep: int) -> float:
    """The largest memory of a replica that moves freely."""
    return float(np.exp(-FREE_SHARE * sweep / n_nodes))


def free_rung(memory: Floats, n_nodes: int, sweep: int) -> int:
    """The first replica from which on all move freely; the last one if there is none."""
    blocked = np.flatnonzero(memory > most_memory(n_nodes, sweep))
    return int(min(blocked[-1] + 1, len(memory) - 1)) if len(blocked) else 0

"""How many tempered replicas, and at which powers: measured in the warm-up, then frozen.

Replicas target the posterior to the powers 1 = b_0 > ... > b_{M-1}. At power 0 all admissible
partitions weigh the same. Where every partition is admissible the last replica is there, and is
drawn afresh before every swap, so that each trip down the ladder is an independent start. Beyond
the sizes where that can be had, the ladder ends where pilot chains have seen a barrier that can be
crossed often, and replicas begin at DAGs that were found independently.

With neighbours swapped in turn, even and odd pairs, the sum of their mean rejection probabilities
is a property of the path from the posterior to the hot end, whatever the powers between, once
there are enough: its barrier L. Equal rejection on all pairs is the best spacing, and about 2 L + 1
replicas are the best number (Syed, Bouchard-Côté, Deligiannidis & Doucet, JRSS B 2022). An easy
posterior has a low barrier and gets a short ladder.

Formulas: docs/math.md#tempering.
"""

from collections.abc import Iterator
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Floats

FIRST_REPLICAS = 8
"""Where tuning begins: if these are too few, the measured barrier doubles them at most."""

FIRST_SWEEPS = 16
"""Sweeps of the first tuning round."""

MOST_REPLICAS = 200
LEAST_REJECTION = 1e-3
"""Keeps powers apart between which every swap was accepted."""

MOST_BARRIER = 12.0
"""Height of a ladder whose end is chosen by pilots: more would take too long to cross. With half as
much, ladders of sparse networks of 40 variables end where the hottest replica drifts for hundreds
of thousands of steps."""


def first_powers(hottest: float) -> Floats:
    """Equal factors down to ``hottest``, or to 0.01 and then 0."""
    if hottest > 0.0:
        return np.geomspace(1.0, hottest, FIRST_REPLICAS)
    return np.append(np.geomspace(1.0, 0.01, FIRST_REPLICAS - 1), 0.0)


def tuning_rounds(sweep: int) -> Iterator[int]:
    """Ends of the tuning rounds of an endless warm-up: each is twice as long as the one before."""
    length = end = FIRST_SWEEPS * sweep
    while True:
        yield end
        length *= 2
        end += length


def tuning_steps(n_warmup: int, sweep: int) -> list[int]:
    """Ends of the tuning rounds of a warm-up, of which the last one is the longest."""
    ends = takewhile(lambda end: 2 * end <= n_warmup, tuning_rounds(sweep))
    return [*ends, n_warmup] if n_warmup else []


def early_ends(n_warmup: int, sweep: int) -> list[int]:
    """Steps where a warm-up can end early and be as if it had been planned to end there.

    They are the ends of rounds, or a sweep earlier: pairs of replicas are swapped in turn, counted
    from the end of the warm-up, and have to be the same ones.
    """
    ends = (end - (n_warmup - end) % (2 * sweep) for end in tuning_rounds(sweep))
    return list(takewhile(lambda end: end < n_warmup, ends))


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


def nearest_rungs(new: Floats, old: Floats) -> NDArray[np.int64]:
    """For each new power, the replica of the old ladder whose state it takes over."""
    places = np.interp(-new, -old, np.arange(len(old)))
    return np.round(places).astype(np.int64)


def mean_log_weight(moments: Floats, origin: float) -> tuple[float, float]:
    """Mean and standard deviation of the log weight of one replica, from its ``moments``."""
    count, total, squares = moments
    mean = total / count
    return float(origin + mean), float(np.sqrt(max(0.0, squares / count - mean * mean)))


def affordable_rung(rejection: Floats) -> int:
    """The last replica to which the barrier is at most ``MOST_BARRIER``."""
    return int(np.searchsorted(np.cumsum(rejection), MOST_BARRIER, side="right"))

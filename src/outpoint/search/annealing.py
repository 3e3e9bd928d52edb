"""Annealing: how to draw a place by its score, and at which powers.

A search takes place at rising powers of the score: low powers let it cross valleys, high ones make
it climb. Where the useful powers lie depends on the score and the data, so they are measured: a
pilot run notes at each power the fraction of steps that change the score. At power 0 this is as
high as it gets; a schedule begins where half of that is left and ends where a tenth is. In between
powers rise by equal factors, and a greedy climb follows. Last comes a drift: steps at a power so
high that only places which score the same, or better, are drawn. A DAG has many orders, and
equivalent DAGs have others; from some of them a better DAG is one step away. All runs share the
schedule, so they are independent repetitions of one experiment, as the bound on missed DAGs needs.

Formulas: docs/math.md#search.
"""

from collections.abc import Callable

import numpy as np

from outpoint.arrays import Floats
from outpoint.kernels import inlined, kernel

N_POWERS = 50
"""Powers in a schedule."""

BEGIN, END = 0.5, 0.1
"""Share of score-changing steps, relative to power 0, where a schedule begins and ends."""

HOTTEST = 1e-20
"""Stands for power 0: all admissible places are equally likely, inadmissible ones are not."""

IMPOSSIBLE = -1e30
"""Score of a node without any admissible parent set: finite, so that a search can climb out."""

DRIFT_SHARE = 0.1
"""Steps of a drift, as a share of the steps before it."""

DRIFT_FACTOR = 1e4
"""How much higher than at the end of the schedule the power of a drift is."""

PILOT_FACTOR = 1.5
MAX_PILOT_POWERS = 60

STEPS_FACTOR = 8.0
MAX_STEPS = 100_000

Anneal = Callable[[Floats, int], tuple[Floats, Floats]]


def default_steps(n_nodes: int) -> int:
    """Steps of a run: of order n^2 log n, as the paper argues, up to a limit."""
    return int(min(MAX_STEPS, max(1000, STEPS_FACTOR * n_nodes**2 * np.log(max(n_nodes, 2)))))


def find_schedule(anneal: Anneal, steps_per_power: int) -> Floats:
    """The powers of a run, from a pilot.

    ``anneal(powers, steps_per_power)`` goes on with the pilot run and returns, for each power, the
    fraction of steps that changed the score and the standard deviation of the score.
    """
    changed, spread = anneal(np.array([HOTTEST]), steps_per_power)
    most = changed[0]
    if most == 0.0 or not 0.0 < spread[0] < 1e20:
        return np.ones(N_POWERS)
    power = 0.1 / spread[0]
    first = last = power
    for _ in range(MAX_PILOT_POWERS):
        changed, _ = anneal(np.array([power]), steps_per_power)
        if changed[0] >= BEGIN * most:
            first = power
        last = power
        if changed[0] <= END * most:
            break
        power *= PILOT_FACTOR
    return np.geomspace(first, last, N_POWERS)


@kernel
def best_index(log_weight, size):
    """The first of the best among ``log_weight[:size]``."""
    best = 0
    for i in range(1, size):
        if log_weight[i] > log_weight[best]:
            best = i
    return best


@kernel
def draw_index(log_weight, size, power, rng):
    """An index below ``size`` with probability proportional to exp(power * log_weight)."""
    top = log_weight[best_index(log_weight, size)]
    total = 0.0
    for i in range(size):
        gap = power * (log_weight[i] - top)
        if gap > -40.0:
            total += np.exp(gap)
    left = rng.random() * total
    chosen = 0
    for i in range(size):
        gap = power * (log_weight[i] - top)
        if gap > -40.0:
            chosen = i
            left -= np.exp(gap)
            if left < 0.0:
                break
    return chosen


@inlined
def is_better(new, old):
    """Whether a score is truly better: sums of the same numbers differ by rounding."""
    return old == -np.inf or new > old + 1e-12 * abs(old)


@inlined
def has_changed(before, after):
    """Whether two scores differ by more than rounding."""
    return is_better(after, before) or is_better(before, after)


@inlined
def deviation(total, squares, size):
    """The standard deviation of ``size`` numbers, from their sum and the sum of their squares."""
    return np.sqrt(max(0.0, squares / size - (total / size) ** 2))


@inlined
def finite(score):
    """``score`` with ``IMPOSSIBLE`` in place of minus infinity."""
    return max(score, IMPOSSIBLE)

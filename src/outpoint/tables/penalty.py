"""What outside sets lose in tempered replicas, so that their number does not win over their scores.

To the power b a node's inside sets weigh (sum of exp s)^b, all together. An outside set is held by
itself and would weigh exp(b s): over a long list that adds up to much more than the sum to the
power b, and hot replicas would fill up with such sets. Each loses

    penalty(b) = log(sum of exp(b s)) - b log(sum of exp s) + (1 - b) ``FADING``,

over the outside sets of the node, so that all of them together weigh as if they were one sum, and
fade out where b is low. At b = 1 nothing is lost, at b = 0 log(number of sets) + ``FADING``. Where
a few sets are far better than the others little is lost between: modes of the posterior that hold
several of them have a way through the hot replicas.
"""

import numpy as np

from outpoint.arrays import Floats
from outpoint.kernels import inlined
from outpoint.tables.outside import OutsideSets

FADING = 2.0
"""At power 0 the odds of holding an outside set are e to the minus this."""

N_POWERS = 17
"""Powers at which penalties are computed; between them they are interpolated."""


def penalty_curves(outside: OutsideSets) -> Floats:
    """``[v, i]``: the penalty of outside sets of v at the power i / (``N_POWERS`` - 1)."""
    powers = np.linspace(0.0, 1.0, N_POWERS)
    n_nodes = len(outside.start) - 1
    curves = np.zeros((n_nodes, N_POWERS))
    for node in range(n_nodes):
        score = outside.score[outside.start[node] : outside.start[node + 1]]
        if score.size:
            below = score - score.max()
            log_sums = np.array([np.log(np.exp(power * below).sum()) for power in powers])
            curves[node] = log_sums - powers * log_sums[-1] + (1.0 - powers) * FADING
    return curves


@inlined
def outside_penalty(curves, node, power):
    """The penalty of outside sets of ``node`` at this power."""
    last = curves.shape[1] - 1
    place = min(int(power * last), last - 1)
    part = power * last - place
    return (1.0 - part) * curves[node, place] + part * curves[node, place + 1]

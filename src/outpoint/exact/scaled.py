"""Numbers with an exponent of their own, for sums whose range exceeds that of doubles.

The weight of all DAGs on a set of nodes differs between sets by thousands of log units, but the
sums below never subtract what is not of comparable size: precision is not the problem, range is.
So every weight is a double of order one times an integer power of two.
"""

import numpy as np

from outpoint.kernels import kernel

LOG_2 = np.log(2.0)
MAX_EXPONENT = 300
MIN_EXPONENT = -700

POWERS_OF_TWO = 2.0 ** np.arange(MIN_EXPONENT, MAX_EXPONENT + 1)
POWERS_OF_TWO[0] = 0.0
POWERS_OF_TWO.flags.writeable = False


@kernel
def power_of_two(exponent):
    """2**exponent, 0 if that is negligible; above MAX_EXPONENT no live term can lie."""
    return POWERS_OF_TWO[min(max(exponent, MIN_EXPONENT), MAX_EXPONENT) - MIN_EXPONENT]


@kernel
def split_log(log_value):
    """Mantissa near one and binary exponent of exp(log_value); (0, 0) for -inf."""
    if log_value == -np.inf:
        return 0.0, 0
    exponent = int(np.rint(log_value / LOG_2))
    return np.exp(log_value - exponent * LOG_2), exponent

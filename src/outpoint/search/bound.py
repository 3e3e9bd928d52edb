"""A bound on the probability that a better DAG was missed.

The argument is that of the paper's appendix B. A search that was run Z times met its best DAG in z
of them, so it does so with probability about z / Z. A better DAG would attract it more, but the one
found may belong to W orders and a better one to a single order: its probability per run is at least
about z / (W Z), and that of missing it in all runs at most about (1 - z / (W Z))^Z. In partition
space each DAG counts once, W = 1.
"""

from math import exp, log1p

from outpoint.errors import OptionError, TooLargeError
from outpoint.graphs import Dag
from outpoint.graphs.order import bound_linear_extensions, count_linear_extensions

MIN_SETS, SETS_PER_RUN = 5_000, 100
"""Most sets held at once while orders are counted.

A DAG has at least as many orders as there are sets of one size, so where the count is given up the
bound on missed DAGs is above 0.99: the exact number would not help.
"""


def bound_miss_probability(hits: int, runs: int, n_representations: int = 1) -> float:
    """(1 - z / (W Z))^Z for z hits in Z runs, W being the number of representations.

    >>> bound_miss_probability(5, 10)
    0.0009765625
    """
    if not 1 <= hits <= runs or n_representations < 1:
        raise OptionError(
            f"the bound needs 1 <= hits <= runs and W >= 1, not {hits}, {runs}, {n_representations}"
        )
    fraction = hits / (n_representations * runs)
    return 0.0 if fraction == 1.0 else exp(runs * log1p(-fraction))


def count_orders(dag: Dag, runs: int) -> tuple[int, bool]:
    """The number of orders of a DAG and True, or an upper bound and False.

    The upper bound is given where there are too many orders for ``runs`` to say anything.
    """
    try:
        return count_linear_extensions(dag, max_states=max(MIN_SETS, SETS_PER_RUN * runs)), True
    except TooLargeError:
        return bound_linear_extensions(dag), False

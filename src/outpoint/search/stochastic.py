"""Repeated annealing runs, in orders or in partitions, in threads.

Every run has a random stream of its own, so the results do not depend on the number of threads.

There is also a bound on the probability that a better DAG was missed. The argument is that of the
paper's appendix B. A search that was run Z times met its best DAG in z of them, so it does so with
probability about z / Z. A better DAG would attract it more, but the one found may belong to W
orders and a better one to a single order: its probability per run is at least about z / (W Z), and
that of missing it in all runs at most about (1 - z / (W Z))^Z. In partition space each DAG counts
once, W = 1.
"""

from collections.abc import Callable
from math import exp, log1p
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats
from outpoint.errors import OptionError, TooLargeError
from outpoint.graphs import Dag
from outpoint.graphs.order import bound_linear_extensions, count_linear_extensions, random_order
from outpoint.kernels import run_chunked
from outpoint.progress import FractionCallback, tell_fractions
from outpoint.search.annealing import DRIFT_FACTOR, DRIFT_SHARE, find_schedule
from outpoint.search.order_search import anneal_orders, climb_orders, make_order_search, set_order
from outpoint.search.partition_search import (
    anneal_partitions,
    climb_partitions,
    make_partition_search,
)
from outpoint.search.winners import Winners, best_dag, list_winners, view_maxima
from outpoint.tables import ScoreTable

SPACES = ("order", "partition")
PILOT_STEPS_PER_NODE = 20
"""Steps of the pilot at each power."""


class Runs(NamedTuple):
    """The best DAG of each run and its log score; the powers that all runs used."""

    adjacencies: list[Booleans]
    log_scores: Floats
    powers: Floats


def search_dags(
    table: ScoreTable,
    required: Booleans,
    *,
    space: str,
    n_runs: int,
    n_steps: int,
    seed: int,
    powers: Floats | None = None,
    winners: Winners | None = None,
    progress: FractionCallback | None = None,
) -> Runs:
    """Run the search ``n_runs`` times with ``n_steps`` steps each.

    ``required`` are the edges that every DAG has; runs start at random orders that allow them.
    Without ``powers`` a pilot finds them; ``winners`` are those of the table, if they are known.
    """
    winners = list_winners(table) if winners is None else winners
    look, start, anneal, climb, best_order = _SPACES[space]
    view = look(table, winners)
    pilot_stream, *streams = np.random.SeedSequence(seed).spawn(1 + n_runs)
    if powers is None:
        pilot_rng = np.random.default_rng(pilot_stream)
        pilot = start(table, winners, random_order(required, pilot_rng))
        powers = find_schedule(
            lambda powers, steps: anneal(view, pilot, powers, steps, pilot_rng),
            PILOT_STEPS_PER_NODE * table.n_nodes,
        )
    found: list[Any] = [None] * n_runs
    n_drift = int(DRIFT_SHARE * n_steps)
    steps_per_power = max(1, n_steps // len(powers))
    frozen_power = powers[-1:] * DRIFT_FACTOR

    def work(begin: int, end: int) -> None:
        for run in range(begin, end):
            rng = np.random.default_rng(streams[run])
            state = start(table, winners, random_order(required, rng))
            anneal(view, state, powers, steps_per_power, rng)
            climb(view, state)
            anneal(view, state, frozen_power, n_drift, rng)
            climb(view, state)
            found[run] = best_dag(table, winners, best_order(state))

    run_chunked(work, n_runs, chunks_per_thread=n_runs, done=tell_fractions(n_runs, progress))
    return Runs([dag for dag, _ in found], np.array([score for _, score in found]), powers)


def _start_in_orders(table: ScoreTable, winners: Winners, order: NDArray[np.int64]) -> Any:
    state = make_order_search(winners)
    state.best_score[0] = set_order(winners, state, order)
    state.best_order[:] = order
    return state


def _start_in_partitions(table: ScoreTable, winners: Winners, order: NDArray[np.int64]) -> Any:
    """A state at the layers of the order's best DAG, which is admissible if any of its DAGs is."""
    state = make_partition_search(len(order))
    adjacency, _ = best_dag(table, winners, order)
    for child in order:
        parents = np.flatnonzero(adjacency[:, child])
        state.layer[child] = state.layer[parents].max() + 1 if len(parents) else 0
    state.best_layer[:] = state.layer
    return state


class _Space(NamedTuple):
    """What is searched: the tables to read, a first state, two kernels, the best order in the end.

    The best order of a partition has its nodes layer by layer.
    """

    look: Callable[[ScoreTable, Winners], Any]
    start: Callable[[ScoreTable, Winners, NDArray[np.int64]], Any]
    anneal: Callable[..., Any]
    climb: Callable[..., Any]
    best_order: Callable[[Any], NDArray[np.int64]]


_SPACES = {
    "order": _Space(
        lambda table, winners: winners,
        _start_in_orders,
        anneal_orders,
        climb_orders,
        lambda state: state.best_order,
    ),
    "partition": _Space(
        view_maxima,
        _start_in_partitions,
        anneal_partitions,
        climb_partitions,
        lambda state: np.argsort(state.best_layer, kind="stable"),
    ),
}


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

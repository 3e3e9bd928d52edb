"""Repeated annealing runs, in orders or in partitions, in threads.

Every run has a random stream of its own, so the results do not depend on the number of threads.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats
from outpoint.graphs.order import random_order
from outpoint.kernels import run_chunked
from outpoint.progress import FractionCallback, tell_fractions
from outpoint.search.annealing import DRIFT_FACTOR, DRIFT_SHARE, find_schedule
from outpoint.search.best_dag import best_dag
from outpoint.search.order_search import anneal_orders, climb_orders, make_order_search, set_order
from outpoint.search.partition_search import (
    anneal_partitions,
    climb_partitions,
    make_partition_search,
)
from outpoint.search.view import view_maxima
from outpoint.search.winners import Winners, list_winners
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
    """At the layers of the order's best DAG, which is admissible if any DAG of the order is."""
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

"""Whether a saved state is one that a chain can be in.

A checkpoint may be damaged or forged. Kernels look up tables by what is in a state and
check nothing, so everything that they rely on is checked here, when a chain is restored. What is
wrong raises a ValueError that says so.
"""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import require
from outpoint.kernels import kernel
from outpoint.mcmc.dag import total_score
from outpoint.mcmc.partition import PartitionState
from outpoint.mcmc.replicas import COMING_DOWN, NOWHERE, Ladder, Replicas
from outpoint.mcmc.sums import INSIDE, log_tau
from outpoint.mcmc.trace import EDGE_ROWS, OUTSIDE_ROWS, KeptDags, Trace
from outpoint.store import ROUNDING
from outpoint.tables.parent_sets import ParentSets, are_acyclic
from outpoint.tables.view import TableView

MOST_STEPS = 1 << 53
MOST_TRIES = 1 << 60

LARGEST = 1e100
"""Largest size of a score or a mean: of larger ones no variance could be computed."""


def check_counters(counters: NDArray[np.int64], n_warmup: int, thin: int) -> None:
    """Check steps, warm-up and thinning, of a chain that was planned with these two."""
    require(
        counters.shape == (3,) and counters.dtype == np.int64,
        "its counters are not three whole numbers",
    )
    step, own_warmup, own_thin = counters.tolist()
    require(0 <= step < MOST_STEPS, "its number of steps is impossible")
    require(0 <= own_warmup <= n_warmup, "its warm-up is longer than planned")
    factor, rest = divmod(own_thin, thin)
    require(not rest and _is_power_of_two(factor), "its draws are thinned differently")
    require(own_thin < MOST_STEPS, "its draws are thinned differently")


def check_trace(view: TableView, trace: Trace, n_visits: int) -> None:
    """Check what was counted in ``n_visits`` visits, and the best DAG."""
    require(trace.n_edge_sums[0] == n_visits, "its edges were not counted as often as planned")
    batch_size = 1
    while n_visits > EDGE_ROWS * batch_size:
        batch_size *= 2
    require(trace.batch_size[0] == batch_size, "its batches have the wrong size")
    for sums, size in (
        (trace.edge_sum, batch_size),
        (trace.outside_sum, batch_size * EDGE_ROWS // OUTSIDE_ROWS),
    ):
        is_share = (sums >= 0.0) & (sums <= size * (1.0 + ROUNDING))
        require(is_share.all(), "the probability of an edge is out of range")
    check_tries(trace.accepted, trace.attempts)
    check_codes(view, trace.best_code[None])
    best = float(trace.best_log_score[0])
    is_score = best == -np.inf or are_close(best, total_score(view, trace.best_code))
    require(is_score, "the score of its best DAG is wrong")


def check_tries(accepted: NDArray[np.int64], attempts: NDArray[np.int64]) -> None:
    """Check that there are no more successes than attempts, and that these can be counted on."""
    is_count = (accepted >= 0) & (accepted <= attempts)
    require(is_count.all(), "more was accepted than tried")
    require((attempts <= MOST_TRIES).all(), "more was tried than a run can try")


def check_codes(view: TableView, codes: NDArray[Any]) -> None:
    """Check that parent sets (DAG, node) exist, and make graphs without cycles."""
    first, last = view.outside.start[:-1], view.outside.start[1:]
    is_inside = (codes >= 0) & (codes < 1 << view.n_candidates)
    is_outside = (~codes >= first) & (~codes < last) & (codes < 0)
    require((is_inside | is_outside).all(), "a parent set does not exist")
    every_set = ParentSets(view.candidates, view.outside.members)
    used_sets, (renumbered,) = every_set.restricted_to([codes])
    require(are_acyclic(renumbered, used_sets), "a graph has a cycle")


def check_draws(view: TableView, draws: KeptDags) -> None:
    """Check that DAGs exist and that their scores and weights are finite."""
    check_codes(view, draws.codes)
    is_usable = _are_usable(draws.log_score) and _are_usable(draws.log_weight)
    require(is_usable, "the score of a draw is not a number")


def check_order(order: NDArray[np.int64]) -> None:
    """Check that an order has all numbers from 0 on, each once."""
    require(
        np.array_equal(np.sort(order), np.arange(len(order))),
        "an order does not hold every node once",
    )


def check_replicas(view: TableView, replicas: Replicas) -> None:
    """Check that every replica has a row of its own, with a partition that its nodes can be in."""
    check_order(replicas.slot)
    is_known = (replicas.trip >= NOWHERE) & (replicas.trip <= COMING_DOWN)
    require(is_known.all(), "a walker is nowhere on its trip")
    for row in range(len(replicas.slot)):
        check_partition(view, PartitionState._make([array[row] for array in replicas.states]))


def check_partition(view: TableView, state: PartitionState) -> None:
    """Check layers of nodes, what they hold, and the weights that follow from that."""
    n, n_layers = len(state.order), int(state.n_layers[0])
    require(1 <= n_layers <= n, "a partition has no layers")
    check_order(state.order)
    start = state.start[: n_layers + 1]
    is_cut = start[0] == 0 and start[-1] == n and (np.diff(start) > 0).all()
    require(is_cut and ((state.start >= 0) & (state.start <= n)).all(), "a layer is empty")
    layer = np.repeat(np.arange(n_layers), np.diff(start))
    require(np.array_equal(state.layer[state.order], layer), "a node is in the wrong layer")
    first, last = view.outside.start[:-1], view.outside.start[1:]
    is_outside = (state.held >= first) & (state.held < last)
    require((is_outside | (state.held == INSIDE)).all(), "a node holds no parent set of its own")
    found = np.empty(n)
    _score_partition(view, state.layer, state.held, found)
    require(are_close(state.log_tau, found), "the weight of a partition is wrong")


def check_ladder(ladder: Ladder, hottest: float) -> None:
    """Check powers from 1 down to ``hottest``, and what was counted on them."""
    power = ladder.power
    is_falling = power[0] == 1.0 and power[-1] == hottest and (np.diff(power) <= 0.0).all()
    require(is_falling, "its powers do not fall from 1 to the last one")
    check_tries(ladder.accepted, ladder.attempts)
    most = ladder.attempts * (1.0 + ROUNDING)
    require(((ladder.rejection >= 0) & (ladder.rejection <= most)).all(), "a swap was never tried")
    require(ladder.round_trips[0] >= 0, "a number of round trips is negative")
    numbers = (ladder.moments, ladder.origin, ladder.hot_sums)
    are_usable = all(_are_usable(array) for array in numbers)
    require(are_usable and (ladder.moments[:, ::2] >= 0.0).all(), "a mean is not a number")


def read_generator(content: NDArray[np.uint8], own: Any) -> dict[str, Any]:
    """The state of a generator of random numbers of the same kind as ``own``."""
    try:
        state = json.loads(content.tobytes())
    except RecursionError:
        raise ValueError("the state of its random numbers is not valid") from None
    require(_has_form(state, own), "the state of its random numbers is not valid")
    known = state["state"]
    in_range = all(0 <= number < 1 << 128 for number in known.values())
    require(in_range and known["inc"] % 2 == 1, "the state of its random numbers is not valid")
    require(state["has_uint32"] in (0, 1), "the state of its random numbers is not valid")
    require(0 <= state["uinteger"] < 1 << 32, "the state of its random numbers is not valid")
    return dict(state)


def _has_form(value: Any, own: Any) -> bool:
    """Whether the same things are there: tables with the same names, equal texts, numbers."""
    if isinstance(own, dict):
        is_table = isinstance(value, dict) and value.keys() == own.keys()
        return is_table and all(_has_form(value[name], part) for name, part in own.items())
    if isinstance(own, str):
        return bool(value == own)
    return isinstance(value, int) and not isinstance(value, bool)


def _are_usable(numbers: NDArray[Any]) -> bool:
    """Whether all are numbers that can be squared and added up."""
    return bool((np.abs(numbers) <= LARGEST).all())


def are_close(ours: Any, theirs: Any) -> bool:
    """Whether numbers are finite and the same except for rounding."""
    is_finite = np.isfinite(ours).all() and np.isfinite(theirs).all()
    return bool(is_finite and np.allclose(ours, theirs, rtol=ROUNDING, atol=ROUNDING))


def _is_power_of_two(number: int) -> bool:
    return number >= 1 and number & (number - 1) == 0


@kernel
def _score_partition(view, layer, held, found):
    for node in range(layer.size):
        found[node] = log_tau(view, node, layer, layer[node], held[node])

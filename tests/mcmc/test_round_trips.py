"""Round trips of walkers, against a count that only looks at where each of them has been."""

import numpy as np
import pytest

from outpoint.kernels import kernel
from outpoint.mcmc.metropolis import accepts
from outpoint.mcmc.replicas import (
    COMING_DOWN,
    GOING_UP,
    make_ladder,
    make_replicas,
    swap_replicas,
)
from tests.mcmc.chains import Chain, Recipe
from tests.mcmc.laws import partitions
from tests.mcmc.loops import scored_state
from tests.mcmc.targets import target

COLD, HOT = "cold", "hot"


def ends_visited(slots: np.ndarray, walker: int) -> list[str]:
    """The ends of the ladder that a walker has been at, one after the other."""
    last = slots.shape[1] - 1
    out: list[str] = []
    for replica in (slots == walker).argmax(axis=1).tolist():
        end = {0: COLD, last: HOT}.get(replica)
        if end and (not out or out[-1] != end):
            out.append(end)
    return out


def count_trips(slots: np.ndarray) -> int:
    """How often a walker has gone from replica 0 to the last one and come back.

    ``slots[t, r]`` is the walker at replica r after swap t.
    """
    paths = [ends_visited(slots, walker) for walker in range(slots.shape[1])]
    return sum(max(0, path.count(COLD) - 1) for path in paths)


def test_the_count_itself():
    walks = np.array([[0, 1, 2], [1, 0, 2], [1, 2, 0], [2, 1, 0], [2, 0, 1], [0, 2, 1]])
    assert [ends_visited(walks, walker) for walker in range(3)] == [
        [COLD, HOT, COLD],
        [COLD, HOT],
        [HOT, COLD],
    ]
    assert count_trips(walks) == 1
    assert count_trips(walks[:4]) == 0


@pytest.mark.parametrize(
    ("name", "powers", "fresh"),
    [
        ("random", (1.0, 0.0), True),
        ("random", (1.0, 0.5, 0.0), True),
        ("rough", (1.0, 0.6, 0.3, 0.1, 0.0), True),
        ("required", (1.0, 0.5, 0.2, 0.05), False),
    ],
)
def test_round_trips_of_chains(name, powers, fresh):
    recipe = Recipe({"node_gibbs": 1.0}, powers=powers, sweep=2, fresh=fresh)
    chain = Chain(target(name, 3), recipe, seed=8)
    slots = []
    for _ in range(3_000):
        chain.run(2, recording=False)
        slots.append(chain.replicas.slot.copy())
        assert sorted(slots[-1]) == list(range(len(powers)))
    trips = count_trips(np.array(slots))
    assert chain.ladder.round_trips[0] == trips > 50


def test_walkers_that_never_cross_make_no_trip():
    problem = target("random", 3)
    powers = np.array([1.0, 0.5, 0.0])
    replicas = make_replicas(
        3, scored_state(problem.view, partitions(3)[0], np.random.default_rng(1))
    )
    replicas.states.log_tau[:] = [[0.0] * 3, [-1e4] * 3, [-1e8] * 3]
    ladder = make_ladder(powers)
    slots = np.empty((500, 3), int)
    swap_many(0, problem.view, replicas, ladder, np.random.default_rng(1), slots)
    assert replicas.slot.tolist() == [0, 1, 2]
    assert ladder.round_trips[0] == 0
    assert ladder.attempts.tolist() == [250, 250]
    assert ladder.rejection.tolist() == [250.0, 250.0]


def agrees_with_the_count(mistake: int) -> bool:
    """Whether walkers that always swap are counted right, for ladders of several lengths."""
    rng = np.random.default_rng(2)
    view = target("random", 3).view
    start = scored_state(view, partitions(3)[0], rng)
    for n_replicas in (2, 3, 4, 7):
        replicas = make_replicas(n_replicas, start)
        ladder = make_ladder(np.linspace(1.0, 0.0, n_replicas))
        slots = np.empty((200, n_replicas), dtype=np.int64)
        swap_many(mistake, view, replicas, ladder, rng, slots)
        assert count_trips(slots) > 10
        if ladder.round_trips[0] != count_trips(slots):
            return False
    return True


@kernel
def swap_slots(view, replicas, ladder, parity, rng):
    slot = replicas.slot
    for upper in range(parity, slot.size - 1, 2):
        if accepts(0.0, 0.0, rng):
            slot[upper], slot[upper + 1] = slot[upper + 1], slot[upper]


@kernel
def count_half_trips(view, replicas, ladder, parity, rng):
    """Wrong: the way up counts, too."""
    swap_slots(view, replicas, ladder, parity, rng)
    hot, cold = replicas.slot[-1], replicas.slot[0]
    if replicas.trip[hot] == GOING_UP:
        replicas.trip[hot] = COMING_DOWN
        ladder.round_trips[0] += 1
    if replicas.trip[cold] == COMING_DOWN:
        ladder.round_trips[0] += 1
    replicas.trip[cold] = GOING_UP


@kernel
def count_descents(view, replicas, ladder, parity, rng):
    """Wrong: a walker need not have begun at replica 0."""
    swap_slots(view, replicas, ladder, parity, rng)
    replicas.trip[replicas.slot[-1]] = COMING_DOWN
    if replicas.trip[replicas.slot[0]] == COMING_DOWN:
        ladder.round_trips[0] += 1
    replicas.trip[replicas.slot[0]] = GOING_UP


@kernel
def count_stays(view, replicas, ladder, parity, rng):
    """Wrong: a walker that stays at replica 0 is counted again and again."""
    swap_slots(view, replicas, ladder, parity, rng)
    if replicas.trip[replicas.slot[-1]] == GOING_UP:
        replicas.trip[replicas.slot[-1]] = COMING_DOWN
    if replicas.trip[replicas.slot[0]] == COMING_DOWN:
        ladder.round_trips[0] += 1
    else:
        replicas.trip[replicas.slot[0]] = GOING_UP


@kernel
def follow_replicas(view, replicas, ladder, parity, rng):
    """Wrong: the mark stays with the replica and does not move with the walker."""
    swap_slots(view, replicas, ladder, parity, rng)
    last = replicas.slot.size - 1
    if replicas.trip[last] == GOING_UP:
        replicas.trip[last] = COMING_DOWN
    if replicas.trip[0] == COMING_DOWN:
        ladder.round_trips[0] += 1
    replicas.trip[0] = GOING_UP


@kernel
def swap_many(mistake, view, replicas, ladder, rng, slots):
    """One loop for all mistakes, of which 0 is none: a loop that takes a kernel is not cached."""
    for i in range(len(slots)):
        if mistake == 0:
            swap_replicas(view, replicas, ladder, i % 2, rng)
        elif mistake == 1:
            count_half_trips(view, replicas, ladder, i % 2, rng)
        elif mistake == 2:
            count_descents(view, replicas, ladder, i % 2, rng)
        elif mistake == 3:
            count_stays(view, replicas, ladder, i % 2, rng)
        else:
            follow_replicas(view, replicas, ladder, i % 2, rng)
        slots[i] = replicas.slot


MISTAKES = ["half trips", "descents", "stays", "replicas followed"]


def test_compiled_count():
    assert agrees_with_the_count(0)


@pytest.mark.parametrize("mistake", range(1, len(MISTAKES) + 1), ids=MISTAKES)
def test_wrong_counts_are_found_out(mistake):
    assert not agrees_with_the_count(mistake)

"""Replica swaps keep the product of the powers, and the compiled swap is the declared one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from outpoint.mcmc.replicas import Replicas, make_ladder, make_replicas
from tests.grids import covering
from tests.mcmc.chains import Chain, Recipe
from tests.mcmc.laws import (
    Target,
    by_level,
    check_balanced,
    check_counts,
    check_invariant,
    expected_rejection,
    index_of,
    partitions,
    swap_matrix,
    swap_probability,
)
from tests.mcmc.loops import count_swaps, scored_state
from tests.mcmc.targets import NAMES, target

FALSE_ALARM = 1e-6
Count = Callable[..., Any]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("powers", [(1.0, 0.5), (0.7, 0.2), (0.4, 0.0)])
def test_declared_swaps_keep_the_product(name, powers):
    problem = target(name, 3)
    law = np.kron(problem.law(powers[0]), problem.law(powers[1]))
    check_invariant(law, swap_matrix(problem, powers))
    check_balanced(law, swap_matrix(problem, powers))


def two_replicas(problem: Target, a: int, b: int) -> Replicas:
    """Two replicas in the partitions with these numbers."""
    rng = np.random.default_rng(0)
    replicas = make_replicas(2, scored_state(problem.view, partitions(problem.n)[a], rng))
    other = scored_state(problem.view, partitions(problem.n)[b], rng)
    for stacked, own in zip(replicas.states, other, strict=True):
        stacked[1] = own
    return replicas


def check_swaps(
    problem: Target, powers: tuple[float, float], slot: tuple[int, int], count: Count = count_swaps
) -> None:
    """Swaps from all pairs of states against the declared probabilities."""
    rng = np.random.default_rng(3)
    possible = np.flatnonzero(problem.possible)
    n_draws = 5_000
    for a in possible:
        for b in possible:
            replicas = two_replicas(problem, *((a, b) if slot == (0, 1) else (b, a)))
            replicas.slot[:] = slot
            ladder, counts = make_ladder(np.array(powers)), np.zeros(1, dtype=np.int64)
            count(problem.view, replicas, ladder, 0, n_draws, rng, counts)
            accepted = swap_probability(problem, powers, a, b)
            law = np.array([1.0 - accepted, accepted])
            seen = np.array([n_draws - counts[0], counts[0]])
            check_counts(seen, law, FALSE_ALARM / len(possible) ** 2)
            assert ladder.attempts[0] == n_draws
            assert ladder.accepted[0] == counts[0]
            assert ladder.rejection[0] == pytest.approx(n_draws * law[0], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("slot", [(0, 1), (1, 0)])
@pytest.mark.parametrize(
    ("name", "powers"), [("random", (1.0, 0.5)), ("required", (0.7, 0.2)), ("rough", (0.4, 0.0))]
)
def test_compiled_swaps(name, powers, slot):
    """States stay in their rows: replicas must be found through their slots."""
    check_swaps(target(name, 3), powers, slot)


def test_pairs_take_turns():
    problem = target("random", 3)
    rng = np.random.default_rng(3)
    replicas = make_replicas(5, scored_state(problem.view, partitions(3)[0], rng))
    for parity, tried in ((0, [1, 0, 1, 0]), (1, [0, 1, 0, 1])):
        ladder = make_ladder(np.array([1.0, 0.8, 0.6, 0.4, 0.2]))
        counts = np.zeros(4, dtype=np.int64)
        count_swaps(
            problem.view, replicas, ladder, parity, 1, rng, counts
        )  # equal states always swap
        assert ladder.attempts.tolist() == tried
        assert counts.tolist() == ladder.accepted.tolist() == tried
        assert ladder.rejection.tolist() == [0.0] * 4


MOVES = [{"node_gibbs": 1.0}, {"split_join": 0.5, "node_move": 0.4}]


def visits_of(chain: Chain, n_draws: int, n_steps: int) -> np.ndarray:
    """How often each replica is found in each partition, [replica, partition]."""
    n, n_replicas = chain.target.n, len(chain.recipe.powers)
    visits = np.zeros((n_replicas, len(partitions(n))), dtype=np.int64)
    chain.run(10 * n_steps, recording=False)
    for _ in range(n_draws):
        chain.run(n_steps, recording=False)
        for replica in range(n_replicas):
            visits[replica, index_of(n)[by_level(chain.level_of(replica))]] += 1
    return visits


@pytest.mark.parametrize(
    ("case", "moves"),
    covering(
        [
            ("random", (1.0, 0.5, 0.2), False),
            ("random", (1.0, 0.4, 0.0), True),
            ("required", (1.0, 0.4, 0.0), False),
        ],
        MOVES,
    ),
)
def test_every_replica_keeps_its_own_power(case, moves):
    """The laws of three replicas: each visits partitions by its power."""
    name, powers, fresh = case
    problem = target(name, 3)
    chain = Chain(problem, Recipe(moves, powers=powers, sweep=4, fresh=fresh), seed=1)
    visits = visits_of(chain, 4_000, 40)
    for replica, power in enumerate(powers):
        check_counts(visits[replica], problem.law(power), FALSE_ALARM)


@pytest.mark.parametrize(
    ("name", "fresh"), [("random", True), ("rough", True), ("required", False)]
)
def test_rejection_on_a_ladder_in_equilibrium(name, fresh):
    """Means of 100 batches within 5 standard errors; chance exceeds that once in 400,000 pairs."""
    problem, powers = target(name, 3), (1.0, 0.4, 0.0)
    chain = Chain(problem, Recipe({"node_gibbs": 1.0}, powers=powers, sweep=5, fresh=fresh), seed=4)
    chain.run(500, recording=False)
    batches = []
    for _ in range(100):
        chain.ladder.rejection[:] = chain.ladder.attempts[:] = 0
        chain.run(2_000, recording=False)
        assert chain.ladder.attempts.tolist() == [200, 200]
        batches.append(chain.ladder.rejection / 200)
    expected = [expected_rejection(problem, pair) for pair in (powers[:2], powers[1:])]
    error = np.std(batches, axis=0, ddof=1) / 10
    assert np.all(np.abs(np.mean(batches, axis=0) - expected) < 5 * error)
    assert np.all(error < 0.01)

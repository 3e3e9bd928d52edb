"""Replica swaps keep the product of the powers, and the compiled swap is the declared one."""

import numpy as np
import pytest

from outpoint.mcmc.partition_chain import make_replicas
from outpoint.mcmc.trace import make_trace
from tests.mcmc.chains import Chain, Recipe
from tests.mcmc.laws import (
    check_balanced,
    check_counts,
    check_invariant,
    levels,
    partitions,
    swap_matrix,
    swap_probability,
)
from tests.mcmc.loops import count_swaps, scored_state
from tests.mcmc.targets import NAMES, target

FALSE_ALARM = 1e-6


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("powers", [(1.0, 0.5), (0.7, 0.2)])
def test_declared_swaps_keep_the_product(name, powers):
    problem = target(name, 3)
    law = np.kron(problem.law(powers[0]), problem.law(powers[1]))
    check_invariant(law, swap_matrix(problem, powers))
    check_balanced(law, swap_matrix(problem, powers))


@pytest.mark.parametrize(("name", "powers"), [("random", (1.0, 0.5)), ("required", (0.7, 0.2))])
def test_compiled_swaps(name, powers):
    problem = target(name, 3)
    rng = np.random.default_rng(3)
    possible = np.flatnonzero(problem.possible)
    n_draws = 5_000
    for a in possible:
        for b in possible:
            replicas = make_replicas(2, scored_state(problem.view, partitions(3)[a], rng))
            other = scored_state(problem.view, partitions(3)[b], rng)
            replicas.log_tau[1] = other.log_tau
            counts, trace = np.zeros(1, dtype=np.int64), make_trace(3, 0, 2)
            count_swaps(replicas, np.array(powers), 0, n_draws, trace, rng, counts)
            accepted = swap_probability(problem, powers, a, b)
            law = np.array([1.0 - accepted, accepted])
            seen = np.array([n_draws - counts[0], counts[0]])
            check_counts(seen, law, FALSE_ALARM / len(possible) ** 2)
            assert trace.swap_attempts[0] == n_draws
            assert trace.swap_accepted[0] == counts[0]


def test_pairs_take_turns():
    problem = target("random", 3)
    rng = np.random.default_rng(3)
    replicas = make_replicas(5, scored_state(problem.view, partitions(3)[0], rng))
    powers = np.array([1.0, 0.8, 0.6, 0.4, 0.2])
    for parity, tried in ((0, [1, 0, 1, 0]), (1, [0, 1, 0, 1])):
        trace, counts = make_trace(3, 0, 5), np.zeros(4, dtype=np.int64)
        count_swaps(replicas, powers, parity, 1, trace, rng, counts)  # equal states always swap
        assert trace.swap_attempts[:4].tolist() == tried
        assert counts.tolist() == tried


def test_slots_are_followed():
    """States stay where they are and slots move: replica 1 must be found through its slot."""
    problem = target("random", 3)
    rng = np.random.default_rng(6)
    order = np.argsort(problem.log_weight)
    low, high = order[0], order[-1]
    replicas = make_replicas(2, scored_state(problem.view, partitions(3)[low], rng))
    replicas.log_tau[1] = scored_state(problem.view, partitions(3)[high], rng).log_tau
    replicas.slot[:] = [1, 0]  # the cold one is the better one now
    counts, trace = np.zeros(1, dtype=np.int64), make_trace(3, 0, 2)
    count_swaps(replicas, np.array([1.0, 0.5]), 0, 5_000, trace, rng, counts)
    accepted = swap_probability(problem, (1.0, 0.5), high, low)
    law = np.array([1.0 - accepted, accepted])
    check_counts(np.array([5_000 - counts[0], counts[0]]), law, FALSE_ALARM)


@pytest.mark.parametrize("moves", [{"node_gibbs": 1.0}, {"split_join": 0.5, "node_move": 0.4}])
def test_every_replica_keeps_its_own_power(moves):
    """The joint law of three replicas: each visits partitions by its power."""
    problem = target("random", 3)
    powers = (1.0, 0.5, 0.2)
    chain = Chain(problem, Recipe(moves, powers=powers, sweep=4), seed=1)
    chain.run(400, recording=False)
    n_draws = 4_000
    visits = np.zeros((3, 13), dtype=np.int64)
    index = {tuple(p): x for x, p in enumerate(map(levels, partitions(3)))}
    for _ in range(n_draws):
        chain.run(40, recording=False)
        for replica in range(3):
            row = chain.replicas.slot[replica]
            visits[replica, index[tuple(chain.replicas.layer[row].tolist())]] += 1
    for replica, power in enumerate(powers):
        check_counts(visits[replica], problem.law(power), FALSE_ALARM)

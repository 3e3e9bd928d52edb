"""Single steps on partitions keep the posterior to every power, and the compiled ones are those.

First the transition matrix of each declared move is shown to keep its target, to 1e-12. Then
the compiled step is compared with that matrix: parts to 1e-12, frequencies by chi-square with the
stated false-alarm rate per test function (seeds are fixed).
"""

import numpy as np
import pytest

from outpoint.kernels import kernel
from outpoint.mcmc.metropolis import accepts
from tests.grids import first
from tests.mcmc.laws import (
    MOVE_NAMES,
    POWERS,
    check_balanced,
    check_counts,
    check_invariant,
    index_of,
    move_matrix,
    partitions,
    placement_law,
    placement_matrix,
    without,
)
from tests.mcmc.loops import (
    MOVE_NUMBER,
    code_table,
    count_moves,
    count_placements,
    scored_state,
)
from tests.mcmc.targets import NAMES, target

FALSE_ALARM = 1e-6


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [3, 4])
def test_declared_moves_keep_the_target(n, name):
    problem = target(name, n)
    for power in POWERS:
        law = problem.law(power)
        for move in MOVE_NAMES:
            matrix = move_matrix(problem, move, power)
            check_invariant(law, matrix)
            check_balanced(law, matrix)
        check_invariant(law, placement_matrix(problem, power))
        check_balanced(law, placement_matrix(problem, power))


def test_weights_of_partitions_are_those_of_their_dags():
    for name in NAMES:
        problem = target(name, 4)
        rng = np.random.default_rng(4)
        for x, layers in enumerate(partitions(4)):
            total = scored_state(problem.view, layers, rng).log_tau.sum()
            np.testing.assert_allclose(total, problem.log_weight[x], rtol=1e-12)


@kernel
def count_accepted(log_target_ratio, log_proposal_ratio, n_draws, rng):
    count = 0
    for _ in range(n_draws):
        count += accepts(log_target_ratio, log_proposal_ratio, rng)
    return count


def test_acceptance_rule():
    ratios = [(0.0, 0.0), (-1.0, 0.3), (2.0, -2.7), (-0.5, 4.0), (-800.0, 790.0), (-np.inf, 5.0)]
    for log_target, log_proposal in ratios:
        rng, shadow = np.random.default_rng(7), np.random.default_rng(7)
        count = count_accepted(log_target, log_proposal, 100_000, rng)
        probability = min(1.0, np.exp(log_target + log_proposal))
        law = np.array([1.0 - probability, probability])
        check_counts(np.array([100_000 - count, count]), law, FALSE_ALARM / len(ratios))
        shadow.random(100_000)  # one uniform each, whatever the ratio
        assert rng.random() == shadow.random()
    assert count_accepted(np.nan, 0.0, 1000, np.random.default_rng(8)) == 0


@pytest.mark.parametrize("move", MOVE_NAMES)
@pytest.mark.parametrize(
    ("name", "n", "powers", "n_draws"),
    first(
        [
            ("random", 3, POWERS, 4_000),
            ("required", 3, POWERS, 4_000),
            ("random", 4, (0.5,), 4_000),
        ],
        2,
    ),
)
def test_compiled_steps(move, name, n, powers, n_draws):
    problem, table = target(name, n), code_table(n)
    rng = np.random.default_rng([n, MOVE_NUMBER[move]])
    n_tests = len(powers) * problem.possible.sum()
    for power in powers:
        matrix = move_matrix(problem, move, power)
        for x in np.flatnonzero(problem.possible):
            counts = np.zeros(len(table), dtype=np.int64)
            start = scored_state(problem.view, partitions(n)[x], rng)
            number = MOVE_NUMBER[move]
            assert count_moves(problem.view, start, number, power, n_draws, rng, table, counts)
            check_counts(counts[: len(matrix)], matrix[x], FALSE_ALARM / n_tests)


def placement_order(n: int, x: int, node: int) -> list[int]:
    """The partitions in the order of the compiled weights: before, into, before, ..., after."""
    rest = without(partitions(n)[x], node)
    out = []
    for j in range(len(rest) + 1):
        out.append((*rest[:j], (node,), *rest[j:]))
        if j < len(rest):
            out.append((*rest[:j], tuple(sorted((*rest[j], node))), *rest[j + 1 :]))
    return [index_of(n)[layers] for layers in out]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [3, 4])
def test_compiled_placement_weights(n, name):
    """The law of every placement of every node, from every partition, to 1e-12."""
    problem, table = target(name, n), code_table(n)
    rng = np.random.default_rng(n)
    for x in np.flatnonzero(problem.possible):
        for node in range(n):
            start = scored_state(problem.view, partitions(n)[x], rng)
            places = placement_order(n, x, node)
            for power in POWERS:
                counts, weights = np.zeros(len(table), dtype=np.int64), np.empty(2 * n + 1)
                assert count_placements(
                    problem.view, start, node, power, 5, rng, table, counts, weights
                )
                law = placement_law(problem, x, node, power)
                assert set(places) == set(law)
                weights = weights[: len(places)] / weights[: len(places)].sum()
                expected = [law[y] for y in places]
                np.testing.assert_allclose(weights, expected, rtol=1e-12, atol=1e-17)


@pytest.mark.parametrize(
    ("name", "n", "n_draws"), first([("random", 3, 4_000), ("required", 4, 2_000)])
)
def test_compiled_placement_draws(name, n, n_draws):
    problem, table = target(name, n), code_table(n)
    rng = np.random.default_rng([9, n])
    n_tests = len(POWERS) * problem.possible.sum() * n
    for power in POWERS:
        for node in range(n):
            matrix = placement_matrix(problem, power, node)
            for x in np.flatnonzero(problem.possible):
                counts, weights = np.zeros(len(table), dtype=np.int64), np.empty(2 * n + 1)
                start = scored_state(problem.view, partitions(n)[x], rng)
                assert count_placements(
                    problem.view, start, node, power, n_draws, rng, table, counts, weights
                )
                check_counts(counts[: len(matrix)], matrix[x], FALSE_ALARM / n_tests)


def test_placements_far_below_the_best_do_not_trap():
    """From a state e^-1000 below another, the draw goes up, whatever the power of it."""
    problem, table = target("steep", 3), code_table(3)
    rng = np.random.default_rng(5)
    for x in range(len(partitions(3))):
        counts, weights = np.zeros(len(table), dtype=np.int64), np.empty(7)
        start = scored_state(problem.view, partitions(3)[x], rng)
        assert count_placements(problem.view, start, 1, 1.0, 2000, rng, table, counts, weights)
        law = np.zeros(len(partitions(3)))
        for y, probability in placement_law(problem, x, 1).items():
            law[y] = probability
        check_counts(counts[: len(law)], law, FALSE_ALARM / 13)

"""Ladders with known mistakes, each of which the checks of the other files must reject."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from outpoint.graphs.counting import partition_size_law
from outpoint.kernels import kernel
from outpoint.mcmc.metropolis import accepts
from tests.mcmc.chains import Chain, Recipe
from tests.mcmc.laws import (
    Floats,
    check_counts,
    check_sweep,
    fresh_matrix,
    partitions,
    product_law,
    swap_matrix,
)
from tests.mcmc.loops import code_table, count_and_put_back, count_fresh, count_swaps
from tests.mcmc.targets import target
from tests.mcmc.test_ladder_law import (
    check_compiled_sweeps,
    one_step,
    steps_of,
    swaps_of,
    uniform_law,
)
from tests.mcmc.test_tempering import check_swaps, visits_of

FALSE_ALARM = 1e-6
POWERS = (1.0, 0.4, 0.0)
GIBBS = Recipe({"node_gibbs": 1.0}, powers=POWERS)


# Swaps


def swaps_without_the_difference(problem) -> list[Floats]:
    """As if all neighbouring powers differed by 1."""
    return [swap_matrix(problem, (1.0, 0.0)) for _ in pairwise(POWERS)]


def swaps_of_the_wrong_sign(problem) -> list[Floats]:
    return [swap_matrix(problem, pair, sign=-1.0) for pair in pairwise(POWERS)]


def swaps_that_are_always_made(problem) -> list[Floats]:
    return [swap_matrix(problem, pair, sign=0.0) for pair in pairwise(POWERS)]


@pytest.mark.parametrize(
    "wrong", [swaps_without_the_difference, swaps_of_the_wrong_sign, swaps_that_are_always_made]
)
def test_wrong_swaps_do_not_keep_the_product(wrong):
    problem = target("random", 3)
    law, steps = product_law(problem, POWERS), steps_of(problem, GIBBS, 1, fresh=True)
    for parity in (0, 1):
        check_sweep(law, steps, swaps_of(problem, POWERS), parity)
        with pytest.raises(AssertionError):
            check_sweep(law, steps, wrong(problem), parity)


@kernel
def swap_by(log_ratio, replicas, ladder, upper, rng):
    slot = replicas.slot
    ladder.attempts[upper] += 1
    ladder.rejection[upper] += 1.0 - np.exp(min(0.0, log_ratio))
    if accepts(log_ratio, 0.0, rng):
        slot[upper], slot[upper + 1] = slot[upper + 1], slot[upper]
        ladder.accepted[upper] += 1


@kernel
def swap_rightly(view, replicas, ladder, parity, rng):
    slot, power, log_tau = replicas.slot, ladder.power, replicas.states.log_tau
    for upper in range(parity, slot.size - 1, 2):
        gap = log_tau[slot[upper + 1]].sum() - log_tau[slot[upper]].sum()
        swap_by((power[upper] - power[upper + 1]) * gap, replicas, ladder, upper, rng)


@kernel
def swap_without_the_difference(view, replicas, ladder, parity, rng):
    slot, log_tau = replicas.slot, replicas.states.log_tau
    for upper in range(parity, slot.size - 1, 2):
        gap = log_tau[slot[upper + 1]].sum() - log_tau[slot[upper]].sum()
        swap_by(gap, replicas, ladder, upper, rng)


@kernel
def swap_with_the_wrong_sign(view, replicas, ladder, parity, rng):
    slot, power, log_tau = replicas.slot, ladder.power, replicas.states.log_tau
    for upper in range(parity, slot.size - 1, 2):
        gap = log_tau[slot[upper + 1]].sum() - log_tau[slot[upper]].sum()
        swap_by((power[upper + 1] - power[upper]) * gap, replicas, ladder, upper, rng)


@kernel
def swap_forgetting_slots(view, replicas, ladder, parity, rng):
    """Takes the row r for the state of replica r."""
    slot, power, log_tau = replicas.slot, ladder.power, replicas.states.log_tau
    for upper in range(parity, slot.size - 1, 2):
        gap = log_tau[upper + 1].sum() - log_tau[upper].sum()
        swap_by((power[upper] - power[upper + 1]) * gap, replicas, ladder, upper, rng)


@kernel
def swap_that_leaves_slots(view, replicas, ladder, parity, rng):
    """Decides rightly, and then changes nothing."""
    before = replicas.slot.copy()
    swap_rightly(view, replicas, ladder, parity, rng)
    replicas.slot[:] = before


@kernel
def count_other_swaps(mistake, view, replicas, ladder, parity, n_draws, rng, counts):
    """One loop for all mistakes, of which 0 is none: a loop that takes a kernel is not cached."""
    slot = replicas.slot.copy()
    for _ in range(n_draws):
        if mistake == 0:
            swap_rightly(view, replicas, ladder, parity, rng)
        elif mistake == 1:
            swap_without_the_difference(view, replicas, ladder, parity, rng)
        elif mistake == 2:
            swap_with_the_wrong_sign(view, replicas, ladder, parity, rng)
        elif mistake == 3:
            swap_forgetting_slots(view, replicas, ladder, parity, rng)
        else:
            swap_that_leaves_slots(view, replicas, ladder, parity, rng)
        count_and_put_back(slot, replicas, counts)


MISTAKES = ["no difference", "wrong sign", "slots forgotten", "slots left"]
SLOTS = [(0, 1), (1, 0)]


@pytest.mark.parametrize("count", [count_swaps, partial(count_other_swaps, 0)])
def test_the_check_itself_accepts_right_swaps(count):
    for slot in SLOTS:
        check_swaps(target("random", 3), (1.0, 0.5), slot, count)


@pytest.mark.parametrize("mistake", range(1, len(MISTAKES) + 1), ids=MISTAKES)
def test_wrong_compiled_swaps(mistake):
    caught = 0
    for slot in SLOTS:
        try:
            check_swaps(target("random", 3), (1.0, 0.5), slot, partial(count_other_swaps, mistake))
        except AssertionError:
            caught += 1
    assert caught


# Fresh draws


def law_of_equal_lengths(n: int) -> Floats:
    """First the number of layers, all equally likely, then a partition with so many."""
    lengths = np.array([len(layers) for layers in partitions(n)])
    return 1.0 / n / np.bincount(lengths)[lengths]


def law_of_equal_sizes(n: int) -> Floats:
    """Layer after layer, all sizes equally likely."""
    law = np.ones(len(partitions(n)))
    for x, layers in enumerate(partitions(n)):
        left = n
        for layer in layers:
            ways = 1.0
            for i in range(len(layer)):
                ways *= (left - i) / (i + 1)
            law[x] /= left * ways
            left -= len(layer)
    return law


def one_layer_never(n: int) -> Floats:
    law = np.array([float(len(layers) > 1) for layers in partitions(n)])
    return law / law.sum()


WRONG_LAWS = [law_of_equal_lengths, law_of_equal_sizes, one_layer_never]


@pytest.mark.parametrize("wrong", WRONG_LAWS)
def test_fresh_draws_that_are_not_uniform(wrong):
    problem = target("random", 3)
    law, swaps = product_law(problem, POWERS), swaps_of(problem, POWERS)
    steps = steps_of(problem, GIBBS, 1, fresh=True)
    check_sweep(law, steps, swaps, 0)
    assert wrong(3).sum() == pytest.approx(1.0)
    with pytest.raises(AssertionError):
        check_sweep(law, [*steps[:-1], fresh_matrix(wrong(3))], swaps, 0)


@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize("wrong", WRONG_LAWS)
def test_compiled_fresh_draws_are_told_from_others(n, wrong):
    table, rng = code_table(n), np.random.default_rng(n)
    counts = np.zeros(len(partitions(n)), dtype=np.int64)
    assert count_fresh(n, partition_size_law(n), 50_000, rng, table, counts)
    with pytest.raises(AssertionError):
        check_counts(counts, wrong(n), FALSE_ALARM)


@pytest.mark.parametrize("n", [3, 4])
def test_sizes_of_another_law(n):
    """Sizes of layers all equally likely, given to the compiled draw."""
    table, rng = code_table(n), np.random.default_rng(n)
    sizes = np.ones((n + 1, n + 1))
    for m in range(1, n + 1):
        sizes[m, : m + 1] = np.arange(m + 1) / m
    counts = np.zeros(len(partitions(n)), dtype=np.int64)
    assert count_fresh(n, sizes, 50_000, rng, table, counts)
    check_counts(counts, law_of_equal_sizes(n), FALSE_ALARM)
    with pytest.raises(AssertionError):
        check_counts(counts, uniform_law(n), FALSE_ALARM)


@pytest.mark.parametrize("hottest", [0.2, 0.05])
def test_fresh_draws_at_another_power_than_zero(hottest):
    problem, powers = target("random", 3), (1.0, 0.4, hottest)
    recipe = Recipe({"node_gibbs": 1.0}, powers=powers)
    law, swaps = product_law(problem, powers), swaps_of(problem, powers)
    for parity in (0, 1):
        check_sweep(law, steps_of(problem, recipe, 1, fresh=False), swaps, parity)
        with pytest.raises(AssertionError):
            check_sweep(law, steps_of(problem, recipe, 1, fresh=True), swaps, parity)


def test_compiled_fresh_draws_at_another_power_than_zero():
    """The posterior itself is missed, and sweeps are not what they should be."""
    problem, powers = target("random", 3), (1.0, 0.9, 0.8)
    recipe = Recipe({"node_gibbs": 1.0}, powers=powers, sweep=1, fresh=True)
    visits = visits_of(Chain(problem, recipe, seed=1), 4_000, 20)
    for replica, power in enumerate(powers):
        with pytest.raises(AssertionError):
            check_counts(visits[replica], problem.law(power), FALSE_ALARM)
    with pytest.raises(AssertionError):
        check_compiled_sweeps(problem, recipe, steps_of(problem, recipe, 1, fresh=False))


def test_hot_replicas_that_are_not_drawn_afresh():
    """The sweeps that are declared with fresh draws, compiled without."""
    problem = target("random", 3)
    with pytest.raises(AssertionError):
        check_compiled_sweeps(
            problem, one_step(GIBBS, fresh=False), steps_of(problem, GIBBS, 1, fresh=True)
        )


def test_steps_at_power_zero_that_enter_what_is_not_admissible():
    """Uniform over all places instead of the admissible ones."""
    problem = target("required", 3)
    everywhere = steps_of(target("uniform", 3), GIBBS, 1, fresh=False)[-1]
    steps = steps_of(problem, GIBBS, 1, fresh=False)
    law, swaps = product_law(problem, POWERS), swaps_of(problem, POWERS)
    check_sweep(law, steps, swaps, 1)
    with pytest.raises(AssertionError):
        check_sweep(law, [*steps[:-1], everywhere], swaps, 1)

"""Held sets with known mistakes, each of which the checks of ``test_held_sets`` must reject."""

import numpy as np
import pytest

from outpoint.kernels import kernel
from outpoint.mcmc.metropolis import accepts
from outpoint.mcmc.replicas import make_ladder, make_replicas
from tests.mcmc.held import (
    HOLD,
    PLACE,
    REDRAW,
    REVERSE,
    HeldTarget,
    Stepper,
    chosen_states,
    held_target,
)
from tests.mcmc.laws import (
    Floats,
    Target,
    check_counts,
    check_invariant,
    list_reversals,
    reversal_matrix,
    stay_otherwise,
    tempered,
)
from tests.mcmc.loops import count_and_put_back
from tests.mcmc.test_held_sets import reversals, reverse_matrix

FALSE_ALARM = 1e-6
POWER = 0.3  # neither 1 - b nor b^2 is b


def is_told_apart(
    problem: HeldTarget, wrong: Floats, kind: int, argument: int, power: float, n_draws: int
) -> bool:
    """Whether frequencies of compiled steps show that ``wrong`` is not their law."""
    stepper = Stepper.of(problem, 1)
    starts = chosen_states(problem, 40, 1)
    for start in starts:
        counts = stepper.counts(start, kind, argument, power, n_draws)
        try:
            check_counts(counts, wrong[start], FALSE_ALARM / len(starts))
        except AssertionError:
            return True
    return False


def rejects(law: Floats, matrix: Floats) -> bool:
    try:
        check_invariant(law, matrix)
    except AssertionError:
        return True
    return False


def test_the_comparison_itself_accepts_the_right_laws():
    problem = held_target("three")
    right = reverse_matrix("three", POWER, 2)
    assert not rejects(problem.law(POWER), right)
    assert not is_told_apart(problem, right, REVERSE, 2, POWER, 5_000)
    redraw = problem.gibbs_matrix(0, problem.log_law(POWER), redrawn=True)
    assert not is_told_apart(problem, redraw, REDRAW, 0, POWER, 5_000)
    hold = problem.hold_matrix(0, problem.log_law(POWER))
    assert not is_told_apart(problem, hold, HOLD, 0, POWER, 5_000)


# Reversals to a power


@pytest.mark.parametrize(
    "exponent", [0.0, POWER / (1.0 - POWER), -1.0], ids=["none", "b instead of 1 - b", "sign"]
)
@pytest.mark.parametrize("name", ["three", "four, one"])
def test_reversals_with_another_second_acceptance(name, exponent):
    problem = held_target(name)
    inside = problem.through_dags(np.linalg.matrix_power(reversals(name), 2))
    wrong = tempered(inside, problem.log_excess(POWER), exponent)
    assert rejects(problem.law(POWER), wrong)
    assert is_told_apart(problem, wrong, REVERSE, 2, POWER, 8_000)


@pytest.mark.parametrize("name", ["three", "four, one"])
def test_reversals_accepted_by_weights_without_penalties(name):
    problem = held_target(name)
    inside = problem.through_dags(np.linalg.matrix_power(reversals(name), 2))
    wrong = tempered(inside, problem.log_weight, 1.0 - POWER)
    assert rejects(problem.law(POWER), wrong)
    assert is_told_apart(problem, wrong, REVERSE, 2, POWER, 8_000)


@pytest.mark.parametrize("name", ["three", "four, one"])
def test_outside_sets_dropped_from_the_sums_of_reversals(name):
    """Only inside sets are proposed and summed."""
    problem = held_target(name)
    whole = problem.target
    family = {
        (v, s): score if problem.is_inside(v, s) else -np.inf
        for (v, s), score in whole.family.items()
    }
    inside = Target(whole.n, whole.view, whole.log_dag, family)
    with np.errstate(over="ignore"):
        on_dags = reversal_matrix(inside, list_reversals(inside))
    assert rejects(whole.dags, on_dags)
    wrong = problem.through_dags(on_dags)
    assert rejects(problem.law(), wrong)
    assert is_told_apart(problem, wrong, REVERSE, 1, 1.0, 5_000)


@pytest.mark.parametrize("side", ["proposed", "summed"])
def test_outside_sets_dropped_from_one_side_of_the_ratio(side):
    """The way back of a reversal misses them, or the way there."""
    problem = held_target("three")
    whole = problem.target
    out = np.zeros((len(whole.log_dag),) * 2)
    family = {
        (v, s): score if problem.is_inside(v, s) else -np.inf
        for (v, s), score in whole.family.items()
    }
    few = {
        (move.start, move.end): move.log_sums_ratio
        for move in list_reversals(Target(whole.n, whole.view, whole.log_dag, family))
    }
    for move in list_reversals(whole):
        if side == "proposed" and (move.start, move.end) not in few:
            continue
        ratio = move.log_sums_ratio
        if side == "summed":
            ratio = few.get((move.start, move.end), ratio)
        accepted = min(1.0, move.n_edges / move.n_edges_after * np.exp(min(ratio, 50.0)))
        out[move.start, move.end] += move.probability / move.n_edges * accepted
    wrong = stay_otherwise(out)
    assert rejects(whole.dags, wrong)
    assert is_told_apart(problem, problem.through_dags(wrong), REVERSE, 1, 1.0, 5_000)


@pytest.mark.parametrize("name", ["three", "four, one"])
def test_held_sets_left_behind(name):
    """The layers move on, and what was held stays, where that is possible."""
    problem = held_target(name)
    right = reverse_matrix(name, 1.0, 2)
    wrong = np.zeros_like(right)
    for i, (_, held) in enumerate(problem.states):
        for j in np.flatnonzero(right[i]):
            k = problem.index.get((problem.states[j][0], held), i)
            wrong[i, k] += right[i, j]
    assert rejects(problem.law(), wrong)
    assert is_told_apart(problem, wrong, REVERSE, 2, 1.0, 3_000)


# Penalties


@pytest.mark.parametrize("name", ["three", "four, one"])
def test_redraws_without_the_penalty(name):
    """Outside sets weigh exp(b s), as their swaps would have it if nobody took care."""
    problem = held_target(name)
    wrong = problem.gibbs_matrix(0, POWER * problem.log_weight, redrawn=True)
    assert rejects(problem.law(POWER), wrong)
    assert is_told_apart(problem, wrong, REDRAW, 0, POWER, 3_000)


def test_redraws_with_the_penalty_at_power_one():
    problem = held_target("three")
    wrong = problem.gibbs_matrix(0, problem.log_weight - problem.penalties(0.0), redrawn=True)
    assert rejects(problem.law(), wrong)
    assert is_told_apart(problem, wrong, REDRAW, 0, 1.0, 3_000)


@pytest.mark.parametrize("log_back", [0.0, -1.0], ids=["none", "sign"])
def test_holding_with_another_ratio_of_proposals(log_back):
    """As if all sets of the list were one proposal, or the way back were the way there."""
    problem = held_target("three")
    wrong = problem.hold_matrix(0, problem.log_law(POWER), log_back=log_back)
    assert rejects(problem.law(POWER), wrong)
    assert is_told_apart(problem, wrong, HOLD, 0, POWER, 3_000)


def test_holding_without_the_penalty():
    problem = held_target("three")
    wrong = problem.hold_matrix(0, POWER * problem.log_weight)
    assert rejects(problem.law(POWER), wrong)
    assert is_told_apart(problem, wrong, HOLD, 0, POWER, 3_000)


def test_placement_that_forgets_what_others_hold():
    """As if sets held by others put no limit on where their members stand."""
    problem = held_target("three")
    right = problem.gibbs_matrix(0, problem.log_law(1.0), redrawn=False)
    free = problem.gibbs_matrix(0, problem.log_law(1.0), redrawn=True)
    assert not np.allclose(right, free)
    assert is_told_apart(problem, free, PLACE, 0, 1.0, 3_000)


def test_swaps_without_the_penalty_do_not_keep_the_product():
    problem, powers = held_target("three"), (0.8, 0.3)
    law = np.kron(problem.law(powers[0]), problem.law(powers[1]))
    check_invariant(law, problem.swap_matrix(*map(problem.log_law, powers)))
    with pytest.raises(AssertionError):
        check_invariant(law, problem.swap_matrix(*(b * problem.log_weight for b in powers)))


@kernel
def swap_without_the_penalty(view, replicas, ladder, parity, rng):
    slot, power, log_tau = replicas.slot, ladder.power, replicas.states.log_tau
    for upper in range(parity, slot.size - 1, 2):
        gap = log_tau[slot[upper + 1]].sum() - log_tau[slot[upper]].sum()
        if accepts((power[upper] - power[upper + 1]) * gap, 0.0, rng):
            slot[upper], slot[upper + 1] = slot[upper + 1], slot[upper]


@kernel
def count_swaps_without_the_penalty(view, replicas, ladder, parity, n_draws, rng, counts):
    slot = replicas.slot.copy()
    for _ in range(n_draws):
        swap_without_the_penalty(view, replicas, ladder, parity, rng)
        count_and_put_back(slot, replicas, counts)


def test_compiled_swaps_without_the_penalty():
    problem, powers = held_target("three"), (0.8, 0.3)
    stepper = Stepper.of(problem, 1)
    size = len(problem.states)
    matrix = problem.swap_matrix(*map(problem.log_law, powers))
    caught = 0
    for a in range(size):
        b = (a + 1) % size
        replicas = make_replicas(2, stepper.state(a))
        for stacked, own in zip(replicas.states, stepper.state(b), strict=True):
            stacked[1] = own
        ladder, counts = make_ladder(np.array(powers)), np.zeros(1, dtype=np.int64)
        count_swaps_without_the_penalty(
            problem.target.view, replicas, ladder, 0, 2_000, stepper.rng, counts
        )
        accepted = matrix[a * size + b, b * size + a]
        seen = np.array([2_000 - counts[0], counts[0]])
        try:
            check_counts(seen, np.array([1.0 - accepted, accepted]), FALSE_ALARM / size)
        except AssertionError:
            caught += 1
    assert caught

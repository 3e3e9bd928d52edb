"""Exchanges with known mistakes, each of which the checks of ``test_crossover`` must reject."""

from functools import partial

import numpy as np
import pytest

from outpoint.kernels import kernel
from outpoint.mcmc.crossover import choose_part, cross_over, exchange, find_differing
from outpoint.mcmc.partition import sample_dag
from outpoint.mcmc.replicas import replica_state
from tests.grids import first
from tests.mcmc.crossing import (
    Crossing,
    Parents,
    PartLaw,
    Parts,
    Rule,
    check_flows,
    crossing_target,
    differing,
    draw_crossings,
    exchanged,
    log_factors,
    look,
    neighbours_along,
    parts_from,
    parts_of,
    put_back,
    remember,
)
from tests.mcmc.laws import check_balanced, check_invariant
from tests.mcmc.test_crossover import check_crossings

POWERS = (0.6, 0.2)  # neither is 1, and none of b, 1 - b, b' and 1 - b' is another
NAMES = ("complete", "three")


def keeps_the_product(kernel: Crossing) -> bool:
    """Whether a declared kernel is accepted, on DAGs and on states."""
    if kernel.problem.n > 3:
        return has_balanced_flows(kernel)
    first, second = kernel.powers
    law = np.kron(kernel.dag_law(first), kernel.dag_law(second))
    states = np.kron(kernel.problem.law(first), kernel.problem.law(second))
    try:
        check_invariant(law, kernel.matrix)
        check_balanced(law, kernel.matrix)
        check_invariant(states, kernel.on_states())
    except AssertionError:
        return False
    return True


def has_balanced_flows(kernel: Crossing) -> bool:
    try:
        check_flows(kernel, 200)
    except AssertionError:
        return False
    return True


def is_compiled(kernel: Crossing, draw=draw_crossings) -> bool:
    """Whether compiled exchanges are taken for the declared ones."""
    try:
        check_crossings(kernel.problem, kernel, 40, 4_000, draw)
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("name", first([*NAMES, "four, two"]))
def test_the_checks_themselves_accept_the_right_kernel(name):
    kernel = Crossing(crossing_target(name), POWERS)
    assert keeps_the_product(kernel)
    assert is_compiled(kernel)


# Powers and penalties


WRONG_FACTORS: dict[str, Rule] = {
    "powers exchanged": lambda problem, powers: log_factors(problem, (powers[1], powers[0])),
    "the first forgotten": lambda problem, powers: log_factors(problem, (1.0, powers[1])),
    "the second forgotten": lambda problem, powers: log_factors(problem, (powers[0], 1.0)),
    "both forgotten": lambda problem, powers: log_factors(problem, (1.0, 1.0)),
    "b instead of b - 1": lambda problem, powers: (
        problem.log_law(powers[0]),
        problem.log_law(powers[1]),
    ),
    "the sign": lambda problem, powers: (
        problem.log_excess(powers[0]),
        problem.log_excess(powers[1]),
    ),
    "no penalties": lambda problem, powers: (
        (powers[0] - 1.0) * problem.log_weight,
        (powers[1] - 1.0) * problem.log_weight,
    ),
}


# Where a state has one DAG the weights of both replicas keep their product, and b and b - 1 say the
# same.
CASES = [
    (name, mistake)
    for name in (*NAMES, "four, two")
    for mistake in WRONG_FACTORS
    if (name, mistake) not in (("three", "b instead of b - 1"), ("complete", "no penalties"))
] + [("three, mutual", "no penalties")]


@pytest.mark.parametrize(("name", "mistake"), CASES)
def test_other_factors_of_the_weights(name, mistake):
    wrong = Crossing(crossing_target(name), POWERS, WRONG_FACTORS[mistake])
    assert not keeps_the_product(wrong)
    assert not is_compiled(wrong)


# Parts


def along_the_first(first: Parents, second: Parents) -> Parts:
    """Along the edges of one DAG, which are others after the exchange."""
    nodes = differing(first, second)
    return parts_from(nodes, neighbours_along(nodes, (first,)))


def from_nodes_with_parents(first: Parents, second: Parents) -> Parts:
    """Seeds are differing nodes that have an edge into them in the first DAG."""
    nodes = differing(first, second)
    around = neighbours_along(nodes, (first, second))
    return parts_from([v for v in nodes if first[v]], around)


def with_children_of_the_first(first: Parents, second: Parents) -> Parts:
    """Parts grow with what has its parent in them, in the first DAG."""
    out: Parts = {}
    for part, probability in parts_of(first, second).items():
        more = part | {v for v in differing(first, second) if first[v] & part}
        out[more] = out.get(more, 0.0) + probability
    return out


WRONG_PARTS: list[PartLaw] = [along_the_first, from_nodes_with_parents, with_children_of_the_first]


@pytest.mark.parametrize("parts", WRONG_PARTS)
@pytest.mark.parametrize("name", NAMES)
def test_parts_of_which_the_way_back_is_another(name, parts):
    wrong = Crossing(crossing_target(name), POWERS, parts=parts)
    assert not keeps_the_product(wrong)
    assert not is_compiled(wrong)


@pytest.mark.parametrize("parts", WRONG_PARTS)
def test_wrong_parts_do_not_pass_for_symmetric(parts):
    """A pair whose first DAG has an edge between differing nodes, and the second has not."""
    one = tuple(map(frozenset, ({2}, {0}, ())))
    other = tuple(map(frozenset, ((), {2}, ())))
    ends = [exchanged(one, other, part) for part in parts_of(one, other)]
    assert all(parts_of(*after) == pytest.approx(parts_of(one, other)) for after in ends)
    assert any(parts(*after) != pytest.approx(parts(one, other)) for after in ends)


# Cycles


@pytest.mark.parametrize("name", NAMES)
def test_one_side_kept_where_the_other_closes_a_cycle(name):
    wrong = Crossing(crossing_target(name), POWERS, keeps_one_side=True)
    assert not keeps_the_product(wrong)
    assert not is_compiled(wrong)


@kernel
def cross_through_cycles(view, replicas, power, upper, n_tries, scratch, rng):
    """Exchanges whatever was chosen, and never looks whether there is a cycle."""
    first, second = scratch.first, scratch.second
    sample_dag(view, replica_state(replicas, upper), rng, first)
    sample_dag(view, replica_state(replicas, upper + 1), rng, second)
    count = find_differing(first, second, scratch.differing)
    if count > 0:
        choose_part(first, second, count, scratch, rng)
        exchange(view, first, second, count, scratch)
    return 0


@kernel
def cross_without_way_back(view, replicas, power, upper, n_tries, scratch, rng):
    """Leaves the DAGs exchanged where the replicas have been left as they were."""
    count = cross_over(view, replicas, power, upper, n_tries, scratch, rng)
    if count == 0:
        n_differing = find_differing(scratch.first, scratch.second, scratch.differing)
        exchange(view, scratch.first, scratch.second, n_differing, scratch)
    return count


@kernel
def cross_with_powers_exchanged(view, replicas, power, upper, n_tries, scratch, rng):
    other = power.copy()
    other[upper], other[upper + 1] = power[upper + 1], power[upper]
    return cross_over(view, replicas, other, upper, n_tries, scratch, rng)


@kernel
def cross_with_other_powers(view, replicas, power, upper, n_tries, scratch, rng):
    """Takes the powers of the pair before."""
    other = power.copy()
    other[1:] = power[:-1]
    return cross_over(view, replicas, other, upper, n_tries, scratch, rng)


@kernel
def cross_forgetting_slots(view, replicas, power, upper, n_tries, scratch, rng):
    """Takes the row r for the state of replica r."""
    slot = replicas.slot.copy()
    for r in range(slot.size):
        replicas.slot[r] = r
    count = cross_over(view, replicas, power, upper, n_tries, scratch, rng)
    replicas.slot[:] = slot
    return count


@kernel
def draw_wrong_crossings(
    mistake, view, replicas, power, upper, n_tries, scratch, rng, codes, layers, held
):
    """One loop for all mistakes: a loop that takes a kernel could not be cached."""
    before, fine = remember(view, replicas), True
    for draw in range(len(codes)):
        put_back(before, replicas)
        if mistake == 0:
            n_accepted = cross_through_cycles(view, replicas, power, upper, n_tries, scratch, rng)
        elif mistake == 1:
            n_accepted = cross_without_way_back(view, replicas, power, upper, n_tries, scratch, rng)
        elif mistake == 2:
            n_accepted = cross_with_powers_exchanged(
                view, replicas, power, upper, n_tries, scratch, rng
            )
        elif mistake == 3:
            n_accepted = cross_with_other_powers(
                view, replicas, power, upper, n_tries, scratch, rng
            )
        else:
            n_accepted = cross_forgetting_slots(view, replicas, power, upper, n_tries, scratch, rng)
        fine &= 0 <= n_accepted <= n_tries
        fine &= look(
            view,
            replicas,
            before,
            upper,
            n_accepted,
            scratch,
            codes[draw],
            layers[draw],
            held[draw],
        )
    return fine


MISTAKES = ["cycles", "no way back", "powers exchanged", "other powers", "slots forgotten"]


@pytest.mark.parametrize("mistake", range(len(MISTAKES)), ids=MISTAKES)
def test_wrong_compiled_exchanges(mistake):
    for name in NAMES:
        kernel = Crossing(crossing_target(name), POWERS)
        assert not is_compiled(kernel, partial(draw_wrong_crossings, mistake))

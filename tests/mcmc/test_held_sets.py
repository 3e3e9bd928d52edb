"""Held outside sets: the law over (partition, what is held), and the compiled steps that keep it.

The matrices come from listing states, see ``tests.mcmc.held``. Frequencies are compared by
chi-square; the stated false-alarm rate is that of a whole test function (seeds are fixed).
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numba
import numpy as np
import pytest

from outpoint.mcmc.moves.blocks import LEAST_BLOCK_POWER
from outpoint.mcmc.partition import make_partition
from outpoint.mcmc.replicas import make_ladder, make_replicas
from outpoint.mcmc.samplers.partition import partition_of
from outpoint.tables import near
from outpoint.tables.outside import outside_penalty
from outpoint.tables.view import view_table
from tests.grids import first
from tests.mcmc.held import (
    ALL,
    HOLD,
    METROPOLIS,
    PLACE,
    REDRAW,
    REVERSE,
    SMALL,
    HeldTarget,
    Stepper,
    chosen_states,
    held_target,
    score,
)
from tests.mcmc.laws import (
    MOVE_NAMES,
    Floats,
    Proposed,
    Target,
    check_balanced,
    check_counts,
    check_invariant,
    list_reversals,
    parent_sets,
    partitions,
    reversal_matrix,
    tempered,
)
from tests.mcmc.loops import MOVE_NUMBER, candidate_masks, copy_state, count_swaps
from tests.reference import log_sum_exp

FALSE_ALARM = 1e-6
POWERS = (1.0, 0.5, 0.0)
REV_POWERS = (1.0, 0.5, 0.2)


@lru_cache
def reversals(name: str) -> Floats:
    """The REV kernel on DAGs, over inside and near sets; nodes with other sets are left alone."""
    return limited_reversals(held_target(name), HeldTarget.is_tabulated)


def limited_reversals(
    problem: HeldTarget, is_listed: Callable[[HeldTarget, int, frozenset[int]], bool]
) -> Floats:
    """The REV kernel on DAGs over some sets alone."""
    whole = problem.target
    family = {
        (v, s): score if is_listed(problem, v, s) else -np.inf
        for (v, s), score in whole.family.items()
    }
    few = Target(whole.n, whole.view, whole.log_dag, family)
    dags = parent_sets(whole.n)

    def has_listed_ends(move: Proposed) -> bool:
        before, after = dags[move.start], dags[move.end]
        ends = [v for v in range(whole.n) if before[v] != after[v]]
        assert len(ends) == 2
        return all(is_listed(problem, v, before[v]) for v in ends)

    with np.errstate(over="ignore"):
        return reversal_matrix(whole, [m for m in list_reversals(few) if has_listed_ends(m)])


def reverse_matrix(name: str, power: float, block: int) -> Floats:
    """Reversals through a DAG, accepted by what that does to the weight."""
    problem = held_target(name)
    inside = problem.through_dags(np.linalg.matrix_power(reversals(name), block))
    return tempered(inside, problem.log_excess(power), 1.0)


# The law


@pytest.mark.parametrize("name", ALL)
def test_states_are_what_dags_belong_to(name):
    """At power 1 a state weighs as much as its DAGs, and every state has one."""
    problem = held_target(name)
    members: list[list[float]] = [[] for _ in problem.states]
    for dag, i in enumerate(problem.state_of_dags):
        if i >= 0:
            members[i].append(problem.target.log_dag[dag])
    assert all(members)
    assert problem.n_held.max() > 1
    np.testing.assert_allclose(
        [log_sum_exp(own) for own in members], problem.log_weight, atol=1e-12
    )


@pytest.mark.parametrize("name", ALL)
def test_summing_out_what_is_held_leaves_the_posterior_over_all_sets(name):
    problem = held_target(name)
    by_partition = np.zeros(len(partitions(problem.n)))
    np.add.at(by_partition, [x for x, _ in problem.states], problem.law())
    np.testing.assert_allclose(by_partition, problem.target.law(), rtol=1e-12, atol=1e-300)


@numba.njit
def read_penalties(curves, power):
    return [outside_penalty(curves, node, power) for node in range(len(curves))]


@pytest.mark.parametrize("name", ALL)
def test_compiled_weights_and_penalties(name):
    problem = held_target(name)
    stepper = Stepper.of(problem, 1)
    view = problem.target.view
    for power in (0.0, 1e-3, 0.25, 0.3, 0.999, 1.0):
        compiled = read_penalties(view.penalty, power)
        declared = [problem.penalty(v, power) for v in range(problem.n)]
        np.testing.assert_allclose(compiled, declared, rtol=1e-12, atol=1e-12)
    weights = [stepper.state(i).log_tau.sum() for i in range(len(problem.states))]
    np.testing.assert_allclose(weights, problem.log_weight, atol=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_what_does_not_fit_weighs_nothing(name):
    """Every partition with every combination that some other partition allows."""
    problem = held_target(name)
    stepper = Stepper.of(problem, 1)
    rng = np.random.default_rng(1)
    n_wrong = 0
    for _ in range(300):
        i, j = rng.integers(len(problem.states), size=2)
        state = stepper.state(i)
        state.held[:] = stepper.codes(problem.states[j][1])
        state.log_tau[:] = 0.0
        found = score(problem.target.view, state)
        k = problem.index.get((problem.states[i][0], problem.states[j][1]))
        n_wrong += k is None
        assert found == pytest.approx(-np.inf if k is None else problem.log_weight[k], abs=1e-12)
    assert n_wrong > 30


@pytest.mark.parametrize("name", ALL)
def test_the_state_of_every_dag(name):
    problem = held_target(name)
    stepper = Stepper.of(problem, 1)
    for dag in np.flatnonzero(problem.target.log_dag > -np.inf)[::3]:
        state = partition_of(
            problem.target.view, candidate_masks(problem.target.view, dag).astype(np.int32)
        )
        key = (*state.layer.tolist(), *state.held.tolist())
        assert stepper.known[key] == problem.state_of_dags[dag]


# Kernels keep it


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("name", ALL)
def test_declared_steps_keep_the_law(name, power):
    problem = held_target(name)
    law, log_law = problem.law(power), problem.log_law(power)
    for redrawn in (False, True):
        for node in range(problem.n):
            check_balanced(law, problem.gibbs_matrix(node, log_law, redrawn=redrawn))
            check_invariant(law, problem.gibbs_matrix(node, log_law, redrawn=redrawn))
    for node in range(problem.n):
        check_balanced(law, problem.hold_matrix(node, log_law))
    for move in MOVE_NAMES:
        check_invariant(law, problem.move_matrix(move, log_law))


@pytest.mark.parametrize("name", ALL)
def test_declared_reversals_keep_the_law_to_any_power(name):
    problem = held_target(name)
    check_invariant(problem.target.dags, reversals(name))
    check_balanced(problem.target.dags, reversals(name))
    for power in (*REV_POWERS, 0.7):
        for block in (1, 3):
            matrix = reverse_matrix(name, power, block)
            check_invariant(problem.law(power), matrix)
            check_balanced(problem.law(power), matrix)


@pytest.mark.parametrize("powers", [(1.0, 0.5), (0.5, 0.0)])
@pytest.mark.parametrize("name", SMALL)
def test_declared_swaps_keep_the_product(name, powers):
    problem = held_target(name)
    law = np.kron(problem.law(powers[0]), problem.law(powers[1]))
    check_invariant(law, problem.swap_matrix(*map(problem.log_law, powers)))


def test_all_steps_together_get_everywhere():
    """Placement keeps what is held, so only redrawing connects the states."""
    problem = held_target("four, one")
    log_law = problem.log_law(1.0)
    nodes = range(problem.n)
    place = sum(problem.gibbs_matrix(v, log_law, redrawn=False) for v in nodes) / problem.n
    redraw = sum(problem.gibbs_matrix(v, log_law, redrawn=True) for v in nodes) / problem.n
    many = np.linalg.matrix_power(0.85 * place + 0.15 * redraw, 2000)
    np.testing.assert_allclose(many, np.tile(problem.law(), (len(many), 1)), atol=1e-9)
    assert np.count_nonzero(np.linalg.matrix_power(place, 64)[0]) < len(many)


# The compiled steps


def check_steps(
    problem: HeldTarget,
    matrix: Floats,
    kind: int,
    argument: int,
    power: float,
    n_draws: int,
    n_starts: int = 14,
) -> None:
    """Compiled steps from some states against the rows of ``matrix``."""
    stepper = Stepper.of(problem, argument)
    starts = chosen_states(problem, n_starts, argument)
    for start in starts:
        counts = stepper.counts(start, kind, argument, power, n_draws)
        check_counts(counts, matrix[start], FALSE_ALARM / len(starts) / 10)


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("kind", [PLACE, REDRAW], ids=["place", "redraw"])
@pytest.mark.parametrize("name", first(ALL, 2))
def test_compiled_placement_and_redraws(name, kind, power):
    problem = held_target(name)
    for node in range(problem.n):
        matrix = problem.gibbs_matrix(node, problem.log_law(power), redrawn=kind == REDRAW)
        check_steps(problem, matrix, kind, node, power, 2_000)


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("name", first(ALL, 2))
def test_compiled_tries_to_hold_or_release_a_set(name, power):
    problem = held_target(name)
    for node in range(problem.n):
        matrix = problem.hold_matrix(node, problem.log_law(power))
        check_steps(problem, matrix, HOLD, node, power, 2_000)


@pytest.mark.long
@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("kind", [PLACE, REDRAW], ids=["place", "redraw"])
@pytest.mark.parametrize("name", ALL)
def test_compiled_placement_and_redraws_from_many_states(name, kind, power):
    problem = held_target(name)
    for node in range(problem.n):
        matrix = problem.gibbs_matrix(node, problem.log_law(power), redrawn=kind == REDRAW)
        check_steps(problem, matrix, kind, node, power, 5_000, 100)


@pytest.mark.parametrize("power", [1.0, 0.5])
@pytest.mark.parametrize("move", MOVE_NAMES)
@pytest.mark.parametrize("name", first(["three", "four, two"]))
def test_compiled_moves_keep_what_is_held(name, move, power):
    problem = held_target(name)
    matrix = problem.move_matrix(move, problem.log_law(power))
    check_steps(problem, matrix, METROPOLIS, MOVE_NUMBER[move], power, 2_000)


@pytest.mark.parametrize("power", REV_POWERS)
@pytest.mark.parametrize(
    ("name", "block"),
    first([("three", 1), ("three, mutual", 3), ("four, one", 2), ("four, limited", 4)], 2),
)
def test_compiled_reversals_to_any_power(name, block, power):
    check_steps(held_target(name), reverse_matrix(name, power, block), REVERSE, block, power, 5_000)


def test_reversals_without_room_for_near_sets_draw_inside_sets(monkeypatch):
    monkeypatch.setattr(near, "MOST_BYTES", 0)
    problem = held_target("four, two")
    view = view_table(problem.table)
    assert not view.near.n_others.any()
    bare = replace(problem, target=replace(problem.target, view=view))
    on_dags = limited_reversals(problem, HeldTarget.is_inside)
    check_invariant(problem.target.dags, on_dags)
    check_steps(bare, problem.through_dags(on_dags), REVERSE, 1, 1.0, 5_000)


def test_reversals_of_hot_replicas_are_short_and_then_none():
    name, problem = "three", held_target("three")
    check_steps(problem, reverse_matrix(name, 0.5, 10), REVERSE, 50, 0.5, 8_000)
    check_steps(problem, np.eye(len(problem.states)), REVERSE, 5, LEAST_BLOCK_POWER - 0.01, 500)


@pytest.mark.parametrize("name", SMALL)
def test_compiled_swaps(name):
    """From all pairs of states."""
    problem, powers = held_target(name), (0.8, 0.3)
    stepper = Stepper.of(problem, 1)
    size = len(problem.states)
    matrix = problem.swap_matrix(*map(problem.log_law, powers))
    for a in range(size):
        for b in range(size):
            replicas = make_replicas(2, stepper.state(a))
            for stacked, own in zip(replicas.states, stepper.state(b), strict=True):
                stacked[1] = own
            ladder, counts = make_ladder(np.array(powers)), np.zeros(1, dtype=np.int64)
            view = problem.target.view
            count_swaps(view, replicas, ladder, 0, 400, stepper.rng, counts)
            accepted = 1.0 if a == b else matrix[a * size + b, b * size + a]
            seen = np.array([400 - counts[0], counts[0]])
            check_counts(seen, np.array([1.0 - accepted, accepted]), FALSE_ALARM / size**2)
            rejected = 400 * (1.0 - accepted)
            assert ladder.rejection[0] == pytest.approx(rejected, rel=1e-9, abs=1e-9)


def test_copies_hold_the_same():
    problem = held_target("three")
    stepper = Stepper.of(problem, 1)
    state = stepper.state(int(np.argmax(problem.n_held)))
    other = make_partition(3)
    assert (state.held >= 0).any()
    copy_state(state, other)
    for one, copied in zip(state, other, strict=True):
        used = len(state.order) if one is not state.start else state.n_layers[0] + 1
        assert np.array_equal(one[:used], copied[:used])

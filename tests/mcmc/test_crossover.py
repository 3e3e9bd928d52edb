"""Exchanges of parts keep the product of two powers, and the compiled ones are those declared.

The declared kernel (:mod:`tests.mcmc.crossing`) is listed on all pairs of DAGs of three nodes and
checked to 1e-12; compiled exchanges are compared with it by chi-square, with the false-alarm rate
``FALSE_ALARM`` per test function (seeds are fixed).
"""

from dataclasses import replace
from itertools import combinations, pairwise, product

import numpy as np
import pytest

from outpoint.kernels import kernel
from outpoint.mcmc.crossover import (
    DISTANCES,
    choose_part,
    cross_over,
    exchange,
    find_differing,
    make_crossover,
)
from outpoint.mcmc.dag import DagState, make_dag
from outpoint.mcmc.replicas import make_replicas, set_state
from outpoint.tables import build_table
from outpoint.tables.view import TableView, view_table
from tests.exact.problems import random_scores
from tests.grids import covering, first
from tests.mcmc import crossing
from tests.mcmc.chains import Chain, Recipe
from tests.mcmc.crossing import (
    Crosser,
    Crossing,
    Parents,
    Powers,
    ball,
    by_state,
    check_flows,
    check_pairs,
    crossing_target,
    differing,
    draw_crossings,
    exchanged,
    neighbours_along,
    parts_of,
)
from tests.mcmc.held import HeldTarget, Stepper, chosen_states
from tests.mcmc.laws import (
    check_balanced,
    check_counts,
    check_invariant,
    check_sweep,
    dag_index,
    levels,
    parent_sets,
    peel,
    product_law,
    through_sweep,
)
from tests.mcmc.loops import layers_of, set_code, set_dag
from tests.mcmc.test_ladder_law import steps_of, swaps_of, sweep_counts
from tests.mcmc.test_tempering import visits_of

FALSE_ALARM = 1e-6
POWERS: list[Powers] = [(1.0, 0.4), (0.6, 0.2), (1.0, 1.0), (0.5, 0.0)]
THREE = ("complete", "rough", "complete, limited", "three", "three, mutual")
HELD = ("three", "three, mutual")
FOUR = ("four, complete", "four, one", "four, two", "four, limited")


# The declared kernel


@pytest.mark.parametrize("powers", POWERS)
@pytest.mark.parametrize("name", THREE)
def test_dags_of_a_replica_give_back_its_law(name, powers):
    problem = crossing_target(name)
    for power in powers:
        law = Crossing(problem, powers).dag_law(power)
        state = problem.state_of_dags[problem.state_of_dags >= 0]
        summed = np.bincount(state, weights=law, minlength=len(problem.states))
        np.testing.assert_allclose(summed, problem.law(power), rtol=1e-12)


@pytest.mark.parametrize(("name", "powers"), covering(THREE, POWERS))
def test_declared_exchanges_keep_the_product(name, powers):
    """On pairs of DAGs in balance, and on pairs of states, however often it is tried."""
    problem = crossing_target(name)
    kernel = Crossing(problem, powers)
    law = np.kron(kernel.dag_law(powers[0]), kernel.dag_law(powers[1]))
    check_invariant(law, kernel.matrix)
    check_balanced(law, kernel.matrix)
    assert np.mean(np.diag(kernel.matrix) < 0.99) > 0.2  # something happens
    states = np.kron(problem.law(powers[0]), problem.law(powers[1]))
    for n_tries in (1, 2, 5):
        check_invariant(states, kernel.on_states(n_tries))
        check_balanced(states, kernel.on_states(n_tries))


@pytest.mark.parametrize(("name", "powers"), covering(FOUR, POWERS))
def test_declared_exchanges_of_four_nodes_are_in_balance(name, powers):
    check_flows(Crossing(crossing_target(name), powers), 200)


def test_tables_where_sets_are_held():
    """With one candidate of two a state has one DAG; with two of three it has several."""
    for name in HELD:
        assert crossing_target(name).n_held.max() > 1
        assert len(crossing_target(name).candidates[0]) == 1
    for name in ("complete", "four, complete"):
        assert crossing_target(name).n_held.max() == 0
    assert len(Crossing(crossing_target("complete"), POWERS[0]).dags) == 25
    several = crossing_target("four, two")
    assert several.n_held.max() > 1
    assert len(several.states) < 0.8 * len(Crossing(several, POWERS[0]).dags)


# The compiled one


@pytest.mark.parametrize(("name", "powers"), covering(THREE, POWERS))
def test_compiled_exchanges(name, powers):
    check_crossings(crossing_target(name), Crossing(crossing_target(name), powers), 16, 4_000)


@pytest.mark.parametrize(("name", "powers"), first(product(FOUR, POWERS[:2])))
def test_compiled_exchanges_of_four_nodes(name, powers):
    check_crossings(crossing_target(name), Crossing(crossing_target(name), powers), 8, 10_000)


def check_crossings(
    problem: HeldTarget, kernel: Crossing, n_pairs: int, n_draws: int, draw=draw_crossings
) -> None:
    """Single tries from some pairs of states, by the DAGs and by the states they lead to."""
    crosser = Crosser.of(problem, 1)
    rng = np.random.default_rng(2)
    starts = rng.choice(chosen_states(problem, 12, 1), (n_pairs, 2))
    for i, j in starts.tolist():
        counts = crosser.counts(i, j, kernel.powers, n_draws, draw=draw)
        law = kernel.outcomes(i, j)
        assert sum(law.values()) == pytest.approx(1.0, abs=1e-12)
        check_pairs(counts, law, FALSE_ALARM / n_pairs / 2)
        check_pairs(by_state(problem, counts), by_state(problem, law), FALSE_ALARM / n_pairs / 2)


@pytest.mark.parametrize("name", first(["three", "complete"]))
def test_compiled_exchanges_tried_several_times(name):
    """The same DAGs go on: as often as not a later try undoes an earlier one."""
    problem, powers, n_tries = crossing_target(name), (0.6, 0.2), 3
    kernel, crosser = Crossing(problem, powers), Crosser.of(problem, 3)
    matrix, size = kernel.on_states(n_tries), len(problem.states)
    starts = np.random.default_rng(4).integers(size, size=(20, 2)).tolist()
    for i, j in starts:
        found = by_state(problem, crosser.counts(i, j, powers, 5_000, n_tries=n_tries))
        counts = np.zeros(size * size, dtype=np.int64)
        for (c, d), count in found.items():
            counts[c * size + d] += count
        check_counts(counts, matrix[i * size + j], FALSE_ALARM / len(starts))


# The part that changes places


@pytest.mark.parametrize("n", [3])
def test_the_way_back_is_chosen_with_the_same_probability(n):
    """From all pairs, whether or not an exchange leads to a cycle."""
    n_parts = 0
    for one, other in product(parent_sets(n), repeat=2):
        law = parts_of(one, other)
        assert sum(law.values()) == pytest.approx(float(one != other))
        for part in law:
            after = exchanged(one, other, part)
            assert differing(*after) == differing(one, other)
            assert exchanged(*after, part) == (one, other)
            assert parts_of(*after) == pytest.approx(law)
            n_parts += 1
    assert n_parts > 1_000


@kernel
def crossed(view, replicas, power, upper, n_tries, scratch, rng):
    return cross_over(view, replicas, power, upper, n_tries, scratch, rng)


@kernel
def draw_parts(view, first, second, scratch, rng, back, codes, steps):
    """Choose parts again and again; with ``back`` the part of the first draw is exchanged before.

    ``steps`` are -1 for nodes that do not differ; returns whether two exchanges changed nothing.
    """
    n = first.code.size
    count = find_differing(first, second, scratch.differing)
    if back:
        choose_part(first, second, count, scratch, rng)
        exchange(view, first, second, count, scratch)
    for draw in range(len(steps)):
        choose_part(first, second, count, scratch, rng)
        steps[draw] = -1
        codes[draw] = 0
        for i in range(count):
            v = scratch.differing[i]
            steps[draw, v] = scratch.step[v]
            codes[draw] |= np.int64(scratch.step[v] > 0) << v
    before = first.code.copy()
    exchange(view, first, second, count, scratch)
    moved = first.code.copy()
    exchange(view, first, second, count, scratch)
    n_moved = 0
    for v in range(n):
        n_moved += moved[v] != before[v]
    return np.all(before == first.code) and n_moved == np.sum(steps[-1] > 0)


def view_of(n: int) -> TableView:
    problem = random_scores(n, seed=n)
    table = build_table(
        problem.names, problem.scorer, problem.prior, max_parents=3, n_candidates=n - 1
    )
    return view_table(table)


def dag_state(view: TableView, parents: Parents) -> DagState:
    """A graph, which may have cycles."""
    dag = make_dag(*view.candidates.shape)
    set_dag(view, dag, np.array([set_code(view, v, s) for v, s in enumerate(parents)]))
    return dag


def parents_in(dag: DagState) -> Parents:
    lists = zip(dag.parents.tolist(), dag.n_parents.tolist(), strict=True)
    return tuple(frozenset(parents[:size]) for parents, size in lists)


def sparse_dag(n: int, rng: np.random.Generator) -> Parents:
    """Mostly one parent, from the two nodes right before."""
    order, out = rng.permutation(n).tolist(), [frozenset[int]()] * n
    for place in range(1, n):
        near = order[max(0, place - 2) : place]
        size = min(len(near), int(rng.choice(3, p=[0.2, 0.6, 0.2])))
        out[order[place]] = frozenset(rng.choice(near, size, replace=False).tolist())
    return tuple(out)


def line(n: int) -> Parents:
    return tuple(frozenset({v - 1} if v else set()) for v in range(n))


def pairs_of_dags(n: int) -> list[tuple[Parents, Parents]]:
    """Lines in which only the distance matters, and random DAGs that are related or not."""
    rng = np.random.default_rng(n)
    out = [(line(n), tuple(frozenset[int]() for _ in range(n)))]
    out.append(out[0][::-1])
    for _ in range(12):
        first, second = sparse_dag(n, rng), sparse_dag(n, rng)
        out.append((first, second))
        out.append((first, exchanged_where_acyclic(first, second, rng)))
    return out


def exchanged_where_acyclic(first: Parents, second: Parents, rng) -> Parents:
    """``first`` with the parents that some nodes have in ``second``."""
    for v in rng.permutation(len(first)).tolist():
        changed = exchanged(first, second, frozenset({v}))[0]
        if rng.random() < 0.6 and not has_cycle(changed):
            first = changed
    return first


def has_cycle(parents: Parents) -> bool:
    try:
        peel([set(s) for s in parents])
    except ValueError:
        return True
    return False


def test_compiled_parts_are_balls_in_both_dags():
    """For every seed and every distance: what the random numbers say, by breadth-first search."""
    view, seen, sizes = view_of(8), set(), set()
    assert len(crossing.DISTANCES) == DISTANCES
    for number, (one, other) in enumerate(pairs_of_dags(8)):
        nodes = differing(one, other)
        around = neighbours_along(nodes, (one, other))
        steps, codes = np.empty((600, 8), dtype=np.int64), np.empty(600, dtype=np.int64)
        first, second = dag_state(view, one), dag_state(view, other)
        scratch = make_crossover(*view.candidates.shape)
        rng, same = np.random.default_rng(number), np.random.default_rng(number)
        assert draw_parts(view, first, second, scratch, rng, False, codes, steps)
        assert (parents_in(first), parents_in(second)) == (one, other)
        for row in steps.tolist():
            seed = nodes[int(same.random() * len(nodes))]
            distance = crossing.DISTANCES[int(same.random() * DISTANCES)]
            part = ball(seed, distance, around)
            assert [v for v in range(8) if row[v] >= 0] == nodes
            assert {v for v in nodes if row[v] > 0} == part
            for v in part:  # one more than the distance
                assert v in ball(seed, row[v] - 1, around)
                assert row[v] == 1 or v not in ball(seed, row[v] - 2, around)
            seen.add((number, seed, distance))
        sizes |= {len({ball(seed, d, around) for d in crossing.DISTANCES}) for seed in nodes}
    everything = sum(len(differing(*pair)) * DISTANCES for pair in pairs_of_dags(8))
    assert len(seen) == everything
    assert sizes >= {1, 2, 3, 4, 5, 6}


def test_compiled_parts_before_and_after_an_exchange():
    """The frequencies of parts are the same, and those declared."""
    view, pairs = view_of(8), pairs_of_dags(8)
    for number, (one, other) in enumerate(pairs):
        law = parts_of(one, other)
        parts = sorted(law, key=sorted)
        known = [sum(1 << v for v in part) for part in parts]
        for back in (False, True):
            steps, codes = np.empty((5_000, 8), dtype=np.int64), np.empty(5_000, dtype=np.int64)
            first, second = dag_state(view, one), dag_state(view, other)
            scratch, rng = make_crossover(*view.candidates.shape), np.random.default_rng(number)
            assert draw_parts(view, first, second, scratch, rng, back, codes, steps)
            assert back == (parents_in(first) != one)
            counts = np.array([np.sum(codes == code) for code in known])
            assert counts.sum() == len(codes)
            check_counts(
                counts, np.array([law[part] for part in parts]), FALSE_ALARM / 2 / len(pairs)
            )


# Cycles


@pytest.mark.parametrize("n", [2, 3, 4])
def test_layers_of_all_graphs(n):
    """-1 for those with a cycle, layers for all others, whatever the order they are found in."""
    others = [[u for u in range(n) if u != v] for v in range(n)]
    sets = [[frozenset(s) for k in range(n) for s in combinations(own, k)] for own in others]
    n_dags = 0
    for parents in product(*sets):
        dag, layer = make_dag(n, n - 1), np.empty(n, dtype=np.int64)
        for v, own in enumerate(parents):
            dag.n_parents[v] = len(own)
            dag.parents[v, : len(own)] = sorted(own)
        for order in (np.arange(n), np.arange(n)[::-1].copy()):
            found = layers_of(dag, order, layer)
            if parents in dag_index(n):
                layers = peel([set(own) for own in parents])
                assert (found, layer.tolist()) == (len(layers), levels(layers))
            else:
                assert found == -1
        n_dags += parents in dag_index(n)
    assert n_dags == {2: 3, 3: 25, 4: 543}[n]


def copies(replicas) -> list[np.ndarray]:
    return [array.copy() for array in (*replicas.states, replicas.slot)]


def two_replicas(stepper: Stepper, i: int, j: int):
    replicas = make_replicas(2, stepper.state(i))
    set_state(replicas, 1, stepper.state(j))
    return replicas


def test_cyclic_results_are_refused():
    """a -> c -> b -> d and b -> d -> a -> c: whatever is exchanged closes a cycle.

    Only b and a differ, with no edge between them. All parents are held, so the DAGs are certain.
    """
    problem = HeldTarget.of(random_scores(4, spread=1.0, seed=1), [[1], [0], [1], [0]])
    a, b, c, d = range(4)
    one = tuple(map(frozenset, ({}, {c}, {a}, {b})))
    other = tuple(map(frozenset, ({d}, {}, {a}, {b})))
    assert differing(one, other) == [a, b]
    assert set(parts_of(one, other)) == {frozenset({a}), frozenset({b})}
    stepper = Stepper.of(problem, 1)
    i, j = (problem.state_of_dags[dag_index(4)[dag]] for dag in (one, other))
    replicas = two_replicas(stepper, i, j)
    before, scratch = copies(replicas), stepper.work.crossover
    for _ in range(100):
        arguments = (replicas, np.array([1.0, 0.5]), 0, 5, stepper.work.crossover, stepper.rng)
        assert crossed(problem.target.view, *arguments) == 0
        assert (parents_in(scratch.first), parents_in(scratch.second)) == (one, other)
        for old, new in zip(before, copies(replicas), strict=True):
            np.testing.assert_array_equal(old, new)


def test_reversed_edges_change_places_together_or_not_at_all():
    """a -> b and b -> a at power 1: with a distance of 0 the one or the other closes a cycle."""
    none = frozenset[int]()
    one, other = (none, frozenset({0}), none), (frozenset({1}), none, none)
    a, b = dag_index(3)[one], dag_index(3)[other]
    law = Crossing(crossing_target("complete"), (1.0, 1.0)).row(a, b)
    assert law == pytest.approx({(a, b): 1 / 6, (b, a): 5 / 6})


@pytest.mark.parametrize("name", ["complete", "three"])
def test_equal_dags_have_nothing_to_exchange(name):
    """Nothing is tried, nothing is counted, and only the DAGs have used random numbers."""
    problem = crossing_target(name)
    stepper = Stepper.of(problem, 1)
    alone = [i for i, size in enumerate(np.bincount(problem.state_of_dags)) if size == 1]
    assert alone
    for i in alone:
        replicas = two_replicas(stepper, i, i)
        before = copies(replicas)
        used = []
        for n_tries in (1, 50):
            rng = np.random.default_rng(7)
            arguments = (replicas, np.array([1.0, 0.3]), 0, n_tries, stepper.work.crossover, rng)
            assert crossed(problem.target.view, *arguments) == 0
            used.append(rng.random())
        assert used[0] == used[1]
        for old, new in zip(before, copies(replicas), strict=True):
            np.testing.assert_array_equal(old, new)


# Ladders with exchanges


LADDER = (1.0, 0.5, 0.2)


def sweep_parts(exchanges: int):
    """A problem with all parts of a sweep: steps, swaps, and exchanges of the other pairs."""
    problem = crossing_target("complete")
    recipe = Recipe({"node_gibbs": 1.0}, powers=LADDER, sweep=1, exchanges=exchanges)
    kernels = [Crossing(problem, pair).on_states(exchanges) for pair in pairwise(LADDER)]
    target = problem.target
    return target, recipe, steps_of(target, recipe, 1, False), swaps_of(target, LADDER), kernels


def test_sweeps_with_exchanges_keep_the_product():
    target, _, steps, swaps, crossings = sweep_parts(2)
    law = product_law(target, LADDER)
    for parity in (0, 1):
        check_sweep(law, steps, swaps, parity)
        check_sweep(law, (), crossings, 1 - parity)


def check_sweeps_with_exchanges(recipe: Recipe, exchanges: int) -> None:
    """Compiled sweeps by ``recipe`` against declared ones with so many exchanges."""
    target, _, steps, swaps, crossings = sweep_parts(exchanges)
    chain = Chain(target, recipe, seed=1)
    for parity, start in product((0, 1), ([0, 5, 12], [3, 11, 7])):
        law = np.zeros((13, 13, 13))
        law[tuple(start)] = 1.0
        law = through_sweep(through_sweep(law, steps, swaps, parity), (), crossings, 1 - parity)
        counts = sweep_counts(chain, start, parity, 6_000)
        check_counts(counts.ravel(), np.maximum(law, 0.0).ravel(), FALSE_ALARM / 4)


def test_compiled_sweeps_exchange_the_pairs_that_were_not_swapped():
    recipe = sweep_parts(2)[1]
    check_sweeps_with_exchanges(recipe, 2)
    with pytest.raises(AssertionError):
        check_sweeps_with_exchanges(replace(recipe, exchanges=0), 2)


def test_compiled_sweeps_of_two_rounds():
    """All pairs are swapped, and all exchange parts, before the next step is taken."""
    target, recipe, steps, swaps, crossings = sweep_parts(1)
    chain = Chain(target, replace(recipe, rounds=2), seed=1)
    for step, start in product((0, 1), ([0, 5, 12], [3, 11, 7])):
        law = np.zeros((13, 13, 13))
        law[tuple(start)] = 1.0
        first = law = through_sweep(through_sweep(law, steps, swaps, 0), (), crossings, 1)
        law = through_sweep(through_sweep(law, (), swaps, 1), (), crossings, 0)
        counts = sweep_counts(chain, start, step, 6_000)
        check_counts(counts.ravel(), np.maximum(law, 0.0).ravel(), FALSE_ALARM / 4)
        with pytest.raises(AssertionError):
            check_counts(counts.ravel(), np.maximum(first, 0.0).ravel(), FALSE_ALARM / 4)


def test_replicas_with_exchanges_keep_their_powers():
    target, recipe, *_ = sweep_parts(10)
    visits = visits_of(Chain(target, replace(recipe, sweep=4), seed=1), 4_000, 40)
    for replica, power in enumerate(LADDER):
        check_counts(visits[replica], target.law(power), FALSE_ALARM / len(LADDER))

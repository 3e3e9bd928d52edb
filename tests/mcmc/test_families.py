"""Drawing parents of a few nodes together keeps the posterior, and the compiled step is that step.

The law comes from listing: of walks, which choose the nodes, and of parent sets, of which those
that make a cycle are left out. Frequencies are compared by chi-square; the stated false-alarm rate
is that of a test function (seeds are fixed).
"""

from collections import Counter
from functools import lru_cache
from itertools import product

import numpy as np
import pytest

from outpoint.kernels import kernel
from outpoint.mcmc.dag import copy_dag, make_dag
from outpoint.mcmc.edges import list_edges, make_listed_edges
from outpoint.mcmc.moves.blocks import LEAST_BLOCK_POWER
from outpoint.mcmc.moves.families import (
    HOT_FAMILIES,
    LEAST_FOCUS,
    LEAST_WEIGHT,
    MOST_NODES,
    ONE_SHARE,
    USUAL_NODES,
    focus_on,
    make_joint_redraw,
    redraw_families,
)
from outpoint.tables.view import most_parents, view_table
from tests.exact.problems import random_scores
from tests.grids import covering
from tests.mcmc.held import (
    TOGETHER,
    HeldTarget,
    Stepper,
    chosen_states,
    held_target,
    table_over,
)
from tests.mcmc.laws import (
    Floats,
    Target,
    check_balanced,
    check_counts,
    check_invariant,
    parent_sets,
    peel,
    tempered,
    through_dags,
)
from tests.mcmc.loops import dag_code, dag_codes, is_consistent, make_dag_state, set_code, set_dag
from tests.mcmc.targets import NAMES, target
from tests.mcmc.test_parents import parents_matrix
from tests.reference import log_sum_exp, subsets

FALSE_ALARM = 1e-6


# The law


def walk_shares(problem: Target, inside: dict[int, list[frozenset[int]]]) -> Floats:
    """[v, u]: how a walk goes on from v, by listing the ``inside`` sets of each node."""
    n = problem.n
    weight = np.zeros((n, n))
    for v in range(n):
        total = log_sum_exp(problem.family[v, s] for s in inside[v])
        for u in problem.view.candidates[v].tolist():
            with_u = log_sum_exp(problem.family[v, s] for s in inside[v] if u in s)
            weight[v, u] = max(LEAST_WEIGHT, np.exp(with_u - total))
    weight = np.maximum(weight, weight.T)
    return weight / weight.sum(axis=1, keepdims=True)


def evenly(n: int) -> Floats:
    """Walks begin at any node."""
    return focus_on(np.zeros((1, n), dtype=np.int32))


def test_walks_begin_where_searched_dags_differ():
    starts = np.array([[3, 1, 7], [3, 2, 5], [3, 2, -1], [3, 2, -1]], dtype=np.int32)
    weight = LEAST_FOCUS + np.array([0.0, 0.25, 0.5])
    assert focus_on(starts) == pytest.approx(np.cumsum(weight / weight.sum()))
    assert evenly(4) == pytest.approx([0.25, 0.5, 0.75, 1.0])


def chosen_sets(
    problem: Target, most: int | None = None, first: Floats | None = None
) -> dict[frozenset[int], float]:
    """The probability of each set of nodes, at ``most`` so many, that the walk may choose.

    It begins with the probabilities ``first``, or at any node.
    """
    n, shares = problem.n, walk_shares(problem, inside_sets(problem))
    if most is None:
        most = MOST_NODES if problem.view.outside.score.size else USUAL_NODES
    walks: Counter[tuple[int, ...]] = Counter(
        {(v,): 1.0 / n if first is None else float(first[v]) for v in range(n)}
    )
    for _ in range(most - 1):
        longer: Counter[tuple[int, ...]] = Counter()
        for walk, probability in walks.items():
            for v in walk:
                for u in np.flatnonzero(shares[v]).tolist():
                    met = walk if u in walk else (*walk, u)
                    longer[met] += probability / len(walk) * shares[v, u]
        walks = longer
    sets: Counter[frozenset[int]] = Counter()
    for walk, probability in walks.items():
        sets[frozenset(walk)] += probability
    return dict(sets)


def inside_sets(problem: Target) -> dict[int, list[frozenset[int]]]:
    """The sets of each node that are possible and within its candidates."""
    return {
        v: [
            s
            for (u, s), score in problem.family.items()
            if u == v and score > -np.inf and s <= set(problem.view.candidates[v].tolist())
        ]
        for v in range(problem.n)
    }


@lru_cache
def families_matrix(problem: Target) -> Floats:
    """The step on all DAGs; chosen nodes with outside sets keep these."""
    inside = inside_sets(problem)
    dags = parent_sets(problem.n)
    out = np.zeros((len(dags), len(dags)))
    for chosen, share in chosen_sets(problem).items():
        groups: dict[object, list[int]] = {}
        for x, sets in enumerate(dags):
            if problem.log_dag[x] > -np.inf:
                kept = {v: s for v, s in enumerate(sets) if v not in chosen or s not in inside[v]}
                groups.setdefault(tuple(kept.items()), []).append(x)
        moved = np.eye(len(dags))
        for group in groups.values():
            log_weight = problem.log_dag[group]
            moved[group] = 0.0
            moved[np.ix_(group, group)] = np.exp(log_weight - log_sum_exp(log_weight))
        out += share * moved
    return out


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [3, 4])
def test_declared_law_keeps_the_posterior(n, name):
    problem = target(name, n)
    matrix = families_matrix(problem)
    check_invariant(problem.dags, matrix)
    check_balanced(problem.dags, matrix)
    check_invariant(problem.law(), through_dags(problem, matrix))


def test_nodes_chosen_by_the_dag_would_be_noticed():
    """A choice among a node's neighbours in the DAG needs a correction, which this step has not."""
    problem = target("random", 3)
    dags = parent_sets(3)
    wrong = np.zeros((len(dags), len(dags)))
    for x, sets in enumerate(dags):
        for v in range(3):
            near = [u for u in range(3) if u in sets[v] or v in sets[u]]
            chosen = {v, near[0]} if near else {v}
            others = [
                y
                for y, other in enumerate(dags)
                if all(other[u] == sets[u] for u in range(3) if u not in chosen)
            ]
            wrong[x, others] += problem.dags[others] / problem.dags[others].sum() / 3
    with pytest.raises(AssertionError):
        check_invariant(problem.dags, wrong)


def test_drawing_inside_sets_instead_of_outside_sets_would_be_noticed():
    """What a node loses could not be drawn on the way back."""
    problem = held_target("three").target
    inside, dags = inside_sets(problem), parent_sets(3)
    wrong = np.zeros((len(dags), len(dags)))

    def is_drawn(sets: tuple[frozenset[int], ...], y: int, chosen: frozenset[int]) -> bool:
        free = all(dags[y][v] in inside[v] for v in chosen)
        return free and all(dags[y][v] == sets[v] for v in range(3) if v not in chosen)

    for chosen, share in chosen_sets(problem).items():
        for x, sets in enumerate(dags):
            there = [y for y in range(len(dags)) if is_drawn(sets, y, chosen)]
            wrong[x, there] += share * problem.dags[there] / problem.dags[there].sum()
    with pytest.raises(AssertionError):
        check_invariant(problem.dags, wrong)


# The compiled step


@kernel
def draw_families(view, start, families, focus, rng, codes):
    """One step from ``start``, again and again; returns whether the states stayed right."""
    n = start.code.size
    dag, listed = make_dag(n, start.parents.shape[1] - 1), make_listed_edges(n, n)
    fine = True
    for i in range(codes.size):
        copy_dag(start, dag)
        list_edges(dag, listed)
        is_new = redraw_families(view, dag, listed, families, focus, rng)
        fine &= is_consistent(view, dag)
        codes[i] = dag_code(view, dag)
        fine &= is_new == (codes[i] != dag_code(view, start))
    return fine


@pytest.mark.parametrize(
    ("name", "n", "n_starts"),
    [("random", 3, 25), ("required", 3, 25), ("random", 4, 30), ("candidates", 4, 20)],
)
def test_compiled_step(name, n, n_starts):
    problem = target(name, n)
    rng = np.random.default_rng(n)
    possible = problem.log_dag > -np.inf
    index, matrix = dag_codes(problem.view, possible), families_matrix(problem)
    starts = np.flatnonzero(possible)
    if len(starts) > n_starts:
        starts = rng.choice(starts, n_starts, replace=False)
    families = make_joint_redraw(problem.view)
    for start in starts:
        codes = np.empty(10_000, dtype=np.int64)
        state = make_dag_state(problem.view, start)
        assert draw_families(problem.view, state, families, evenly(n), rng, codes)
        counts = np.bincount([index[code] for code in codes], minlength=len(possible))
        check_counts(counts, matrix[start], FALSE_ALARM / len(starts))


def step_law(
    problem: Target,
    start: tuple[frozenset[int], ...],
    *,
    forget: str = "",
    most: int | None = None,
    first: Floats | None = None,
) -> dict[tuple[frozenset[int], ...], float]:
    """Where the step leads from one DAG; ``forget`` names what a wrong step would overlook."""
    n, inside = problem.n, inside_sets(problem)
    law: Counter[tuple[frozenset[int], ...]] = Counter()
    for chosen, share in chosen_sets(problem, most, first).items():
        if forget == "others" and len(chosen) > 1:  # parents are drawn one after the other
            chosen = frozenset([min(chosen)])
        found = []
        options = [inside[v] if v in chosen else [start[v]] for v in range(n)]
        for sets in product(*options):
            try:
                peel([set(s) for s in sets])
            except ValueError:
                continue
            found.append((sets, sum(problem.family[v, s] for v, s in enumerate(sets))))
        total = log_sum_exp(score for _, score in found)
        for sets, score in found:
            law[sets] += share * np.exp(score - total)
    return dict(law)


def test_compiled_step_with_ways_through_other_nodes():
    """Four of five nodes: descendants over the fifth, and below several of the four at once."""
    problem = target("random", 5)
    start = ((), (4,), (4, 1), (0, 4), (0,))  # 0 -> 4 -> 1, 2, 3
    sets = tuple(frozenset(parents) for parents in start)
    state = make_dag_state(problem.view, parent_sets(5).index(sets))
    codes = np.empty(40_000, dtype=np.int64)
    rng = np.random.default_rng(5)
    families = make_joint_redraw(problem.view)
    assert draw_families(problem.view, state, families, evenly(5), rng, codes)
    check_step(problem, codes, step_law(problem, sets))
    with pytest.raises(AssertionError):
        check_step(problem, codes, step_law(problem, sets, forget="others"))


def check_step(
    problem: Target, codes: np.ndarray, law: dict[tuple[frozenset[int], ...], float]
) -> None:
    """Compare codes of DAGs with where the step leads."""
    width = problem.view.candidates.shape[1]
    own = {
        sum(set_code(problem.view, v, s) << (v * width) for v, s in enumerate(dag)): share
        for dag, share in law.items()
    }
    found = Counter(codes.tolist())
    keys = sorted({*own, *found})
    counts = np.array([found[key] for key in keys])
    check_counts(counts, np.array([own.get(key, 0.0) for key in keys]), FALSE_ALARM)


def test_compiled_step_of_six_nodes():
    """Where there are outside sets, up to six nodes are drawn together, and ``first`` is heeded.

    Up to four nodes would be noticed, and so would walks that begin anywhere.
    """
    n, first = 6, np.array([0.4, 0.3, 0.1, 0.1, 0.1, 0.0])
    given = random_scores(n, spread=2.0, seed=6, max_parents=2)
    table = table_over(given, [sorted((v + step) % n for step in (1, 2, 3)) for v in range(n)])
    family = {
        (v, frozenset(s)): table.log_score(v, s)
        for v in range(n)
        for s in subsets(set(range(n)) - {v}, 2)
    }
    problem = Target(n, view_table(table), np.zeros(0), family)
    start = tuple(map(frozenset, ({1}, {2}, {3, 4}, (), (), {0})))
    dag = make_dag(n, most_parents(problem.view))
    set_dag(
        problem.view, dag, np.array([set_code(problem.view, v, s) for v, s in enumerate(start)])
    )
    codes = np.empty(40_000, dtype=np.int64)
    rng = np.random.default_rng(6)
    families = make_joint_redraw(problem.view)
    assert draw_families(problem.view, dag, families, np.cumsum(first), rng, codes)
    check_step(problem, codes, step_law(problem, start, first=first))
    for wrong in ({"most": USUAL_NODES, "first": first}, {"first": np.full(n, 1 / n)}):
        with pytest.raises(AssertionError):
            check_step(problem, codes, step_law(problem, start, **wrong))


# Through partitions, with held sets, to any power


def block_matrix(problem: HeldTarget, block: int) -> Floats:
    """Joint redraws from inside sets, or redraws of one node from all sets."""
    n = problem.n
    single = sum(parents_matrix(problem.target, n, node) for node in range(n)) / n
    step = ONE_SHARE * single + (1 - ONE_SHARE) * families_matrix(problem.target)
    return np.linalg.matrix_power(step, block)


def together_matrix(problem: HeldTarget, power: float, block: int) -> Floats:
    """A block of redraws; those of hot replicas are short."""
    if power < 1.0:
        block = min(block, max(1, int(HOT_FAMILIES / (1.0 - power) ** 2)))
    inside = problem.through_dags(block_matrix(problem, block))
    return tempered(inside, problem.log_excess(power), 1.0)


@pytest.mark.parametrize(
    ("name", "power"), covering(["three", "four, two", "four, limited"], [1.0, 0.5, 0.2])
)
def test_blocks_keep_the_law_over_held_sets(name, power):
    problem = held_target(name)
    matrix = together_matrix(problem, power, 2)
    check_invariant(problem.law(power), matrix)
    check_balanced(problem.law(power), matrix)
    stepper = Stepper.of(problem, 1)
    starts = chosen_states(problem, 14, 1)
    for start in starts:
        counts = stepper.counts(start, TOGETHER, 2, power, 5_000)
        check_counts(counts, matrix[start], FALSE_ALARM / len(starts))


def test_blocks_of_hot_replicas_are_short_and_then_none():
    problem = held_target("three")
    stepper = Stepper.of(problem, 1)
    short = together_matrix(problem, 0.5, 50)
    assert np.allclose(short, together_matrix(problem, 0.5, 1))
    for start in range(len(problem.states)):
        counts = stepper.counts(start, TOGETHER, 50, 0.5, 5_000)
        check_counts(counts, short[start], FALSE_ALARM / len(problem.states))
        counts = stepper.counts(start, TOGETHER, 5, LEAST_BLOCK_POWER - 0.01, 100)
        assert counts[start] == 100


def test_blocks_of_hot_replicas_near_the_posterior_are_longer():
    problem, power = held_target("three"), 0.7
    longer = together_matrix(problem, power, 50)
    assert np.allclose(longer, together_matrix(problem, power, 3))
    stepper = Stepper.of(problem, 1)
    for start in range(len(problem.states)):
        counts = stepper.counts(start, TOGETHER, 50, power, 5_000)
        check_counts(counts, longer[start], FALSE_ALARM / len(problem.states))


def test_blocks_that_are_not_accepted_would_be_noticed():
    problem = held_target("three")
    on_dags = block_matrix(problem, 2)
    with pytest.raises(AssertionError):
        check_invariant(problem.law(0.5), problem.through_dags(on_dags))

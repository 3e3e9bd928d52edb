"""Whole compiled chains on partitions against the posterior from listing all DAGs.

Edge probabilities are compared by batch means: each must lie within ``BOUND`` standard errors, from
``N_BATCHES`` batches, with ``FLOOR`` for edges so rare that batches are not normal. A correct
chain exceeds that with probability 2.5e-6 per edge (Student, 99 degrees of freedom), below 1e-3
for all comparisons of this file; seeds are fixed. Draws are thinned until the exact second
eigenvalue says that nothing is left of their correlation, and then tested by chi-square at
``FALSE_ALARM`` per test function.
"""

from dataclasses import replace
from math import ceil, log
from typing import Any

import numpy as np
import pytest

from outpoint.kernels import kernel
from outpoint.mcmc.chain import flatten
from outpoint.mcmc.moves import MOVES
from outpoint.mcmc.trace import add_edges_given_partition, make_trace
from tests.exact.problems import custom
from tests.grids import first
from tests.mcmc.chains import Chain, Recipe, paper_mix, summed_edges
from tests.mcmc.laws import (
    Target,
    by_level,
    check_counts,
    check_invariant,
    dag_index,
    index_of,
    levels,
    partition_of_dags,
    partitions,
    peel,
    relaxation,
)
from tests.mcmc.loops import scored_state
from tests.mcmc.targets import target
from tests.reference import all_dags

FALSE_ALARM = 1e-6
BOUND, N_BATCHES, FLOOR = 5.0, 100, 1e-4

GIBBS = Recipe({"node_gibbs": 1.0})
GIBBS_REV = Recipe({"node_gibbs": 0.8, "rev": 0.2}, block=5)
TEMPERED = Recipe({"node_gibbs": 0.9, "rev": 0.1}, block=4, powers=(1.0, 0.5, 0.2), sweep=10)
FRESH = replace(TEMPERED, powers=(1.0, 0.4, 0.0), fresh=True)
TO_ZERO = replace(TEMPERED, powers=(1.0, 0.4, 0.0))
TEMPERED_MOVES = Recipe({"split_join": 0.4, "node_move": 0.5}, powers=(1.0, 0.3), sweep=3)


def paper(n: int) -> Recipe:
    return Recipe(paper_mix(n))


def paper_rev(n: int) -> Recipe:
    return Recipe(paper_mix(n, rev=0.07))


CASES = [
    ("edges", 3, Recipe({"split_join": 0.99})),
    ("random", 3, Recipe({"node_move": 0.99})),
    ("bge", 3, GIBBS),
    ("required", 3, GIBBS_REV),
    ("forbidden", 4, Recipe({"split_join": 0.99})),
    ("random", 4, Recipe({"node_move": 0.99})),
    ("random", 4, GIBBS),
    ("bge", 4, paper(4)),
    ("bdeu", 4, paper_rev(4)),
    ("forbidden", 4, paper(4)),
    ("required", 4, paper_rev(4)),
    ("candidates", 4, GIBBS_REV),
    ("rough", 4, TEMPERED),
    ("random", 4, TEMPERED_MOVES),
    ("random", 5, paper(5)),
    ("bge", 5, TEMPERED),
    ("bdeu", 5, GIBBS_REV),
    ("forbidden", 5, GIBBS),
    ("required", 5, TEMPERED),
    ("edges", 3, FRESH),
    ("rough", 3, FRESH),
    ("random", 4, FRESH),
    ("rough", 4, FRESH),
    ("bge", 5, FRESH),
    ("required", 3, TO_ZERO),
    ("forbidden", 4, TO_ZERO),
    ("random", 4, replace(TEMPERED_MOVES, powers=(1.0, 0.3, 0.0), fresh=True)),
    ("required", 4, replace(TEMPERED_MOVES, powers=(1.0, 0.3, 0.0))),
]


def small(cases: list[tuple[str, int, Recipe]], n: int) -> list[Any]:
    """The cases with up to ``n`` nodes, and the others marked long."""
    return [pytest.param(*case, marks=pytest.mark.long if case[1] > n else ()) for case in cases]


def name_case(value: object) -> str | None:
    if isinstance(value, Recipe):
        ladder = f"x{len(value.powers)}" + "to0" * (value.powers[-1] == 0) + "fresh" * value.fresh
        return "+".join(value.moves) + ladder
    return None


def check_edges(problem: Target, recipe: Recipe, n_steps: int, seed: int) -> None:
    chain = Chain(problem, recipe, seed)
    chain.run(n_steps // 10, recording=False)
    batches = []
    for _ in range(N_BATCHES):
        trace = chain.run(n_steps // N_BATCHES)
        assert trace.n_edge_sums[0] == n_steps // N_BATCHES
        batches.append(summed_edges(problem.view, trace) / trace.n_edge_sums[0])
    error = np.mean(batches, axis=0) - problem.edges
    spread = np.std(batches, axis=0, ddof=1) / np.sqrt(N_BATCHES)
    assert np.all(np.abs(error) <= BOUND * spread + FLOOR), error
    assert np.max(spread) < 0.02  # or nothing has been shown


@pytest.mark.parametrize(("name", "n", "recipe"), small(CASES, 3), ids=name_case)
def test_edge_probabilities(name, n, recipe):
    check_edges(target(name, n), recipe, 400_000, seed=n)


@pytest.mark.long
@pytest.mark.parametrize(("name", "n", "recipe"), CASES, ids=name_case)
def test_edge_probabilities_at_length(name, n, recipe):
    check_edges(target(name, n), recipe, 5_000_000, seed=n + 1)


DRAWN = [
    ("edges", 3, Recipe({"split_join": 0.99})),
    ("random", 3, Recipe({"node_move": 0.99})),
    ("edges", 3, paper(3)),
    ("random", 3, paper_rev(3)),
    ("required", 3, TEMPERED),
    ("random", 4, GIBBS),
    ("bge", 4, GIBBS_REV),
    ("forbidden", 4, paper(4)),
    ("bdeu", 4, TEMPERED),
    ("candidates", 4, paper_rev(4)),
    ("random", 3, FRESH),
    ("bge", 4, FRESH),
    ("required", 4, TO_ZERO),
]


def draw(problem: Target, recipe: Recipe, n_draws: int, seed: int):
    """Draws so far apart that they are independent for any test of this size."""
    matrix = recipe.matrix(problem)
    check_invariant(problem.law(), matrix)
    rate = relaxation(problem.law(), matrix)
    assert rate < 0.999, "this mix of moves does not get everywhere"
    thin = ceil(log(1e-3) / log(rate)) + 1
    chain = Chain(problem, recipe, seed, thin=thin, edge_thin=10**9)
    chain.run(10 * thin, recording=False)
    return chain, chain.run(n_draws * thin)


def dags_drawn(problem: Target, trace) -> np.ndarray:
    candidates = problem.view.candidates
    width = candidates.shape[1]
    unique, inverse = np.unique(trace.codes, axis=0, return_inverse=True)
    known = []
    for masks in unique.tolist():
        known.append(
            dag_index(problem.n)[
                tuple(
                    frozenset(int(candidates[v, i]) for i in range(width) if mask >> i & 1)
                    for v, mask in enumerate(masks)
                )
            ]
        )
    return np.array(known)[inverse.ravel()]


@pytest.mark.parametrize(("name", "n", "recipe"), small(DRAWN, 3), ids=name_case)
def test_draws(name, n, recipe):
    problem = target(name, n)
    _, trace = draw(problem, recipe, 10_000, seed=n)
    assert trace.n_draws[0] == 10_000
    dags = dags_drawn(problem, trace)
    counts = np.bincount(dags, minlength=len(problem.dags))
    check_counts(counts, problem.dags, FALSE_ALARM / len(DRAWN))
    np.testing.assert_allclose(trace.log_score, problem.log_dag[dags], rtol=1e-12)
    np.testing.assert_allclose(
        trace.log_weight, problem.log_weight[partition_of_dags(n)[dags]], rtol=1e-12
    )
    assert trace.best_log_score[0] == pytest.approx(problem.log_dag.max(), rel=1e-13)
    trace.codes[0] = trace.best_code
    assert problem.log_dag[dags_drawn(problem, trace)[0]] == pytest.approx(trace.best_log_score[0])


def test_three_nodes_scored_by_their_edges():
    """The known answer: P(0, 1, 2, 3 edges) = .0044, .0720, .3915, .5321."""
    problem = target("edges", 3)
    n_edges = all_dags(3).sum(axis=(1, 2))
    law = np.bincount(n_edges, weights=problem.dags)
    np.testing.assert_allclose(law, [0.0044, 0.0720, 0.3915, 0.5321], atol=5e-5)
    for recipe in (paper(3), paper_rev(3), GIBBS, TEMPERED, FRESH):
        _, trace = draw(problem, recipe, 20_000, seed=1)
        seen = np.bincount(n_edges[dags_drawn(problem, trace)], minlength=4)
        check_counts(seen, law, FALSE_ALARM / 5)


def test_uniform_dags_of_three_nodes():
    """P(empty graph) = 1/25 only if steps without a neighbour count."""
    problem = target("uniform", 3)
    recipe = Recipe({"split_join": 0.3, "swap_any": 0.4, "swap_adjacent": 0.25})
    _, trace = draw(problem, recipe, 20_000, seed=2)
    counts = np.bincount(dags_drawn(problem, trace), minlength=25)
    check_counts(counts, np.full(25, 1 / 25), FALSE_ALARM)


@pytest.mark.parametrize("recipe", [GIBBS_REV, paper_rev(5)], ids=name_case)
@pytest.mark.parametrize("parents", [0.0, 0.05])
def test_required_edges_do_not_cut_the_space(recipe, parents):
    """b -> c and d -> e are required, a -> b and a -> d allowed, nothing else.

    Four DAGs in four partitions. To take up one of the two edges, b and c, or d and e, must
    change layers at the same time, which is no split, join, placement or swap.
    """
    names = "abcde"
    allowed = {"bc", "de", "ab", "ad"}
    forbidden = [(u, v) for u in names for v in names if u != v and u + v not in allowed]
    gain = {1: 1.5, 3: -1.5}
    problem = Target.of(
        custom(
            5,
            lambda v, parents: gain[v] if v in gain and parents else 0.0,
            required=[("b", "c"), ("d", "e")],
            forbidden=forbidden,
        )
    )
    assert problem.possible.sum() == 4
    if parents == 0.0:  # cut it they do, without steps that draw parents anew
        with pytest.raises(AssertionError):
            check_edges(problem, recipe, 100_000, seed=1)
        return
    moves = {move: share * (1 - parents) for move, share in recipe.moves.items()}
    check_edges(problem, replace(recipe, moves={**moves, "parents": parents}), 100_000, seed=1)


STEPS = [("random", paper_rev(3)), ("required", Recipe({"node_gibbs": 0.5, "rev": 0.4}, block=2))]


@pytest.mark.parametrize(("name", "recipe"), first(STEPS), ids=name_case)
def test_one_step_of_the_whole_chain(name, recipe):
    """The choice of the move included: one call, one step, from every partition."""
    problem = target(name, 3)
    matrix = recipe.matrix(problem)
    chain = Chain(problem, recipe, seed=3)
    rng = np.random.default_rng(3)
    trace = chain.make_trace(0)
    plan = recipe.plan(3)
    assert plan.cumulative[-1] == 1.0
    for x in np.flatnonzero(problem.possible):
        state = scored_state(problem.view, partitions(3)[x], rng)
        counts = np.zeros(len(matrix), dtype=np.int64)
        for _ in range(2_000):
            chain.put([state])
            chain.run(1, trace, recording=False)
            counts[index_of(3)[by_level(chain.level_of(0))]] += 1
        check_counts(counts, matrix[x], FALSE_ALARM / problem.possible.sum())
    shares = np.diff(plan.cumulative, prepend=0.0)
    assert np.all(trace.accepted <= trace.attempts)
    steps = trace.attempts.copy()
    steps[MOVES.index("rev")] //= recipe.block  # every reversal of a block is counted
    check_counts(steps, shares, FALSE_ALARM)
    assert steps.sum() == 2_000 * problem.possible.sum()


def same(first, second) -> bool:
    one, other = flatten("", first), flatten("", second)
    return all(np.array_equal(one[name], other[name]) for name in one | other)


@pytest.mark.parametrize(
    ("recipe", "cuts"),
    [
        (paper_rev(4), [1, 7, 500, 3, 489]),
        (GIBBS_REV, [333, 1, 666]),
        (TEMPERED, [10, 500, 20, 470]),
        (FRESH, [10, 500, 20, 470]),
    ],
    ids=name_case,
)
def test_a_run_may_be_cut(recipe, cuts):
    """Several calls do what one call does; with replicas, if the cuts are at the ends of sweeps."""
    problem = target("random", 4)
    whole, cut = (Chain(problem, recipe, 5, thin=3, edge_thin=2) for _ in range(2))
    expected = whole.run(sum(cuts))
    trace = cut.make_trace(sum(cuts) // 3)
    for n_steps in cuts:
        cut.run(n_steps, trace)
    assert same(expected, trace)
    assert same(whole.replicas, cut.replicas)
    assert same(whole.ladder, cut.ladder)
    assert expected.n_draws[0] == sum(cuts) // 3
    assert expected.n_edge_sums[0] == sum(cuts) // 2


@pytest.mark.parametrize("recipe", [TEMPERED, FRESH], ids=name_case)
def test_cuts_inside_sweeps_keep_the_law(recipe):
    """The random numbers fall differently then, the sweeps and swaps do not."""
    problem = target("random", 3)
    chain = Chain(problem, recipe, 6)
    total = np.zeros((N_BATCHES, 3, 3))
    for batch in range(N_BATCHES):
        trace = chain.make_trace(0)
        for n_steps in (7, 16, 477, 500):
            chain.run(n_steps, trace)
        total[batch] = summed_edges(problem.view, trace) / trace.n_edge_sums[0]
    assert chain.ladder.attempts.sum() == 100 * N_BATCHES
    error = total.mean(axis=0) - problem.edges
    assert np.all(np.abs(error) <= BOUND * total.std(axis=0, ddof=1) / np.sqrt(N_BATCHES) + FLOOR)


def test_steps_of_the_warm_up_are_not_recorded():
    chain = Chain(target("random", 3), GIBBS, 1)
    trace = chain.make_trace(10)
    chain.run(100, trace, recording=False)
    assert trace.n_draws[0] == trace.n_edge_sums[0] == 0
    assert trace.attempts[MOVES.index("node_gibbs")] == 100


def test_full_traces_are_not_overrun():
    chain = Chain(target("random", 3), GIBBS, 1)
    trace = chain.make_trace(10)
    chain.run(100, trace)
    assert trace.n_draws[0] == 10
    assert trace.n_edge_sums[0] == 100


@kernel
def add_edges(trace, view, state):
    add_edges_given_partition(trace, view, state)


@pytest.mark.parametrize("name", ["random", "rough", "bge", "bdeu", "forbidden", "required"])
@pytest.mark.parametrize("n", [3, 4])
def test_edges_given_partition(n, name):
    """Every edge of every partition, to 1e-12, from listing its DAGs."""
    problem = target(name, n)
    rng = np.random.default_rng(n)
    expected = np.tensordot(problem.dags_given_partition, all_dags(n), axes=1)
    for x in np.flatnonzero(problem.possible):
        n_candidates = problem.view.candidates.shape[1]
        trace = make_trace(n, 0, n_candidates=n_candidates)
        add_edges(trace, problem.view, scored_state(problem.view, partitions(n)[x], rng))
        found = summed_edges(problem.view, trace)
        np.testing.assert_allclose(found, expected[x], rtol=0, atol=1e-12)
        assert trace.n_edge_sums[0] == 1


@pytest.mark.parametrize("move", ["node_gibbs", "split_join", "node_move", "parents"])
def test_accepted_steps_are_those_that_changed_something(move):
    """A new DAG of the same partition counts, too."""
    chain = Chain(target("required", 4), Recipe({move: 1.0}), seed=2)
    trace = chain.make_trace(0)
    changed, before = 0, chain.level_of(0)
    for _ in range(2_000):
        chain.run(1, trace, recording=False)
        changed += chain.level_of(0) != before
        before = chain.level_of(0)
    accepted = trace.accepted[MOVES.index(move)]
    assert trace.accepted.sum() == accepted
    assert 0 < changed <= accepted < 2_000
    assert changed == accepted or move == "parents"


def test_levels_and_peeling_agree():
    """The two descriptions of partitions that the tests rest on."""
    for layers in partitions(4):
        level = levels(layers)
        parents = [{u for u in range(4) if level[u] < level[v]} for v in range(4)]
        assert peel(parents) == layers

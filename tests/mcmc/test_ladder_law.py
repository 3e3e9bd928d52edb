"""A whole ladder keeps the product of the powers: steps, fresh draws at power 0, and swaps.

First on the list of all states of three replicas, to 1e-12; then compiled sweeps are compared with
the declared ones by chi-square, with the false-alarm rate ``FALSE_ALARM`` per test function (seeds
are fixed).
"""

from itertools import pairwise

import numpy as np
import pytest

from outpoint.graphs.counting import partition_size_law
from outpoint.mcmc.samplers.tempered import every_partition_is_admissible
from tests.exact.problems import custom, random_scores
from tests.grids import covering
from tests.mcmc.chains import Chain, Recipe
from tests.mcmc.laws import (
    Floats,
    Target,
    check_counts,
    check_sweep,
    fresh_matrix,
    partitions,
    placement_law,
    product_law,
    swap_matrix,
    through_sweep,
)
from tests.mcmc.loops import (
    code_table,
    count_first_layers,
    count_fresh,
    count_placements,
    scored_state,
)
from tests.mcmc.targets import NAMES, target

FALSE_ALARM = 1e-6
POWERS = (1.0, 0.4, 0.0)
MIXES = [
    Recipe({"node_gibbs": 0.9, "rev": 0.1}, block=2, powers=POWERS),
    Recipe({"split_join": 0.5, "node_move": 0.3, "swap_any": 0.1}, powers=POWERS),
]


def name_mix(value: object) -> str | None:
    return "+".join(value.moves) if isinstance(value, Recipe) else None


def uniform_law(n: int) -> Floats:
    return np.full(len(partitions(n)), 1.0 / len(partitions(n)))


def steps_of(problem: Target, recipe: Recipe, n_steps: int, fresh: bool) -> list[Floats]:
    """The matrices of the replicas between swaps."""
    steps = [
        np.linalg.matrix_power(recipe.matrix(problem, power), n_steps) for power in recipe.powers
    ]
    if fresh:
        steps[-1] = fresh_matrix(uniform_law(problem.n))
    return steps


def swaps_of(problem: Target, powers: tuple[float, ...]) -> list[Floats]:
    return [swap_matrix(problem, pair) for pair in pairwise(powers)]


# The declared ladder


@pytest.mark.parametrize("recipe", MIXES, ids=name_mix)
@pytest.mark.parametrize("n_steps", [1, 4])
@pytest.mark.parametrize("name", NAMES)
def test_sweeps_keep_the_product(name, n_steps, recipe):
    """Fresh draws where every partition is admissible, and steps at power 0 everywhere."""
    problem = target(name, 3)
    law, swaps = product_law(problem, POWERS), swaps_of(problem, POWERS)
    assert law.size == 2197
    for fresh in (False, True) if problem.possible.all() else (False,):
        steps = steps_of(problem, recipe, n_steps, fresh)
        for parity in (0, 1):
            check_sweep(law, steps, swaps, parity)


@pytest.mark.parametrize(
    ("name", "powers"),
    [("random", (1.0, 0.0)), ("rough", (1.0, 0.5, 0.2, 0.0)), ("required", (1.0, 0.5, 0.2, 0.05))],
)
def test_ladders_of_other_lengths(name, powers):
    problem = target(name, 3)
    recipe = Recipe({"node_gibbs": 1.0}, powers=powers)
    steps = steps_of(problem, recipe, 2, fresh=name != "required")
    for parity in (0, 1):
        check_sweep(product_law(problem, powers), steps, swaps_of(problem, powers), parity)


@pytest.mark.parametrize("name", ["random", "bge", "forbidden", "required"])
def test_the_product_is_the_only_law_that_sweeps_keep(name):
    """From a single state, even and odd swaps in turn lead to it."""
    problem = target(name, 3)
    steps = steps_of(problem, MIXES[0], 4, fresh=bool(problem.possible.all()))
    swaps = swaps_of(problem, POWERS)
    law = np.zeros((13, 13, 13))
    worst = int(np.argmin(np.where(problem.possible, problem.log_weight, np.inf)))
    law[worst, worst, worst] = 1.0
    for sweep in range(400):
        law = through_sweep(law, steps, swaps, sweep % 2)
    np.testing.assert_allclose(law, product_law(problem, POWERS), atol=1e-10)


@pytest.mark.parametrize("name", ["forbidden", "required", "candidates"])
def test_power_zero_is_uniform_over_what_is_admissible(name):
    problem = target(name, 4)
    law = problem.law(0.0)
    assert 1 < problem.possible.sum() < 75
    np.testing.assert_allclose(law[problem.possible], 1.0 / problem.possible.sum(), rtol=1e-14)
    assert not law[~problem.possible].any()


@pytest.mark.parametrize("n", [3, 4])
def test_where_every_partition_is_admissible(n):
    """The rule that decides about fresh draws, against listing all partitions."""
    problems = [target(name, n) for name in (*NAMES, "edges", "steep")]
    problems += [Target.of(random_scores(n, max_parents=limit)) for limit in (0, 1)]
    for edge in ((0, 1), (1, 2), (2, 0)):  # a single parent excluded by the score itself
        problems.append(
            Target.of(custom(n, lambda v, s, edge=edge: -np.inf if (*s, v) == edge else 0.0))
        )
    found = [every_partition_is_admissible(problem.view) for problem in problems]
    assert found == [bool(problem.possible.all()) for problem in problems]
    assert len(set(found)) == 2


# The compiled one


@pytest.mark.parametrize(("n", "n_draws"), [(1, 10), (2, 20_000), (3, 50_000), (4, 200_000)])
def test_fresh_partitions_are_uniform(n, n_draws):
    table, rng = code_table(n), np.random.default_rng(n)
    counts = np.zeros(len(partitions(n)), dtype=np.int64)
    assert count_fresh(n, partition_size_law(n), n_draws, rng, table, counts)
    check_counts(counts, uniform_law(n), FALSE_ALARM)


def test_fresh_partitions_of_many_nodes():
    """The size of the first layer, and who is in it."""
    n, n_draws, rng = 40, 50_000, np.random.default_rng(40)
    law = partition_size_law(n)
    by_size, by_node = np.zeros(n + 1, dtype=np.int64), np.zeros(n, dtype=np.int64)
    assert count_first_layers(n, law, n_draws, rng, by_size, by_node)
    check_counts(by_size, np.diff(law[n], prepend=0.0), FALSE_ALARM / 2)
    share = by_node.sum() / n / n_draws
    z = (by_node - share * n_draws) / np.sqrt(n_draws * share * (1 - share))
    assert np.abs(z).max() < 6


@pytest.mark.parametrize(
    ("name", "n"), [("forbidden", 3), ("required", 3), ("required", 4), ("candidates", 4)]
)
def test_compiled_placement_at_power_zero(name, n):
    """All admissible places are equally likely, and no other is ever taken."""
    problem, table = target(name, n), code_table(n)
    rng = np.random.default_rng(n)
    excluded = 0
    for x in np.flatnonzero(problem.possible):
        for node in range(n):
            counts, weights = np.zeros(len(table), dtype=np.int64), np.empty(2 * n + 1)
            start = scored_state(problem.view, partitions(n)[x], rng)
            assert count_placements(
                problem.view, start, node, 0.0, 1_000, rng, table, counts, weights
            )
            places = np.array(list(placement_law(problem, x, node, 0.0)))
            admissible = places[problem.possible[places]]
            excluded += len(places) - len(admissible)
            assert set(np.flatnonzero(counts)) <= set(admissible.tolist())
            law = np.zeros(len(counts))
            law[admissible] = 1.0 / len(admissible)
            check_counts(counts, law, FALSE_ALARM / problem.possible.sum() / n)
            assert sorted(weights[: len(places)]) == [0.0] * (len(places) - len(admissible)) + [
                1.0
            ] * len(admissible)
    assert excluded > 0


def sweep_counts(chain: Chain, start: list[int], parity: int, n_draws: int) -> np.ndarray:
    """Where single sweeps of one step lead to from the same joint state."""
    problem = chain.target
    rng = np.random.default_rng(2)
    states = [scored_state(problem.view, partitions(problem.n)[x], rng) for x in start]
    n, trace = problem.n, chain.make_trace(0)
    ends = np.empty((n_draws, len(start)), dtype=np.int64)
    for draw in range(n_draws):
        chain.put(states)
        chain.step = 1 - parity  # the number of the sweep decides which pairs are swapped
        chain.run(1, trace, recording=False)
        ends[draw] = chain.replicas.states.layer[chain.replicas.slot] @ n ** np.arange(n)
    counts = np.zeros((len(partitions(n)),) * len(start), dtype=np.int64)
    found = code_table(n)[ends]
    assert np.all(found >= 0), "not a partition"
    np.add.at(counts, tuple(found.T), 1)
    return counts


def check_compiled_sweeps(
    problem: Target, recipe: Recipe, steps: list[Floats], n_draws: int = 6_000
) -> None:
    """Compiled sweeps of one step, from some joint states, against the declared ones."""
    chain = Chain(problem, recipe, seed=1)
    swaps = swaps_of(problem, tuple(recipe.powers))
    chosen = np.random.default_rng(6)
    for parity in (0, 1):
        for _ in range(2):
            start = chosen.choice(np.flatnonzero(problem.possible), len(recipe.powers)).tolist()
            law = np.zeros((len(problem.log_weight),) * len(start))
            law[tuple(start)] = 1.0
            expected = through_sweep(law, steps, swaps, parity)
            counts = sweep_counts(chain, start, parity, n_draws)
            check_counts(counts.ravel(), np.maximum(expected, 0.0).ravel(), FALSE_ALARM / 4)


def one_step(recipe: Recipe, fresh: bool) -> Recipe:
    return Recipe(recipe.moves, recipe.block, recipe.powers, sweep=1, fresh=fresh)


@pytest.mark.parametrize(
    ("case", "recipe"),
    covering([("random", True), ("rough", True), ("required", False)], MIXES),
    ids=name_mix,
)
def test_compiled_sweeps(case, recipe):
    name, fresh = case
    problem = target(name, 3)
    steps = steps_of(problem, recipe, 1, fresh)
    check_compiled_sweeps(problem, one_step(recipe, fresh), steps)


def test_a_chain_with_one_replica_draws_nothing_afresh():
    """Its only replica is also its last one."""
    problem = target("random", 3)
    recipe = Recipe({"node_gibbs": 1.0}, powers=(1.0,), sweep=1)
    alone, fresh = (Chain(problem, one_step(recipe, fresh), 3) for fresh in (False, True))
    for chain in (alone, fresh):
        chain.run(200, recording=False)
    assert alone.level_of(0) == fresh.level_of(0)
    assert alone.rng.random() == fresh.rng.random()

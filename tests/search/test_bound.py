"""The bound on missed DAGs: its formula, the number of orders in it, and its calibration."""

from functools import lru_cache
from itertools import product
from math import factorial, sqrt

import numpy as np
import pytest

import outpoint as op
from outpoint.errors import OptionError
from outpoint.exact import find_best
from outpoint.graphs import Dag, bound_linear_extensions, count_linear_extensions, random_dag
from outpoint.scores import build_prior
from outpoint.search import search_dags, stochastic
from outpoint.search.stochastic import bound_miss_probability, count_orders
from outpoint.tables import ScoreTable, build_table
from outpoint.tables.table import tie_tolerance
from tests.grids import first
from tests.tables.helpers import random_table


@pytest.mark.parametrize(
    ("hits", "runs", "n_orders", "expected"),
    [
        (1, 1, 1, 0.0),
        (1, 2, 1, 0.25),
        (5, 10, 1, 0.5**10),
        (50, 50, 1, 0.0),
        (50, 50, 120, (1 - 1 / 120) ** 50),
        (3, 4, 10, (1 - 3 / 40) ** 4),
    ],
)
def test_formula(hits: int, runs: int, n_orders: int, expected: float) -> None:
    assert bound_miss_probability(hits, runs, n_orders) == pytest.approx(expected, rel=1e-12)


def test_huge_numbers_of_orders() -> None:
    assert bound_miss_probability(10, 10, factorial(400)) == 1.0
    assert bound_miss_probability(1, 1, 10**12) == pytest.approx(1 - 1e-12, abs=1e-16)


@pytest.mark.parametrize(("hits", "runs", "n_orders"), [(0, 3, 1), (4, 3, 1), (1, 1, 0)])
def test_impossible_counts_are_refused(hits: int, runs: int, n_orders: int) -> None:
    with pytest.raises(OptionError, match="1 <= hits <= runs"):
        bound_miss_probability(hits, runs, n_orders)


def test_orders_are_bounded_from_above() -> None:
    rng = np.random.default_rng(1)
    ratios = []
    for n in (3, 5, 8, 10):
        for density in (0.1, 0.3, 0.6):
            dag = random_dag(n, rng, law="erdos_renyi", edge_probability=density)
            count = count_linear_extensions(dag)
            assert count <= bound_linear_extensions(dag) <= factorial(n)
            ratios.append(bound_linear_extensions(dag) / count)
    assert np.median(ratios) < 3
    # With one parent, or one child, per node the bound is the count.
    forest = random_dag(9, rng, max_parents=1)
    assert bound_linear_extensions(forest) == count_linear_extensions(forest)
    turned = Dag(forest.names, forest.adjacency.T)
    assert bound_linear_extensions(turned) == count_linear_extensions(turned)


def test_long_counts_are_replaced_by_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    dag = random_dag(10, 3, law="erdos_renyi", edge_probability=0.2)
    assert count_orders(dag, 20) == (count_linear_extensions(dag), True)
    monkeypatch.setattr(stochastic, "MIN_SETS", 2)
    monkeypatch.setattr(stochastic, "SETS_PER_RUN", 2)
    assert count_orders(dag, 1) == (bound_linear_extensions(dag), False)
    assert count_orders(dag, 1000) == (count_linear_extensions(dag), True)


@pytest.mark.parametrize("runs", [1, 20, 300])
def test_an_exact_count_is_given_up_only_where_it_says_nothing(runs: int) -> None:
    given_up = 0
    for n_nodes in (14, 30, 60):
        dag = random_dag(n_nodes, 1, law="erdos_renyi", edge_probability=2 / n_nodes)
        n_orders, is_exact = count_orders(dag, runs)
        if not is_exact:
            given_up += 1
            assert bound_miss_probability(runs, runs, n_orders) > 0.99
    assert given_up > 0


# Calibration: the frequency of misses against the mean of the stated bounds, in short runs


@lru_cache
def problem(kind: str, seed: int) -> tuple[ScoreTable, float]:
    """A table and its optimum by dynamic programming."""
    if kind == "random":
        table = random_table(8, 3, seed=seed, spread=2.0).table
    else:
        rng = np.random.default_rng(seed)
        dag = random_dag(10, rng, law="paper", max_parents=4)
        data = op.simulate(dag, 60, rng, coefficients=(0.3, 1.0))
        scorer = op.BGe(standardize=False).bind(data)
        table = build_table(data.names, scorer, build_prior(data.names), max_parents=4)
    return table, find_best(table)[1]


def excess_of_misses(
    kind: str, space: str, n_runs: int, n_steps: int, *, ignore_orders: bool = False
) -> tuple[float, float]:
    """Frequency of misses minus mean bound, and its Monte-Carlo error, over 6 x 25 searches."""
    excess = []
    for number in range(6):
        table, optimum = problem(kind, number)
        n = table.n_nodes
        for seed in range(25):
            runs = search_dags(
                table,
                np.zeros((n, n), dtype=np.bool_),
                space=space,
                n_runs=n_runs,
                n_steps=n_steps,
                seed=seed,
            )
            best = runs.log_scores.max()
            hits = int((runs.log_scores >= best - tie_tolerance(best)).sum())
            found = Dag(table.names, runs.adjacencies[int(runs.log_scores.argmax())])
            n_orders = (
                1 if space == "partition" or ignore_orders else count_orders(found, n_runs)[0]
            )
            stated = bound_miss_probability(hits, n_runs, n_orders)
            excess.append((best < optimum - 1e-6) - stated)
    return float(np.mean(excess)), float(np.std(excess)) / sqrt(len(excess))


# A calibrated bound fails this with probability below 1e-3 (3.1 standard errors, one side).
Z = 3.1


@pytest.mark.parametrize(("kind", "n_runs"), first(product(["data", "random"], [3, 6])))
def test_misses_are_rarer_than_the_bound_over_orders(kind: str, n_runs: int) -> None:
    excess, error = excess_of_misses(kind, "order", n_runs, 50)
    assert excess < Z * error


@pytest.mark.parametrize(("kind", "n_steps"), first(product(["data", "random"], [200, 600])))
def test_misses_are_rarer_than_the_bound_over_partitions(kind: str, n_steps: int) -> None:
    excess, error = excess_of_misses(kind, "partition", 8, n_steps)
    assert excess < Z * error


def test_ignoring_the_number_of_orders_is_noticed() -> None:
    excess, error = excess_of_misses("data", "order", 3, 50, ignore_orders=True)
    assert excess > Z * error


def test_a_handful_of_short_runs_is_too_few_for_a_bound() -> None:
    """The limit of the argument: runs must be long enough to prefer better DAGs, and not few."""
    excess, error = excess_of_misses("data", "partition", 3, 50)
    assert excess > Z * error

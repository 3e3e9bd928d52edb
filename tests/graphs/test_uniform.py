"""Uniform DAGs of any size: by integers, by floating point, and as a partition chain sees them.

The number of DAGs by number of edges follows from Robinson's recursion with a variable y for each
edge, an oracle that shares nothing with the layers the samplers draw.
"""

from collections import Counter
from math import comb

import numpy as np
import pytest
from scipy.stats import chisquare

import outpoint as op
from outpoint.errors import OptionError
from outpoint.graphs import count_dags, sample_uniform_dags
from outpoint.graphs.counting import LayerWeights, layer_counts
from tests.grids import covering
from tests.reference import all_dags

FALSE_ALARM = 1e-4
METHODS = ("exact", "floating")

Polynomial = list[int]


def multiply(a: Polynomial, b: Polynomial) -> Polynomial:
    out = [0] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            out[i + j] += x * y
    return out


def count_by_edges(n: int, max_parents: int | None = None) -> Polynomial:
    """Numbers of DAGs with 0, 1, ... edges: Robinson's recursion with y.

    With u nodes left, r of them take parents among the n - u others only; each parent is a factor
    y, so c(p) becomes the polynomial sum of C(p, k) y^k.
    """
    left = [[1]]
    for u in range(1, n + 1):
        largest = n - u if max_parents is None else min(n - u, max_parents)
        choices = [comb(n - u, k) for k in range(largest + 1)]
        total: Polynomial = []
        power = [1]
        for r in range(1, u + 1):
            power = multiply(power, choices)
            term = multiply(power, left[u - r])
            total += [0] * (len(term) - len(total))
            for i, x in enumerate(term):
                total[i] += (-1) ** (r + 1) * comb(u, r) * x
        left.append(total)
    return left[n]


def edges_p_value(counts: np.ndarray, n: int, max_parents: int | None = None) -> float:
    """Chi-square of observed edge counts; rare counts are put together."""
    exact = count_by_edges(n, max_parents)
    total = sum(exact)
    expected = np.array([len(counts) * number / total for number in exact])
    observed = np.bincount(counts, minlength=len(expected))
    common = expected >= 5
    pooled = [*observed[common], observed[~common].sum()], [*expected[common], 0.0]
    pooled[1][-1] = expected[~common].sum()
    if pooled[1][-1] < 1:  # too little for a cell of its own
        pooled[0][-2] += pooled[0].pop()
        pooled[1][-2] += pooled[1].pop()
    return chisquare(*pooled).pvalue


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_oracle_counts_edges(n: int) -> None:
    found = Counter(int(a.sum()) for a in all_dags(n))
    assert {k: x for k, x in enumerate(count_by_edges(n)) if x} == dict(found)
    assert sum(count_by_edges(8, 2)) == count_dags(8, max_parents=2)


@pytest.mark.parametrize(("n", "method"), covering([2, 3, 4], METHODS))
def test_all_dags_are_equally_likely(n: int, method: str) -> None:
    cells = sorted(a.tobytes() for a in all_dags(n))
    draws = sample_uniform_dags(n, 30 * len(cells), n, method=method)
    found = Counter(a.tobytes() for a in draws)
    assert set(found) <= set(cells)
    assert chisquare([found[cell] for cell in cells]).pvalue > FALSE_ALARM


@pytest.mark.parametrize(("max_parents", "method"), covering([1, 2], METHODS))
def test_all_dags_with_few_parents_are_equally_likely(max_parents: int, method: str) -> None:
    cells = sorted(a.tobytes() for a in all_dags(4) if a.sum(axis=0).max() <= max_parents)
    draws = sample_uniform_dags(4, 15 * len(cells), 5, max_parents=max_parents, method=method)
    found = Counter(a.tobytes() for a in draws)
    assert set(found) <= set(cells)
    assert chisquare([found[cell] for cell in cells]).pvalue > FALSE_ALARM


@pytest.mark.parametrize(("max_parents", "method"), covering([None, 3], METHODS))
def test_edges_of_twenty_nodes(method: str, max_parents: int | None) -> None:
    draws = sample_uniform_dags(20, 1000, 1, max_parents=max_parents, method=method)
    assert edges_p_value(draws.sum(axis=(1, 2)), 20, max_parents) > FALSE_ALARM


def test_triangular_matrices_fail_the_same_check() -> None:
    rng = np.random.default_rng(1)
    counts = [op.random_dag(20, rng, law="paper").n_edges for _ in range(2000)]
    assert edges_p_value(np.array(counts), 20) < 1e-12


def test_a_partition_chain_with_a_constant_score_agrees() -> None:
    """Thinned to 250 steps, its draws are as good as independent."""
    data = op.Dataset(tuple("abcdefg"), np.zeros((1, 7)))
    flat = op.CustomScore(lambda child, parents: 0.0)
    posterior = op.learn(
        data, score=flat, method="partition", chains=2, steps=250_000, draws=1000, seed=1
    )
    counts = np.asarray(posterior.dags()).sum(axis=(-2, -1)).ravel()
    assert edges_p_value(counts, 7) > FALSE_ALARM


@pytest.mark.parametrize("max_parents", [None, 1, 4])
def test_floating_weights_are_the_integers(max_parents: int | None) -> None:
    n = 50
    weights, counts = LayerWeights(n, max_parents), layer_counts(n, max_parents)
    first = [comb(n, r) * counts.after(0, n - r) / counts.total() for r in range(1, n + 1)]
    np.testing.assert_allclose(weights.size_probabilities(0, 0), first, rtol=0, atol=1e-13)
    for placed, previous in ((1, 1), (7, 3), (30, 2), (49, 10)):
        sets = counts.choices(placed) - counts.choices(placed - previous)
        total = counts.after(placed - previous, n - placed)
        expected = [
            comb(n - placed, r) * sets**r * counts.after(placed, n - placed - r) / total
            for r in range(1, n - placed + 1)
        ]
        np.testing.assert_allclose(
            weights.size_probabilities(placed, previous), expected, rtol=0, atol=1e-13
        )


def test_large_graphs() -> None:
    draws = sample_uniform_dags(300, 3, 1)
    assert draws.shape == (3, 300, 300)
    pairs = 300 * 299 / 2
    assert draws.sum() / 3 == pytest.approx(pairs / 2, rel=0.02)
    dag = op.random_dag(300, 1)
    np.testing.assert_array_equal(dag.adjacency, draws[0])
    few = op.random_dag(250, 2, max_parents=2)
    assert few.adjacency.sum(axis=0).max() == 2


@pytest.mark.parametrize("method", METHODS)
def test_small_and_empty_cases(method: str) -> None:
    assert sample_uniform_dags(0, 3, method=method).shape == (3, 0, 0)
    assert sample_uniform_dags(5, 0, method=method).shape == (0, 5, 5)
    assert not sample_uniform_dags(5, 4, max_parents=0, method=method).any()
    same = [sample_uniform_dags(6, 2, 7, method=method) for _ in range(2)]
    np.testing.assert_array_equal(*same)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": -1, "n_draws": 1}, "n must be a whole number"),
        ({"n": 3, "n_draws": -1}, "n_draws must be a whole number"),
        ({"n": 3, "n_draws": 1, "max_parents": 0.5}, "max_parents"),
        ({"n": 3, "n_draws": 1, "method": "guess"}, "auto, exact, floating"),
    ],
)
def test_bad_options(options: dict, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        sample_uniform_dags(**options)

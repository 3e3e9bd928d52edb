"""The engine against the plain recursions in 60 digits, on scores that are hard to sum."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

from outpoint.exact import solve
from outpoint.exact.sums import (
    BIAS,
    IMPOSSIBLE,
    LOG_2,
    NEGLIGIBLE,
    biased_power,
    log_mantissa,
    scale_by_best_orders,
    sum_dags_after_sets,
    sum_dags_on_sets,
    sum_over_larger,
    sum_scores,
)
from outpoint.kernels import kernel
from outpoint.tables import ScoreTable
from outpoint.tables.dense import subset_log_sums, subset_maxima
from outpoint.tables.logspace import sum_over_subsets
from outpoint.tables.outside import no_outside
from tests.exact import problems
from tests.exact.recursion import PRECISE, solve_precisely


def random_scores(n, spread, seed=1):
    """Normal log scores [node, mask over all nodes]."""
    return spread * np.random.default_rng(seed).standard_normal((n, 1 << n))


def with_limit(scores, max_parents):
    masks = np.arange(scores.shape[1])
    return np.where(np.bitwise_count(masks) <= max_parents, scores, -np.inf)


def with_gaps(scores, share, seed=2):
    """Scores of which a random share is -inf, but for those of empty sets."""
    gaps = np.random.default_rng(seed).random(scores.shape) < share
    gaps[:, 0] = False
    return np.where(gaps, -np.inf, scores)


def with_edges(scores, *, required=(), forbidden=()):
    out = scores.copy()
    masks = np.arange(scores.shape[1])
    for parent, child in required:
        out[child, masks >> parent & 1 == 0] = -np.inf
    for parent, child in forbidden:
        out[child, masks >> parent & 1 == 1] = -np.inf
    return out


def uneven(n):
    """Nodes whose scores spread over a few, and over 100,000 log units, far from 0."""
    spread = np.logspace(0, 5, n)[:, None]
    return random_scores(n, 1.0) * spread + np.linspace(-1e6, 1e6, n)[:, None]


def sizes(n):
    return np.bitwise_count(np.arange(1 << n)).astype(float)


PROBLEMS = {
    "one node": lambda: random_scores(1, 3.0),
    "two nodes": lambda: random_scores(2, 1.0),
    "two nodes, far apart": lambda: random_scores(2, 50_000.0),
    "no parents": lambda: with_limit(random_scores(6, 10.0), 0),
    "one parent": lambda: with_limit(random_scores(7, 5.0), 1),
    "three parents": lambda: with_limit(random_scores(7, 1000.0), 3),
    "no limit": lambda: random_scores(8, 2.0),
    "spread 100": lambda: random_scores(7, 100.0),
    "spread 400": lambda: random_scores(7, 400.0),
    "spread 5000": lambda: random_scores(7, 5000.0),
    "spread a million": lambda: random_scores(6, 1e6),
    "uneven": lambda: uneven(7),
    "gaps": lambda: with_gaps(random_scores(7, 3.0), 0.5),
    "mostly gaps": lambda: with_gaps(random_scores(7, 2000.0), 0.95),
    "a chain is required": lambda: with_edges(
        random_scores(7, 30.0), required=[(i, i + 1) for i in range(6)]
    ),
    "required against the scores": lambda: with_edges(
        random_scores(7, 3.0) - 700.0 * sizes(7), required=[(6, 0), (0, 3), (3, 5)]
    ),
    "required and forbidden": lambda: with_edges(
        random_scores(7, 2000.0), required=[(5, 2), (2, 0)], forbidden=[(1, 4), (6, 3), (3, 1)]
    ),
    "nearly empty": lambda: np.tile(-25.0 * sizes(8), (8, 1)),
    "nearly full": lambda: np.tile(25.0 * sizes(8), (8, 1)),
    "constant": lambda: np.zeros((8, 256)),
    "below every double": lambda: np.where(random_scores(6, 1.0) > 0.5, -1e13, 0.0),
}


def table_of(scores):
    """A complete table of scores by masks over all nodes."""
    n = len(scores)
    candidates = np.array([[u for u in range(n) if u != v] for v in range(n)], dtype=np.int32)
    dense = np.stack([_drop_node(row, v) for v, row in enumerate(scores)])
    names = tuple(f"v{i}" for i in range(n))
    return ScoreTable(names, n - 1, candidates.reshape(n, n - 1), dense, no_outside(n))


def _drop_node(row, node):
    """The entries of a row whose masks are without ``node``, numbered without it."""
    return row[np.arange(len(row)) >> node & 1 == 0]


def agrees(found, reference):
    return (
        abs(found.log_evidence - reference.log_evidence)
        <= 1e-12 * abs(reference.log_evidence) + 1e-11
        and np.abs(found.edges - reference.edges).max() <= 1e-11
        and np.abs(found.ancestors - reference.ancestors).max() <= 1e-11
        and all(
            np.abs(np.exp(sets) - _drop_node(reference.parent_sets[v], v)).max() <= 1e-11
            for v, sets in enumerate(found.log_parent_sets)
        )
    )


@pytest.mark.parametrize("name", PROBLEMS)
def test_equals_the_plain_recursions(name):
    scores = PROBLEMS[name]()
    found = solve(table_of(scores))
    assert agrees(found, solve_precisely(scores))
    assert found.discrepancy < 1e-11


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_set_that_matters_is_summed_precisely(name):
    """Not only the evidence: h and g on both sides of every set, relative to themselves."""
    scores = PROBLEMS[name]()
    table = table_of(scores)
    weights = sum_scores(table.dense.matrix, table.maxima.matrix)
    scales = scale_by_best_orders(weights)
    before = sum_dags_on_sets(weights, scales, lambda terms: None)
    after, _ = sum_dags_after_sets(weights, scales, before, lambda terms: None)
    reference = solve_precisely(scores)
    n_relevant = 0
    for found, expected in ((before, reference.before), (after, reference.after)):
        for mask in range(1 << len(scores)):
            if scales.relevance[mask] > NEGLIGIBLE / 2:
                n_relevant += 1
                log = float(expected[mask].ln())
                assert found.log(mask) == pytest.approx(log, rel=1e-12, abs=1e-9)
    assert n_relevant >= 2 * (len(scores) + 1)  # the sets along the best order at least


def test_the_comparison_catches_small_errors():
    """One score of 448 that is off by 1e-8, and a set that is left out."""
    scores = PROBLEMS["spread 100"]() / 100
    reference = solve_precisely(scores)
    found = solve(table_of(scores))
    assert agrees(found, reference)
    best = int((1 << np.flatnonzero(found.best_adjacency[:, 3])).sum())
    wrong = scores.copy()
    wrong[3, best] += 1e-8
    assert not agrees(solve(table_of(wrong)), reference)
    wrong[3, best] = -np.inf
    assert not agrees(solve(table_of(wrong)), reference)


@pytest.mark.parametrize("max_parents", [0, 1, 2, 4])
def test_limits_on_parents_equal_enumeration(max_parents):
    problem = problems.random_scores(5, spread=300.0, max_parents=max_parents)
    found, expected = problem.solve(), problem.enumerate()
    assert found.log_evidence == pytest.approx(expected.log_evidence, rel=1e-13)
    np.testing.assert_allclose(found.edges, expected.edges, rtol=0, atol=1e-11)
    np.testing.assert_allclose(found.ancestors, expected.ancestors, rtol=0, atol=1e-11)


def test_powers_of_two():
    exponents = np.append(np.arange(-1200.0, 1.0), [IMPOSSIBLE, 28 * IMPOSSIBLE])
    found = _powers(exponents)
    expected = np.where(exponents < -1022, 0.0, np.exp2(np.maximum(exponents, -1022)))
    assert np.array_equal(found, expected)


@kernel
def _powers(exponents):
    out = np.empty_like(exponents)
    for i in range(out.size):
        out[i] = biased_power(exponents[i] + BIAS)
    return out


@pytest.mark.parametrize("log_value", [0.3, -345.7, 20414.638948995, -1234567.891, 9e7 / 7])
def test_mantissas_of_large_numbers_are_precise(log_value):
    exponent = round(log_value / LOG_2)
    with localcontext(PRECISE):
        expected = float(Decimal(log_value) - exponent * Decimal(2).ln())
    assert _log_mantissa(log_value, float(exponent)) == pytest.approx(expected, abs=2e-16)
    if abs(log_value) > 1e6:  # where one product would have lost digits
        assert log_value - exponent * LOG_2 != pytest.approx(expected, abs=2e-16)


@kernel
def _log_mantissa(log_value, exponent):
    return log_mantissa(log_value, exponent)


@pytest.mark.parametrize("spread", [1.0, 300.0, 1e5])
def test_sums_over_subsets_equal_those_in_logs(spread):
    """Larger than what is summed in one go; a third of the scores are -inf."""
    rng = np.random.default_rng(4)
    scores = spread * rng.standard_normal((2, 1 << 15))
    scores[rng.random(scores.shape) < 0.3] = -np.inf
    scores[1, np.arange(1 << 15) & 9 != 9] = -np.inf  # two required parents
    weights = sum_scores(scores, subset_maxima(scores))
    expected = subset_log_sums(scores)
    with np.errstate(divide="ignore"):
        found = np.log(weights.mantissa) + weights.exponent * LOG_2
    possible = expected > -np.inf
    assert np.array_equal(weights.exponent == IMPOSSIBLE, ~possible)
    np.testing.assert_allclose(found[possible], expected[possible], rtol=1e-13, atol=1e-11)
    mantissas = weights.mantissa[possible]
    assert mantissas.min() >= 0.5
    assert mantissas.max() < 1.0
    for member in range(15):
        smaller = np.flatnonzero(np.arange(1 << 15) >> member & 1 == 0)
        assert (weights.exponent[:, smaller] <= weights.exponent[:, smaller | 1 << member]).all()


def test_sums_over_larger_sets_equal_those_in_logs():
    rng = np.random.default_rng(5)
    exponent = np.rint(subset_maxima(300.0 * rng.standard_normal((1, 1 << 15)))[0])
    values = rng.random(1 << 15)
    by_complement = (np.log(values) - exponent * LOG_2)[::-1].copy()
    sum_over_subsets(by_complement)
    expected = by_complement[::-1]
    sum_over_larger(values, exponent)
    np.testing.assert_allclose(np.log(values) - exponent * LOG_2, expected, rtol=1e-12)

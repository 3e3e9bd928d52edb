"""The conditional Gaussian score against rows predicted one after the other."""

from itertools import combinations
from math import inf
from typing import Any

import numpy as np
import pytest

import outpoint as op
from outpoint.errors import DataError, OptionError
from outpoint.scores import BDeu, BGe, ConditionalGaussian
from outpoint.scores.base import size_offsets
from tests.reference import conditional_gaussian_family_score, enumerate_posterior

from .helpers import (
    all_families,
    categorical,
    continuous,
    dependent_codes,
    dependent_mixture,
    dependent_values,
    family,
    mixed,
)
from .test_structure_of_scores import scores_by_class

CARDINALITIES = [0, 3, 2, 0, 0, 4]


def mixture(seed: int = 1, n_obs: int = 60) -> np.ndarray:
    return dependent_mixture(np.random.default_rng(seed), n_obs, CARDINALITIES)


@pytest.mark.parametrize(
    "settings", [{}, {"alpha_mu": 0.3, "equivalent_sample_size": 5.0}, {"alpha_w": 7.5}], ids=str
)
@pytest.mark.parametrize("n_obs", [7, 60])
def test_every_family(settings: dict, n_obs: int) -> None:
    values = mixture(n_obs, n_obs)
    data = mixed(values, CARDINALITIES)
    scorer = ConditionalGaussian(standardize=False, **settings).bind(data)
    plain = {"ess" if name[0] == "e" else name: value for name, value in settings.items()}
    for child, parents in all_families(6):
        expected = conditional_gaussian_family_score(values, CARDINALITIES, child, parents, **plain)
        assert family(scorer, child, parents) == pytest.approx(expected, abs=1e-8)


def test_columns_far_from_zero_keep_their_digits() -> None:
    values = mixture()
    moved = values.copy()
    moved[:, [0, 3, 4]] += 1e4
    standard = ConditionalGaussian()
    one, other = (standard.bind(mixed(v, CARDINALITIES)).every_family(5) for v in (values, moved))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)
    raw = ConditionalGaussian(standardize=False).bind(mixed(moved, CARDINALITIES))
    expected = conditional_gaussian_family_score(moved, CARDINALITIES, 3, (0, 1))
    assert family(raw, 3, (0, 1)) == pytest.approx(expected, abs=1e-6)


def test_the_whole_table_is_that_of_single_families() -> None:
    scorer = ConditionalGaussian().bind(mixed(mixture(), CARDINALITIES))
    table = scorer.every_family(5)
    offsets = size_offsets(5, 5)
    for child in range(6):
        others = [u for u in range(6) if u != child]
        for size in range(6):
            rows = sorted(combinations(others, size), key=lambda parents: parents[::-1])
            one_by_one = [family(scorer, child, parents) for parents in rows]
            together = scorer.families(child, np.array(rows).reshape(len(rows), size))
            np.testing.assert_allclose(together, one_by_one, rtol=0, atol=1e-9)
            stored = table[child, offsets[size] : offsets[size + 1]]
            np.testing.assert_allclose(stored, one_by_one, rtol=0, atol=1e-9)


def test_one_kind_alone_is_bge_or_bdeu() -> None:
    rng = np.random.default_rng(2)
    numbers = continuous(dependent_values(rng, 50, 5))
    for settings in ({}, {"alpha_mu": 0.2, "standardize": False}, {"alpha_w": 30.0}):
        one, other = (
            kind(**settings).bind(numbers).every_family(4) for kind in (ConditionalGaussian, BGe)
        )
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
    for cardinalities in ([2, 2, 2, 2], [2, 3, 5, 4]):
        codes = categorical(dependent_codes(rng, 50, cardinalities), cardinalities)
        one, other = (
            kind(equivalent_sample_size=3.0).bind(codes).every_family(3)
            for kind in (ConditionalGaussian, BDeu)
        )
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


def test_equivalent_dags_that_are_allowed_score_the_same() -> None:
    cardinalities = [0, 3, 2, 0]
    values = dependent_mixture(np.random.default_rng(4), 50, cardinalities)
    scorer = ConditionalGaussian().bind(mixed(values, cardinalities))
    classes = scores_by_class(lambda child, parents: family(scorer, child, parents))
    finite = [[total for total in totals if total > -inf] for totals in classes]
    assert any(len(totals) > 1 for totals in finite)
    assert max(max(totals) - min(totals) for totals in finite if totals) < 1e-9
    assert any(0 < len(some) < len(totals) for some, totals in zip(finite, classes, strict=True))


CARDINALITIES_OF_FOUR = [0, 3, 0, 2]
LISTED: dict[str, Any] = {"score": "conditional-gaussian", "structure_prior": "uniform"}


def four() -> tuple[op.Dataset, np.ndarray]:
    values = dependent_mixture(np.random.default_rng(5), 60, CARDINALITIES_OF_FOUR)
    data = mixed(values, CARDINALITIES_OF_FOUR)
    expected = enumerate_posterior(
        4,
        lambda child, parents: conditional_gaussian_family_score(
            data.standardized().values, CARDINALITIES_OF_FOUR, child, parents
        ),
    )
    return data, expected


def test_the_posterior_is_that_of_all_allowed_dags() -> None:
    data, expected = four()
    post = op.learn(data, **LISTED)
    assert post.info.score == "conditional-gaussian"
    assert post.log_evidence == pytest.approx(expected.log_evidence, abs=1e-8)
    np.testing.assert_allclose(post.edge_probabilities, expected.edges, atol=1e-9)
    assert post.edge_probabilities.loc["a", ["b", "d"]].max() == 0.0
    best = op.find_map(data, method="search", seed=1, **LISTED)
    assert best.log_score == pytest.approx(expected.best_log_score, abs=1e-8)


@pytest.mark.parametrize("method", ["mcmc", "partition+rev", "structure"])
def test_chains_never_leave_the_allowed_dags(method: str) -> None:
    """Largest error of an edge; seeds are fixed, errors are several times smaller than 0.1."""
    data, expected = four()
    post = op.learn(data, method=method, steps=20_000, seed=1, **LISTED)
    np.testing.assert_allclose(post.edge_probabilities, expected.edges, atol=0.1)
    assert post.edge_probabilities.loc["a", ["b", "d"]].max() == 0.0


def test_huge_values_are_scored_or_refused() -> None:
    """Products over states with one row must not overflow."""
    values = mixture(3, 40)
    huge = values * [1e60, 1, 1, 1e60, 1e60, 1]
    scorer = ConditionalGaussian(standardize=False).bind(mixed(huge, CARDINALITIES))
    table = scorer.every_family(5)
    assert np.isfinite(table[[0, 3, 4]]).all()
    assert not np.isnan(table).any()
    beyond = mixed(values * [1e200, 1, 1, 1, 1, 1], CARDINALITIES)
    with pytest.raises(DataError, match="too large for ConditionalGaussian"):
        ConditionalGaussian(standardize=False).bind(beyond)


def test_refusals() -> None:
    data = mixed(mixture(), CARDINALITIES)
    message = r"ConditionalGaussian needs alpha_w > 4 for 3 continuous columns, not 2\.0"
    with pytest.raises(OptionError, match=message):
        ConditionalGaussian(alpha_w=2).bind(data)
    with pytest.raises(OptionError, match="ConditionalGaussian needs a positive equivalent"):
        ConditionalGaussian(equivalent_sample_size=0)

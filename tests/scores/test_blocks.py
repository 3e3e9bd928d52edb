"""Blocks of columns against rows predicted one after the other, and what the coding leaves free."""

import numpy as np
import pytest

from outpoint.data import Dataset
from outpoint.errors import DataError, OptionError
from outpoint.scores import BGe, Blocks
from outpoint.scores.blocks import contrasts
from tests.grids import covering
from tests.reference import blocks_family_score, enumerate_posterior

from .helpers import all_families, continuous, dependent_mixture, dependent_values, family, mixed
from .test_structure_of_scores import scores_by_class

CARDINALITIES = [0, 3, 2, 0, 4]


def mixture(seed: int = 1, n_obs: int = 40) -> np.ndarray:
    return dependent_mixture(np.random.default_rng(seed), n_obs, CARDINALITIES)


@pytest.mark.parametrize(
    ("settings", "left_out"), covering([{}, {"alpha_mu": 0.3}, {"alpha_w": 11.5}], [0, 1, 2])
)
def test_every_family_whatever_level_is_left_out(settings: dict, left_out: int) -> None:
    values = mixture()
    scorer = Blocks(standardize=False, **settings).bind(mixed(values, CARDINALITIES))
    for child, parents in all_families(5):
        expected = blocks_family_score(
            values, CARDINALITIES, child, parents, left_out=left_out, **settings
        )
        assert family(scorer, child, parents) == pytest.approx(expected, abs=1e-8)


def test_indicators_with_equal_prior_variances_would_have_a_reference_level() -> None:
    values = mixture()
    scores = [
        blocks_family_score(
            values, CARDINALITIES, 4, (1,), left_out=k, shape=lambda r: np.eye(r - 1) / r
        )
        for k in range(2)
    ]
    assert abs(scores[0] - scores[1]) > 1e-3


def test_names_and_order_of_levels_do_not_matter() -> None:
    values = mixture()
    turned = values.copy()
    turned[:, 1] = np.array([2, 0, 1])[values[:, 1].astype(int)]
    turned[:, 4] = 3 - values[:, 4]
    one, other = (Blocks().bind(mixed(v, CARDINALITIES)).every_family(4) for v in (values, turned))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


@pytest.mark.parametrize("n_levels", [1, 2, 3, 7])
def test_contrasts_have_the_covariance_of_standardised_columns(n_levels: int) -> None:
    coded = contrasts(n_levels)
    np.testing.assert_allclose(coded.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(coded.T @ coded / n_levels, np.eye(n_levels - 1), atol=1e-12)


def test_continuous_columns_alone_are_bge() -> None:
    data = continuous(dependent_values(np.random.default_rng(2), 50, 6))
    for settings in ({}, {"alpha_mu": 0.2, "standardize": False}, {"alpha_w": 30.0}):
        one, other = (kind(**settings).bind(data).every_family(5) for kind in (Blocks, BGe))
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


def test_two_equally_frequent_levels_are_a_standardised_column() -> None:
    values = dependent_values(np.random.default_rng(3), 60, 3)
    values[:, 1] = np.arange(60) % 2
    numbers = continuous(values)
    levels = mixed(values, [0, 2, 0])
    one = Blocks().bind(levels).every_family(2)
    other = BGe().bind(numbers).every_family(2)
    gap = (one - one[:, :1]) - (other - other[:, :1])
    assert np.abs(gap).max() < 0.05, "but for N - 1 in place of N in the standard deviation"


@pytest.mark.parametrize("cardinalities", [[0, 3, 2, 0], [2, 5, 3, 4], [0, 0, 0, 6]], ids=str)
def test_equivalent_dags_score_the_same(cardinalities: list[int]) -> None:
    values = dependent_mixture(np.random.default_rng(4), 50, cardinalities)
    scorer = Blocks().bind(mixed(values, cardinalities))
    classes = scores_by_class(lambda child, parents: family(scorer, child, parents))
    assert max(max(totals) - min(totals) for totals in classes) < 1e-9


def test_the_posterior_is_that_of_all_dags() -> None:
    import outpoint as op

    cardinalities = [0, 3, 0, 2]
    values = dependent_mixture(np.random.default_rng(5), 60, cardinalities)
    data = mixed(values, cardinalities)
    standard = data.standardized().values
    expected = enumerate_posterior(
        4, lambda child, parents: blocks_family_score(standard, cardinalities, child, parents)
    )
    post = op.learn(data, structure_prior="uniform")
    assert post.info.score == "blocks"
    assert post.info.score_settings == "Blocks()"
    assert post.log_evidence == pytest.approx(expected.log_evidence, abs=1e-8)
    np.testing.assert_allclose(post.edge_probabilities, expected.edges, atol=1e-9)


def test_levels_that_never_occur_do_not_matter() -> None:
    values = mixture(6, 200)
    declared = values.copy()
    declared[:, 1] += 1.0
    one = Blocks().bind(mixed(values, CARDINALITIES)).every_family(4)
    other = Blocks().bind(mixed(declared, [0, 5, 2, 0, 6])).every_family(4)
    np.testing.assert_array_equal(one, other)


def test_constant_columns_are_refused_or_say_nothing() -> None:
    values = mixture(7)
    values[:, 1] = 0.0
    data = mixed(values, [0, 3, 2, 0, 4])
    with pytest.raises(DataError, match="'b' is constant"):
        Blocks().bind(data)
    scorer = Blocks().bind(data, allow_degenerate=True)
    for child, parents in all_families(5):
        if 1 in parents:
            without = tuple(u for u in parents if u != 1)
            assert family(scorer, child, parents) == family(scorer, child, without)
        if child == 1:
            assert family(scorer, child, parents) == 0.0


def test_categorical_data_can_have_it_too() -> None:
    cardinalities = [2, 3, 4]
    values = dependent_mixture(np.random.default_rng(8), 50, cardinalities)
    scorer = Blocks().bind(mixed(values, cardinalities))
    for child, parents in all_families(3):
        expected = blocks_family_score(values, cardinalities, child, parents)
        assert family(scorer, child, parents) == pytest.approx(expected, abs=1e-8)


def test_refusals() -> None:
    with pytest.raises(OptionError, match=r"Blocks needs alpha_w > 9 for 8 columns, not 6\.0"):
        Blocks(alpha_w=6).bind(mixed(mixture(), CARDINALITIES))
    with pytest.raises(OptionError, match="Blocks needs an alpha_mu that is a positive number"):
        Blocks(alpha_mu=0)
    levels = tuple(str(k) for k in range(150))
    wide = Dataset(("x", "g"), [[k / 7, k % 150] for k in range(400)], (None, levels))
    with pytest.raises(DataError, match="'g' has more than 100 levels, too many for Blocks"):
        Blocks().bind(wide)

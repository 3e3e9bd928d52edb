"""BGe against its closed form, in floating point and in rational arithmetic."""

import numpy as np
import pytest

from outpoint.data import bundled
from outpoint.errors import DataError, OptionError
from outpoint.scores import BGe
from tests.reference import bge_family_score, exact_bge_family_score

from .helpers import all_families, continuous, dependent_values, family

SETTINGS = [
    {},
    {"alpha_mu": 0.01},
    {"alpha_mu": 7.5},
    {"alpha_w": 7.25},
    {"alpha_w": 60},
    {"alpha_mu": 0.3, "alpha_w": 6.001},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("n_obs", [5, 40, 1000])
def test_every_family_of_five_columns(settings: dict, n_obs: int) -> None:
    values = dependent_values(np.random.default_rng(n_obs), n_obs, 5)
    scorer = BGe(**settings, standardize=False).bind(continuous(values))
    for child, parents in all_families(5):
        expected = bge_family_score(values, child, parents, **settings)
        assert family(scorer, child, parents) == pytest.approx(expected, rel=1e-11, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_random_families_of_many_columns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = dependent_values(rng, 80, 20)
    scorer = BGe(standardize=False).bind(continuous(values))
    for _ in range(30):
        child, *parents = rng.permutation(20)[: rng.integers(1, 20)].tolist()
        parents.sort()
        expected = bge_family_score(values, child, parents)
        assert family(scorer, child, parents) == pytest.approx(expected, rel=1e-10)


SCALES = {
    "units from micro to mega": [1e-6, 1e-3, 1.0, 1e3, 1e6],
    "all tiny": [1e-9] * 5,
    "all huge": [1e9] * 5,
    "far beyond reason": [1e-100, 1e-50, 1.0, 1e50, 1e100],
}


@pytest.mark.parametrize("scale", SCALES.values(), ids=list(SCALES))
def test_ill_scaled_columns(scale: list[float]) -> None:
    values = dependent_values(np.random.default_rng(3), 12, 5) * scale
    scorer = BGe(standardize=False).bind(continuous(values))
    for child, parents in all_families(5, 3):
        expected = exact_bge_family_score(values, child, parents)
        assert family(scorer, child, parents) == pytest.approx(expected, rel=1e-11, abs=1e-9)


@pytest.mark.parametrize(("offset", "tolerance"), [(1e2, 1e-9), (1e4, 1e-9), (1e7, 1e-6)])
def test_columns_far_from_zero(offset: float, tolerance: float) -> None:
    """Means that are large against the spread cost digits: R is dominated by one direction."""
    values = dependent_values(np.random.default_rng(12), 12, 5) + offset
    scorer = BGe(standardize=False).bind(continuous(values))
    for child, parents in all_families(5, 3):
        expected = exact_bge_family_score(values, child, parents)
        assert family(scorer, child, parents) == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("n_obs", [1, 2, 4])
def test_fewer_rows_than_columns(n_obs: int) -> None:
    values = dependent_values(np.random.default_rng(4), n_obs, 5)
    scorer = BGe(standardize=False).bind(continuous(values), allow_degenerate=True)
    for child, parents in all_families(5):
        expected = exact_bge_family_score(values, child, parents)
        assert family(scorer, child, parents) == pytest.approx(expected, abs=1e-10)


def test_constant_and_identical_columns() -> None:
    values = dependent_values(np.random.default_rng(5), 15, 5)
    values[:, 1] = 4.0
    values[:, 3] = values[:, 0]
    scorer = BGe(standardize=False).bind(continuous(values), allow_degenerate=True)
    for child, parents in all_families(5):
        expected = exact_bge_family_score(values, child, parents)
        assert family(scorer, child, parents) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("scale", [1e3, 1e6])
def test_large_identical_columns_are_scored_right(scale: float) -> None:
    """Where LU factorisation has already lost several digits."""
    values = dependent_values(np.random.default_rng(6), 15, 4) * scale
    values[:, 2] = values[:, 0]
    scorer = BGe(standardize=False).bind(continuous(values), allow_degenerate=True)
    for child, parents in all_families(4):
        expected = exact_bge_family_score(values, child, parents)
        assert family(scorer, child, parents) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("scale", [1e9, 1e15, 1e100])
@pytest.mark.parametrize("copies", [2, 3, 5])
def test_huge_identical_columns_stay_finite(scale: float, copies: int) -> None:
    """R is singular to working precision; the naive determinant has log -inf or NaN here."""
    values = dependent_values(np.random.default_rng(7), 15, 5) * scale
    values[:, :copies] = values[:, :1]
    scores = BGe(standardize=False).bind(continuous(values), allow_degenerate=True).every_family(4)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("scale", [1e9, 1e60, 1e100])
def test_huge_columns_with_few_rows_stay_finite(scale: float) -> None:
    """A column is a combination of others up to rounding, which must not grow from step to step."""
    values = dependent_values(np.random.default_rng(9), 3, 7) * scale
    scores = BGe(standardize=False).bind(continuous(values), allow_degenerate=True).every_family(6)
    assert np.isfinite(scores).all()


def test_values_whose_squares_overflow_are_refused() -> None:
    values = dependent_values(np.random.default_rng(8), 15, 3) * 1e200
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(DataError, match=r"too large for BGe: rescale"),
    ):
        BGe(standardize=False).bind(continuous(values))


def test_units_and_location_matter_unless_standardized() -> None:
    values = dependent_values(np.random.default_rng(9), 30, 4)
    changed = values * [1.0, 5.0, 0.01, 1.0] + [3.0, 0.0, 0.0, -7.0]
    plain, plain_changed = (
        BGe(standardize=False).bind(continuous(v)).every_family(3) for v in (values, changed)
    )
    assert np.abs(plain - plain_changed).min(axis=1).max() > 1.0
    free, free_changed = (BGe().bind(continuous(v)).every_family(3) for v in (values, changed))
    np.testing.assert_allclose(free, free_changed, rtol=0, atol=1e-9)


def test_standardize_is_the_score_of_standardized_columns() -> None:
    values = dependent_values(np.random.default_rng(10), 30, 4) * [1, 10, 100, 1000]
    standard = (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)
    scorer = BGe(alpha_mu=2.0).bind(continuous(values))
    for child, parents in all_families(4):
        expected = bge_family_score(standard, child, parents, alpha_mu=2.0)
        assert family(scorer, child, parents) == pytest.approx(expected, abs=1e-9)


def test_the_empty_graph_of_the_boston_data_has_its_published_score() -> None:
    data = bundled.boston()
    scorer = BGe(standardize=False).bind(data)
    total = sum(family(scorer, v, ()) for v in range(data.n_nodes))
    assert total == pytest.approx(-22590.93197, abs=5e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha_mu": 0}, "alpha_mu that is a positive number, not 0"),
        ({"alpha_mu": -1.5}, "alpha_mu that is a positive number, not -1.5"),
        ({"alpha_mu": float("nan")}, "alpha_mu that is a positive number, not nan"),
        ({"alpha_w": 4}, "alpha_w > 4 for 3 variables, not 4.0"),
        ({"alpha_w": -2}, "alpha_w that is a positive number, not -2"),
        ({"alpha_mu": "x"}, "alpha_mu that is a positive number, not 'x'"),
        ({"alpha_w": float("inf")}, "alpha_w that is a positive number, not inf"),
        ({"alpha_w": float("nan")}, "alpha_w that is a positive number, not nan"),
    ],
)
def test_impossible_settings(settings: dict, message: str) -> None:
    values = dependent_values(np.random.default_rng(11), 30, 3)
    with pytest.raises(OptionError, match=message):
        BGe(**settings).bind(continuous(values))


def test_settings_are_values() -> None:
    assert BGe() == BGe(alpha_mu=1.0)
    assert BGe().name == "bge"
    with pytest.raises(TypeError):
        BGe(1.0)  # type: ignore[misc]

"""Scores of columns of both kinds on awkward tables, with interventions.

The references predict row by row; what they rest on, the prediction of a Gaussian row, is compared
with integrals over mean and variance, and with SciPy's multivariate t distribution.
"""

from math import exp, lgamma, log

import numpy as np
import pytest
from scipy import integrate, stats

import outpoint as op
from outpoint.data import Dataset
from outpoint.scores import conditional_gaussian
from tests.reference import gaussian_log_likelihood

from .helpers import all_families, family, letters
from .prequential import predict_conditional, predict_gaussian
from .test_interventions import columns_of

CARDINALITIES = (0, 4, 0, 3, 0)
N_OBS = 36
ENTRIES = [()] * 16 + [("a",)] * 6 + [("b", "c")] * 8 + [("d",)] * 6


def awkward(units: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> Dataset:
    """b's last level never occurs, and its level 1 fixes a; one row alone has levels 0 and 2."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=(N_OBS, 5))
    values[:, 1] = rng.integers(0, 3, N_OBS)
    values[:, 3] = rng.integers(0, 2, N_OBS)
    values[:, 2] += values[:, 0] * (values[:, 1] - 1)
    values[values[:, 1] == 1, 0] = 0.7
    values[5, [1, 3]] = 0, 2
    values[:, [0, 2, 4]] *= units
    levels = [tuple(str(k) for k in range(r)) if r else None for r in CARDINALITIES]
    return Dataset(letters(5), values, tuple(levels), interventions=ENTRIES)


UNITS = {"near 1": (1.0, 1.0, 1.0), "far apart": (1e-4, 1e5, 1.0)}


@pytest.mark.parametrize("units", UNITS.values(), ids=list(UNITS))
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("name", ["blocks", "conditional gaussian"])
def test_every_family(name: str, standardize: bool, units: tuple[float, float, float]) -> None:
    data = awkward(units)
    columns = columns_of(data, standardize=standardize)
    values = data.standardized().values if standardize else data.values
    kind = op.Blocks if name == "blocks" else op.ConditionalGaussian
    scorer = kind(standardize=standardize).bind(data)
    for child, parents in all_families(5):
        rows = ~data.is_set[:, child]
        if name == "blocks":
            expected = predict_gaussian(columns, rows, child, parents)
        else:
            expected = predict_conditional(values, CARDINALITIES, rows, child, parents, 1.0)
        assert family(scorer, child, parents) == pytest.approx(expected, abs=1e-7)


def test_the_table_has_what_it_is_made_for() -> None:
    values = awkward().values
    assert set(values[:, 1]) == {0, 1, 2}
    assert ((values[:, [1, 3]] == (0, 2)).all(axis=1)).sum() == 1
    assert np.ptp(values[values[:, 1] == 1, 0]) == 0


@pytest.mark.parametrize("few", [1, 2, 12])
def test_rows_or_columns_do_not_matter(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small states are scored by matrices of their rows; those of columns say the same."""
    data = awkward()
    usual = op.ConditionalGaussian().bind(data).every_family(4)
    monkeypatch.setattr(conditional_gaussian, "FEW", few)
    np.testing.assert_allclose(
        op.ConditionalGaussian().bind(data).every_family(4), usual, rtol=0, atol=1e-9
    )


def test_predictions_of_one_column_are_integrals() -> None:
    """Variance from the inverse gamma law (a/2, t/2), mean from N(0, variance / alpha_mu)."""
    x, alpha_mu, freedom, t = np.array([0.3, -1.1, 2.0]), 0.6, 2.5, 0.8

    def density(mean: float, log_precision: float) -> float:
        precision = exp(log_precision)
        logs = stats.norm.logpdf(x, mean, precision**-0.5).sum()
        logs += stats.norm.logpdf(mean, 0, (alpha_mu * precision) ** -0.5)
        logs += freedom / 2 * (log(t / 2) + log_precision) - lgamma(freedom / 2)
        return exp(logs - t / 2 * precision)

    value, _ = integrate.dblquad(density, -9, 4, -25, 25, epsabs=1e-9, epsrel=1e-7)
    found = gaussian_log_likelihood(x[:, None], alpha_mu, freedom, np.array([[t]]))
    assert found == pytest.approx(log(value), abs=1e-5)


def test_predictions_of_columns_are_those_of_scipy() -> None:
    rng = np.random.default_rng(2)
    alpha_mu, freedom, t0 = 0.6, 4.5, np.array([[1.0, 0.2, 0], [0.2, 0.7, 0], [0, 0, 2]])
    nu = freedom - 2
    x = rng.normal(size=3)
    expected = stats.multivariate_t.logpdf(x, None, t0 * (alpha_mu + 1) / (alpha_mu * nu), nu)
    assert gaussian_log_likelihood(x[None], alpha_mu, freedom, t0) == pytest.approx(expected)

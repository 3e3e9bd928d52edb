"""Averages over all DAGs of four variables against enumeration with independent formulas."""

from functools import lru_cache

import numpy as np
import pytest

from outpoint.data import Dataset
from outpoint.models import AveragedModel
from outpoint.models.averaging import N_NETWORKS
from tests.models.oracle import predictor
from tests.models.test_models import TABLES, allowed, model_of
from tests.reference import all_dags

TARGETS = [
    ("bge", 1),
    ("bdeu", 3),
    ("blocks", 1),
    pytest.param("blocks", 0, marks=pytest.mark.long),
    ("conditional-gaussian", 2),
    pytest.param("conditional-gaussian", 3, marks=pytest.mark.long),
]


class Enumerated:
    """The average over all DAGs that a score allows, with arbitrary weights."""

    def __init__(self, score: str, data: Dataset) -> None:
        self.dags = allowed(score, data, all_dags(4))
        self.weights = np.random.default_rng(3).dirichlet(np.full(len(self.dags), 0.1))
        self.predict = predictor(score, data)
        self.parents = [
            [tuple(np.flatnonzero(dag[:, v]).tolist()) for v in range(4)] for dag in self.dags
        ]
        self.averaged = AveragedModel(model_of(score, data), self.dags, self.weights)

    def densities(self, row: np.ndarray) -> np.ndarray:
        """The density of a row in every DAG."""
        known = lru_cache(lambda v, parents: self.predict(v, parents, row))
        return np.array([np.exp(sum(known(v, own[v]) for v in range(4))) for own in self.parents])

    def density(self, row: np.ndarray) -> float:
        """The density of a row, averaged."""
        return float(self.weights @ self.densities(row))


@lru_cache
def enumerated(score: str) -> Enumerated:
    return Enumerated(score, TABLES[score])


@pytest.mark.parametrize("score", TABLES)
def test_densities_of_known_rows(score: str) -> None:
    everything, rows = enumerated(score), TABLES[score].values[[2, 9, 2]]
    found, errors = everything.averaged.log_predictive(rows)
    expected = np.log([everything.density(row) for row in rows])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)
    assert not errors.any()
    logs = [everything.weights @ np.log(everything.densities(row)) for row in rows]
    assert (np.abs(found - logs) > 1e-3).all(), "an average of logs would be caught"


@pytest.mark.parametrize(("score", "target"), TARGETS)
def test_conditionals_given_all_others(score: str, target: int) -> None:
    everything, row = enumerated(score), TABLES[score].values[7].copy()
    found = everything.averaged.predict(row[None], target)
    levels = TABLES[score].levels[target]

    def at(x: float) -> float:
        row[target] = x
        return everything.density(row)

    if levels is not None:
        expected = np.array([at(k) for k in range(len(levels))])
        expected = expected * _factors(everything, score, row, target)
        np.testing.assert_allclose(found.weights[0], expected / expected.sum(), atol=1e-8)
        factors = _factors(everything, score, row, target)
        wrong = everything.weights @ _shares(everything, row, target, factors)
        assert np.abs(wrong - found.weights[0]).max() > 1e-4, "DAGs must be weighed by the rest"
        return
    mean, sd = _moments(found)
    z, steps = np.polynomial.legendre.leggauss(64)
    densities = np.array([at(x) for x in mean + 4 * sd * z / (1 - z**2)])
    masses = steps * densities * 4 * sd * (1 + z**2) / (1 - z**2) ** 2
    total, first = masses.sum(), masses @ (mean + 4 * sd * z / (1 - z**2))
    assert found.log_density[0] == pytest.approx(np.log(total), abs=1e-8)
    assert mean == pytest.approx(first / total, abs=1e-8 * max(1.0, sd))


def _factors(everything: Enumerated, score: str, row: np.ndarray, target: int) -> np.ndarray:
    """With columns that code levels: the share of a level over the density of the target alone."""
    values = TABLES[score].values[:, target]
    levels = TABLES[score].levels[target] or ()
    if score != "blocks":
        return np.ones(len(levels))
    alone = []
    for level in range(len(levels)):
        row[target] = level
        alone.append(np.exp(everything.predict(target, (), row)))
    return np.bincount(values.astype(int), minlength=len(levels)) / len(values) / np.array(alone)


def _shares(
    everything: Enumerated, row: np.ndarray, target: int, factors: np.ndarray
) -> np.ndarray:
    """The conditional probabilities in each DAG, for the wrong average of conditionals."""
    parts = []
    for level, factor in enumerate(factors):
        row[target] = level
        parts.append(everything.densities(row) * factor)
    joint = np.stack(parts, axis=1)
    return joint / joint.sum(axis=1, keepdims=True)


def _moments(found) -> tuple[float, float]:
    mean = float(found.weights[0] @ found.means[0])
    return mean, float(np.sqrt(found.weights[0] @ (found.means[0] - mean) ** 2))


def test_unknown_levels_are_summed_out() -> None:
    everything, row = enumerated("bdeu"), TABLES["bdeu"].values[4].copy()
    row[[0, 2]] = np.nan
    found, _ = everything.averaged.log_predictive(row[None])
    total = 0.0
    for a in range(2):
        for c in range(2):
            row[[0, 2]] = a, c
            total += everything.density(row)
    assert found[0] == pytest.approx(np.log(total), abs=1e-8)


@pytest.mark.parametrize(("score", "target"), TARGETS)
@pytest.mark.parametrize("unknown", [[0, 3], [0, 1]])
def test_drawn_parameters_and_cells_agree_with_sums(
    score: str, target: int, unknown: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Densities of rows with a hole by the exact sum and by the other ways, within 4.5 errors."""
    everything, rows = enumerated(score), TABLES[score].values[[7, 8]].copy()
    hole = 3 if score in ("bge", "blocks") else unknown[0]
    rows[:, hole] = np.nan
    exact, _ = everything.averaged.log_predictive(rows)
    monkeypatch.setattr("outpoint.models.averaging.MOST_COMPLETIONS", 0)
    other = AveragedModel(everything.averaged.model, everything.dags, everything.weights, seed=2)
    found, errors = other.log_predictive(rows)
    assert (errors > 0).all()
    assert (np.abs(found - exact) < 4.5 * errors + 0.01).all()
    if target != hole:
        predicted = other.predict(rows, target)
        assert predicted.weights.shape[0] == 2
        np.testing.assert_allclose(predicted.weights.sum(axis=1), 1.0)
    assert N_NETWORKS > 100


def test_rare_levels_keep_their_share() -> None:
    """Where nothing is known, levels coded as columns have the shares that were observed."""
    rng = np.random.default_rng(8)
    g = (rng.random(400) < 0.05).astype(float) + (rng.random(400) < 0.3)
    values = np.column_stack([g, rng.normal(size=400) + g])
    data = Dataset(("g", "x"), values, (("a", "b", "c"), None))
    shares = np.bincount(g.astype(int)) / 400
    model = model_of("blocks", data)
    dags = np.zeros((2, 2, 2), dtype=bool)
    dags[1, 0, 1] = True
    averaged = AveragedModel(model, dags, np.array([0.5, 0.5]))
    nothing = np.full((1, 2), np.nan)
    np.testing.assert_allclose(averaged.predict(nothing, 0).weights[0], shares, atol=1e-12)
    far = averaged.predict(np.array([[np.nan, 4.5]]), 0).weights[0]
    assert far[2] > shares[2]
    rows = model.sample_parameters(dags[1], rng).simulate(20_000, rng)
    seen = np.bincount(rows[:, 0].astype(int), minlength=3) / 20_000
    np.testing.assert_allclose(seen, shares, atol=0.08)  # of one set of drawn parameters

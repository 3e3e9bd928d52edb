"""Predictive densities and draws of parameters against definitions."""

import numpy as np
import pytest

from outpoint.data import Dataset
from outpoint.models import NetworkModel
from outpoint.models.conditionals import Regression
from outpoint.scores import BIC, SCORES, BDeu, BGe
from tests.models.oracle import predictor
from tests.reference import all_dags
from tests.scores.helpers import (
    categorical,
    dependent_codes,
    dependent_mixture,
    dependent_values,
    mixed,
)

RNG = np.random.default_rng(1)
MIXED = (0, 3, 2, 0)
TABLES = {
    "bge": Dataset(tuple("abcd"), 3.0 + 5.0 * dependent_values(RNG, 30, 4)),
    "bdeu": categorical(dependent_codes(RNG, 40, (2, 3, 2, 4)), (2, 3, 2, 4)),
    "blocks": mixed(dependent_mixture(RNG, 40, MIXED) * (5.0, 1.0, 1.0, 0.1), MIXED),
    "conditional-gaussian": mixed(dependent_mixture(RNG, 40, MIXED) * (5.0, 1.0, 1.0, 0.1), MIXED),
}


def model_of(score: str, data: Dataset) -> NetworkModel:
    made = NetworkModel.from_score(SCORES[score](), data)
    assert made is not None
    return made


def allowed(score: str, data: Dataset, dags: np.ndarray) -> np.ndarray:
    """DAGs without an edge from a continuous to a categorical variable, if there must be none."""
    if score != "conditional-gaussian":
        return dags
    is_continuous = np.array([one is None for one in data.levels])
    return dags[~dags[:, is_continuous][:, :, ~is_continuous].any(axis=(1, 2))]


@pytest.mark.parametrize("score", TABLES)
@pytest.mark.parametrize("experiments", [False, True])
def test_predictive_densities_are_ratios_of_marginal_likelihoods(
    score: str, experiments: bool
) -> None:
    data = TABLES[score]
    if experiments:
        targets = ((), ("b",), ("a", "b"))
        entries = tuple(targets[i % 3] for i in range(data.n_obs))
        data = Dataset(data.names, data.values, data.levels, interventions=entries)
    rows = data.values[[3, 11]]
    model, predict = model_of(score, data), predictor(score, data)
    dags = allowed(score, data, all_dags(4))[::20]
    for dag in dags:
        parents = [tuple(np.flatnonzero(dag[:, v]).tolist()) for v in range(4)]
        expected = [sum(predict(v, parents[v], row) for v in range(4)) for row in rows]
        np.testing.assert_allclose(model.log_predictive(dag, rows), expected, rtol=0, atol=1e-8)


def test_settings_of_the_prior_count() -> None:
    values = TABLES["bge"].values
    rows = values[:3] + 1.0
    settings = {"alpha_mu": 3.0, "alpha_w": 11.0}
    dag = all_dags(4)[300]
    model = NetworkModel.from_score(BGe(**settings), TABLES["bge"])
    assert model is not None
    predict = predictor("bge", TABLES["bge"], **settings)
    parents = [tuple(np.flatnonzero(dag[:, v]).tolist()) for v in range(4)]
    expected = [sum(predict(v, parents[v], row) for v in range(4)) for row in rows]
    np.testing.assert_allclose(model.log_predictive(dag, rows), expected, rtol=0, atol=1e-8)
    codes = TABLES["bdeu"]
    model = NetworkModel.from_score(BDeu(equivalent_sample_size=7.0), codes)
    assert model is not None
    predict = predictor("bdeu", codes, equivalent_sample_size=7.0)
    expected = [sum(predict(v, parents[v], row) for v in range(4)) for row in codes.values[:3]]
    np.testing.assert_allclose(
        model.log_predictive(dag, codes.values[:3]), expected, rtol=0, atol=1e-8
    )


@pytest.mark.parametrize("score", TABLES)
def test_densities_given_drawn_parameters_average_to_the_predictive_density(score: str) -> None:
    """2,000 draws; a mean is off by more than 4.5 standard errors once in 150,000 times."""
    data, rng = TABLES[score], np.random.default_rng(5)
    model = model_of(score, data)
    dag = allowed(score, data, all_dags(4))[-1]
    rows = data.values[:4]
    densities = np.exp([model.sample_parameters(dag, rng).log_density(rows) for _ in range(2000)])
    errors = densities.std(axis=0, ddof=1) / np.sqrt(len(densities))
    gap = densities.mean(axis=0) - np.exp(model.log_predictive(dag, rows))
    assert (np.abs(gap) < 4.5 * errors).all()


@pytest.mark.parametrize("score", TABLES)
def test_simulated_rows_have_the_density_of_the_network(score: str) -> None:
    """20,000 rows; each of the figures is off by more than 4.5 errors once in 150,000 times."""
    data, rng = TABLES[score], np.random.default_rng(6)
    model = model_of(score, data)
    dag = allowed(score, data, all_dags(4))[-5]
    network = model.sample_parameters(dag, rng)
    if score == "bdeu":
        rows = network.simulate(20_000, rng)
        states, counts = np.unique(rows, axis=0, return_counts=True)
        expected = np.exp(network.log_density(states))
        error = np.sqrt(expected * (1 - expected) / 20_000)
        assert (np.abs(counts / 20_000 - expected) < 4.5 * error + 1e-4).all()
    elif score == "bge":
        rows = network.simulate(20_000, rng)
        mean, covariance = network.gaussian()
        columns = model.coding.encode(rows)
        root = np.linalg.cholesky(covariance)
        white = np.linalg.solve(root, (columns - mean).T)
        assert (np.abs(white.mean(axis=1)) * np.sqrt(20_000) < 4.5).all()
        assert (np.abs(white @ white.T / 20_000 - np.eye(4)) < 4.5 * np.sqrt(2 / 20_000)).all()
    else:
        rows = network.simulate(50, rng, do={"c": "level 1", "a": 2.5})
        assert (rows[:, 2] == 1).all()
        assert (rows[:, 0] == 2.5).all()
        assert np.isfinite(network.log_density(rows)).all()


def test_what_is_set_no_longer_depends_on_its_parents() -> None:
    data, rng = TABLES["bdeu"], np.random.default_rng(7)
    dag = np.zeros((4, 4), dtype=bool)
    dag[0, 1] = dag[1, 2] = True
    network = model_of("bdeu", data).sample_parameters(dag, rng)
    rows = network.simulate(4000, rng, do={"b": "level 2"})
    shares = network.families[0][0].probabilities[0]
    assert (rows[:, 1] == 2).all()
    assert abs((rows[:, 0] == 0).mean() - shares[0]) < 4.5 * 0.5 / np.sqrt(4000)


def test_scores_without_a_model_have_none() -> None:
    assert NetworkModel.from_score(BIC(), TABLES["bge"]) is None


def test_weights_of_levels_are_the_densities_of_their_codes() -> None:
    data = mixed(dependent_mixture(np.random.default_rng(3), 60, (4, 0, 3, 0)), (5, 0, 3, 0))
    model = model_of("blocks", data)
    for number, dag in enumerate(all_dags(4)[::90]):
        network = model.sample_parameters(dag, np.random.default_rng(number))
        columns = network.coding.encode(data.values)
        for v, unseen in ((0, 1), (2, 0)):
            codes = network.coding.codes[v]
            assert codes is not None
            found = network.level_weights(v, columns.copy())
            assert np.isneginf(found).all(axis=0).sum() == unseen
            for level in np.flatnonzero(np.isfinite(codes).all(axis=1)):
                given = columns.copy()
                given[:, network.coding.columns_of(v)] = codes[level]
                expected = sum(part.log_density(given) for part in network.families[v])
                np.testing.assert_allclose(found[:, level], expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("score", [name for name in TABLES if name != "bdeu"])
def test_densities_along_a_column_are_those_of_changed_rows(score: str) -> None:
    data, rng = TABLES[score], np.random.default_rng(3)
    model = model_of(score, data)
    columns = model.coding.encode(data.values[:10])
    families = [
        part
        for dag in allowed(score, data, all_dags(4))[::10]
        for family in model.families(dag)
        for part in family
        if isinstance(part, Regression)
    ]
    as_parent = 0
    for part in families:
        for column in {part.child, *part.parents}:
            values = columns[:, column, None] + rng.normal(scale=30.0, size=(10, 5))
            found = part.log_predictive_along(columns, column, values)
            for place in range(5):
                changed = columns.copy()
                changed[:, column] = values[:, place]
                expected = part.log_predictive(changed)
                np.testing.assert_allclose(found[:, place], expected, rtol=1e-9, atol=1e-9)
            as_parent += column != part.child
    assert as_parent > 5

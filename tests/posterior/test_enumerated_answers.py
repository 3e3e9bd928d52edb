"""Rows and effects of the averaged model against all DAGs of three variables, for each score.

Parameters of the oracle are drawn by another road: normal-Wishart draws of whole covariance
matrices for columns, Dirichlet draws cell by cell for tables. Comparisons of draws allow five
standard errors, so that each fails by chance once in two million runs.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint.data import Dataset
from outpoint.posterior.what_if import Effect
from tests.models.oracle import predictor
from tests.reference import bge_family_score, conditional_gaussian_family_score, enumerate_posterior

N_DRAWS = 2000
RNG = np.random.default_rng(12)


def gaussian_data() -> Dataset:
    a = RNG.normal(size=40)
    b = a + RNG.normal(size=40)
    c = b + RNG.normal(size=40)
    return Dataset(tuple("abc"), np.column_stack([10 * a + 50, b, 0.1 * c]))


def mixed_data() -> Dataset:
    g = RNG.integers(0, 2, 50)
    h = (g + (RNG.random(50) < 0.2)) % 2
    y = 3.0 * h + RNG.normal(size=50)
    levels = (("no", "yes"), ("lo", "hi"), None)
    return Dataset(("a", "b", "c"), np.column_stack([g, h, 5 + y]), levels=levels)


DATA = {"bge": gaussian_data(), "conditional-gaussian": mixed_data()}


class Listed(NamedTuple):
    """Draws (DAG, draw) of an effect, the probabilities of the DAGs, and whether it has a path."""

    draws: np.ndarray
    probabilities: np.ndarray
    reached: np.ndarray

    @property
    def means(self) -> np.ndarray:
        return self.draws.mean(axis=1)


def standardised(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    is_number = np.array([one is None for one in data.levels])
    mean = np.where(is_number, data.values.mean(axis=0), 0.0)
    sd = np.where(is_number, data.values.std(axis=0, ddof=1), 1.0)
    return (data.values - mean) / sd, sd


@cache
def listed_dags(score: str) -> tuple[np.ndarray, np.ndarray]:
    """The DAGs that the score admits, and their probabilities."""
    values, _ = standardised(DATA[score])

    def family(child: int, parents: tuple[int, ...]) -> float:
        if score == "bge":
            return bge_family_score(values, child, parents)
        return conditional_gaussian_family_score(values, [2, 2, 0], child, parents)

    found = enumerate_posterior(3, family)
    kept = found.probabilities > 0
    return found.adjacencies[kept], found.probabilities[kept]


@cache
def listed(score: str) -> Listed:
    """The effect of a on c in the units of the data, in every DAG."""
    values, sd = standardised(DATA[score])
    dags, probabilities = listed_dags(score)
    draw = _linear_effect if score == "bge" else _conditional_effect
    rng = np.random.default_rng(4)
    draws = np.array([[draw(values, dag, rng) for _ in range(300)] for dag in dags])
    unit = sd[2] / sd[0] if score == "bge" else sd[2]
    reached = np.array([dag[0, 2] or (dag[0, 1] and dag[1, 2]) for dag in dags], dtype=bool)
    return Listed(draws * unit * reached[:, None], probabilities, reached)


def _linear_effect(values: np.ndarray, dag: np.ndarray, rng: np.random.Generator) -> float:
    """From an inverse Wishart draw for each family: coefficients are regressions within it."""
    n_obs, n = values.shape
    scatter = 0.5 * np.eye(n) + (n_obs - 1) * np.cov(values.T)  # of centred columns
    weights = np.zeros((n, n))
    for v in range(n):
        inside = [*np.flatnonzero(dag[:, v]), v]
        freedom = n + 2 - (n - len(inside)) + n_obs
        block = scatter[np.ix_(inside, inside)]
        rows = rng.normal(size=(freedom, len(inside))) @ np.linalg.cholesky(np.linalg.inv(block)).T
        drawn = np.linalg.inv(rows.T @ rows)
        if len(inside) > 1:
            weights[inside[:-1], v] = np.linalg.solve(drawn[:-1, :-1], drawn[:-1, -1])
    return float(np.linalg.inv(np.eye(n) - weights)[0, 2])


def _conditional_effect(values: np.ndarray, dag: np.ndarray, rng: np.random.Generator) -> float:
    """E(c | do(a = 1)) - E(c | do(a = 0)) with b summed over its law; a, b are levels."""
    codes = values[:, :2].astype(int)
    around = np.flatnonzero(dag[:, 2])
    means = {}
    for state in product(range(2), repeat=len(around)):
        own = values[(codes[:, around] == state).all(axis=1), 2]
        k, shape = 1.0 + len(own), (3.0 + len(own)) / 2
        centre = own.sum() / k
        rest = 0.5 + ((own - own.mean()) ** 2).sum() if len(own) else 0.5
        rest += len(own) / k * own.mean() ** 2 if len(own) else 0.0
        variance = rest / 2 / rng.gamma(shape)
        means[state] = rng.normal(centre, np.sqrt(variance / k))
    law = {}
    for a in range(2):
        rows = codes[codes[:, 0] == a, 1] if dag[0, 1] else codes[:, 1]
        counts = np.bincount(rows, minlength=2) + (0.25 if dag[0, 1] else 0.5)
        law[a] = rng.dirichlet(counts)
    if not dag[0, 1]:
        law[1] = law[0]
    arms = [
        sum(law[a][b] * means[tuple((a, b)[u] for u in around)] for b in range(2)) for a in (0, 1)
    ]
    return float(arms[1] - arms[0])


@cache
def learned(score: str) -> op.Posterior:
    return op.learn(DATA[score], score, structure_prior="uniform", seed=1)


@cache
def found(score: str) -> Effect:
    return learned(score).effect("a", "c", n_draws=N_DRAWS, seed=3)


def error_of(truth: Listed) -> float:
    """Of a mean over sampled DAGs, and of the listed draws."""
    overall = truth.probabilities @ truth.means
    between = truth.probabilities @ (truth.means - overall) ** 2
    within = truth.probabilities**2 @ truth.draws.var(axis=1) / truth.draws.shape[1]
    return float(np.sqrt(between / N_DRAWS + within))


@pytest.mark.parametrize("score", DATA)
def test_mean_split_and_probability_of_no_effect(score: str) -> None:
    truth, effect = listed(score), found(score)
    mean = truth.probabilities @ truth.means
    assert abs(effect.mean - mean) < 5 * error_of(truth)
    between = np.sqrt(truth.probabilities @ (truth.means - mean) ** 2)
    within = np.sqrt(truth.probabilities @ truth.draws.var(axis=1))
    assert effect.sd_structure == pytest.approx(between, rel=0.12)
    assert effect.sd_parameters == pytest.approx(within, rel=0.12)
    zero = 1 - truth.probabilities @ truth.reached
    assert 0.02 < zero < 0.98
    assert effect.p_zero == pytest.approx(zero, abs=5 * np.sqrt(zero * (1 - zero) / 10_000))


@pytest.mark.parametrize("score", DATA)
def test_quantiles(score: str) -> None:
    truth, effect = listed(score), found(score)
    for q in (0.025, 0.25, 0.75, 0.975):
        value = effect.quantile(q)
        below, up_to = (
            truth.probabilities @ compare(truth.draws, value).mean(axis=1)
            for compare in (np.less, np.less_equal)
        )
        allowed = 5 * np.sqrt(q * (1 - q) / 500)  # draws of both sides
        assert below - allowed < q < up_to + allowed


@pytest.mark.parametrize("score", DATA)
def test_standardised_units_are_caught(score: str) -> None:
    truth, (_, sd) = listed(score), standardised(DATA[score])
    wrong = truth.probabilities @ truth.means / (sd[2] / sd[0] if score == "bge" else sd[2])
    assert abs(found(score).mean - wrong) > 5 * error_of(truth)


@pytest.mark.parametrize("score", DATA)
def test_simulated_rows_have_the_averaged_density(score: str) -> None:
    """4,000 rows: shares of levels and distances of distributions, each at most once in 10,000."""
    posterior, data = learned(score), DATA[score]
    rows = posterior.sample(4000, seed=5)
    for name, levels in zip(data.names, data.levels, strict=True):
        law = posterior.predict(pd.DataFrame({data.names[0]: [None]}), name)
        if levels is not None:
            shares = law.iloc[0]
            seen = rows[name].value_counts(normalize=True)[shares.index]
            error = np.sqrt(shares * (1 - shares) / 4000)
            assert (np.abs(seen - shares) < 4.5 * error).all()
            continue
        grid = np.linspace(0.005, 0.995, 100)
        quantiles = posterior.predict(
            pd.DataFrame({data.names[0]: [None]}), name, quantiles=grid.tolist()
        ).to_numpy()[0, 2:]
        seen = (rows[name].to_numpy()[:, None] <= quantiles).mean(axis=0)
        assert np.abs(seen - grid).max() < 2.3 / np.sqrt(4000)  # Kolmogorov: 1 in 20,000
        shifted = (rows[name].to_numpy()[:, None] * 1.2 <= quantiles).mean(axis=0)
        assert np.abs(shifted - grid).max() > 2.3 / np.sqrt(4000), "other units would be caught"


@pytest.mark.parametrize("score", DATA)
def test_densities_are_those_of_the_enumerated_posterior(score: str) -> None:
    """Weights of all DAGs from the scores themselves; draws of an exact run approach them."""
    data = DATA[score]
    (dags, probabilities), predict = listed_dags(score), predictor(score, data)
    rows = data.values[:4]
    expected = [
        np.log(
            probabilities
            @ [
                np.exp(sum(predict(v, tuple(np.flatnonzero(dag[:, v])), row) for v in range(3)))
                for dag in dags
            ]
        )
        for row in rows
    ]
    known = data.to_frame().iloc[:4]
    assert np.abs(learned(score).log_predictive(known) - expected).max() < 0.01

"""Predictions, simulated rows and parameters: of fresh runs, and of the same ones read back."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

import outpoint as op
from outpoint.arrays import Floats
from outpoint.data import Dataset
from outpoint.errors import DataError, OptionError
from outpoint.models.averaging import Predicted
from outpoint.posterior.prediction import mixture_quantiles
from outpoint.progress import Progress, ProgressCallback
from tests.models.test_models import TABLES


def learned(score: str) -> op.Posterior:
    return op.learn(TABLES[score], score=score, seed=1, method="exact")


@pytest.mark.parametrize("score", TABLES)
def test_answers_are_the_same_of_a_file(score: str, tmp_path: Path) -> None:
    post = learned(score)
    post.save(tmp_path / "p.nc")
    again = op.load(tmp_path / "p.nc")
    frame = TABLES[score].to_frame()
    holes = frame.astype(object)
    holes.iloc[0, 0] = holes.iloc[1, 3] = holes.iloc[2, 1] = holes.iloc[2, 2] = None
    for target in ("a", "b"):
        pd.testing.assert_frame_equal(post.predict(holes, target), again.predict(holes, target))
    pd.testing.assert_series_equal(post.log_predictive(holes), again.log_predictive(holes))
    pd.testing.assert_frame_equal(post.sample(5, seed=2), again.sample(5, seed=2))
    for name, table in post.parameters().items():
        pd.testing.assert_frame_equal(table, again.parameters()[name])


@pytest.mark.parametrize("score", TABLES)
def test_what_is_known_is_in_the_units_of_the_data(score: str) -> None:
    """Ten times larger units: means and deviations grow, densities fall, probabilities stay."""
    data = TABLES[score]
    factor = np.where([one is None for one in data.levels], 10.0, 1.0)
    larger = Dataset(data.names, data.values * factor, data.levels)
    one, other = (op.learn(d, score=score, seed=1, method="exact") for d in (data, larger))
    rows = [data.to_frame().iloc[:3], larger.to_frame().iloc[:3]]
    n_continuous = sum(levels is None for levels in data.levels)
    gap = one.log_predictive(rows[0]) - other.log_predictive(rows[1])
    np.testing.assert_allclose(gap, n_continuous * np.log(10.0), atol=1e-6)
    for v, name in enumerate(data.names):
        found, scaled = one.predict(rows[0], name), other.predict(rows[1], name)
        np.testing.assert_allclose(found * factor[v], scaled, rtol=1e-6, atol=1e-9)


def test_coefficients_are_those_of_least_squares_where_data_are_many() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(50.0, 5.0, 3000)
    frame = pd.DataFrame({"x": x, "the y": 3.0 - 2.0 * x + rng.normal(0.0, 4.0, 3000)})
    post = op.learn(frame, seed=1)
    dag = op.Dag.from_edges(post.names, [("x", "the y")])
    table = post.parameters(dag)["the y"].set_index("term")
    slope, intercept = np.polyfit(frame["x"], frame["the y"], 1)
    assert table.loc["x", "mean"] == pytest.approx(slope, rel=1e-3)
    assert table.loc["(intercept)", "mean"] == pytest.approx(intercept, abs=0.1)
    assert table.loc["x", "sd"] == pytest.approx(4.0 / np.sqrt(3000) / 5.0, rel=0.1)
    assert table.loc["x", "lower"] < slope < table.loc["x", "upper"]
    noise = table.loc["(noise sd)"]
    assert noise["mean"] == pytest.approx(4.0, rel=0.05)
    assert noise["sd"] == pytest.approx(noise["mean"] / np.sqrt(2 * 3000), rel=0.05)
    half = 1.96 * noise["sd"]
    assert noise["lower"] == pytest.approx(noise["mean"] - half, abs=0.1 * half)
    assert noise["upper"] == pytest.approx(noise["mean"] + half, abs=0.1 * half)


def test_noise_is_that_of_drawn_parameters() -> None:
    """Four rows: 20,000 draws of the variance, within five errors of mean and limits."""
    data = Dataset(("a", "b"), np.random.default_rng(2).normal(size=(8, 2)))
    post = op.learn(data, seed=1)
    dag = op.Dag.from_edges(post.names, [("a", "b")])
    noise = post.parameters(dag)["b"].set_index("term").loc["(noise sd)"]
    part = post.network_model.families(dag)[1][0]
    rng = np.random.default_rng(3)
    drawn = [part.draw(rng).variances[0] for _ in range(20_000)]
    sigma = np.sqrt(drawn) * post.network_model.coding.scales[1]
    assert noise["mean"] == pytest.approx(sigma.mean(), abs=5 * sigma.std() / np.sqrt(20_000))
    for q, limit in ((0.025, "lower"), (0.975, "upper")):
        assert (sigma <= noise[limit]).mean() == pytest.approx(q, abs=0.0056)


def test_simulated_rows_have_the_predicted_shares() -> None:
    """3,000 rows; a share is off by more than 4.5 errors once in 150,000 times."""
    post = learned("bdeu")
    rows = post.sample(3000, seed=4)
    shares = post.predict(pd.DataFrame({"a": [None]}), "d").iloc[0]
    found = rows["d"].value_counts(normalize=True)[shares.index]
    assert (np.abs(found - shares) < 4.5 * np.sqrt(shares * (1 - shares) / 3000)).all()
    fixed = post.sample(20, do={"b": "level 2"}, seed=4)
    assert (fixed["b"] == "level 2").all()


def test_wrong_questions_get_a_sentence() -> None:
    post = learned("conditional-gaussian")
    with pytest.raises(OptionError, match="'z' is not one of the variables"):
        post.predict(pd.DataFrame({"a": [1.0]}), "z")
    with pytest.raises(DataError, match="its levels are"):
        post.predict(pd.DataFrame({"b": ["green"]}), "a")
    with pytest.raises(DataError, match="it is continuous"):
        post.predict(pd.DataFrame({"a": ["green"]}), "b")
    with pytest.raises(DataError, match="none of the columns"):
        post.log_predictive(pd.DataFrame({"z": [1]}))
    with pytest.raises(OptionError, match="between 0 and 1"):
        post.predict(pd.DataFrame({"a": [1.0]}), "a", quantiles=(2,))
    bic = op.learn(TABLES["bge"], score="bic", seed=1)
    with pytest.raises(OptionError, match="need a score with a model"):
        bic.predict(TABLES["bge"], "a")


def by_halves(weights: Floats, means: Floats, sds: Floats, asked: float) -> float:
    """A quantile of a mixture by plain bisection."""
    low, high = float((means - 40 * sds).min()), float((means + 40 * sds).max())
    for _ in range(200):
        middle = (low + high) / 2
        is_low = weights @ ndtr((middle - means) / sds) < asked
        low, high = (middle, high) if is_low else (low, middle)
    return (low + high) / 2


@pytest.mark.parametrize("spread", [0.1, 1.0, 30.0, 1e6])
def test_quantiles_of_mixtures(spread: float) -> None:
    """Also where parts lie far apart, are of different widths or weigh nothing."""
    rng = np.random.default_rng(5)
    weights = rng.dirichlet(np.full(7, 0.3), size=20)
    means, sds = spread * rng.normal(size=(20, 7)), rng.gamma(1.0, size=(20, 7)) + 1e-3
    weights[:, 0], sds[:, 0] = 0.0, 0.0
    weights /= weights.sum(axis=1, keepdims=True)
    nothing = np.zeros(20)
    asked = [0.001, 0.3, 0.5, 0.999]
    found = mixture_quantiles(Predicted(nothing, nothing, weights, means, sds), asked)
    for row in range(20):
        own = weights[row, 1:], means[row, 1:], sds[row, 1:]
        for i, q in enumerate(asked):
            reached = own[0] @ ndtr((found[row, i] - own[1]) / own[2])
            assert reached == pytest.approx(q, abs=max(1e-9, 1e-11 * spread))
            assert found[row, i] == pytest.approx(by_halves(*own, q), rel=1e-6, abs=1e-6 * spread)


QUESTIONS: dict[str, Callable[[op.Posterior, ProgressCallback], object]] = {
    "predicting": lambda post, tell: post.predict(
        pd.DataFrame({"a": np.linspace(-1, 1, 3000)}), "b", progress=tell
    ),
    "drawing effects": lambda post, tell: post.causal_effects(n_draws=50, progress=tell),
}


@pytest.mark.parametrize("stage", QUESTIONS)
@pytest.mark.parametrize("score", ["bge", "conditional-gaussian"])
def test_what_takes_long_tells_how_far_it_is(stage: str, score: str) -> None:
    told: list[Progress] = []
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc"))
    if score != "bge":
        frame["c"] = np.where(frame["c"] > 0, "high", "low")
    post = op.learn(frame, score=score, seed=1)
    QUESTIONS[stage](post, told.append)
    fractions = [one.fraction for one in told]
    assert {one.stage for one in told} == {stage}
    assert fractions == sorted(fractions)
    if (stage, score) != ("drawing effects", "bge"):  # all at once, where it takes no time
        assert len(set(fractions)) > 2
        assert fractions[-1] == pytest.approx(1.0)

"""Effects some steps later in time series: against sums over all joint levels, and simulations."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint.errors import DataError, OptionError
from outpoint.models import NetworkModel
from outpoint.models.unrolling import Unrolled
from outpoint.posterior.all_effects import sample_responses
from outpoint.posterior.what_if import default_values, make_target


def categorical_series(n: int = 300) -> op.Dataset:
    rng = np.random.default_rng(3)
    a, b = np.zeros(n, dtype=int), np.zeros(n, dtype=int)
    for t in range(1, n):
        a[t] = (a[t - 1] + (rng.random() < 0.25)) % 2
        b[t] = (a[t - 1] + b[t - 1] * (rng.random() < 0.3)) % 3
    frame = pd.DataFrame({"a": np.array(["no", "yes"])[a], "b": np.array(["r", "s", "t"])[b]})
    return op.load_series(frame.assign(time=np.arange(n)), "time")


def mixed_series(n: int = 300) -> op.Dataset:
    rng = np.random.default_rng(4)
    g, x = np.zeros(n, dtype=int), np.zeros(n)
    for t in range(1, n):
        g[t] = (g[t - 1] + (rng.random() < 0.3)) % 2
        x[t] = 2.0 * g[t] + (0.9 if g[t - 1] else -0.4) * x[t - 1] + rng.normal()
    frame = pd.DataFrame({"g": np.array(["no", "yes"])[g], "x": x})
    return op.load_series(frame.assign(time=np.arange(n)), "time")


def unrolled(data: op.Dataset, score, edges, steps: int) -> tuple[Unrolled, NetworkModel]:
    model = NetworkModel.from_score(score, data)
    assert model is not None
    dag = op.Dag.from_edges(data.names, edges).adjacency
    posterior = op.learn(data, score, seed=1)
    values = np.stack([default_values(model, v) for v in range(data.n_nodes)])
    targets = [make_target(model, name) for name in data.names]
    return Unrolled(model, dag, posterior._lags(), steps, values, targets), model


EDGES = [("a[-1]", "a"), ("a[-1]", "b"), ("b[-1]", "b"), ("a", "b")]


def listed(model, families, pasts, cause: int, value: int, steps: int) -> np.ndarray:
    """P(last level) (step, variable) by listing all joint levels of all slices."""
    first, second = (families[v][0].probabilities for v in (0, 1))
    out = np.zeros((steps + 1, 2))
    rows, counts = np.unique(pasts, axis=0, return_counts=True)
    for (past_a, past_b), count in zip(rows, counts, strict=True):
        for states in product(product(range(2), range(3)), repeat=steps + 1):
            probability, a, b = 1.0, int(past_a), int(past_b)
            for t, (now_a, now_b) in enumerate(states):
                of_a = first[a][now_a]
                of_b = second.reshape(2, 2, 3, 3)[now_a, a, b][now_b]
                if t == 0:
                    of_a, of_b = (
                        float((now_a, now_b)[v] == value) if cause == v else (of_a, of_b)[v]
                        for v in (0, 1)
                    )
                probability *= of_a * of_b
                a, b = now_a, now_b
            for t, (now_a, now_b) in enumerate(states):
                out[t] += count * probability * np.array([now_a == 1, now_b == 2])
    return out / len(pasts)


def test_tables_are_summed_over_all_slices():
    data, steps = categorical_series(), 2
    found, model = unrolled(data, op.BDeu(), EDGES, steps)
    effects = found.drawn(1, np.random.default_rng(5))[0]
    rng = np.random.default_rng(5)
    families = {v: tuple(part.draw(rng) for part in own) for v, own in found.posteriors.items()}
    names = [data.names.index(name) for name in ("a[-1]", "b[-1]")]
    assert found.model.pasts.shape[0] == 200
    for cause, last in ((0, 1), (1, 2)):
        arms = [
            listed(model, families, model.pasts[:, names], cause, value, steps)
            for value in (0, last)
        ]
        np.testing.assert_allclose(effects[:, cause], arms[1] - arms[0], atol=1e-12)
    assert abs(effects[2, 0, 1]) > 0.02
    still = effects[2, 0, 1] - (arms[1] - arms[0])[2, 1]
    assert abs(still) > 1e-3, "the two causes do not have the same effect"


def test_simulated_levels_agree_with_sums(monkeypatch):
    """300 draws of 200 rows: five standard errors of their mean."""
    found, _ = unrolled(categorical_series(), op.BDeu(), EDGES, 2)
    exact = found.drawn(300, np.random.default_rng(6))
    monkeypatch.setattr("outpoint.models.summing.MOST_CELLS", 1)
    drawn = found.drawn(300, np.random.default_rng(7))
    error = np.hypot(exact.std(axis=0), drawn.std(axis=0)) / np.sqrt(300)
    assert (np.abs(exact.mean(axis=0) - drawn.mean(axis=0)) <= 5 * error).all()


def test_mixed_slices_against_long_simulation():
    """20,000 rows of one set of parameters, simulated row by row; five standard errors."""
    edges = [("g[-1]", "g"), ("g", "x"), ("g[-1]", "x"), ("x[-1]", "x")]
    found, model = unrolled(mixed_series(), op.ConditionalGaussian(), edges, 1)
    many = np.array([found.drawn(1, np.random.default_rng(s))[0] for s in range(9)])
    rng = np.random.default_rng(8)
    network = model.sample_parameters(found.dag, rng)
    families = dict(enumerate(network.families))
    effect = np.zeros((2, 2, 2))
    found._simulate(families, effect, np.random.default_rng(1))
    arms = [_simulated(network, model, {"g": level}) for level in ("no", "yes")]
    for t in range(2):
        means = [one[t].mean() for one in arms]
        spread = np.hypot(*(one[t].std() for one in arms)) / np.sqrt(200)
        assert abs(effect[t, 0, 1] - (means[1] - means[0])) < 5 * spread
    assert abs(effect[1, 0, 1]) > 0.3
    assert many[:, 0, 1, 1] == pytest.approx(1.0)


def _simulated(network, model, do) -> list[np.ndarray]:
    """x at the first and at the second time, in rows begun from the observed pasts."""
    rng, names = np.random.default_rng(2), list(model.names)
    found = []
    for past in model.pasts[::2]:
        now = network.simulate(200, rng, do, past)
        later = []
        for row in now[:20]:
            before = past.copy()
            before[[names.index("g[-1]"), names.index("x[-1]")]] = row[:2]
            later.append(network.simulate(1, rng, None, before)[0, 1])
        found.append((now[:, 1], np.array(later)))
    return [np.concatenate(own) for own in zip(*found, strict=True)]


def test_linear_series_are_unrolled_like_their_total_effects():
    """Products of total effects, and slices one after the other: the same within five errors."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(200, 2)).cumsum(axis=0) * 0.3 + rng.normal(size=(200, 2))
    frame = pd.DataFrame(x, columns=["a", "b"]).assign(time=np.arange(200))
    post = op.learn(op.load_series(frame, "time"), seed=1)
    model = post.network_model
    table = post.effects_over_time(2, n_draws=1000)
    rng = np.random.default_rng(1)
    found = sample_responses([(model, post._graphs())], post._lags(), 2, 1000, rng)
    error = 5 * np.sqrt(2) * found.std(axis=1) / np.sqrt(1000) + 1e-12
    means = table["mean"].to_numpy().reshape(3, 2, 2)
    assert (np.abs(found.mean(axis=1) - means) <= error).all()


@pytest.mark.parametrize("score", ["blocks", "conditional-gaussian"])
def test_answers_of_mixed_series(score, tmp_path):
    post = op.learn(mixed_series(), score, seed=1)
    post.save(tmp_path / "p.nc")
    again = op.load(tmp_path / "p.nc")
    table = post.effects_over_time(2, n_draws=50).set_index(["steps", "cause", "effect"])
    assert table.loc[(0, "g", "x"), "mean"] > 0.5
    assert table.loc[(0, "x", "x"), "mean"] == pytest.approx(1)
    pd.testing.assert_frame_equal(
        again.effects_over_time(2, n_draws=50), post.effects_over_time(2, n_draws=50)
    )
    for one in (post, again):
        assert one.effect("g", "x", n_draws=50).mean > 0.5
        assert one.effect("x[-1]", "x", n_draws=50).p_zero < 0.01
    pd.testing.assert_frame_equal(post.sample(3), again.sample(3))
    with pytest.raises(OptionError, match="lies in the past"):
        post.effect("g", "x[-1]")
    with pytest.raises(DataError, match="values before them: 'g\\[-1\\]' and 'x\\[-1\\]' must"):
        post.predict(pd.DataFrame({"g": ["no"]}), "x")
    rows = mixed_series(20)
    assert len(post.predict(rows, "x")) == 19
    assert np.isfinite(post.log_predictive(rows)).all()

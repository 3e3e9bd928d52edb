"""Effects of all pairs of variables, against the effects of one pair after the other."""

import numpy as np
import pytest

import outpoint as op
from outpoint.errors import OptionError
from tests.models.test_intervening import categorical_data, mixed_data


@pytest.mark.parametrize(
    ("score", "tolerance"), [("bdeu", 1e-12), ("conditional-gaussian", 1e-9), ("blocks", 1e-9)]
)
def test_pairs_are_those_of_single_effects(score, tolerance):
    """Means are exact, however they are computed."""
    data = categorical_data(4) if score == "bdeu" else mixed_data()
    posterior = op.learn(data, score, seed=1)
    pairs = posterior.causal_effects(n_draws=100, seed=1)
    assert pairs.names == posterior.names
    assert pairs.n_draws == 100
    largest = 0.0
    for cause in data.names:
        for effect in data.names:
            if cause == effect:
                assert pairs.mean.loc[cause, effect] == 1.0
                continue
            one = posterior.effect(cause, effect, n_draws=100, seed=1)
            assert pairs.mean.loc[cause, effect] == pytest.approx(one.mean, abs=tolerance)
            assert pairs.sd.loc[cause, effect] == pytest.approx(one.sd, abs=0.05 + tolerance)
            largest = max(largest, abs(one.mean))
    assert largest > 0.2, "a test that can fail"
    known = posterior.ancestor_probabilities.to_numpy()
    np.testing.assert_allclose(pairs.paths, known, atol=0.2)  # 100 draws: 4 standard errors


@pytest.mark.parametrize("score", ["bdeu", "conditional-gaussian"])
def test_levels_are_simulated_where_sums_are_too_large(monkeypatch, score):
    """1,000 rows of each of some DAGs: the means of 100 draws within five standard errors of one.

    One error is at most the square root of .5 / 1,000, the same uniform numbers in both arms.
    """
    data = categorical_data(4) if score == "bdeu" else mixed_data()
    posterior = op.learn(data, score, seed=1)
    exact = posterior.causal_effects(n_draws=100, seed=1)
    single = posterior.effect("a", "c", n_draws=20, seed=1) if score == "bdeu" else None
    monkeypatch.setattr("outpoint.models.summing.MOST_CELLS", 1)
    monkeypatch.setattr("outpoint.models.intervening.MOST_LISTED", 1)
    simulated = posterior.causal_effects(n_draws=100, seed=1)
    assert not exact.mean.equals(simulated.mean)
    limit = 5 * np.sqrt(0.5 / 1000)
    np.testing.assert_allclose(simulated.mean, exact.mean, atol=limit)
    assert exact.mean.to_numpy()[~np.eye(len(exact.names), dtype=bool)].max() > 0.2 > limit
    if single is not None:
        again = posterior.effect("a", "c", n_draws=20, seed=1)
        assert again.mean != single.mean
        assert again.mean == pytest.approx(single.mean, abs=limit)


def test_units_and_table():
    posterior = op.learn(mixed_data(), "conditional-gaussian", seed=1)
    original = posterior.causal_effects(n_draws=20, seed=1)
    in_sd = posterior.causal_effects(n_draws=20, seed=1, units="sd")
    x, y = (mixed_data().values[:, v].std(ddof=1) for v in (2, 3))
    assert in_sd.mean.loc["x", "y"] == pytest.approx(original.mean.loc["x", "y"] * x / y)
    assert in_sd.mean.loc["g", "o"] == pytest.approx(original.mean.loc["g", "o"])
    table = original.table()
    assert len(table) == 12
    assert table["lower"].le(table["upper"]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"units": "feet"}, "'feet'"),
        ({"level": 1.0}, "between 0 and 1"),
        ({"n_draws": 0}, "from 1"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(OptionError, match=message):
        op.learn(categorical_data(3), seed=1).causal_effects(**options)


def test_an_experiment_for_one_effect():
    """Setting the cause, or what the effect depends on, shows whether there is a path."""
    posterior = op.learn(categorical_data(3), seed=1)
    table = posterior.next_experiment(effect=("a", "c"))
    found = posterior.effect("a", "c")
    assert table.attrs["unit"] == "sd"
    assert 0 < table["before"].iloc[0] <= found.sd_structure + 1e-12
    assert table["removed"].between(0, 1).all()
    assert table["removed"].iloc[0] > 0.1
    with pytest.raises(OptionError, match="name one"):
        posterior.next_experiment("a -> b", effect=("a", "c"))

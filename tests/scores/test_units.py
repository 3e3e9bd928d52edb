"""Units and locations: nothing by default, everything in the paper's setting, which says so."""

import numpy as np
import pytest

import outpoint as op
from outpoint.model import prepare
from outpoint.options import Options
from outpoint.scores import note_units, resolve_score

from .helpers import continuous

RAW = op.BGe(standardize=False)
NAMES = ("kelvin", "hpa", "year", "cm")
MEANS, SCALES = np.array([288.0, 1013.0, 1990.0, 171.0]), np.array([9.0, 8.0, 15.0, 7.0])


def weather(seed: int, n_obs: int) -> op.Dataset:
    """Four columns that have nothing to do with each other, in the units people use."""
    rng = np.random.default_rng(seed)
    return op.Dataset(NAMES, rng.normal(MEANS, SCALES, size=(n_obs, 4)))


def edges(data: op.Dataset, score: object = "auto") -> np.ndarray:
    return op.learn(data, score, seed=1).edge_probabilities.to_numpy()


@pytest.mark.parametrize(("seed", "n_obs"), [(1, 200), (2, 300), (3, 500)])
def test_independent_columns_get_no_edges(seed: int, n_obs: int) -> None:
    data = weather(seed, n_obs)
    for score in ("auto", "bge", op.BGe()):
        assert edges(data, score).max() < 0.2
    raw = edges(data, RAW)
    assert (raw + raw.T).max() > 0.9, "the prior mean 0 ties columns together"


CHANGES = {
    "celsius, pascal, age and metres": ([-273.15, 0, 2026, 0], [1, 100, -1, 0.01]),
    "far away": ([1e6, -1e6, 1e5, 1e6], [1, 1, 1, 1]),
    "tiny and huge": ([0, 0, 0, 0], [1e-9, 1e9, 1e-150, 1e150]),
    "beyond what can be squared": ([0, 0, 0, 0], [1e200, 1e-200, 1e300, 1e-300]),
}


@pytest.mark.parametrize(("shift", "factor"), CHANGES.values(), ids=list(CHANGES))
def test_units_change_nothing(shift: list[float], factor: list[float]) -> None:
    """Dependent columns, so that there is something to change."""
    data = weather(4, 300)
    values = data.values.copy()
    values[:, 1] += 0.4 * (values[:, 0] - 288.0)
    values[:, 3] += 0.1 * (values[:, 2] - 1990.0) + 0.1 * values[:, 1]
    one, other = (op.Dataset(NAMES, v) for v in (values, np.array(shift) + factor * values))
    np.testing.assert_allclose(edges(one), edges(other), rtol=0, atol=1e-8)
    first, second = (op.learn(data, seed=1) for data in (one, other))
    assert first.log_evidence == pytest.approx(second.log_evidence, abs=1e-6)


def test_raw_units_change_the_posterior() -> None:
    data = weather(4, 300)
    celsius = op.Dataset(NAMES, data.values - [273.15, 0, 0, 0])
    assert np.abs(edges(data, RAW) - edges(celsius, RAW)).max() > 0.1
    assert np.abs(edges(data, RAW) - edges(data)).max() > 0.5


def test_effects_of_huge_columns_are_in_their_units() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=300)
    values = np.column_stack([x, 2 * x + rng.normal(size=300)]) * 1e200
    post = op.learn(op.Dataset(("x", "y"), values), required=[("x", "y")], seed=1)
    assert post.causal_effects().mean.loc["x", "y"] == pytest.approx(2, abs=0.15)
    assert post.causal_effects(units="sd").mean.loc["x", "y"] == pytest.approx(0.89, abs=0.03)


def test_what_was_chosen_is_seen() -> None:
    assert repr(RAW) == "BGe(alpha_mu=1.0, alpha_w=None, standardize=False)"
    assert resolve_score("auto", weather(1, 20)) == op.BGe() == op.BGe(standardize=True) != RAW


def test_raw_units_far_from_zero_are_noted() -> None:
    data = weather(1, 200)
    (note,) = note_units(RAW, data)
    assert note == (
        "in raw units the means of 'kelvin', 'hpa', 'year' and 'cm' are more than 10 standard "
        "deviations from 0, where BGe's prior has them, so independent columns can get edges"
    )
    (note,) = note_units(RAW, op.Dataset(NAMES, data.values - [288, 1013, 2026, 0]))
    assert "the mean of 'cm' is more than" in note
    for score in ("auto", "bge", op.BGe(), op.BDeu()):
        assert note_units(score, data) == ()


def test_raw_units_near_zero_are_not_noted() -> None:
    rng = np.random.default_rng(6)
    near = continuous(rng.normal([9, -9, 0], 1, size=(500, 3)))
    assert note_units(RAW, near) == ()
    assert note_units(RAW, op.datasets.boston()) == ()
    constant = continuous(np.column_stack([near.values, np.full(500, 7.0)]))
    assert note_units(RAW, constant) == ()


def test_columns_that_the_prior_outweighs_are_noted() -> None:
    """Where the squares of a column are less than the prior's t, all edges look alike."""
    rng = np.random.default_rng(7)
    causes = rng.normal(size=400)
    values = np.column_stack([causes, causes + 0.1 * rng.normal(size=400)])
    tiny = op.Dataset(("x", "y"), 1e-8 * values)
    apart = op.Dataset(("x", "y"), np.column_stack([tiny.values[:, 0], tiny.values[::-1, 1]]))
    raw, standardised = (
        [op.learn(data, score).edge_probabilities.loc["x", "y"] for data in (tiny, apart)]
        for score in (RAW, op.BGe())
    )
    assert raw[0] == pytest.approx(raw[1], abs=0.001), "with and without an edge"
    assert raw[1] > 0.4
    assert standardised[0] > 0.49
    assert standardised[1] < 0.1
    (note,) = note_units(RAW, tiny)
    assert note.startswith("in raw units 'x' and 'y' vary so little that BGe's prior outweighs")
    (note,) = note_units(RAW, op.Dataset(("x", "y"), values * [1, 1e-3]))
    assert note.startswith("in raw units 'y' varies so little")
    t = 0.5  # of alpha_mu = 1 and the default alpha_w
    edge = np.sqrt(t / 400) / values.std(axis=0)
    assert note_units(RAW, op.Dataset(("x", "y"), values * edge * 1.01)) == ()
    assert len(note_units(RAW, op.Dataset(("x", "y"), values * edge * 0.99))) == 1
    assert note_units(op.BGe(), tiny) == ()


@pytest.mark.parametrize(("score", "n_notes"), [("auto", 1), (RAW, 2)])
def test_the_model_has_the_notes(score: object, n_notes: int) -> None:
    data = weather(1, 200)
    noted = op.Dataset(data.names, data.values, notes=("2 rows left out",))
    model = prepare(noted, Options(score=score, structure_prior="uniform"))
    assert model.notes[0] == "2 rows left out"
    assert len(model.notes) == n_notes

"""Effects by structure, the next experiment and the predictive check of a report."""

import json
import re

import numpy as np
import pytest

import outpoint as op
from outpoint.report import answers
from outpoint.report.answers import check_columns, list_effects, list_experiments
from outpoint.report.html import render_report
from tests.figures import leave_out_figures


@pytest.fixture(scope="module")
def confounded() -> op.Posterior:
    """z may come before or after x; the effect of x on y differs between the two."""
    rng = np.random.default_rng(2)
    z = rng.normal(size=150)
    x = z + 0.5 * rng.normal(size=150)
    y = 2 * z - x + 0.3 * rng.normal(size=150)
    data = op.Dataset(("x", "z", "y"), np.column_stack([x, z, y]))
    return op.learn(data, seed=1, tiers=[["x", "z"], ["y"]])


def test_groups_are_those_of_the_parents_of_the_cause(confounded):
    table = list_effects(confounded)
    found = {(one.cause, one.effect): one for one in table.groups}["x", "y"]
    by_parents = {one.parents: one for one in found.groups}
    assert by_parents[1,].mean < -0.8, "with z before x, the effect is that of x alone"
    assert by_parents[()].mean > 0.3, "with z after x, what z does belongs to it"
    total = sum(one.share for one in found.groups) + found.no_path
    assert total == pytest.approx(1.0)
    probability = confounded.probability("parents(x) = {z}")
    assert by_parents[1,].share == pytest.approx(probability, abs=0.06)
    for one in found.groups:
        assert one.lower <= one.mean <= one.upper


def test_the_page_has_effects_experiments_and_the_check(confounded, monkeypatch):
    leave_out_figures(monkeypatch)
    page = render_report(confounded)
    text = re.search(r'<script[^>]*id="payload"[^>]*>(.*?)</script>', page, re.S)
    assert text is not None
    payload = json.loads(text[1])
    assert {(one["cause"], one["effect"]) for one in payload["effects"]} >= {(0, 2), (1, 2)}
    assert 'id="experiments"' in page
    assert 'id="check"' not in page, "not without the data"


def test_experiments_are_those_of_the_posterior(confounded):
    table = list_experiments(confounded)
    assert table is not None
    assert table["variable"].iloc[0] in ("x", "z")
    settled = op.learn(np.random.default_rng(1).normal(size=(300, 3)), edge_prior=1e-9, seed=1)
    assert list_experiments(settled) is None


def test_columns_that_the_model_does_not_make_are_odd(monkeypatch):
    """Nothing is odd about normal columns; a skewed one with many zeros is in two ways."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=200)
    plain = op.Dataset(("x", "y"), np.column_stack([x, x + rng.normal(size=200)]))
    check = check_columns(op.learn(plain, seed=1), plain)
    assert check is not None
    assert (check.n_columns, check.n_tables) == (2, 100)
    assert check.n_rows == check.n_obs == plain.n_obs
    assert len(check.odd) <= 1  # 6 figures at 2 in 50 each
    counts = np.where(x > 0.5, np.exp(3 * x), 0.0)
    skewed = op.Dataset(("x", "n"), np.column_stack([x, counts]))
    posterior = op.learn(skewed, seed=1)
    found = check_columns(posterior, skewed)
    assert found is not None
    odd = {(one.column, one.figure) for one in found.odd}
    assert ("n", "skewness") in odd
    assert ("n", "share of the commonest value") in odd
    assert all(not one.lower <= one.observed <= one.upper for one in found.odd)
    monkeypatch.setattr(answers, "MOST_IN_TABLE", 200)
    fewer = check_columns(posterior, skewed)
    assert (fewer.n_rows, fewer.n_obs) == (100, skewed.n_obs)
    assert check_columns(posterior, None) is None
    assert check_columns(op.learn(plain, "bic", seed=1), plain) is None

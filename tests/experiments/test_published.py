"""Comparing our seeds with the paper's."""

import os

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from outpoint.experiments import PROBLEMS
from outpoint.experiments.runs import FULL, run_sampler, solve_exactly
from outpoint.experiments.tables import (
    FILE,
    PUBLISHED,
    published_for,
    published_scores,
    smirnov_test,
)

needs_paper = pytest.mark.skipif(
    "OUTPOINT_PAPER_DATA" not in os.environ, reason="needs the paper's data files"
)


def test_p_values_without_ties_are_those_of_scipy():
    rng = np.random.default_rng(1)
    for shift in (0.0, 0.3, 0.6):
        first, second = 100 * rng.normal(size=60), 100 * rng.normal(shift, size=80)
        expected = ks_2samp(first, second, method="exact").pvalue
        spread = np.sqrt(expected * (1 - expected) / 10_000)
        assert abs(smirnov_test(first, second) - expected) < 5 * spread + 2e-4


def test_rounding_errors_make_no_difference():
    """The same DAG, its score summed in another order: without rounding p is below 1e-50."""
    scores = np.repeat([0.0, -0.84, -6.36], [60, 20, 20])
    assert smirnov_test(scores, scores + 4e-12) == 1.0
    assert ks_2samp(scores, scores + 4e-12).pvalue < 1e-2


def test_different_shares_of_the_same_scores_are_noticed():
    often = np.repeat([0.0, -6.36], [78, 22])
    seldom = np.repeat([0.0, -6.36], [48, 52])
    assert smirnov_test(often, seldom) < 1e-3
    assert smirnov_test(often, np.repeat([0.0, -6.36], [74, 26])) > 0.1


def test_simulated_data_of_our_own_have_no_published_runs(monkeypatch):
    monkeypatch.delenv("OUTPOINT_PAPER_DATA", raising=False)
    assert published_for(PROBLEMS["sim18"](), "partition") is None
    assert published_for(PROBLEMS["boston"](), "order") is None
    assert published_for(PROBLEMS["boston"](), "partition").within == 0.17
    assert published_scores(PROBLEMS["boston"](), "partition", 0.0) is None


@needs_paper
@pytest.mark.parametrize("name", PUBLISHED)
def test_summaries_are_those_of_the_paper_s_seeds(name):
    problem = PROBLEMS[name]()
    table = pd.read_csv(os.path.join(os.environ["OUTPOINT_PAPER_DATA"], FILE))
    best = {"boston": -20419.778010, "sim14": -4711.127446, "sim18": -2695.330158}
    best_log_score = best.get(name, -3078.977542)
    assert set(PUBLISHED[name]) == set(table.loc[table["dataset"] == name, "method"])
    for method, found in PUBLISHED[name].items():
        scores = published_scores(problem, method, best_log_score)
        assert len(scores) == 100
        assert (scores > -0.01).mean() == pytest.approx(found.within)
        np.testing.assert_allclose(np.percentile(scores, [25, 50, 75]), found[1:], atol=0.006)


@needs_paper
@pytest.mark.long
def test_our_seeds_on_boston_are_distributed_like_the_paper_s(tmp_path):
    """False-alarm rate 0.01 for each sampler; the wrong sampler is noticed."""
    problem = PROBLEMS["boston"]()
    best = float(solve_exactly(problem, tmp_path).best_log_score)
    for method in ("partition", "structure+rev", "partition+rev"):
        found = run_sampler(problem, method, FULL, tmp_path).best - best
        assert smirnov_test(found, published_scores(problem, method, best)) > 0.01
        if method == "partition":
            other = published_scores(problem, "partition+rev", best)
            assert smirnov_test(found, other) < 0.01

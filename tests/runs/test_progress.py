"""The reports of a run: they rise, they tell of every chain, and they end at the whole."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import outpoint as op
from outpoint.posterior.diagnostics import quick_rhat
from outpoint.runs import Progress
from tests.grids import first
from tests.runs.problems import CASES, NUMBERS, interrupt, learn


@pytest.mark.parametrize("case", first(CASES, 4))
def test_reports(case: str, short_rounds: pytest.MonkeyPatch) -> None:
    reports: list[Progress] = []
    posterior = learn(case, resume=False, progress=reports.append)
    assert reports[0] == Progress("scoring parent sets", 0.0)
    sampling = [report for report in reports if report.stage == "sampling"]
    assert sampling[0] == Progress("sampling", 0.0)
    running = sampling[1:]
    assert len(running) >= 5
    for one, other in pairwise(running):
        assert one.fraction <= other.fraction
        for before, after in zip(one.chains, other.chains, strict=True):
            assert before.step <= after.step
            assert before.best_log_score <= after.best_log_score
    assert all(0 < report.fraction <= 1 for report in running)
    assert all(len(report.chains) == 3 for report in running)
    assert all((report.steps_per_second or 0) > 0 for report in running)
    last = running[-1]
    if "until_converged" not in CASES[case]:
        assert last.fraction == 1
    best = max(chain.best_log_score for chain in last.chains)
    assert best == posterior.map_log_score
    for chain, scores in zip(last.chains, posterior.log_scores.to_numpy(), strict=True):
        assert chain.log_scores[-1] == scores[-1]
        assert len(chain.log_scores) <= 400
    with_draws = [report for report in running if len(report.chains[0].log_scores) >= 4]
    assert with_draws
    assert all(report.rhat is not None for report in with_draws)
    assert last.rhat == quick_rhat(np.stack([chain.log_scores for chain in last.chains]))


def test_log_scores_are_some_of_the_draws(short_rounds: pytest.MonkeyPatch) -> None:
    reports: list[Progress] = []
    posterior = op.learn(
        NUMBERS, method="mcmc", steps=3000, draws=3000, chains=2, seed=1, progress=reports.append
    )
    for chain, scores in zip(reports[-1].chains, posterior.log_scores.to_numpy(), strict=True):
        np.testing.assert_array_equal(chain.log_scores, scores[::-8][::-1])


def test_time_counts_too(short_rounds: pytest.MonkeyPatch) -> None:
    reports: list[Progress] = []
    op.learn(NUMBERS, method="mcmc", time=0.3, seed=1, progress=reports.append)
    fractions = [report.fraction for report in reports if report.chains]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1
    assert 0 < np.median(fractions) < 1


def test_a_continued_run_goes_on_where_it_was(
    tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    interrupt("mcmc", tmp_path / "run", 2000)
    reports: list[Progress] = []
    learn("mcmc", tmp_path / "run", progress=reports.append)
    assert next(report.fraction for report in reports if report.chains) > 0.5


def test_reports_do_not_change_the_draws(short_rounds: pytest.MonkeyPatch) -> None:
    def vandal(report: Progress) -> None:
        for chain in report.chains:
            chain.log_scores[:] = 0.0

    quiet, vandalised = (
        learn("mcmc", resume=False, progress=progress) for progress in (None, vandal)
    )
    np.testing.assert_array_equal(quiet.log_scores, vandalised.log_scores)

"""The evidence under a prior that adds up to one, by listing all DAGs."""

from math import comb, exp, inf, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import outpoint as op
from outpoint.posterior import ExactPosterior, Posterior
from tests.reference import enumerate_posterior

NAMES = tuple("abcd")
SCORES = np.random.default_rng(3).normal(size=(4, 16))

CASES: dict[str, dict[str, Any]] = {
    "uniform": {"structure_prior": "uniform"},
    "fair": {"structure_prior": "fair"},
    "few parents": {"structure_prior": "fair", "max_parents": 2},
    "edge prior": {"structure_prior": "uniform", "edge_prior": 0.2},
    "tiers": {"structure_prior": "fair", "tiers": [["a", "b"], ["c"]]},
    "required": {"structure_prior": "uniform", "required": [("a", "b")], "edge_prior": 0.3},
}


def score(child: int, parents: tuple[int, ...]) -> float:
    return float(SCORES[child, sum(1 << u for u in parents)])


def log_prior(child: int, parents: tuple[int, ...], case: str) -> float:
    """The prior weight of a family in each of the cases, in plain words."""
    options = CASES[case]
    if len(parents) > options.get("max_parents", 3):
        return -inf
    if case == "tiers" and child in (0, 1) and 2 in parents:
        return -inf
    if case == "required" and child == 1 and 0 not in parents:
        return -inf
    total = -log(comb(3, len(parents))) if options["structure_prior"] == "fair" else 0.0
    if "edge_prior" in options:
        p = options["edge_prior"]
        n_free = len(parents) - (case == "required" and child == 1)
        total += n_free * log(p / (1 - p))
    return total


def learn(function: Any, case: str) -> Posterior:
    data = op.Dataset(NAMES, np.zeros((1, 4)))
    return op.learn(data, op.CustomScore(function), "exact", seed=1, **CASES[case])


@pytest.mark.parametrize("case", CASES)
def test_against_listing(case):
    total = enumerate_posterior(4, lambda v, s: log_prior(v, s, case)).log_evidence
    joint = enumerate_posterior(4, lambda v, s: score(v, s) + log_prior(v, s, case)).log_evidence
    found = learn(score, case)
    assert found.log_evidence == pytest.approx(joint, abs=1e-9)
    assert found.log_prior_sum == pytest.approx(total, abs=1e-9)
    assert found.log_evidence_normalized == pytest.approx(joint - total, abs=1e-9)


@pytest.mark.parametrize("case", ["uniform", "fair", "few parents", "edge prior"])
def test_counting_and_the_engine_agree(monkeypatch, case):
    counted = learn(score, case).log_prior_sum
    monkeypatch.setattr("outpoint.learning.log_sum_by_size", lambda table, prior: None)
    assert learn(score, case).log_prior_sum == pytest.approx(counted, abs=1e-10)


def test_a_constant_score_is_the_evidence():
    """Whatever the prior, data of log likelihood -12 have the log evidence -12."""
    for case in CASES:
        found = learn(lambda child, parents: -3.0, case)
        assert found.log_evidence_normalized == pytest.approx(-12, abs=1e-10)


def test_families_without_a_score_have_no_prior():
    def no_pairs(child: int, parents: tuple[int, ...]) -> float:
        return -inf if len(parents) == 2 else 0.0

    found = learn(no_pairs, "uniform")
    assert found.log_evidence_normalized == pytest.approx(0, abs=1e-12)
    assert exp(found.log_prior_sum) < 543 - 0.5


def test_an_edge_prior_is_not_the_probability_of_an_edge():
    """The numbers of the documentation: five variables, uniform prior."""
    data = op.Dataset(tuple("abcde"), np.zeros((1, 5)))
    flat = op.CustomScore(lambda child, parents: 0.0)
    for p, expected in ((0.1, 0.089), (0.5, 0.301), (0.9, 0.460)):
        post = op.learn(data, flat, structure_prior="uniform", edge_prior=p, seed=1)
        assert post.edge_probabilities.loc["a", "b"] == pytest.approx(expected, abs=5e-4)


def test_files_keep_it_and_those_from_before_do_without(tmp_path: Path):
    post = learn(score, "tiers")
    post.save(tmp_path / "new.nc")
    assert op.load(tmp_path / "new.nc").log_evidence_normalized == post.log_evidence_normalized
    assert isinstance(post, ExactPosterior)
    ExactPosterior(post.info, post.solution).save(tmp_path / "old.nc")
    old = op.load(tmp_path / "old.nc")
    assert old.log_evidence == post.log_evidence
    assert old.log_evidence_normalized is None
    assert old.log_prior_sum is None

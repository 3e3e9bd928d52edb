"""Behaviour of the engine beyond tiny problems: known answers, range, precision, resources."""

import os
from pathlib import Path

import numpy as np
import pytest

import outpoint as op
from outpoint import kernels
from outpoint.errors import TooLargeError
from outpoint.exact import estimate_memory, is_best_quick, is_quick, require_feasible, solve
from tests.exact import problems

PAPER_DATA = os.environ.get("OUTPOINT_PAPER_DATA")
RAW = op.BGe(standardize=False)
"""The paper's setting, to which all known answers belong."""

KNOWN = [  # max_parents, log evidence, best log score
    (3, -20414.638948995, -20419.778010134),
    (None, -20405.906596303, -20412.433409667),
]

KNOWN_FILES = [  # file, max_parents, log evidence, best log score, tolerance
    ("boston_paper.csv", 3, -20414.638948995, -20419.778010134, 1e-6),
    ("boston_paper.csv", None, -20405.906596303, -20412.433409667, 1e-6),
    ("sim5.csv", 4, -345.715150245, -347.597033505, 1e-6),
    ("sim14.csv", 6, -4703.297813063, -4711.127445855, 1e-6),
    ("sim18.csv", 5, -2686.878148173, -2695.330157926, 1e-6),
    # Forming R in doubles loses 1e-5 on these nearly collinear columns: two correct programs
    # agree to that only (60-digit arithmetic gives -3079.5325782 for the true DAG, doubles
    # -3079.53257 to -3079.53258, by the order of the sums).
    ("sim20.csv", 5, -3070.419571344, -3078.977542377, 2e-5),
]


@pytest.mark.parametrize(("max_parents", "log_evidence", "best"), KNOWN)
def test_known_answers_of_boston(max_parents, log_evidence, best):
    data, prior = op.datasets.boston(), "uniform"
    posterior = op.learn(data, RAW, method="exact", max_parents=max_parents, structure_prior=prior)
    assert posterior.log_evidence == pytest.approx(log_evidence, abs=1e-6)
    assert posterior.map_log_score == pytest.approx(best, abs=1e-6)
    found = op.log_score(data, posterior.map_dag, RAW, structure_prior=prior)
    assert found == pytest.approx(best, abs=1e-6)


@pytest.mark.long
@pytest.mark.skipif(PAPER_DATA is None, reason="needs OUTPOINT_PAPER_DATA")
@pytest.mark.parametrize(("file", "max_parents", "log_evidence", "best", "tolerance"), KNOWN_FILES)
def test_known_answers_of_the_paper(file, max_parents, log_evidence, best, tolerance):
    kind = {"continuous": "all"} if file.endswith(".csv") else {}
    data = op.load_dataset(Path(PAPER_DATA) / file, **kind)
    posterior = op.learn(
        data, RAW, method="exact", max_parents=max_parents, structure_prior="uniform"
    )
    assert posterior.log_evidence == pytest.approx(log_evidence, abs=tolerance)
    assert posterior.map_log_score == pytest.approx(best, abs=tolerance)


def test_empty_boston_graph_scores_as_published():
    empty = op.Dag.empty(op.datasets.boston().names)
    assert op.log_score(op.datasets.boston(), empty, RAW) == pytest.approx(-22590.93197, abs=1e-5)


@pytest.mark.parametrize("penalty", [4.0, 30.0, -30.0])
def test_precision_where_terms_cancel_most(penalty):
    """Nearly empty graphs make all terms of the alternating sums equal; the checks still hold."""
    rng = np.random.default_rng(1)
    table = rng.normal(0, 0.3, (12, 1 << 12))

    def score(v, parents):
        return -penalty * len(parents) + table[v, sum(1 << u for u in parents)]

    data = op.Dataset(tuple(f"v{i}" for i in range(12)), np.zeros((1, 12)))
    posterior = op.learn(data, op.CustomScore(score), method="exact", structure_prior="uniform")
    assert posterior.solution.discrepancy < 1e-10


def test_range_far_beyond_doubles():
    """Weights spread over e^100000 between node sets, and answers stay exact."""
    exact = problems.random_scores(8, spread=20_000.0).solve()
    assert exact.discrepancy < 1e-10
    assert exact.log_evidence == pytest.approx(exact.best_log_score, rel=1e-12)
    np.testing.assert_allclose(exact.edges, exact.best_adjacency, atol=1e-9)


def test_result_does_not_depend_on_threads(monkeypatch):
    problem = problems.random_scores(8)
    many = problem.solve()
    monkeypatch.setattr(kernels, "n_threads", lambda: 1)
    one = problem.solve()
    assert one.log_evidence == many.log_evidence
    assert np.array_equal(one.edges, many.edges)
    assert np.array_equal(one.ancestors, many.ancestors)


def test_progress_rises_to_one():
    problem = problems.random_scores(8)
    fractions: list[float] = []
    solve(problem.solve().table, fractions.append)
    assert fractions == sorted(fractions)
    assert 0 < fractions[0] < 0.5
    assert fractions[-1] == pytest.approx(1.0, abs=0.01)


def test_too_large_is_refused_before_any_work():
    with pytest.raises(TooLargeError, match=r"20 variables needs about 0\.\d GB.*1.0 GB|fewer"):
        require_feasible(20, memory_limit=2**28)
    require_feasible(20, memory_limit=4e9)
    assert estimate_memory(20) < 4e9
    with pytest.raises(TooLargeError, match="fewer variables"):
        require_feasible(200)
    data = np.random.default_rng(0).normal(size=(300, 200))
    with pytest.raises(TooLargeError):
        op.learn(data, method="exact")


def test_the_automatic_choice_depends_on_the_problem_alone(monkeypatch):
    """Neither one core nor a full memory changes it; a limit that the user gives does."""
    monkeypatch.setattr("outpoint.exact.feasibility.available_memory", lambda: 1)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0}, raising=False)
    assert [is_quick(n, 2**34) for n in (2, 20, 21, 22)] == [True, True, True, False]
    assert [is_best_quick(n) for n in (2, 22, 23)] == [True, True, False]
    assert is_quick(14, estimate_memory(14))
    assert not is_quick(14, estimate_memory(14) - 1)
    assert not is_best_quick(14, 1000)
    with pytest.raises(TooLargeError, match=r"are free: sample it with method='mcmc'"):
        op.learn(np.random.default_rng(0).normal(size=(30, 3)))


def test_log_probabilities_of_parent_sets_are_at_most_zero():
    """A required edge has probability 1, and rounding must not make it more."""
    data = op.simulate(op.random_dag(9, 1, max_parents=2), 400, 1)
    names = data.names
    posterior = op.learn(data, required=[(names[0], names[1])], roots=[names[0]])
    sets = [one for v in range(9) for one in posterior.solution.likely_sets(v, 0.1)]
    assert max(log_probability for _, log_probability in sets) <= 0
    for child in names:
        assert all(p <= 1 for _, p in posterior.parent_set_probabilities(child))
    assert posterior.probability(f"root({names[0]})") <= 1
    assert posterior.probability(f"{names[0]} -- {names[1]}") <= 1

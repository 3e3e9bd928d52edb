"""Comparisons of posteriors with each other and with the truth, against plain definitions."""

import numpy as np
import pytest

import outpoint as op
from outpoint.errors import GraphError, OptionError
from outpoint.graphs import Dag
from outpoint.posterior.comparison import _area_under_roc, _average_precision, _cumulate
from tests.posterior.problems import random_problem

TRUTH = Dag.from_edges(list("abcd"), [("a", "b"), ("b", "c"), ("d", "c")])


@pytest.fixture(scope="module")
def exact() -> op.Posterior:
    return random_problem(4).learn(seed=1)


# Areas under curves


def slow_auroc(scores: np.ndarray, labels: np.ndarray) -> float:
    """The share of pairs of a true and a false edge that are ranked rightly, ties half."""
    pairs = [(p, q) for p in scores[labels] for q in scores[~labels]]
    return float(np.mean([(p > q) + 0.5 * (p == q) for p, q in pairs]))


def slow_average_precision(scores: np.ndarray, labels: np.ndarray) -> float:
    """Precision at each threshold times the recall gained there."""
    total, recall = 0.0, 0.0
    for threshold in sorted(set(scores.tolist()), reverse=True):
        chosen = scores >= threshold
        now = (chosen & labels).sum() / labels.sum()
        total += (now - recall) * (chosen & labels).sum() / chosen.sum()
        recall = now
    return float(total)


@pytest.mark.parametrize("seed", range(20))
def test_areas_with_ties(seed):
    rng = np.random.default_rng(seed)
    labels = np.append(rng.random(28) < 0.3, [True, False])
    scores = rng.integers(0, rng.integers(2, 30), 30) / 30
    _, hits, alarms = _cumulate(scores, labels)
    assert _area_under_roc(hits, alarms) == pytest.approx(slow_auroc(scores, labels))
    assert _average_precision(hits, alarms) == pytest.approx(slow_average_precision(scores, labels))


def test_perfect_and_useless_rankings():
    labels = np.array([True, True, False, False, False])
    for scores, auroc, auprc in (
        ([0.9, 0.8, 0.3, 0.2, 0.1], 1.0, 1.0),
        ([0.5] * 5, 0.5, 0.4),
        ([0.0, 0.1, 0.7, 0.8, 0.9], 0.0, (1 / 4 + 2 / 5) / 2),
    ):
        _, hits, alarms = _cumulate(np.array(scores), labels)
        assert _area_under_roc(hits, alarms) == pytest.approx(auroc)
        assert _average_precision(hits, alarms) == pytest.approx(auprc)


# Against the truth


def test_expected_distances(exact):
    """The DAG distance is exact; the CPDAG distance comes from 10,000 draws, at 5 errors."""
    problem = random_problem(4)
    found = exact.compare(TRUTH)
    assert found.expected_shd_dag == pytest.approx(
        problem.mean(lambda dag: dag.shd(TRUTH, on="dag")), abs=1e-10
    )
    distance = problem.mean(lambda dag: dag.shd(TRUTH))
    spread = np.sqrt(problem.mean(lambda dag: (dag.shd(TRUTH) - distance) ** 2))
    assert abs(found.expected_shd - distance) < 5 * spread / 100
    drawn = np.mean([dag.shd(TRUTH) for dag in exact.iter_dags(10_000)])
    assert found.expected_shd == pytest.approx(drawn)


def test_expected_rates(exact):
    problem = random_problem(4)
    found = exact.compare(TRUTH)
    for part, name in ((found.directed, "directed"), (found.skeleton, "skeleton")):
        recall = problem.mean(lambda d, n=name: getattr(op.compare_graphs(d, TRUTH), n).recall)
        false = problem.mean(
            lambda d, n=name: getattr(op.compare_graphs(d, TRUTH), n).false_positive_rate
        )
        assert part.expected_recall == pytest.approx(recall, abs=1e-10)
        assert part.expected_false_positive_rate == pytest.approx(false, abs=1e-10)


def test_areas_of_a_posterior(exact):
    found = exact.compare(TRUTH)
    edges = exact.edge_probabilities.to_numpy()
    ordered = ~np.eye(4, dtype=bool)
    scores, labels = edges[ordered], TRUTH.adjacency[ordered]
    assert found.directed.auroc == pytest.approx(slow_auroc(scores, labels))
    assert found.directed.auprc == pytest.approx(slow_average_precision(scores, labels))
    upper = np.triu(ordered)
    scores, labels = (edges + edges.T)[upper], (TRUTH.adjacency | TRUTH.adjacency.T)[upper]
    assert found.skeleton.auroc == pytest.approx(slow_auroc(scores, labels))
    assert found.skeleton.auprc == pytest.approx(slow_average_precision(scores, labels))


@pytest.mark.parametrize("threshold", [0.2, 0.35, 0.5])
def test_counts_at_a_threshold(exact, threshold):
    found = exact.compare(TRUTH, threshold)
    edges = exact.edge_probabilities.to_numpy()
    chosen = edges >= threshold
    assert found.threshold == threshold
    counts = found.directed.counts
    assert counts.true_positives == (chosen & TRUTH.adjacency).sum()
    assert counts.false_positives == (chosen & ~TRUTH.adjacency).sum()
    assert counts.true_positives + counts.false_negatives == 3
    assert sum(vars(counts).values()) == 12
    skeleton = found.skeleton.counts
    assert (
        skeleton.true_positives + skeleton.false_positives
        == np.triu(edges + edges.T >= threshold).sum()
    )
    assert sum(vars(skeleton).values()) == 6


def test_roc_curve(exact):
    curve = exact.roc_curve(TRUTH)
    assert list(curve.columns) == [
        *("threshold", "false_positive_rate", "true_positive_rate", "precision")
    ]
    edges = exact.edge_probabilities.to_numpy()
    absent = ~TRUTH.adjacency & ~np.eye(4, dtype=bool)
    assert (curve.iloc[0, :3] == [np.inf, 0, 0]).all()
    assert (curve.iloc[-1, 1:3] == 1).all()
    for row in curve.iloc[1:].itertuples():
        chosen = edges >= row.threshold
        assert row.true_positive_rate == pytest.approx((chosen & TRUTH.adjacency).sum() / 3)
        assert row.false_positive_rate == pytest.approx((chosen & absent).sum() / 9)
        hits = (chosen & TRUTH.adjacency).sum()
        assert row.precision == pytest.approx(hits / (hits + (chosen & absent).sum()))
    area = np.trapezoid(curve["true_positive_rate"], curve["false_positive_rate"])
    assert area == pytest.approx(exact.compare(TRUTH).directed.auroc)
    assert len(exact.roc_curve(TRUTH, on="skeleton")) <= 7
    with pytest.raises(OptionError, match="directed"):
        exact.roc_curve(TRUTH, on="cpdag")


def test_names_are_matched(exact):
    assert exact.compare(TRUTH.reorder(list("dcba"))) == exact.compare(TRUTH)
    with pytest.raises(GraphError, match="same nodes"):
        exact.compare(Dag.empty(list("abce")))
    with pytest.raises(OptionError, match="truth must be a Dag, not"):
        exact.compare([("a", "b")])
    with pytest.raises(OptionError, match="threshold"):
        exact.compare(TRUTH, 0)


def test_a_truth_without_edges(exact):
    found = exact.compare(Dag.empty(list("abcd")))
    assert np.isnan(found.directed.auroc)
    assert np.isnan(found.directed.auprc)
    assert np.isnan(found.directed.expected_recall)
    assert found.expected_shd_dag == pytest.approx(exact.edge_probabilities.to_numpy().sum())
    assert exact.roc_curve(Dag.empty(list("abcd")))["true_positive_rate"].isna().all()


# Two posteriors


def test_compare_posteriors(exact):
    other = random_problem(4, seed=9).learn(seed=1)
    found = op.compare_posteriors(exact, other)
    p, q = exact.edge_probabilities, other.edge_probabilities
    assert len(found.edges) == 12
    for row in found.edges.itertuples():
        assert row.first == p.loc[row.parent, row.child]
        assert row.second == q.loc[row.parent, row.child]
        assert row.difference == row.first - row.second
    distances = found.edges["difference"].abs()
    assert distances.is_monotonic_decreasing
    assert found.largest_difference == distances.max() > 0
    assert found.mean_absolute_difference == pytest.approx(distances.mean())
    ordered = ~np.eye(4, dtype=bool)
    expected = np.corrcoef(p.to_numpy()[ordered], q.to_numpy()[ordered])[0, 1]
    assert found.correlation == pytest.approx(expected)
    assert "largest difference" in repr(found)


def test_a_posterior_with_itself_shuffled():
    names = ["c", "a", "b"]
    rng = np.random.default_rng(3)
    frame = op.simulate(op.random_dag(3, rng, names=list("abc")), 40, rng).to_frame()
    found = op.compare_posteriors(op.learn(frame), op.learn(frame[names]))
    assert found.largest_difference < 1e-9
    assert found.correlation == pytest.approx(1)
    with pytest.raises(GraphError, match="only one of them has c"):
        op.compare_posteriors(op.learn(frame), op.learn(frame[["a", "b"]]))


def test_equal_probabilities_have_no_correlation():
    data = op.Dataset(("a", "b", "c"), np.zeros((1, 3)))
    flat = op.learn(data, op.CustomScore(lambda v, parents: 0.0), roots=["a", "b", "c"])
    assert np.isnan(op.compare_posteriors(flat, flat).correlation)
    assert op.compare_posteriors(flat, flat).largest_difference == 0

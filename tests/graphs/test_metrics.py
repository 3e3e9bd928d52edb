from math import isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outpoint.errors import GraphError
from outpoint.graphs import Dag, EdgeCounts, compare_graphs

from .helpers import all_dags

TRUTH = Dag.from_edges(list("abcd"), [("a", "b"), ("b", "c"), ("c", "d")])


def test_counts_by_hand() -> None:
    # One edge found, one reversed, one missed, one invented; nodes in another order.
    estimate = Dag.from_edges(list("dcba"), [("a", "b"), ("c", "b"), ("a", "d")])
    result = compare_graphs(estimate, TRUTH)
    assert result.directed == EdgeCounts(1, 2, 2, 7)
    assert result.skeleton == EdgeCounts(2, 1, 1, 2)
    assert result.directed.precision == pytest.approx(1 / 3)
    assert result.directed.recall == pytest.approx(1 / 3)
    assert result.directed.false_positive_rate == pytest.approx(2 / 9)
    assert result.directed.f1 == pytest.approx(1 / 3)
    assert result.skeleton.precision == pytest.approx(2 / 3)
    assert result.skeleton.false_positive_rate == pytest.approx(1 / 3)
    assert result.shd_dag == 3
    # CPDAGs: a - b - c - d against a -> b <- c, a - d: only b - d and a - c agree.
    assert result.shd == 4


def test_rates_of_nothing_are_not_numbers() -> None:
    empty = Dag.empty(TRUTH.names)
    found_nothing = compare_graphs(empty, TRUTH).directed
    assert isnan(found_nothing.precision)
    assert found_nothing.recall == found_nothing.f1 == 0
    nothing_to_find = compare_graphs(TRUTH, empty).directed
    assert nothing_to_find.precision == 0
    assert isnan(nothing_to_find.recall)
    assert isnan(compare_graphs(empty, empty).skeleton.f1)


@given(st.sampled_from(all_dags(4)), st.sampled_from(all_dags(4)))
def test_identities(estimate: Dag, truth: Dag) -> None:
    result = compare_graphs(estimate, truth)
    for counts, n_pairs in ((result.directed, 12), (result.skeleton, 6)):
        assert counts.true_positives + counts.false_positives == estimate.n_edges
        assert counts.true_positives + counts.false_negatives == truth.n_edges
        assert counts.false_positives + counts.true_negatives == n_pairs - truth.n_edges
    assert result.shd == estimate.shd(truth)
    reverse = compare_graphs(truth, estimate).directed
    assert reverse.false_negatives == result.directed.false_positives
    if result.directed.true_positives:
        precision, recall = result.directed.precision, result.directed.recall
        assert result.directed.f1 == pytest.approx(2 / (1 / precision + 1 / recall))
    # A pair that differs between the skeletons differs between the DAGs and the CPDAGs.
    different = result.skeleton.false_positives + result.skeleton.false_negatives
    assert min(result.shd, result.shd_dag) >= different


def test_different_nodes_are_refused() -> None:
    with pytest.raises(GraphError, match="same nodes"):
        compare_graphs(Dag.empty(["a"]), TRUTH)

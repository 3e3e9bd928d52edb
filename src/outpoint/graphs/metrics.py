"""How close an estimated graph is to the true one, in the measures the field reports.

The structural Hamming distance is taken between CPDAGs, so that a direction no data could reveal
is not held against an estimate. Edge rates are given twice: for directed edges among all ordered
pairs, and for the skeleton among all unordered pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from outpoint.arguments import takes
from outpoint.arrays import Booleans
from outpoint.graphs.dag import Dag
from outpoint.graphs.validation import DAG


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


@dataclass(frozen=True)
class EdgeCounts:
    """Edges found, invented, missed and rightly left out; rates are NaN when nothing is counted."""

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int

    @property
    def precision(self) -> float:
        """The share of the estimated edges that are true."""
        return _ratio(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> float:
        """The share of the true edges that are found, also called the true positive rate."""
        return _ratio(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def false_positive_rate(self) -> float:
        """The share of the truly absent edges that are in the estimate."""
        return _ratio(self.false_positives, self.false_positives + self.true_negatives)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        errors = self.false_positives + self.false_negatives
        return _ratio(2 * self.true_positives, 2 * self.true_positives + errors)


@dataclass(frozen=True)
class GraphComparison:
    """An estimate against the truth.

    `shd` is the structural Hamming distance between the CPDAGs, `shd_dag` between the DAGs.
    """

    directed: EdgeCounts
    skeleton: EdgeCounts
    shd: int
    shd_dag: int


@takes(estimate=DAG, truth=DAG)
def compare_graphs(estimate: Dag, truth: Dag) -> GraphComparison:
    """Compare an estimated DAG with the true one; the nodes are matched by name."""
    aligned = estimate.reorder(truth.names)
    off_diagonal = ~np.eye(truth.n_nodes, dtype=np.bool_)
    return GraphComparison(
        directed=count_edges(aligned.adjacency, truth.adjacency, off_diagonal),
        skeleton=count_edges(
            aligned.adjacency | aligned.adjacency.T,
            truth.adjacency | truth.adjacency.T,
            np.triu(off_diagonal),
        ),
        shd=aligned.shd(truth),
        shd_dag=aligned.shd(truth, on="dag"),
    )


def count_edges(estimate: Booleans, truth: Booleans, pairs: Booleans) -> EdgeCounts:
    """Count where two boolean arrays agree and differ, among the places that ``pairs`` selects."""
    return EdgeCounts(
        true_positives=int(np.count_nonzero(estimate & truth & pairs)),
        false_positives=int(np.count_nonzero(estimate & ~truth & pairs)),
        false_negatives=int(np.count_nonzero(~estimate & truth & pairs)),
        true_negatives=int(np.count_nonzero(~estimate & ~truth & pairs)),
    )

"""Two posteriors side by side, and a posterior against the true graph.

Expected distances and rates are posterior means. They are sums over pairs of nodes, so that the
probabilities of edges, and of compelled and undirected edges for distances between CPDAGs, are all
they need. Areas under curves rank the edges by probability; edges of equal probability enter
together, as one point of the curve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from outpoint.arguments import takes
from outpoint.arrays import Booleans, Floats
from outpoint.errors import OptionError
from outpoint.graphs import Dag, EdgeCounts
from outpoint.graphs.metrics import count_edges
from outpoint.graphs.validation import align_names
from outpoint.kinds import Tested
from outpoint.naming import count_of
from outpoint.notebook import as_html
from outpoint.posterior.consensus import at_least
from outpoint.posterior.draws import rank_pairs

if TYPE_CHECKING:
    import pandas as pd

    from outpoint.posterior.posterior import Posterior

POSTERIOR = Tested("a Posterior", test=lambda given: hasattr(given, "edge_probabilities"))
On = Literal["directed", "skeleton"]


@dataclass(frozen=True)
class PosteriorComparison:
    """How far the edge probabilities of two posteriors differ.

    ``edges`` has one row per possible edge (parent, child, first, second, difference), largest
    difference first. ``correlation`` is NaN if all probabilities of one of them are equal.
    """

    edges: pd.DataFrame
    largest_difference: float
    mean_absolute_difference: float
    correlation: float

    def __repr__(self) -> str:
        return (
            f"PosteriorComparison(largest difference {self.largest_difference:.4f}, mean "
            f"{self.mean_absolute_difference:.4f}, correlation {self.correlation:.4f}, "
            f"{count_of(len(self.edges), 'edge')})"
        )


@takes(first=POSTERIOR, second=POSTERIOR)
def compare_posteriors(first: Posterior, second: Posterior) -> PosteriorComparison:
    """Compare the edge probabilities of two posteriors of the same variables, by name."""
    import pandas as pd

    index = align_names(second.names, first.names)
    n = len(first.names)
    ours = first.edge_probabilities.to_numpy()
    theirs = second.edge_probabilities.to_numpy()[np.ix_(index, index)]
    parents, children = rank_pairs(np.abs(ours - theirs))
    edges = pd.DataFrame(
        {
            "parent": [first.names[u] for u in parents],
            "child": [first.names[v] for v in children],
            "first": ours[parents, children],
            "second": theirs[parents, children],
            "difference": (ours - theirs)[parents, children],
        }
    )
    off_diagonal = ~np.eye(n, dtype=np.bool_)
    p, q = ours[off_diagonal], theirs[off_diagonal]
    distance = np.abs(p - q)
    varies = n > 1 and np.ptp(p) > 0 and np.ptp(q) > 0
    return PosteriorComparison(
        edges,
        largest_difference=float(distance.max(initial=0.0)),
        mean_absolute_difference=float(distance.mean()) if n > 1 else 0.0,
        correlation=float(np.corrcoef(p, q)[0, 1]) if varies else float("nan"),
    )


@dataclass(frozen=True)
class EdgeRecovery:
    """How well edge probabilities recover the true edges.

    ``auroc`` and ``auprc`` are the areas under the curves of the true against the false positive
    rate and of precision against recall; ``expected_recall`` and
    ``expected_false_positive_rate`` are posterior means; ``counts`` are those of the edges at or
    above the threshold. All are NaN where the truth has no edges, or has all of them.
    """

    auroc: float
    auprc: float
    expected_recall: float
    expected_false_positive_rate: float
    counts: EdgeCounts


@dataclass(frozen=True)
class TruthComparison:
    """A posterior against the true DAG.

    ``expected_shd`` is the posterior mean of the structural Hamming distance between the CPDAGs,
    ``expected_shd_dag`` between the DAGs; ``directed`` concerns edges among all ordered pairs and
    ``skeleton`` adjacencies among all unordered ones.
    """

    expected_shd: float
    expected_shd_dag: float
    directed: EdgeRecovery
    skeleton: EdgeRecovery
    threshold: float

    def _repr_html_(self) -> str:
        """In a notebook: all figures, for directed edges and for adjacencies."""
        both = (self.directed, self.skeleton)
        rows: list[tuple[object, ...]] = [
            ("area under the ROC curve", *(one.auroc for one in both)),
            ("area under precision and recall", *(one.auprc for one in both)),
            ("expected recall", *(one.expected_recall for one in both)),
            ("expected false positive rate", *(one.expected_false_positive_rate for one in both)),
        ]
        rows += [
            (
                f"{name.replace('_', ' ')} at {self.threshold:g}",
                *(vars(one.counts)[name] for one in both),
            )
            for name in vars(self.directed.counts)
        ]
        note = (
            f"expected structural Hamming distance: {self.expected_shd:.3g} between CPDAGs, "
            f"{self.expected_shd_dag:.3g} between DAGs"
        )
        title = "TruthComparison: a posterior and the true DAG"
        return as_html(title, ("", "directed edges", "adjacencies"), rows, note)


def compare_with_truth(posterior: Posterior, truth: Dag, threshold: float) -> TruthComparison:
    """Compare a posterior with the true DAG; nodes are matched by name."""
    true = _aligned(posterior, truth)
    compelled = posterior.cpdag_probabilities.to_numpy()
    undirected = posterior.undirected_probabilities.to_numpy()
    edges = posterior.edge_probabilities.to_numpy()
    return TruthComparison(
        expected_shd=_expected_shd(
            compelled, undirected, true.cpdag(posterior.info.targets).adjacency
        ),
        expected_shd_dag=_expected_shd(edges, np.zeros_like(edges), true.adjacency),
        directed=_recovery(edges, true, "directed", threshold),
        skeleton=_recovery(edges, true, "skeleton", threshold),
        threshold=threshold,
    )


def roc_curve(posterior: Posterior, truth: Dag, on: On = "directed") -> pd.DataFrame:
    """One row per distinct probability, from none to all edges.

    The columns are threshold, false_positive_rate, true_positive_rate and precision of the edges
    at or above the threshold. The first row has no edges, and no precision (NaN).
    """
    import pandas as pd

    true = _aligned(posterior, truth)
    scores, labels = _pairs(posterior.edge_probabilities.to_numpy(), true, on)
    thresholds, hits, alarms = _cumulate(scores, labels)
    with np.errstate(invalid="ignore", divide="ignore"):
        return pd.DataFrame(
            {
                "threshold": thresholds,
                "false_positive_rate": alarms / alarms[-1],
                "true_positive_rate": hits / hits[-1],
                "precision": hits / (hits + alarms),
            }
        )


def _aligned(posterior: Posterior, truth: Dag) -> Dag:
    return truth.reorder(posterior.names)


def _expected_shd(directed: Floats, undirected: Floats, truth: Booleans) -> float:
    """The sum over pairs of the probability that they are connected differently from the truth."""
    adjacent = directed + directed.T + undirected
    both, none = truth & truth.T, ~(truth | truth.T)
    agreement = np.where(both, undirected, 0.0) + np.where(none, 1 - adjacent, 0.0)
    agreement += np.where(truth & ~truth.T, directed, 0.0)
    agreement += np.where(truth.T & ~truth, directed.T, 0.0)
    return float(np.triu(1 - agreement, k=1).sum())


def _recovery(edges: Floats, truth: Dag, on: On, threshold: float) -> EdgeRecovery:
    scores, labels = _pairs(edges, truth, on)
    _, hits, alarms = _cumulate(scores, labels)
    chosen = at_least(scores, threshold)
    return EdgeRecovery(
        auroc=_area_under_roc(hits, alarms),
        auprc=_average_precision(hits, alarms),
        expected_recall=_mean(scores[labels]),
        expected_false_positive_rate=_mean(scores[~labels]),
        counts=count_edges(chosen, labels, np.ones_like(labels)),
    )


def _pairs(edges: Floats, truth: Dag, on: On) -> tuple[Floats, Booleans]:
    """Probability and truth of each pair of nodes: ordered ones, or unordered for the skeleton."""
    off_diagonal = ~np.eye(truth.n_nodes, dtype=np.bool_)
    if on == "directed":
        return edges[off_diagonal], truth.adjacency[off_diagonal]
    if on == "skeleton":
        pairs = np.triu(off_diagonal)
        return (edges + edges.T)[pairs], (truth.adjacency | truth.adjacency.T)[pairs]
    raise OptionError(f'edges are ranked on="directed" or on="skeleton", not on={on!r}.')


def _cumulate(scores: Floats, labels: Booleans) -> tuple[Floats, Floats, Floats]:
    """Thresholds with the true and false positives at each; the first threshold is infinite."""
    order = np.argsort(-scores, kind="stable")
    ranked, true = scores[order], labels[order]
    last_of_ties = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1)
    if not len(ranked):
        last_of_ties = np.empty(0, dtype=np.intp)
    thresholds = np.concatenate([[np.inf], ranked[last_of_ties]])
    hits = np.concatenate([[0.0], np.cumsum(true)[last_of_ties]])
    alarms = np.concatenate([[0.0], np.cumsum(~true)[last_of_ties]])
    return thresholds, hits, alarms


def _area_under_roc(hits: Floats, alarms: Floats) -> float:
    """The area by the trapezoidal rule, which counts a tie of a true and a false edge as a half."""
    if not hits[-1] or not alarms[-1]:
        return float("nan")
    return float(np.trapezoid(hits / hits[-1], alarms / alarms[-1]))


def _average_precision(hits: Floats, alarms: Floats) -> float:
    """Precision averaged over the true edges, in steps (interpolating would be optimistic)."""
    if not hits[-1]:
        return float("nan")
    precision = hits[1:] / (hits[1:] + alarms[1:])
    return float(np.diff(hits) @ precision / hits[-1])


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")

"""Tables of graphs: the most probable DAGs and CPDAGs, and what is compelled in the CPDAGs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from outpoint.arrays import Booleans, Floats, Integers
from outpoint.graphs import Cpdag, Dag
from outpoint.graphs.blocks import add_blankets, add_cpdags, compute_cpdags
from outpoint.posterior.draws import WeightedGraphs, number_matrices

if TYPE_CHECKING:
    import pandas as pd


def average_cpdags(
    graphs: WeightedGraphs, separated: Booleans | None = None
) -> tuple[Floats, Floats]:
    """[a, b]: the probabilities that the CPDAG has a -> b, and that it has a - b.

    Here and below edges between nodes that target sets have ``separated`` have a direction.
    """
    n = graphs.draws.n_nodes
    compelled, undirected = np.zeros((n, n)), np.zeros((n, n))
    for part, dags in graphs.blocks():
        cpdags = compute_cpdags(dags, separated)
        add_cpdags(cpdags, graphs.sums[part], compelled, undirected)
    total = graphs.sums.sum()
    return np.clip(compelled / total, 0.0, 1.0), np.clip(undirected / total, 0.0, 1.0)


def average_blankets(graphs: WeightedGraphs) -> Floats:
    """[a, b]: the probability that a is in the Markov blanket of b (symmetric)."""
    return graphs.mean_matrix(add_blankets)


def tabulate_dags(
    graphs: WeightedGraphs, names: Sequence[str], n: int, probability: Floats | None = None
) -> pd.DataFrame:
    """The ``n`` most probable DAGs; by their weights unless their probabilities are given."""
    known: Floats = graphs.weights if probability is None else probability
    top = np.lexsort((-graphs.log_scores, -known))[:n]
    dags = [Dag.from_adjacency(matrix, names) for matrix in graphs.adjacencies(top)]
    return _table(dags, known[top], graphs.log_scores[top])


def tabulate_cpdags(
    graphs: WeightedGraphs, names: Sequence[str], n: int, separated: Booleans | None = None
) -> pd.DataFrame:
    """The ``n`` most probable equivalence classes, each with its best member's score."""
    which = classify(graphs, separated)
    weights = np.zeros(which.max() + 1)
    np.add.at(weights, which, graphs.sums)
    weights /= graphs.sums.sum()
    best = np.full(len(weights), -np.inf)
    np.maximum.at(best, which, graphs.log_scores)
    member = np.unique(which, return_index=True)[1]
    top = np.lexsort((-best, -weights))[:n]
    matrices = compute_cpdags(graphs.adjacencies(member[top]), separated)
    cpdags = [Cpdag(tuple(names), matrix) for matrix in matrices]
    return _table(cpdags, weights[top], best[top])


def classify(graphs: WeightedGraphs, separated: Booleans | None = None) -> Integers:
    """For each DAG the number of its equivalence class, in order of appearance."""
    return number_matrices(compute_cpdags(dags, separated) for _, dags in graphs.blocks())


def _table(
    graphs: Sequence[Dag] | Sequence[Cpdag], probability: Floats, log_score: Floats
) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        {
            "graph": pd.Series(list(graphs), dtype=object),
            "probability": probability,
            "cumulative": np.minimum(np.cumsum(probability), 1.0),
            "log_score": log_score,
        }
    )

"""What the draws of a posterior say about pairs of variables: connected, directed, neighbours.

Three summaries feed the graph plot and the report. The *consensus DAG* takes connections in
order of their probability and turns those that would close a cycle; it only decides where nodes
are drawn. *CPDAG probabilities* count, over draws, how often an edge is compelled to point one way
and how often it is reversible. *Blanket probabilities* count how often a variable is in the Markov
blanket of another.
"""

from dataclasses import dataclass

import numpy as np

from outpoint.arrays import Booleans, Floats
from outpoint.posterior import Posterior


@dataclass(frozen=True)
class Features:
    """Probabilities, each [row, column]."""

    compelled: Floats
    """The edge row -> column is in the CPDAG with this direction."""
    reversible: Floats
    """The two are connected in the CPDAG by an undirected edge (symmetric)."""
    blanket: Floats
    """The row variable is in the Markov blanket of the column variable (symmetric)."""


def build_consensus(edges: Floats, at_least: float = 0.3) -> Booleans:
    """Adjacency of a DAG with every pair whose connection has at least this probability.

    Each pair points the more probable way unless that would close a cycle with stronger edges.
    """
    n = len(edges)
    kept = np.zeros((n, n), dtype=np.bool_)
    reaches = np.eye(n, dtype=np.bool_)  # [u, v]: a path leads from u to v
    parents, children = np.nonzero(np.triu(edges + edges.T, 1) >= max(at_least, 1e-12))
    turned = edges[children, parents] > edges[parents, children]
    parents, children = np.where(turned, (children, parents), (parents, children))
    for i in np.argsort(-edges[parents, children], kind="stable"):
        u, v = parents[i], children[i]
        if reaches[v, u]:
            u, v = v, u
        kept[u, v] = True
        reaches |= np.outer(reaches[:, u], reaches[v])
    return kept


def count_features(posterior: Posterior) -> Features:
    """CPDAG and Markov blanket probabilities of a posterior."""
    return Features(
        posterior.cpdag_probabilities.to_numpy(),
        posterior.undirected_probabilities.to_numpy(),
        posterior.blanket_probabilities.to_numpy(),
    )

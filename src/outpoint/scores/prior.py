"""Structure priors, with background knowledge, all modular: one log weight per family.

The weight of a parent set S of child v is ``size_log_weight[|S|] + sum of edge_log_weight[u, v]``
over u in S, and -inf if S misses a required parent. Priors are used as given, not normalised over
DAGs: under the uniform prior every DAG has weight 1.

Formulas: docs/math.md#priors-and-background-knowledge.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb, log

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import OptionError
from outpoint.kernels import kernel
from outpoint.naming import named
from outpoint.scores.base import Scores, size_offsets, subsets_of_size
from outpoint.scores.edge_prior import Edge, EdgePrior, in_words
from outpoint.scores.knowledge import Knowledge

STRUCTURE_PRIORS = ("fair", "uniform")


@dataclass(frozen=True)
class StructurePrior:
    """Log weights of families before any data.

    The weight of a parent set S of child v is ``size_log_weight[|S|]`` plus the sum of
    ``edge_log_weight[u, v]`` over u in S, and -inf if S misses a ``required`` parent.
    """

    size_log_weight: NDArray[np.float64]
    edge_log_weight: NDArray[np.float64]
    required: NDArray[np.bool_]

    def log_weight(self, child: int, parents: Sequence[int]) -> float:
        """Log prior weight of one family."""
        chosen = list(parents)
        if self.required[:, child].sum() != self.required[chosen, child].sum():
            return -np.inf
        edges = self.edge_log_weight[chosen, child].sum()
        return float(self.size_log_weight[len(chosen)] + edges)

    def log_weights(self, child: int, parents: NDArray[np.integer]) -> NDArray[np.float64]:
        """Log prior weights of ``child`` with each row of ``parents``, all of one size."""
        weights = self.size_log_weight[parents.shape[1]] + self.edge_log_weight[parents, child].sum(
            axis=1
        )
        required = self.required[:, child]
        return np.where(required[parents].sum(axis=1) == required.sum(), weights, -np.inf)

    def add_to(self, scores: Scores, max_parents: int) -> None:
        """Add the log weights to the scores of every family (layout of ``scores.base``)."""
        n = len(self.edge_log_weight)
        offsets = size_offsets(n - 1, max_parents)
        for size in range(max_parents + 1):
            _add_log_weights(
                self.size_log_weight[size],
                self.edge_log_weight,
                self.required,
                subsets_of_size(n - 1, size),
                scores[:, offsets[size] : offsets[size + 1]],
            )


@kernel
def _add_log_weights(size_log_weight, edge_log_weight, required, others, scores):
    n = scores.shape[0]
    for child in range(n):
        n_required = 0
        for parent in range(n):
            n_required += required[parent, child]
        for row in range(others.shape[0]):
            log_weight = size_log_weight
            found = 0
            for i in range(others.shape[1]):
                parent = others[row, i] + (others[row, i] >= child)
                log_weight += edge_log_weight[parent, child]
                found += required[parent, child]
            scores[child, row] += log_weight if found == n_required else -np.inf


def build_prior(
    names: Sequence[str],
    *,
    structure_prior: str = "uniform",
    knowledge: Knowledge | None = None,
    max_parents: int | None = None,
) -> StructurePrior:
    """Combine a structure prior with background knowledge about these variables.

    The knowledge is free of contradictions, so its required edges alone are an admissible DAG,
    unless there are more than ``max_parents`` into a node, which is refused.
    """
    size_log_weights = _size_log_weights(len(names), structure_prior)
    known = (knowledge or Knowledge()).bind(names)
    index = {name: i for i, name in enumerate(names)}
    required = _edge_matrix(index, known.required_edges())
    _refuse_many_parents(names, required, max_parents)
    log_odds = (known.edge_prior or EdgePrior()).log_odds(index)
    log_odds[required] = 0.0
    log_odds[_edge_matrix(index, known.excluded_edges(names))] = -np.inf
    np.fill_diagonal(log_odds, -np.inf)
    return StructurePrior(size_log_weights, log_odds, required)


def _edge_matrix(index: dict[str, int], edges: Iterable[Edge]) -> NDArray[np.bool_]:
    matrix = np.zeros((len(index), len(index)), dtype=np.bool_)
    for parent, child in edges:
        matrix[index[parent], index[child]] = True
    return matrix


def _refuse_many_parents(
    names: Sequence[str], required: NDArray[np.bool_], max_parents: int | None
) -> None:
    in_degree = required.sum(axis=0)
    if max_parents is not None and (in_degree > max_parents).any():
        children = [
            f"{names[child]} has {in_degree[child]} required parents"
            for child in np.flatnonzero(in_degree > max_parents).tolist()
        ]
        limit = named("max_parents")
        raise OptionError(f"{in_words(children)}, but {limit} is {max_parents}.")


def _size_log_weights(n: int, structure_prior: str) -> NDArray[np.float64]:
    if structure_prior == "uniform":
        return np.zeros(n)
    if structure_prior == "fair":
        return np.array([-log(comb(n - 1, size)) for size in range(n)])
    raise OptionError(
        f"unknown structure prior {structure_prior!r}: choose one of {', '.join(STRUCTURE_PRIORS)}."
    )

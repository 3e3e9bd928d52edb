"""Draws and what is tabulated from them.

Draws repeat: a chain stays where it is, and a concentrated posterior has few DAGs to draw. All
answers are therefore computed once per distinct DAG, in blocks of bounded size, and weighted. The
DAGs themselves stay where the draws are; only the number of the first draw of each is kept, and a
block of matrices is made when it is needed.

From them come the tables of the most probable DAGs and CPDAGs, and of what is compelled in the
CPDAGs. Arrays become tables with names here, as every answer of a posterior is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats, Integers
from outpoint.graphs import Cpdag, Dag
from outpoint.graphs.blocks import add_blankets, add_cpdags, compute_cpdags

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


def name_matrix(values: Floats, names: Sequence[str], rows: str, columns: str) -> pd.DataFrame:
    """A copy of a matrix, with the variables' names along its ``rows`` and ``columns``."""
    import pandas as pd

    return pd.DataFrame(
        values.copy(),
        index=pd.Index(list(names), name=rows),
        columns=pd.Index(list(names), name=columns),
    )


def name_draws(values: Floats, name: str) -> xr.DataArray:
    """A copy of numbers (chain, draw), with the chains' numbers."""
    import xarray as xr

    return xr.DataArray(
        values.copy(),
        dims=("chain", "draw"),
        coords={"chain": np.arange(len(values))},
        name=name,
    )


def rank_pairs(values: Floats) -> tuple[Integers, Integers]:
    """Rows and columns of a square matrix without its diagonal, largest value first.

    Values that differ by rounding errors only, as those of an edge and its reversal may, stay in
    the order of the matrix, which is then the same on every machine.
    """
    rows, columns = np.nonzero(~np.eye(len(values), dtype=np.bool_))
    ranked = np.argsort(-values[rows, columns].round(10), kind="stable")
    return rows[ranked], columns[ranked]


BLOCK_BYTES = 1 << 24
"""Size of the matrices that are in memory at a time."""


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws by number, one chain after the other: draw ``d`` of chain ``c`` is c * n_draws + d.

    ``read`` makes the adjacency matrices (block, parent, child) of the draws with the given
    ascending numbers; ``log_scores`` is (chain, draw).
    """

    n_nodes: int
    log_scores: Floats
    read: Callable[[Integers], Booleans]

    @classmethod
    def from_arrays(cls, dags: Booleans, log_scores: Floats) -> Draws:
        """Draws in memory: matrices (chain, draw, parent, child) and log scores (chain, draw)."""
        flat = dags.reshape(-1, *dags.shape[2:])
        return cls(dags.shape[-1], log_scores, lambda numbers: flat[numbers])

    def blocks(self, numbers: Integers) -> Iterator[tuple[slice, Booleans]]:
        """The matrices of the draws with these numbers, block by block, with their places."""
        size = max(1, BLOCK_BYTES // max(1, self.n_nodes**2))
        for start in range(0, len(numbers), size):
            part = slice(start, min(start + size, len(numbers)))
            yield part, self.read(numbers[part])


def number_matrices(blocks: Iterable[Booleans]) -> Integers:
    """A number for each matrix of the blocks, in order of appearance; equal ones share it."""
    numbers: dict[bytes, int] = {}
    which: list[int] = []
    for matrices in blocks:
        packed = np.packbits(matrices.reshape(len(matrices), -1), axis=1)
        keys = (blake2b(row, digest_size=16).digest() for row in packed)
        which += [numbers.setdefault(key, len(numbers)) for key in keys]
    return np.array(which, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class WeightedGraphs:
    """The distinct DAGs among the draws, and how much each of them weighs.

    ``first`` are the numbers of the draws in which the DAGs occur first, ``which`` (chain, draw)
    says for each draw which of the DAGs it is, ``log_scores`` are the scores of the DAGs, and
    ``log_weights`` the log importance weight of one draw of each, up to a constant.
    """

    draws: Draws
    first: Integers
    which: Integers
    log_scores: Floats
    log_weights: Floats

    @classmethod
    def from_draws(cls, draws: Draws) -> WeightedGraphs:
        """The distinct DAGs of draws that all weigh the same."""
        blocks = draws.blocks(np.arange(draws.log_scores.size))
        which = number_matrices(dags for _, dags in blocks)
        first = np.unique(which, return_index=True)[1]
        scores = draws.log_scores.ravel()[first]
        return cls(
            draws, first, which.reshape(draws.log_scores.shape), scores, np.zeros(len(first))
        )

    def reweighted(self, log_factors: Floats, *, changes_scores: bool) -> WeightedGraphs:
        """The same DAGs with other weights, and other scores if the factors express a prior."""
        scores = self.log_scores + log_factors if changes_scores else self.log_scores
        return replace(self, log_scores=scores, log_weights=self.log_weights + log_factors)

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def counts(self) -> Integers:
        """In how many draws each DAG occurs."""
        return np.bincount(self.which.ravel(), minlength=len(self))

    @cached_property
    def sums(self) -> Floats:
        """The weight of each DAG, all its draws together, where the heaviest draw weighs 1."""
        return self.counts * np.exp(self.log_weights - self.log_weights.max())

    @cached_property
    def weights(self) -> Floats:
        """The normalised weight of each DAG."""
        return np.divide(self.sums, self.sums.sum())

    @cached_property
    def unit_weights(self) -> Floats:
        """The normalised weight of a single draw of each DAG."""
        return np.divide(self.weights, self.counts)

    @cached_property
    def draw_weights(self) -> Floats:
        """The normalised weight of each draw (chain, draw)."""
        return self.unit_weights[self.which]

    @cached_property
    def kish_size(self) -> float:
        """(Σw)² / Σw²: the number of equally weighted draws whose averages vary as much."""
        return float(1 / (self.counts @ self.unit_weights**2))

    def chain_weights(self) -> Floats:
        """The weight of each DAG within each chain (chain, DAG), every chain normalised."""
        n_chains = len(self.which)
        counts = np.stack([np.bincount(row, minlength=len(self)) for row in self.which])
        weights = counts * self.unit_weights
        totals = weights.sum(axis=1).reshape(n_chains, 1)
        return np.divide(weights, totals, out=np.zeros_like(weights), where=totals > 0)

    def blocks(self) -> Iterator[tuple[slice, Booleans]]:
        """The distinct DAGs block by block, with their places."""
        return self.draws.blocks(self.first)

    def adjacencies(self, numbers: Integers) -> Booleans:
        """The matrices of some of the DAGs, in the given order."""
        order = np.argsort(self.first[numbers])
        matrices = self.draws.read(self.first[numbers][order])
        return matrices[np.argsort(order)]

    def evaluate(self, function: Callable[[Booleans], NDArray[np.generic]]) -> Floats:
        """The values of a function of blocks, one value per distinct DAG."""
        values = np.empty(len(self))
        for part, dags in self.blocks():
            values[part] = function(dags)
        return values

    def mean(self, values: Floats) -> float:
        """The weighted mean of values of the DAGs; exact to the bit where all weigh the same.

        Rounding does not take it beyond the values.
        """
        return float(np.clip(self.sums @ values / self.sums.sum(), values.min(), values.max()))

    def mean_matrix(self, add: Callable[[Booleans, Floats, Floats], None]) -> Floats:
        """The weighted mean of 0/1 matrices, accumulated by ``add(dags, weights, total)``."""
        means = np.divide(self.sum_matrices(add, self.sums), self.sums.sum())
        return np.clip(means, 0.0, 1.0)

    def sum_matrices(
        self, add: Callable[[Booleans, Floats, Floats], None], weights: Floats
    ) -> Floats:
        """The sum of matrices times any weights of the DAGs."""
        total = np.zeros((self.draws.n_nodes, self.draws.n_nodes))
        for part, dags in self.blocks():
            add(dags, np.ascontiguousarray(weights[part]), total)
        return total


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

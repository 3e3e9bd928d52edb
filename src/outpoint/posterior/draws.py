"""Drawn DAGs and their weights, each distinct DAG once.

Draws repeat: a chain stays where it is, and a concentrated posterior has few DAGs to draw. All
answers are therefore computed once per distinct DAG, in blocks of bounded size, and weighted. The
DAGs themselves stay where the draws are; only the number of the first draw of each is kept, and a
block of matrices is made when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats, Integers

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
    tells for each draw which of the DAGs it is, ``log_scores`` are the scores of the DAGs, and
    ``log_weights`` the log importance weight of one draw of each, up to a constant.
    """

    draws: Draws
    first: Integers
    which: Integers
    log_scores: Floats
    log_weights: Floats

    @classmethod
    def from_draws(cls, draws: Draws) -> WeightedGraphs:
        """Every draw weighs the same."""
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
        """(Σw)² / Σw²: as many equally weighted draws have averages as variable as these."""
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

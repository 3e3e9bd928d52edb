"""One part of a problem: the scores that it sees, its solution, and what descends from where."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats, Integers
from outpoint.errors import OptionError
from outpoint.exact import ExactSolution, find_descents, solve
from outpoint.parts.families import NodeFamilies
from outpoint.tables import ScoreTable
from outpoint.tables.outside import no_outside

NEGLIGIBLE = 1e-13
"""Sets of descendants that are less probable, all together, are left out."""

Law = dict[int, float]
"""Probabilities of sets of nodes, given as bit masks."""


@dataclass(frozen=True, eq=False)
class Part:
    """A part that is solved; ``folded`` are the scores that it sees.

    A node on its own needs no sums over DAGs, and has no ``solution``.
    """

    nodes: Integers
    families: tuple[NodeFamilies, ...]
    folded: Floats
    solution: ExactSolution | None

    @classmethod
    def solve(cls, nodes: Integers, families: tuple[NodeFamilies, ...]) -> "Part":
        """Sum over all DAGs on the part."""
        folded = np.stack([one.fold(one.scores) for one in families])
        if len(nodes) > 1:
            return cls(nodes, families, folded, solve(make_table(folded)))
        if folded[0, 0] == -np.inf:
            raise OptionError(
                "no DAG is admissible: the scores or constraints exclude all of them."
            )
        return cls(nodes, families, folded, None)

    @property
    def log_evidence(self) -> float:
        """Log of the sum over all DAGs on the part."""
        return float(self.folded[0, 0]) if self.solution is None else self.solution.log_evidence

    @property
    def log_inner(self) -> Floats:
        """Log probabilities of the parents within the part, by mask."""
        return np.zeros((1, 1)) if self.solution is None else self.solution.log_parent_sets

    def sample(self, n_draws: int, rng: np.random.Generator) -> Booleans:
        """Draws (draw, parent, child) of the edges within the part."""
        if self.solution is None:
            return np.zeros((n_draws, 1, 1), dtype=np.bool_)
        return self.solution.sample(n_draws, rng)

    def descendants_of(self, place: int) -> Law:
        """The law of a node of the part together with what descends from it."""
        node = 1 << int(self.nodes[place])
        if self.solution is None:
            return {node: 1.0}
        others = np.delete(self.nodes, place)
        return {node | mask: p for mask, p in _law(self._descents[place], others).items()}

    def descendants_of_front(self, front: Booleans) -> Law:
        """The law of what descends, within the part, from the nodes ``front`` before it.

        One more node stands for all of them: it is a parent wherever a set has a member there.
        """
        meets = [one.meets(front) for one in self.families]
        if self.solution is None:
            sums = self.families[0].fold(self.families[0].scores, meets[0])
            p = float(np.exp(sums[1] - self.folded[0, 0]))
            return {0: 1.0 - p, 1 << int(self.nodes[0]): p}
        n = len(self.nodes)
        dense = np.full((n + 1, 1 << n), -np.inf)
        for i, (one, own) in enumerate(zip(self.families, meets, strict=True)):
            dense[i] = one.fold(one.scores, own)
        dense[n, 0] = 0.0
        return _law(find_descents(make_table(dense))[n], self.nodes)

    @cached_property
    def _descents(self) -> Floats:
        return find_descents(make_table(self.folded))


def _law(descents: Floats, nodes: Integers) -> Law:
    """From the probabilities of sets of non-descendants among ``nodes`` to those of the others."""
    places = np.flatnonzero(descents > NEGLIGIBLE / len(descents)).tolist()
    whole = sum(1 << int(v) for v in nodes)
    masks = [sum(1 << int(v) for i, v in enumerate(nodes) if place >> i & 1) for place in places]
    return {whole ^ mask: float(descents[p]) for mask, p in zip(masks, places, strict=True)}


def make_table(dense: Floats) -> ScoreTable:
    """Scores by mask over the other nodes of a part."""
    n = len(dense)
    return ScoreTable(tuple(map(str, range(n))), n - 1, everyone_else(n), dense, no_outside(n))


def everyone_else(n_nodes: int) -> NDArray[np.int32]:
    """For each node all others."""
    every = np.arange(n_nodes, dtype=np.int32)
    return np.array([np.delete(every, node) for node in every], dtype=np.int32)

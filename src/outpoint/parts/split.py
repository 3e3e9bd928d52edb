"""Which edges there can be, and the strongly connected components of their graph."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from outpoint.amounts import count_of
from outpoint.arrays import Booleans, Integers
from outpoint.data.wording import enumerate_items
from outpoint.scores import FamilyScorer, StructurePrior

SMALL_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
NONE: Integers = np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Split:
    """The edges that there can be [parent, child], and the parts into which they split the nodes.

    No edge points back to an earlier part; each is a list of nodes.
    """

    possible: Booleans
    parts: tuple[Integers, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of nodes of each part."""
        return tuple(map(len, self.parts))

    @property
    def largest(self) -> int:
        """Number of nodes of the largest part."""
        return max(map(len, self.parts))

    def separate(self, largest: int) -> tuple["Split", Integers]:
        """The parts of at most so many nodes, and the nodes of all others."""
        small = tuple(nodes for nodes in self.parts if len(nodes) <= largest)
        large = [nodes for nodes in self.parts if len(nodes) > largest]
        return Split(self.possible, small), np.sort(np.concatenate([*large, NONE]))


def find_split(scorer: FamilyScorer, prior: StructurePrior) -> Split:
    """The parts of the problem with this score and prior."""
    possible = possible_edges(scorer, prior)
    return Split(possible, find_parts(possible))


def possible_edges(scorer: FamilyScorer, prior: StructurePrior) -> Booleans:
    """[parent, child]: the edges that some DAG can have, as far as that is known beforehand.

    An edge against a path of required edges would close a cycle.
    """
    possible = prior.edge_log_weight > -np.inf
    np.fill_diagonal(possible, False)
    if scorer.possible_edges is not None:
        possible &= scorer.possible_edges
    return possible & ~find_paths(prior.required).T


def find_paths(edges: Booleans) -> Booleans:
    """[u, v]: whether a path of one or more of these edges leads from u to v."""
    paths = edges.copy()
    while True:
        steps = paths.astype(np.float32)
        longer = paths | (steps @ steps > 0)
        if (longer == paths).all():
            return paths
        paths = longer


def find_parts(possible: Booleans) -> tuple[Integers, ...]:
    """The strongly connected components, in an order in which no edge points back."""
    reached = find_paths(possible) | np.eye(len(possible), dtype=np.bool_)
    together = reached & reached.T
    first = together.argmax(axis=0)  # the smallest node of each node's part
    # What leads to a part leads to all parts behind it, and these are reached by more.
    n_before = reached.sum(axis=0)
    heads = sorted(set(first.tolist()), key=lambda node: (int(n_before[node]), node))
    return tuple(np.flatnonzero(first == head) for head in heads)


def describe_parts(sizes: Sequence[int]) -> str:
    """The parts in words: ``"three parts of 15, 15 and 15 variables"``."""
    large = [size for size in sizes if size > 1]
    n_alone = len(sizes) - len(large)
    alone = count_of(n_alone, "variable") + " on " + ("its" if n_alone == 1 else "their") + " own"
    if not large:
        return alone
    number = SMALL_NUMBERS[len(large)] if len(large) < len(SMALL_NUMBERS) else str(len(large))
    if len(large) <= 6:
        listed = enumerate_items([str(size) for size in large], limit=6)
    else:
        listed = f"{min(large)} to {max(large)}" if min(large) < max(large) else str(large[0])
    words = f"{number} part{'s' if len(large) > 1 else ''} of {listed} variables"
    return f"{words} and {alone}" if n_alone else words

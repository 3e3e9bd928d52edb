"""The parts of a problem, what it takes to score them, and which are exact beside larger ones.

The parts are the strongly connected components of the graph of all edges that there can be.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from outpoint.arrays import Booleans, Integers
from outpoint.errors import TooLargeError
from outpoint.exact.feasibility import estimate_memory
from outpoint.graphs import Dag
from outpoint.model import MOST_TOGETHER, Model, Problem
from outpoint.naming import count_of, enumerate_items, named, option
from outpoint.options import Options
from outpoint.parts.folding import FoldedScorer
from outpoint.scores import FamilyScorer, StructurePrior
from outpoint.scores.base import count_subsets
from outpoint.tables.build import ALL_CANDIDATES, MAX_FAMILIES, USUAL_FAMILIES

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
        """The parts with at most this number of nodes, and the nodes of all others."""
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


MOST_BY_DEFAULT = 10
"""Most parents beyond 20 variables, unless more are asked for."""


def count_families(possible: Booleans, max_parents: int) -> int:
    """Number of families, of all nodes together."""
    n_parents, n_nodes = np.unique(possible.sum(axis=0), return_counts=True)
    return sum(
        int(count) * count_subsets(int(n), min(int(n), max_parents))
        for n, count in zip(n_parents, n_nodes, strict=True)
    )


def most_parents(possible: Booleans, required: Booleans) -> int:
    """How many parents nodes may have by default.

    There is no limit up to 20 variables. Beyond, all families are scored, up to 50 million with 3
    parents and 1.5 million with more.
    """
    n = len(possible)
    if n <= ALL_CANDIDATES:
        return n - 1
    needed = max(1, int(required.sum(axis=0).max()))
    limit = needed
    while limit < MOST_BY_DEFAULT and count_families(possible, limit + 1) <= (
        MAX_FAMILIES if limit < 3 else USUAL_FAMILIES
    ):
        limit += 1
    return limit


def limit_parents(model: Model, split: Split, given: int | None) -> Model:
    """The model of a problem that is solved by parts, with as many parents as can be scored.

    There are fewer if the score finds more not sensible. Nothing is changed if the user has
    ``given`` a limit, or if there is one part.
    """
    if given is not None or len(split.parts) == 1:
        return model
    limit = most_parents(split.possible, model.prior.required)
    if limit >= split.possible.sum(axis=0).max():
        wide = replace(model, max_parents=model.data.n_nodes - 1, remarks=())
        return wide.with_sensible_parents()
    remark = (
        f"at most {count_of(limit, 'parent')}, as more would be too many sets to score; "
        f"{named('max_parents')} changes it"
    )
    return replace(model, max_parents=limit, remarks=(remark,)).with_sensible_parents()


def can_be_scored(split: Split, max_parents: int | None) -> bool:
    """Whether the families of all parts can be scored one by one."""
    is_small = len(split.possible) <= ALL_CANDIDATES or len(split.parts) == 1
    if is_small or max_parents is None:
        return True
    return count_families(split.possible, max_parents) <= MAX_FAMILIES


def require_scorable(split: Split, max_parents: int | None) -> None:
    """Refuse more families than can be scored."""
    if max_parents is not None and not can_be_scored(split, max_parents):
        n_families = count_families(split.possible, max_parents)
        raise TooLargeError(
            f"with {max_parents} parents there are {n_families:.1e} families to be scored: allow "
            f"fewer with {named('max_parents')}, or sample with {option('method', 'mcmc')}."
        )


MOST_BESIDE = 20
"""The largest number of variables of a part that is exact beside larger ones."""

WORTH_A_LIMIT = 4
"""One variable in so many that can have parents must become exact for fewer parents by default."""


@dataclass(frozen=True, eq=False)
class Beside:
    """The parts that are exact, and the scores that all others see.

    ``sizes`` are those of the others, which are sampled or searched together.
    """

    exact: Split
    folded: FoldedScorer
    sizes: tuple[int, ...]

    def problem(self, names: tuple[str, ...]) -> Problem:
        """The problem of the others, with ``names`` of all variables."""
        folded = self.folded
        assert folded.possible_edges is not None
        most = max(1, int(folded.possible_edges.sum(axis=0).max()))
        own = tuple(names[v] for v in folded.nodes)
        return Problem(own, folded, folded.prior_within, min(folded.max_parents, most))


def may_separate(split: Split, asked: Options) -> bool:
    """Whether there are exact parts beside larger ones, and nothing speaks against it.

    A start or lists of candidates that a user gives concern all variables.
    """
    small, large = split.separate(MOST_BESIDE)
    if not small.parts or not len(large):
        return False
    if isinstance(asked.start, Dag) or asked.candidates is not None:
        return False
    limit = asked.memory_limit
    return limit is None or estimate_memory(small.largest) <= limit


def limit_beside(model: Model, split: Split, asked: Options) -> Model | None:
    """The model, with as many parents as can be scored in all parts; None if it stays whole.

    That is so if a limit was given that is too high, and if the usual one would be lowered for the
    sake of a few exact variables.
    """
    if not may_separate(split, asked):
        return None
    if asked.max_parents is not None:
        return model if can_be_scored(split, asked.max_parents) else None
    limited = limit_parents(model, split, None)
    has_parents = split.possible.any(axis=0)
    n_exact = int(np.delete(has_parents, split.separate(MOST_BESIDE)[1]).sum())
    is_worth_it = WORTH_A_LIMIT * n_exact >= has_parents.sum()
    fits_whole = model.data.n_nodes <= MOST_TOGETHER
    if limited.max_parents < model.max_parents and fits_whole and not is_worth_it:
        return None
    return limited


def separate_parts(model: Model, split: Split, *, best: bool = False) -> Beside:
    """The exact parts, and the scores of the others: sums over earlier parents, or the best."""
    small, large = split.separate(MOST_BESIDE)
    folded = FoldedScorer(
        model.scorer, model.prior, large, split.possible, model.max_parents, best=best
    )
    sizes = tuple(size for size in split.sizes if size > MOST_BESIDE)
    return Beside(small, folded, sizes)

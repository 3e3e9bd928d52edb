"""Families and scores: where the score of a child and a parent set is stored, and what a score is.

All parent sets of at most ``max_parents`` nodes are kept in one flat array per child: by size, and
within a size in colexicographic order, so that the place of a set is a sum of binomial coefficients
and no search is needed. For child ``v`` the other nodes are renumbered ``0..n-2`` by leaving out
``v``.

A score is a number for every family, that is, for every child and parent set. A score object
(``BGe()``, ``BDeu()``, ``CustomScore(fn)``) holds settings only. Bound to data it gives a
:class:`FamilyScorer`, the one thing the rest of the package asks for numbers. To add a score write
both, and name it in ``outpoint.registry.SCORES``.
"""

from abc import ABC, abstractmethod
from concurrent.futures import Executor
from functools import cache
from itertools import accumulate
from math import comb
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from outpoint.data import Dataset
from outpoint.kernels import jitable, kernel, run_chunked

Scores = NDArray[np.float64]
Members = NDArray[np.int16]


def count_subsets(n_items: int, max_size: int) -> int:
    """Number of subsets of ``n_items`` things with at most ``max_size`` members."""
    return sum(comb(n_items, size) for size in range(max_size + 1))


@cache
def binomial_table(n_items: int, max_size: int) -> NDArray[np.int64]:
    """Binomial coefficients ``table[c, k] = C(c, k)`` used to rank sets."""
    rows = [[comb(c, k) for k in range(max_size + 2)] for c in range(n_items + 1)]
    table = np.array(rows, dtype=np.int64)
    table.flags.writeable = False
    return table


@cache
def size_offsets(n_items: int, max_size: int) -> NDArray[np.int64]:
    """Where the sets of each size start in the flat numbering; the last entry is their number."""
    counts = accumulate((comb(n_items, size) for size in range(max_size + 1)), initial=0)
    offsets = np.array(list(counts), dtype=np.int64)
    offsets.flags.writeable = False
    return offsets


def subsets_of_size(n_items: int, size: int) -> Members:
    """All subsets of ``0..n_items-1`` with ``size`` members, ascending, in colex order."""
    out = np.empty((comb(n_items, size), size), dtype=np.int16)
    if 0 < size <= n_items:
        others = subsets_of_size(n_items - 1, size - 1)
        for largest in range(size - 1, n_items):
            start, stop = comb(largest, size), comb(largest + 1, size)
            out[start:stop, :-1] = others[: stop - start]
            out[start:stop, -1] = largest
    return out


@jitable
def subset_rank(members, size, binomials, offsets):
    """Place of an ascending set in the flat numbering of its item range."""
    rank = offsets[size]
    for i in range(size):
        rank += binomials[members[i], i + 1]
    return rank


@jitable
def family_rank(child, parents, size, binomials, offsets):
    """Place of an ascending parent set (node numbers) among the sets of this child."""
    rank = offsets[size]
    for i in range(size):
        parent = parents[i]
        rank += binomials[parent - 1 if parent > child else parent, i + 1]
    return rank


@kernel
def _differences(
    set_scores, members, is_wanted, binomials, set_offsets, family_offsets, out, start, stop
):
    """``out[v, Pa] = F(Pa + v) - F(Pa)`` for the sets ``members[start:stop]`` of one size.

    Only for children that are wanted.
    """
    size = members.shape[1]
    rest = np.empty(size, dtype=np.int16)
    for row in range(start, stop):
        total = set_scores[set_offsets[size] + row]
        for skipped in range(size):
            if not is_wanted[members[row, skipped]]:
                continue
            for i in range(size - 1):
                rest[i] = members[row, i if i < skipped else i + 1]
            child = members[row, skipped]
            parents_score = set_scores[subset_rank(rest, size - 1, binomials, set_offsets)]
            place = family_rank(child, rest, size - 1, binomials, family_offsets)
            out[child, place] = total - parents_score


Nodes = NDArray[np.integer]

PART = 20_000
"""Sets that a worker scores in one task."""


class LocalScore(Protocol):
    """Settings of a modular score, log P(G, D) = sum over nodes of s(node, parents)."""

    @property
    def name(self) -> str:
        """Short name, as given on the command line and written into results."""
        ...

    def bind(self, data: Dataset, *, allow_degenerate: bool = False) -> "FamilyScorer":
        """Check that the data suit the score and prepare what does not depend on the family."""
        ...


class GaussianPosterior(NamedTuple):
    """What data say about the parameters of linear Gaussian DAGs: an inverse Wishart law.

    Its matrix is R = ``scatter`` + ``shift`` ``shift``', over columns; ``owner`` has the node of
    each. ``degrees_of_freedom`` are those on no column, each column of a set adds one. ``scales``
    are the standard deviations of continuous nodes in the units of the data (1 for a constant one),
    0 for others; ``standardized`` says whether R is that of columns divided by them.
    """

    scatter: Scores
    shift: Scores
    degrees_of_freedom: float
    owner: NDArray[np.int64]
    scales: Scores
    standardized: bool


class FamilyScorer(ABC):
    """Log scores of families for one data set.

    ``gaussian`` is there if the score is the marginal likelihood of a linear Gaussian model: causal
    effects are computed from it. ``affordable`` is how many families can be scored within seconds.
    ``sensible_parents`` is how many parents nodes have at most by default, whatever can be scored;
    None if the score itself keeps sets small that the rows say nothing about.
    ``possible_edges`` [parent, child] are those that families with a finite score can have; None if
    nothing is known of that. ``is_for_threads`` says that any thread may ask for families; a user's
    own function is called by one.
    """

    n_nodes: int
    gaussian: GaussianPosterior | None = None
    affordable: int = 1_500_000
    sensible_parents: int | None = None
    possible_edges: NDArray[np.bool_] | None = None
    is_for_threads: bool = False

    @abstractmethod
    def families(self, child: int, parents: NDArray[np.integer]) -> Scores:
        """Scores of ``child`` with each row of ``parents`` (ascending, all of one size)."""

    def every_family(self, max_parents: int, pool: Executor | None = None) -> Scores:
        """All scores with at most ``max_parents`` parents, in the layout of ``scores.base``.

        The work is done by ``pool``, which may have its workers elsewhere, or by this process.
        """
        n = self.n_nodes
        out = np.empty((n, count_subsets(n - 1, max_parents)))
        self.fill_families(np.arange(n), max_parents, out, pool)
        return out

    def of(self, child: int) -> "FamilyScorer":
        """The scorer that computes the families of this child: itself, unless it delegates."""
        return self

    def fill_families(
        self, children: Nodes, max_parents: int, out: Scores, pool: Executor | None = None
    ) -> None:
        """Write the rows of ``children`` in the table of :meth:`every_family`."""
        n = self.n_nodes
        offsets = size_offsets(n - 1, max_parents)
        for size in range(max_parents + 1):
            others = subsets_of_size(n - 1, size)
            tasks = [(child, i) for child in children for i in range(0, len(others), PART)]
            owners = [child for child, _ in tasks]
            parents = [others[i : i + PART] + (others[i : i + PART] >= child) for child, i in tasks]
            scored = (map if pool is None else pool.map)(self.families, owners, parents)
            for (child, i), scores in zip(tasks, scored, strict=True):
                start = offsets[size] + i
                out[child, start : start + len(scores)] = scores


class SetScorer(FamilyScorer):
    """A score-equivalent score: s(v, Pa) = F(Pa + v) - F(Pa) for a function F of node sets.

    Every score that cannot tell Markov equivalent graphs apart has this form, and F has far
    fewer arguments than s, so it is F that gets computed: each node set once.
    """

    is_for_threads = True

    @abstractmethod
    def score_sets(self, members: Members, out: Scores, start: int, stop: int) -> None:
        """Write F of the rows ``start..stop`` of ``members`` (ascending, one size) to ``out``."""

    def families(self, child: int, parents: NDArray[np.integer]) -> Scores:
        """Scores of ``child`` with each row of ``parents``."""
        alone: Members = np.asarray(parents, dtype=np.int16)
        children = np.full(len(alone), child, dtype=np.int16)
        together: Members = np.sort(np.column_stack([alone, children]), axis=1)
        return np.subtract(self._any_sets(together), self._any_sets(alone))

    def _any_sets(self, members: Members) -> Scores:
        """F of rows in any order: they are scored in colex order, where neighbours share work."""
        out = np.empty(len(members))
        order = np.lexsort(members.T) if members.size else np.arange(len(members))
        out[order] = self.all_sets(members[order])
        return out

    def fill_families(
        self, children: Nodes, max_parents: int, out: Scores, pool: Executor | None = None
    ) -> None:
        """Write the rows of ``children`` in the table of :meth:`every_family`."""
        n = self.n_nodes
        is_wanted = np.isin(np.arange(n), children)
        set_offsets = size_offsets(n, max_parents + 1)
        family_offsets = size_offsets(n - 1, max_parents)
        binomials = binomial_table(n, max_parents + 1)
        set_scores = np.empty(set_offsets[-1])
        for size in range(max_parents + 2):
            members = subsets_of_size(n, size)
            scores = self.all_sets(members) if pool is None else self._spread(members, pool)
            set_scores[set_offsets[size] : set_offsets[size + 1]] = scores
            if size > 0:
                self._subtract(
                    set_scores, members, is_wanted, binomials, set_offsets, family_offsets, out
                )

    def all_sets(self, members: Members) -> Scores:
        """F of all rows of ``members`` (ascending, one size)."""
        out = np.empty(len(members))
        run_chunked(
            lambda start, stop: self.score_sets(members, out, start, stop),
            len(members),
            min_chunk=256,
        )
        return out

    def _spread(self, members: Members, pool: Executor) -> Scores:
        """F of all rows, in parts for the workers of ``pool``."""
        parts = [members[i : i + PART] for i in range(0, len(members), PART)]
        return np.concatenate(list(pool.map(self.all_sets, parts)))

    @staticmethod
    def _subtract(
        set_scores: Scores,
        members: Members,
        is_wanted: NDArray[np.bool_],
        binomials: NDArray[np.int64],
        set_offsets: NDArray[np.int64],
        family_offsets: NDArray[np.int64],
        out: Scores,
    ) -> None:
        run_chunked(
            lambda start, stop: _differences(
                set_scores,
                members,
                is_wanted,
                binomials,
                set_offsets,
                family_offsets,
                out,
                start,
                stop,
            ),
            len(members),
            min_chunk=1024,
        )

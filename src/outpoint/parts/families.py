"""The families of one node of a part: their scores, summed over the parents in earlier parts.

A parent set S is A + B, A within the part and B before it. What the part sees of the node is
``s_T(v, A) = log sum over B of exp s(v, A + B)``, where the limit on parents holds for A and B
together. Formulas: docs/math.md#exact-by-parts.
"""

from collections.abc import Collection, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats, Integers
from outpoint.scores import FamilyScorer, StructurePrior
from outpoint.scores.base import Members, size_offsets, subsets_of_size

PER_TASK = 200_000
"""Families that are scored at a time."""


@dataclass(frozen=True, eq=False)
class NodeFamilies:
    """All parent sets of ``child`` within ``parents``, of at most ``max_size`` members.

    They are numbered by size, and within a size in colexicographic order, as ``scores`` (prior
    included) has them. ``masks`` gives the members within the part, by their places among the other
    nodes of the part, of which there are ``n_inner``.
    """

    child: int
    parents: Integers
    max_size: int
    n_inner: int
    scores: Floats
    masks: NDArray[np.int32]

    def blocks(self) -> Iterator[tuple[slice, Members]]:
        """The sets of each size, by the places of their members among ``parents``."""
        yield from _blocks(len(self.parents), self.max_size)

    def number_of(self, members: Collection[int]) -> int | None:
        """The number of a set of nodes; None for one that the child cannot have."""
        places = np.searchsorted(self.parents, sorted(members))
        is_known = len(places) <= self.max_size and (places < len(self.parents)).all()
        if not is_known or (self.parents[places] != sorted(members)).any():
            return None
        start = int(size_offsets(len(self.parents), self.max_size)[len(places)])
        return start + sum(comb(int(place), i + 1) for i, place in enumerate(places))

    def members_of(self, numbers: Integers) -> NDArray[np.int16]:
        """The sets with these numbers, as rows of nodes that are padded with -1."""
        found = np.full((len(numbers), self.max_size), -1, dtype=np.int16)
        for own, rows in self.blocks():
            places = np.flatnonzero((numbers >= own.start) & (numbers < own.stop))
            found[places, : rows.shape[1]] = self.parents[rows[numbers[places] - own.start]]
        return found

    def fill_edges(self, numbers: Integers, out: Booleans) -> None:
        """Mark in ``out`` (draw, parent) the members of the sets with these numbers."""
        for own, rows in self.blocks():
            draws = np.flatnonzero((numbers >= own.start) & (numbers < own.stop))
            out[draws[:, None], self.parents[rows[numbers[draws] - own.start]]] = True

    def meets(self, nodes: Booleans) -> Booleans:
        """Which of the sets have a member among ``nodes``."""
        found = np.empty(len(self.scores), dtype=np.bool_)
        for own, rows in self.blocks():
            found[own] = nodes[self.parents][rows].any(axis=1)
        return found

    def add_by_parent(self, weights: Floats, out: Floats) -> None:
        """Add the weights of all sets to those of their members, in ``out`` by node."""
        for own, rows in self.blocks():
            spread = np.repeat(weights[own], rows.shape[1])
            out[self.parents] += np.bincount(rows.ravel(), spread, minlength=len(self.parents))

    def fold(self, values: Floats, apart: Booleans | None = None) -> Floats:
        """Log sums of exp ``values`` over the sets with the same members within the part.

        With ``apart`` those for which it is true are summed apart, and come second.
        """
        masks, size = self.masks, 1 << self.n_inner
        if apart is not None:
            masks, size = masks | (apart.astype(np.int32) << self.n_inner), 2 * size
        top = np.full(size, -np.inf)
        np.maximum.at(top, masks, values)
        unit = np.where(np.isfinite(top), top, 0.0)
        total = np.bincount(masks, np.exp(values - unit[masks]), minlength=size)
        with np.errstate(divide="ignore"):
            return unit + np.log(total)

    def fold_best(self) -> Floats:
        """The largest score of the sets with the same members within the part."""
        top = np.full(1 << self.n_inner, -np.inf)
        np.maximum.at(top, self.masks, self.scores)
        return top

    def unfold(self, folded: Floats, log_inner: Floats) -> Floats:
        """Log probabilities of all sets, from those of their members within the part."""
        with np.errstate(invalid="ignore"):
            log_share = self.scores - folded[self.masks]
            log_sets = np.minimum(0.0, log_inner[self.masks] + log_share)
        return np.where(np.isneginf(self.scores), -np.inf, log_sets)

    def sample(self, masks: Integers, folded: Floats, uniform: Floats) -> Integers:
        """The number of a set for each draw, given its members within the part."""
        order = np.argsort(self.masks, kind="stable")
        ranked = self.masks[order]
        chosen = np.empty(len(masks), dtype=np.intp)
        for mask in np.unique(masks):
            draws = np.flatnonzero(masks == mask)
            own = order[slice(*np.searchsorted(ranked, [mask, mask + 1]))]
            sums = np.cumsum(np.exp(self.scores[own] - folded[mask]))
            picked = np.searchsorted(sums, uniform[draws] * sums[-1], side="right")
            chosen[draws] = own[np.minimum(picked, len(own) - 1)]
        return chosen

    def log_prior(self, prior: StructurePrior) -> Floats:
        """Log prior weights of the sets that have a score."""
        out = np.empty_like(self.scores)
        for own, rows in self.blocks():
            out[own] = prior.log_weights(self.child, self.parents[rows])
        return np.where(np.isneginf(self.scores), -np.inf, out)


def score_node(
    child: int,
    part: Integers,
    possible: Booleans,
    scorer: FamilyScorer,
    prior: StructurePrior,
    max_parents: int,
    pool: Executor | None = None,
) -> NodeFamilies:
    """Score all families of a node of ``part``; ``possible`` are its possible parents."""
    parents = np.flatnonzero(possible)
    limit = min(max_parents, len(parents))
    others = part[part != child]
    bits = np.zeros(len(parents), dtype=np.int32)
    is_inner = np.isin(parents, others)
    bits[is_inner] = 1 << np.searchsorted(others, parents[is_inner])
    n_sets = int(size_offsets(len(parents), limit)[-1])
    scores, masks = np.empty(n_sets), np.empty(n_sets, dtype=np.int32)
    for own, rows in _blocks(len(parents), limit):
        sets = parents[rows].astype(np.int16)
        scores[own] = _score(scorer, child, sets, pool) + prior.log_weights(child, sets)
        masks[own] = bits[rows].sum(axis=1)
    return NodeFamilies(child, parents, limit, len(others), scores, masks)


def _blocks(n_parents: int, max_size: int) -> Iterator[tuple[slice, Members]]:
    offsets = size_offsets(n_parents, max_size).tolist()
    for size in range(max_size + 1):
        yield slice(offsets[size], offsets[size + 1]), subsets_of_size(n_parents, size)


def _score(scorer: FamilyScorer, child: int, sets: Members, pool: Executor | None) -> Floats:
    if len(sets) <= PER_TASK:
        return scorer.families(child, sets)
    parts = [sets[i : i + PER_TASK] for i in range(0, len(sets), PER_TASK)]
    scored = (map if pool is None else pool.map)(scorer.families, [child] * len(parts), parts)
    return np.concatenate(list(scored))

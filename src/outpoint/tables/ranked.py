"""Parent sets in descending order of score, for drawing one and for sums with few terms.

One flat array for all nodes: the sets of node v stand at ``start[v]..start[v+1]``. ``log_tail``
is the log sum of a set and all after it within its node, so a scan can stop as soon as what is
left cannot matter.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import kernel
from outpoint.scores.families import Scores, size_offsets, subsets_of_size
from outpoint.tables.logspace import log_add


class RankedMasks(NamedTuple):
    """The finite entries of the dense part, best first."""

    start: NDArray[np.int64]
    mask: NDArray[np.uint32]
    score: NDArray[np.float64]
    log_tail: NDArray[np.float64]


class OutsideSets(NamedTuple):
    """Sets with a member outside the candidates, best first; short rows are padded with -1."""

    start: NDArray[np.int64]
    members: NDArray[np.int16]
    score: NDArray[np.float64]
    log_tail: NDArray[np.float64]


def rank_dense(dense: NDArray[np.float64]) -> RankedMasks:
    """Sort the dense scores of every node."""
    masks = []
    for scores in dense:
        finite = np.flatnonzero(scores > -np.inf)
        masks.append(finite[np.argsort(-scores[finite], kind="stable")].astype(np.uint32))
    start = _starts(masks)
    mask = np.concatenate(masks)
    score = np.concatenate([scores[m] for scores, m in zip(dense, masks, strict=True)])
    return _frozen(RankedMasks(start, mask, score, log_tails(start, score)))


def rank_outside(
    families: Scores, scored_parents: int, candidates: NDArray[np.int32]
) -> OutsideSets:
    """Sort the scored sets of every node that are not subsets of its candidates."""
    n, n_candidates = candidates.shape
    width = max(scored_parents, 1)
    if n_candidates == n - 1:
        none = np.zeros(0)
        return _frozen(
            OutsideSets(
                np.zeros(n + 1, dtype=np.int64), np.zeros((0, width), dtype=np.int16), none, none
            )
        )
    offsets = size_offsets(n - 1, scored_parents)
    blocks = [_padded(subsets_of_size(n - 1, size), width) for size in range(scored_parents + 1)]
    others = np.concatenate(blocks)
    members, scores = [], []
    for child in range(n):
        parents = np.where(others >= child, others + 1, others).astype(np.int16)
        is_candidate = np.zeros(n + 1, dtype=np.bool_)
        is_candidate[candidates[child]] = True
        is_candidate[-1] = True  # padding
        row = families[child, : offsets[-1]]
        chosen = np.flatnonzero(~is_candidate[parents].all(axis=1) & (row > -np.inf))
        chosen = chosen[np.argsort(-row[chosen], kind="stable")]
        members.append(parents[chosen])
        scores.append(row[chosen])
    start = _starts(scores)
    score = np.concatenate(scores)
    return _frozen(OutsideSets(start, np.concatenate(members), score, log_tails(start, score)))


def rank_containing(ranked: RankedMasks, n_candidates: int) -> RankedMasks:
    """The ranking split up: row ``v * n_candidates + i`` holds v's sets with its i-th candidate."""
    start = _starts_from(_count_containing(ranked, n_candidates))
    mask = np.empty(start[-1], dtype=np.uint32)
    score = np.empty(start[-1])
    _fill_containing(ranked, n_candidates, start[:-1].copy(), mask, score)
    return _frozen(RankedMasks(start, mask, score, log_tails(start, score)))


@kernel
def _count_containing(ranked, n_candidates):
    n = ranked.start.size - 1
    counts = np.zeros(n * n_candidates, dtype=np.int64)
    for node in range(n):
        for i in range(ranked.start[node], ranked.start[node + 1]):
            mask = np.int64(ranked.mask[i])
            for position in range(n_candidates):
                counts[node * n_candidates + position] += mask >> position & 1
    return counts


@kernel
def _fill_containing(ranked, n_candidates, free, mask_out, score_out):
    n = ranked.start.size - 1
    for node in range(n):
        for i in range(ranked.start[node], ranked.start[node + 1]):
            mask = np.int64(ranked.mask[i])
            for position in range(n_candidates):
                if mask >> position & 1:
                    row = node * n_candidates + position
                    mask_out[free[row]] = ranked.mask[i]
                    score_out[free[row]] = ranked.score[i]
                    free[row] += 1


def _padded(sets: NDArray[np.int16], width: int) -> NDArray[np.int16]:
    out = np.full((len(sets), width), -1, dtype=np.int16)
    out[:, : sets.shape[1]] = sets
    return out


def _starts(parts):
    return _starts_from([len(part) for part in parts])


def _starts_from(counts):
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _frozen(ranked):
    for array in ranked:
        array.flags.writeable = False
    return ranked


@kernel
def log_tails(start, score):
    """Log sum of each entry and all after it within its row."""
    out = np.empty_like(score)
    for node in range(start.size - 1):
        tail = -np.inf
        for i in range(start[node + 1] - 1, start[node] - 1, -1):
            tail = log_add(tail, score[i])
            out[i] = tail
    return out

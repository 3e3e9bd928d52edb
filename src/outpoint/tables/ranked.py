"""Parent sets in descending order of score, for drawing one and for sums with few terms.

One flat array for all nodes: the sets of node v stand at ``start[v]..start[v+1]``. The log sum of a
set and all after it within its node lets a scan stop as soon as what is left cannot matter.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import kernel
from outpoint.tables.logspace import log_add
from outpoint.tables.rows import Rows


class MaskLists(NamedTuple):
    """Masks in rows, best first; the dense part has their scores."""

    start: NDArray[np.int64]
    mask: NDArray[np.uint32]


def rank_dense(dense: Rows) -> MaskLists:
    """The masks of every node with a finite score."""
    masks = []
    for scores in dense:
        finite = np.flatnonzero(scores > -np.inf)
        masks.append(finite[np.argsort(-scores[finite], kind="stable")].astype(np.uint32))
    return frozen(MaskLists(starts(masks), np.concatenate(masks)))


def rank_containing(ranked: MaskLists, n_candidates: int) -> MaskLists:
    """The ranking split up: row ``v * n_candidates + i`` holds v's sets with its i-th candidate.

    Rows are empty where a node has fewer than ``n_candidates``.
    """
    start = starts_from(_count_containing(ranked, n_candidates))
    mask = np.empty(start[-1], dtype=np.uint32)
    _fill_containing(ranked, n_candidates, start[:-1].copy(), mask)
    return frozen(MaskLists(start, mask))


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
def _fill_containing(ranked, n_candidates, free, mask_out):
    n = ranked.start.size - 1
    for node in range(n):
        for i in range(ranked.start[node], ranked.start[node + 1]):
            mask = np.int64(ranked.mask[i])
            for position in range(n_candidates):
                if mask >> position & 1:
                    row = node * n_candidates + position
                    mask_out[free[row]] = ranked.mask[i]
                    free[row] += 1


def starts(parts):
    """Where each part begins, and the last one ends, when they stand one after the other."""
    return starts_from([len(part) for part in parts])


def starts_from(counts):
    """The same from the lengths of the parts."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def frozen(arrays):
    """A tuple of arrays, made read-only."""
    for array in arrays:
        array.flags.writeable = False
    return arrays


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

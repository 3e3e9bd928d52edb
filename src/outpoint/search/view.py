"""What a search over partitions reads of a score table: maxima in place of sums."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import kernel, run_chunked
from outpoint.search.winners import winners_outside
from outpoint.tables import ScoreTable
from outpoint.tables.bits import insert_bit
from outpoint.tables.logspace import max_over_subsets
from outpoint.tables.ranked import frozen
from outpoint.tables.view import candidate_positions


class SearchView(NamedTuple):
    """Read-only arrays; sets outside the candidates stand as in ``OutsideSets``, best first.

    ``bit[u, v]`` is u's bit in the masks of v, 0 if u is no candidate of v; ``position[v, u]`` is
    its number, or -1. ``containing[v, i, W]`` is the best score of a set with v's i-th candidate
    and otherwise within W (renumbered by ``skip_bit``).
    """

    candidates: NDArray[np.int32]
    bit: NDArray[np.int32]
    position: NDArray[np.int16]
    maxima: NDArray[np.float64]
    containing: NDArray[np.float64]
    start: NDArray[np.int64]
    members: NDArray[np.int16]
    score: NDArray[np.float64]


def view_maxima(table: ScoreTable) -> SearchView:
    """Gather what a search over partitions needs."""
    position = candidate_positions(table.candidates)
    bit = np.where(position >= 0, 1 << np.maximum(position, 0).astype(np.int32), 0).T.astype(
        np.int32
    )
    start, members, score = winners_outside(table)
    view = SearchView(
        table.candidates,
        np.ascontiguousarray(bit),
        position,
        table.maxima,
        containing_maxima(table.dense),
        start,
        members,
        score,
    )
    return frozen(view)


def containing_maxima(dense: NDArray[np.float64]) -> NDArray[np.float64]:
    """``[v, i, W]``: the best score of the sets with v's i-th candidate, otherwise within W."""
    n, size = dense.shape
    n_candidates = size.bit_length() - 1
    out = np.empty((n, n_candidates, size // 2))

    def work(begin: int, end: int) -> None:
        for item in range(begin, end):
            child, position = divmod(item, n_candidates)
            _gather_containing(dense[child], position, out[child, position])
            max_over_subsets(out[child, position])

    run_chunked(work, n * n_candidates)
    return out


@kernel
def _gather_containing(scores, position, out):
    for rest in range(out.size):
        out[rest] = scores[insert_bit(rest, position) | (1 << position)]

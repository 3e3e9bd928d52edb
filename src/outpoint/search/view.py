"""What a search over partitions reads of a score table: maxima in place of sums."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import inlined
from outpoint.search.winners import Winners
from outpoint.tables import ScoreTable
from outpoint.tables.bits import skip_bit
from outpoint.tables.dense import containing_maxima
from outpoint.tables.ranked import frozen
from outpoint.tables.view import candidate_bits, candidate_positions


class SearchView(NamedTuple):
    """Read-only arrays; winning sets outside the candidates stand as in ``Winners``, best first.

    ``bit[u, v]`` is u's bit in the masks of v, 0 if u is no candidate of v; ``position[v, u]`` is
    its number, or -1. ``containing`` has, from ``containing_start[v]`` on, [i, W]: the best score
    of a set with v's i-th candidate and otherwise within W (renumbered by ``skip_bit``).
    """

    bit: NDArray[np.int32]
    position: NDArray[np.int16]
    mask_start: NDArray[np.int64]
    maxima: NDArray[np.float64]
    containing_start: NDArray[np.int64]
    containing: NDArray[np.float64]
    start: NDArray[np.int64]
    members: NDArray[np.int16]
    score: NDArray[np.float64]


def view_maxima(table: ScoreTable, winners: Winners) -> SearchView:
    """Gather what a search over partitions needs."""
    containing = containing_maxima(table.dense)
    view = SearchView(
        np.ascontiguousarray(candidate_bits(table.candidates).T),
        candidate_positions(table.candidates),
        table.maxima.start,
        table.maxima.values,
        containing.start,
        containing.values,
        winners.start,
        winners.members,
        winners.score,
    )
    return frozen(view)


@inlined
def best_containing(view, child, position, allowed):
    """The best score of ``child`` with a candidate, and otherwise with those in ``allowed``."""
    half = (view.mask_start[child + 1] - view.mask_start[child]) >> 1
    return view.containing[
        view.containing_start[child] + position * half + skip_bit(allowed, position)
    ]

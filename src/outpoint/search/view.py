"""What a search over partitions reads of a score table: maxima in place of sums."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.search.winners import Winners
from outpoint.tables import ScoreTable
from outpoint.tables.dense import containing_maxima
from outpoint.tables.ranked import frozen
from outpoint.tables.view import candidate_bits, candidate_positions


class SearchView(NamedTuple):
    """Read-only arrays; winning sets outside the candidates stand as in ``Winners``, best first.

    ``bit[u, v]`` is u's bit in the masks of v, 0 if u is no candidate of v; ``position[v, u]`` is
    its number, or -1. ``containing[v, i, W]`` is the best score of a set with v's i-th candidate
    and otherwise within W (renumbered by ``skip_bit``).
    """

    bit: NDArray[np.int32]
    position: NDArray[np.int16]
    maxima: NDArray[np.float64]
    containing: NDArray[np.float64]
    start: NDArray[np.int64]
    members: NDArray[np.int16]
    score: NDArray[np.float64]


def view_maxima(table: ScoreTable, winners: Winners) -> SearchView:
    """Gather what a search over partitions needs."""
    view = SearchView(
        np.ascontiguousarray(candidate_bits(table.candidates).T),
        candidate_positions(table.candidates),
        table.maxima,
        containing_maxima(table.dense),
        winners.start,
        winners.members,
        winners.score,
    )
    return frozen(view)

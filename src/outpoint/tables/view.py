"""TableView: the dense part of a score table as compiled samplers take it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.tables.ranked import RankedMasks, rank_containing
from outpoint.tables.table import ScoreTable


class TableView(NamedTuple):
    """Read-only arrays; ``position[v, u]`` is u's place among the candidates of v, or -1.

    ``bit[u, v]`` is u's bit in the masks of v, 0 if u is no candidate of v.
    ``containing`` ranks the sets of v with its i-th candidate as row ``v * n_candidates + i``.
    """

    candidates: NDArray[np.int32]
    position: NDArray[np.int32]
    bit: NDArray[np.int32]
    dense: NDArray[np.float64]
    log_sums: NDArray[np.float64]
    omega: NDArray[np.float64]
    ranked: RankedMasks
    containing: RankedMasks


def view_table(table: ScoreTable) -> TableView:
    """Compute what is missing and gather the arrays."""
    n, n_candidates = table.candidates.shape
    position = np.full((n, n), -1, dtype=np.int32)
    for child in range(n):
        position[child, table.candidates[child]] = np.arange(n_candidates)
    bit = np.where(position >= 0, 1 << np.maximum(position, 0), 0).T.astype(np.int32)
    bit = np.ascontiguousarray(bit)
    position.flags.writeable = bit.flags.writeable = False
    return TableView(
        table.candidates,
        position,
        bit,
        table.dense,
        table.log_sums,
        table.omega,
        table.ranked,
        rank_containing(table.ranked, n_candidates),
    )

"""TableView: the dense part of a score table as compiled samplers take it."""

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

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


def save_view(view: TableView, directory: Path) -> None:
    """Write the arrays as files that workers can map into memory."""
    directory.mkdir(exist_ok=True)
    for name, array in _named_arrays(view).items():
        beside = directory / f".{name}.npy"
        np.save(beside, array, allow_pickle=False)
        beside.replace(directory / f"{name}.npy")


@lru_cache(maxsize=2)
def open_view(directory: Path) -> TableView:
    """The view in a directory, mapped into memory and shared by all processes of a machine."""

    def read(name: str) -> NDArray[Any]:
        mapped = np.load(directory / f"{name}.npy", mmap_mode="r", allow_pickle=False)
        return np.asarray(mapped)

    parts: dict[str, Any] = {
        part: RankedMasks(*(read(f"{part}.{name}") for name in RankedMasks._fields))
        for part in ("ranked", "containing")
    }
    for name in TableView._fields:
        if name not in parts:
            parts[name] = read(name)
    return TableView(**parts)


def _named_arrays(view: TableView) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    for name, part in view._asdict().items():
        if isinstance(part, RankedMasks):
            arrays |= {f"{name}.{own}": array for own, array in part._asdict().items()}
        else:
            arrays[name] = part
    return arrays

"""TableView: a score table as compiled samplers take it."""

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.tables.outside import OutsideSets, no_outside
from outpoint.tables.penalty import penalty_curves
from outpoint.tables.ranked import MaskLists, rank_containing, starts_from
from outpoint.tables.table import ScoreTable

PARTS: dict[str, Any] = {"ranked": MaskLists, "containing": MaskLists, "outside": OutsideSets}


class TableView(NamedTuple):
    """Read-only arrays; ``position[v, u]`` is u's place among the candidates of v, or -1.

    ``children[child_start[u]:child_start[u + 1]]`` are the nodes with u among their candidates.
    ``ranked`` lists the inside sets of v as row v, best first, ``containing`` those with its i-th
    candidate as row ``v * n_candidates + i``.
    ``penalty`` is what outside sets lose in tempered replicas, see :mod:`outpoint.tables.penalty`.
    """

    candidates: NDArray[np.int32]
    position: NDArray[np.int16]
    child_start: NDArray[np.int64]
    children: NDArray[np.int32]
    dense: NDArray[np.float64]
    log_sums: NDArray[np.float64]
    omega: NDArray[np.float64]
    ranked: MaskLists
    containing: MaskLists
    outside: OutsideSets
    penalty: NDArray[np.float64]


def view_table(table: ScoreTable) -> TableView:
    """Compute what is missing and gather the arrays."""
    position = candidate_positions(table.candidates)
    is_candidate = position.T >= 0
    view = TableView(
        table.candidates,
        position,
        starts_from(is_candidate.sum(axis=1)),
        np.nonzero(is_candidate)[1].astype(np.int32),
        table.dense,
        table.log_sums,
        table.omega,
        table.ranked,
        rank_containing(table.ranked, table.candidates.shape[1]),
        table.outside,
        penalty_curves(table.outside),
    )
    for array in _named_arrays(view).values():
        array.flags.writeable = False
    return view


def inside_only(view: TableView) -> TableView:
    """The view without outside sets."""
    return view._replace(outside=no_outside(len(view.candidates)))


def candidate_positions(candidates: NDArray[np.int32]) -> NDArray[np.int16]:
    """``[v, u]``: the place of u among the candidates of v, or -1."""
    n, n_candidates = candidates.shape
    position = np.full((n, n), -1, dtype=np.int16)
    for child in range(n):
        position[child, candidates[child]] = np.arange(n_candidates)
    return position


def candidate_bits(candidates: NDArray[np.int32]) -> NDArray[np.int32]:
    """``[v, u]``: the bit of u in masks over the candidates of v, 0 if it is none of them."""
    position = candidate_positions(candidates)
    return np.where(position >= 0, 1 << np.maximum(position, 0).astype(np.int32), 0)


def most_parents(view: TableView) -> int:
    """Room that the largest parent set may need."""
    return max(view.candidates.shape[1], view.outside.members.shape[1])


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
        part: kind(*(read(f"{part}.{name}") for name in kind._fields))
        for part, kind in PARTS.items()
    }
    for name in TableView._fields:
        if name not in parts:
            parts[name] = read(name)
    return TableView(**parts)


def _named_arrays(view: TableView) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    for name, part in view._asdict().items():
        if name in PARTS:
            arrays |= {f"{name}.{own}": array for own, array in part._asdict().items()}
        else:
            arrays[name] = part
    return arrays

"""TableView: a score table as compiled samplers take it."""

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import inlined
from outpoint.tables.dense import MaskLists, rank_containing, starts_from
from outpoint.tables.logspace import skip_bit
from outpoint.tables.near import NearSets, tabulate_near
from outpoint.tables.outside import OutsideSets, penalty_curves
from outpoint.tables.parent_sets import count_candidates
from outpoint.tables.table import ScoreTable

PARTS: dict[str, Any] = {
    "ranked": MaskLists,
    "containing": MaskLists,
    "outside": OutsideSets,
    "near": NearSets,
}


class TableView(NamedTuple):
    """Read-only arrays; ``position[v, u]`` is u's place among the candidates of v, or -1.

    ``candidates`` are padded with -1 behind the ``n_candidates[v]`` of node v.
    ``children[child_start[u]:child_start[u + 1]]`` are the nodes with u among their candidates.
    ``dense`` and ``log_sums`` of node v begin at ``mask_start[v]``, ``omega`` at
    ``omega_start[v]``: :func:`inside_score` and its like read them.
    ``ranked`` lists the inside sets of v as row v, best first, ``containing`` those with its i-th
    candidate as row ``v * candidates.shape[1] + i``.
    ``penalty`` is what outside sets lose in tempered replicas, see :mod:`outpoint.tables.outside`.
    """

    candidates: NDArray[np.int32]
    n_candidates: NDArray[np.int64]
    position: NDArray[np.int16]
    child_start: NDArray[np.int64]
    children: NDArray[np.int32]
    mask_start: NDArray[np.int64]
    omega_start: NDArray[np.int64]
    dense: NDArray[np.float64]
    log_sums: NDArray[np.float64]
    omega: NDArray[np.float64]
    ranked: MaskLists
    containing: MaskLists
    outside: OutsideSets
    near: NearSets
    penalty: NDArray[np.float64]


def view_table(table: ScoreTable) -> TableView:
    """Compute what is missing and gather the arrays."""
    position = candidate_positions(table.candidates)
    is_candidate = position.T >= 0
    view = TableView(
        table.candidates,
        count_candidates(table.candidates),
        position,
        starts_from(is_candidate.sum(axis=1)),
        np.nonzero(is_candidate)[1].astype(np.int32),
        table.dense.start,
        table.omega.start,
        table.dense.values,
        table.log_sums.values,
        table.omega.values,
        table.ranked,
        rank_containing(table.ranked, table.candidates.shape[1]),
        table.outside,
        tabulate_near(table, position),
        penalty_curves(table.outside),
    )
    for array in _named_arrays(view).values():
        array.flags.writeable = False
    return view


@inlined
def inside_score(view, node, mask):
    """The score of ``node`` with the candidates in ``mask``."""
    return view.dense[view.mask_start[node] + mask]


@inlined
def inside_sum(view, node, mask):
    """The log sum over the sets of candidates of ``node`` within ``mask``."""
    return view.log_sums[view.mask_start[node] + mask]


@inlined
def sum_containing(view, node, position, allowed):
    """The log sum over sets with the candidate at ``position``, the others within ``allowed``."""
    row = view.omega_start[node] + (np.int64(position) << (view.n_candidates[node] - 1))
    return view.omega[row + skip_bit(allowed, position)]


def empty_scores(view: TableView) -> NDArray[np.float64]:
    """The score of every node without parents."""
    return view.dense[view.mask_start[:-1]]


def candidate_positions(candidates: NDArray[np.int32]) -> NDArray[np.int16]:
    """``[v, u]``: the place of u among the candidates of v, or -1."""
    n = len(candidates)
    position = np.full((n, n), -1, dtype=np.int16)
    for child, number in enumerate(count_candidates(candidates)):
        position[child, candidates[child, :number]] = np.arange(number)
    return position


def candidate_bits(candidates: NDArray[np.int32]) -> NDArray[np.int32]:
    """``[v, u]``: the bit of u in masks over the candidates of v, 0 if it is not one of them."""
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

"""Missing levels of categorical columns, drawn one by one given all other cells and the DAG.

The parameters are integrated out. Without the row in question a family (v, Pa) has counts N_jk of
level k in configuration j of the parents, and the probability of its level in that row is

    (N_jk + a_jk) / (N_j + a_j),    a_jk = e / (q r),  a_j = e / q,

so that a missing level has the product of these over the families that its cell is in: its own and
those of its children. Every draw is one from the exact conditional distribution given the DAG and
all other cells of the table.

Formulas: docs/math.md#missing-values.
"""

from typing import Any

import numpy as np

from outpoint.arrays import Booleans, Floats
from outpoint.data import Dataset
from outpoint.kernels import inlined, kernel
from outpoint.missing.cells import Cells


class CategoricalCells(Cells):
    """Missing cells of categorical data under the BDeu score."""

    def __init__(self, data: Dataset, score: Any) -> None:
        super().__init__(data, score)
        self._sizes = np.array([len(levels or ()) for levels in data.levels], dtype=np.int64)
        self._cells = np.argwhere(self.missing)

    def redraw(self, values: Floats, dag: Booleans, rng: np.random.Generator) -> None:
        """Draw every missing level once, in place."""
        codes = values.astype(np.int64)
        draw_levels(
            codes,
            self._cells,
            dag,
            self.data.is_set,
            self._sizes,
            float(self.score.equivalent_sample_size),
            rng,
        )
        values[self.missing] = codes[self.missing]


def draw_levels(
    codes: np.ndarray[Any, Any],
    cells: np.ndarray[Any, Any],
    dag: Booleans,
    is_set: Booleans,
    sizes: np.ndarray[Any, Any],
    sample_size: float,
    rng: np.random.Generator,
) -> None:
    """Draw the levels of the ``cells`` (row, column) one after the other, in place."""
    parents, first_parent = listed(dag.T)
    children, first_child = listed(dag)
    has_holes = np.isin(np.arange(len(dag)), cells[:, 1])
    affected = np.flatnonzero(has_holes | dag[has_holes].any(axis=0))
    n_changes = int((1 + np.diff(first_child))[cells[:, 1]].sum())
    room = 2 * (len(affected) * len(codes) + n_changes)
    capacity = 1 << int(np.ceil(np.log2(2 * room + 2)))
    _draw_levels(
        codes,
        cells,
        (parents, first_parent, children, first_child),
        affected,
        is_set,
        sizes,
        sample_size,
        _multipliers(len(dag)),
        (np.zeros(capacity, dtype=np.int64), np.zeros(capacity, dtype=np.int64)),
        rng,
    )


def listed(adjacency: Booleans) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The members of every row one after the other, and where those of each row begin."""
    first = np.concatenate([[0], np.cumsum(adjacency.sum(axis=1))])
    return np.nonzero(adjacency)[1], first


def _multipliers(n_nodes: int) -> np.ndarray[Any, Any]:
    """Odd numbers by which configurations are hashed: two for every node, and one for its family.

    Two configurations share a number of 64 bits with a probability that does not matter.
    """
    rng = np.random.default_rng(n_nodes)
    return rng.integers(-(2**62), 2**62, size=(3, n_nodes)) * 2 + 1


@inlined
def _parents_key(codes, row, node, parents, first, multipliers):
    """A number for the configuration of a node's parents in a row."""
    key = multipliers[2, node]
    for i in range(first[node], first[node + 1]):
        key += multipliers[0, parents[i]] * (codes[row, parents[i]] + 1)
    return key


@inlined
def _find(keys, key):
    """The place of a key, or the empty one where it belongs; 0 stands for empty."""
    mask = keys.size - 1
    place = (key ^ (key >> 29)) & mask
    while keys[place] != 0 and keys[place] != key:
        place = (place + 1) & mask
    return place


@inlined
def _count(keys, counts, key, change):
    place = _find(keys, key)
    keys[place] = key
    counts[place] += change


@inlined
def _count_family(codes, row, node, parents, first, multipliers, keys, counts, change):
    """Add a row to the counts of a family, or take it away."""
    key = _parents_key(codes, row, node, parents, first, multipliers)
    _count(keys, counts, key, change)
    _count(keys, counts, key + multipliers[1, node] * (codes[row, node] + 1), change)


@kernel
def _draw_levels(
    codes, cells, structure, affected, is_set, sizes, sample_size, multipliers, table, rng
):
    """Draw each cell given all others; the counts in ``table`` are kept up to date."""
    parents, first_parent, children, first_child = structure
    keys, counts = table
    n_configurations = np.ones(sizes.size)
    for node in range(sizes.size):
        for i in range(first_parent[node], first_parent[node + 1]):
            n_configurations[node] *= sizes[parents[i]]
    for node in affected:
        for row in range(codes.shape[0]):
            if not is_set[row, node]:
                _count_family(codes, row, node, parents, first_parent, multipliers, keys, counts, 1)
    weights = np.empty(sizes.max())
    for cell in range(cells.shape[0]):
        row, node = cells[cell, 0], cells[cell, 1]
        _count_family(codes, row, node, parents, first_parent, multipliers, keys, counts, -1)
        for i in range(first_child[node], first_child[node + 1]):
            if not is_set[row, children[i]]:
                _count_family(
                    codes, row, children[i], parents, first_parent, multipliers, keys, counts, -1
                )
        key = _parents_key(codes, row, node, parents, first_parent, multipliers)
        prior = sample_size / n_configurations[node] / sizes[node]
        total = 0.0
        for level in range(sizes[node]):
            weight = counts[_find(keys, key + multipliers[1, node] * (level + 1))] + prior
            codes[row, node] = level
            for i in range(first_child[node], first_child[node + 1]):
                child = children[i]
                if not is_set[row, child]:
                    alone = sample_size / n_configurations[child]
                    own = _parents_key(codes, row, child, parents, first_parent, multipliers)
                    seen = counts[_find(keys, own)] + alone
                    both = own + multipliers[1, child] * (codes[row, child] + 1)
                    weight *= (counts[_find(keys, both)] + alone / sizes[child]) / seen
            total += weight
            weights[level] = total
        pick = rng.random() * total
        level = 0
        while level < sizes[node] - 1 and weights[level] <= pick:
            level += 1
        codes[row, node] = level
        _count_family(codes, row, node, parents, first_parent, multipliers, keys, counts, 1)
        for i in range(first_child[node], first_child[node + 1]):
            if not is_set[row, children[i]]:
                _count_family(
                    codes, row, children[i], parents, first_parent, multipliers, keys, counts, 1
                )

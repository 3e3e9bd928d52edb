"""Missing levels of categorical columns, drawn one by one given all other cells and the DAG.

The parameters are integrated out. Without the row in question a family (v, Pa) has counts N_jk of
level k in configuration j of the parents, and the probability of its level in that row is

    (N_jk + a_jk) / (N_j + a_j),    a_jk = e / (q r),  a_j = e / q,

so that a missing level has the product of these over the families that its cell is in: its own and
those of its children. In a table of slices the same value stands in several rows, which may have a
family in common: they are then counted one after the other. Every draw is one from the exact
conditional distribution given the DAG and all other values of the table.

Formulas: docs/math.md#missing-values.
"""

from typing import Any

import numpy as np

from outpoint.arrays import Booleans, Floats
from outpoint.data import Dataset
from outpoint.kernels import inlined, kernel
from outpoint.missing.cells import Cells
from outpoint.missing.unknowns import Unknowns


class CategoricalCells(Cells):
    """Missing cells of categorical data under the BDeu score."""

    def __init__(self, data: Dataset, score: Any) -> None:
        super().__init__(data, score)
        self._sizes = np.array([len(levels or ()) for levels in data.levels], dtype=np.int64)

    def draw(self, values: Floats, dag: Booleans, rng: np.random.Generator) -> None:
        """Draw every missing level once, in place."""
        codes = values.astype(np.int64)
        sample_size = float(self.score.equivalent_sample_size)
        draw_levels(codes, self.unknowns, dag, self.is_used, self._sizes, sample_size, rng)
        values[self.missing] = codes[self.missing]


def draw_levels(
    codes: np.ndarray[Any, Any],
    unknowns: Unknowns,
    dag: Booleans,
    is_used: Booleans,
    sizes: np.ndarray[Any, Any],
    sample_size: float,
    rng: np.random.Generator,
) -> None:
    """Draw the levels of the unknowns one after the other, in place."""
    parents, first_parent = listed(dag.T)
    children, first_child = listed(dag)
    has_holes = np.isin(np.arange(len(dag)), unknowns.nodes)
    affected = np.flatnonzero(has_holes | dag[has_holes].any(axis=0))
    tried = (1 + np.diff(first_child)) * sizes
    room = 2 * (len(affected) * len(codes) + int(tried[unknowns.nodes].sum()))
    capacity = 1 << int(np.ceil(np.log2(2 * room + 2)))
    _draw_levels(
        codes,
        (unknowns.first, unknowns.rows, unknowns.nodes),
        (parents, first_parent, children, first_child),
        affected,
        is_used,
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


@inlined
def _count_around(codes, row, node, structure, is_used, multipliers, table, change):
    """Add a row to the counts of a node's family and its children's, or take it away."""
    parents, first_parent, children, first_child = structure
    keys, counts = table
    for i in range(first_child[node] - 1, first_child[node + 1]):
        one = children[i] if i >= first_child[node] else node
        if is_used[row, one]:
            _count_family(codes, row, one, parents, first_parent, multipliers, keys, counts, change)


@inlined
def _weigh_around(codes, row, node, structure, is_used, alone, sizes, multipliers, table, counting):
    """The probability of these families in a row given the rows that are counted.

    With ``counting`` the row is counted, too, family by family.
    """
    parents, first_parent, children, first_child = structure
    keys, counts = table
    weight = 1.0
    for i in range(first_child[node] - 1, first_child[node + 1]):
        one = children[i] if i >= first_child[node] else node
        if is_used[row, one]:
            key = _parents_key(codes, row, one, parents, first_parent, multipliers)
            both = key + multipliers[1, one] * (codes[row, one] + 1)
            seen = counts[_find(keys, key)] + alone[one]
            weight *= (counts[_find(keys, both)] + alone[one] / sizes[one]) / seen
            if counting:
                _count(keys, counts, key, 1)
                _count(keys, counts, both, 1)
    return weight


@inlined
def pick_level(log_weights, size, rng):
    """One of the first ``size`` levels, drawn by log weights, which are overwritten."""
    largest = log_weights[:size].max()
    total = 0.0
    for level in range(size):
        total += np.exp(log_weights[level] - largest)
        log_weights[level] = total
    pick = rng.random() * total
    level = 0
    while level < size - 1 and log_weights[level] <= pick:
        level += 1
    return level


@kernel
def _draw_levels(
    codes, unknowns, structure, affected, is_used, sizes, sample_size, multipliers, table, rng
):
    """Draw each value given all others; the counts in ``table`` are kept up to date."""
    first, rows, nodes = unknowns
    parents, first_parent, _, _ = structure
    keys, counts = table
    alone = np.full(sizes.size, sample_size)
    for node in range(sizes.size):
        for i in range(first_parent[node], first_parent[node + 1]):
            alone[node] /= sizes[parents[i]]
    for node in affected:
        for row in range(codes.shape[0]):
            if is_used[row, node]:
                _count_family(codes, row, node, parents, first_parent, multipliers, keys, counts, 1)
    weights = np.empty(sizes.max())
    for own in range(first.size - 1):
        begin, end = first[own], first[own + 1]
        size, is_shared = sizes[nodes[begin]], end > begin + 1
        for i in range(begin, end):
            _count_around(codes, rows[i], nodes[i], structure, is_used, multipliers, table, -1)
        for level in range(size):
            for i in range(begin, end):
                codes[rows[i], nodes[i]] = level
            weights[level] = 0.0
            for i in range(begin, end):
                weights[level] += np.log(
                    _weigh_around(
                        codes,
                        rows[i],
                        nodes[i],
                        structure,
                        is_used,
                        alone,
                        sizes,
                        multipliers,
                        table,
                        is_shared,
                    )
                )
            for i in range(begin, end if is_shared else begin):
                _count_around(codes, rows[i], nodes[i], structure, is_used, multipliers, table, -1)
        level = pick_level(weights, size, rng)
        for i in range(begin, end):
            codes[rows[i], nodes[i]] = level
        for i in range(begin, end):
            _count_around(codes, rows[i], nodes[i], structure, is_used, multipliers, table, 1)

"""Where the score of a family is stored: by size, then in colexicographic order."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

from outpoint.scores.base import (
    binomial_table,
    count_subsets,
    family_rank,
    size_offsets,
    subset_rank,
    subsets_of_size,
)


def colex(n_items: int, size: int) -> list[tuple[int, ...]]:
    """Sets sorted by their largest member, then the next largest, and so on."""
    return sorted(combinations(range(n_items), size), key=lambda s: s[::-1])


def flat(n_items: int, max_size: int) -> list[tuple[int, ...]]:
    return [s for size in range(max_size + 1) for s in colex(n_items, size)]


@pytest.mark.parametrize("n_items", range(8))
def test_subsets_come_in_colex_order(n_items: int) -> None:
    for size in range(n_items + 1):
        got = subsets_of_size(n_items, size)
        assert got.shape == (comb(n_items, size), size)
        assert [tuple(row) for row in got.tolist()] == colex(n_items, size)


def test_no_subset_is_larger_than_its_range() -> None:
    assert subsets_of_size(3, 5).shape == (0, 5)


def test_subsets_of_many_items() -> None:
    assert [tuple(row) for row in subsets_of_size(40, 2).tolist()] == colex(40, 2)


@pytest.mark.parametrize(("n_items", "max_size"), [(1, 1), (5, 0), (6, 3), (7, 7), (12, 2)])
def test_ranks_number_the_subsets_consecutively(n_items: int, max_size: int) -> None:
    sets = flat(n_items, max_size)
    assert count_subsets(n_items, max_size) == len(sets)
    offsets = size_offsets(n_items, max_size)
    assert offsets[-1] == len(sets)
    assert [offsets[len(s)] for s in sets] == sorted(offsets[len(s)] for s in sets)
    binomials = binomial_table(n_items + 1, max_size + 1)
    for place, members in enumerate(sets):
        padded = np.array([*members, 99], dtype=np.int64)  # what follows the set is not read
        assert subset_rank(padded, len(members), binomials, offsets) == place


@pytest.mark.parametrize(("n", "max_parents"), [(2, 1), (6, 3), (6, 5)])
def test_family_ranks_leave_out_the_child(n: int, max_parents: int) -> None:
    offsets = size_offsets(n - 1, max_parents)
    binomials = binomial_table(n, max_parents + 1)
    for child in range(n):
        others = [u for u in range(n) if u != child]
        for place, positions in enumerate(flat(n - 1, max_parents)):
            parents = np.array([others[i] for i in positions], dtype=np.int64)
            assert family_rank(child, parents, len(parents), binomials, offsets) == place


def test_tables_of_numbers_are_exact_and_read_only() -> None:
    table = binomial_table(30, 5)
    assert all(table[c, k] == comb(c, k) for c in range(31) for k in range(6))
    for array in (table, size_offsets(30, 5)):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1

"""Codes of parent sets, there and back."""

import numpy as np
import pytest

from outpoint.errors import OptionError
from outpoint.tables.parent_sets import ParentSets, descendants
from tests.reference import all_dags

from .helpers import random_table


def coded(n: int, n_candidates: int) -> tuple[ParentSets, np.ndarray]:
    table = random_table(n, n - 1, n_candidates, seed=n).table
    return table.parent_sets, np.array([table.codes_of(dag) for dag in all_dags(n)])


@pytest.mark.parametrize(("n", "n_candidates"), [(3, 1), (4, 1), (4, 2), (4, 3)])
def test_all_dags_there_and_back(n, n_candidates):
    sets, codes = coded(n, n_candidates)
    assert codes.dtype == np.int32
    assert (codes < 0).any() == (n_candidates < n - 1)
    assert np.array_equal(sets.adjacencies(codes), all_dags(n))
    assert np.array_equal(sets.count_members(codes).sum(axis=1), all_dags(n).sum(axis=(1, 2)))
    for dag, row in zip(all_dags(n)[::7], codes[::7], strict=True):
        for child in range(n):
            expected = tuple(np.flatnonzero(dag[:, child]).tolist())
            assert sets.members_of(child, int(row[child])) == expected


def test_codes_are_different_for_different_dags():
    _, codes = coded(4, 2)
    assert len(np.unique(codes, axis=0)) == len(codes)


@pytest.mark.parametrize(("n", "n_candidates"), [(4, 1), (4, 3)])
def test_descendants_in_all_dags(n, n_candidates):
    sets, codes = coded(n, n_candidates)
    reached = np.eye(n) + all_dags(n)
    reached = reached @ reached @ reached > 0
    for node in range(n):
        assert np.array_equal(descendants(codes, sets, node), reached[:, node])


@pytest.mark.parametrize("n_parts", [1, 3])
def test_restriction_to_what_occurs(n_parts):
    sets, codes = coded(4, 1)
    rng = np.random.default_rng(1)
    parts = [codes[rng.choice(len(codes), 6, replace=False)] for _ in range(n_parts)]
    few, renumbered = sets.restricted_to(parts)
    used = np.unique(np.concatenate([part[part < 0] for part in parts]))
    assert len(few.members) == len(used) < len(sets.members)
    for part, new in zip(parts, renumbered, strict=True):
        assert new.dtype == np.int32
        assert np.array_equal(few.adjacencies(new), sets.adjacencies(part))
        assert np.array_equal(few.count_members(new), sets.count_members(part))
        assert np.array_equal(new >= 0, part >= 0)
        assert np.array_equal(new[new >= 0], part[part >= 0])


def test_restriction_without_outside_sets_or_draws():
    sets, codes = coded(4, 1)
    inside = codes[(codes >= 0).all(axis=1)]
    few, renumbered = sets.restricted_to([inside])
    assert len(few.members) == 0
    assert np.array_equal(renumbered[0], inside)
    assert np.array_equal(few.adjacencies(inside), sets.adjacencies(inside))
    assert np.array_equal(few.count_members(inside), sets.count_members(inside))
    none, left = sets.restricted_to([])
    assert len(none.members) == 0
    assert left == []


def test_sets_that_are_not_in_the_table_are_refused():
    table = random_table(5, 3, 2, seed=1).table
    dag = np.zeros((5, 5), dtype=bool)
    dag[1:, 0] = True
    with pytest.raises(OptionError, match="v0 parents that are not in the table"):
        table.codes_of(dag)

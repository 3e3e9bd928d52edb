"""Which parent sets a search keeps, and how it finds the best of them."""

from itertools import combinations

import numpy as np
import pytest

from outpoint.exact import find_best
from outpoint.kernels import kernel
from outpoint.search.best_dag import best_dag
from outpoint.search.winners import (
    WORD,
    Winners,
    best_with,
    best_without,
    first_fitting,
    list_winners,
)
from tests.search.helpers import TABLES, all_orders
from tests.tables.helpers import KnownTable, random_table


def kept_sets(winners: Winners, child: int) -> list[tuple[int, ...]]:
    """The winning sets of a node, in the order of the list."""
    parents = winners.parent[winners.first_pair[child] : winners.first_pair[child + 1]]
    assert winners.slot[child, parents].tolist() == list(range(len(parents)))
    return [
        tuple(int(u) for i, u in enumerate(parents) if mask[i // WORD] >> (i % WORD) & 1)
        for mask in winners.mask[winners.start[child] : winners.start[child + 1]]
    ]


def is_beaten(known: KnownTable, child: int, members: tuple[int, ...]) -> bool:
    """Whether a proper subset scores at least as well, from the definition."""
    return any(
        known.score(child, subset) >= known.score(child, members)
        for size in range(len(members))
        for subset in combinations(members, size)
    )


@pytest.mark.parametrize("n_candidates", [0, 1, 3, 6])
@pytest.mark.parametrize("spread", [1.0, 20.0])
@pytest.mark.parametrize("options", [{}, {"is_pruned": True}, {"only_winners": True}], ids=str)
def test_exactly_the_sets_that_no_subset_beats_are_kept(
    n_candidates: int, spread: float, options: dict[str, bool]
) -> None:
    known = random_table(7, 3, n_candidates, seed=n_candidates, spread=spread, **options)
    winners = list_winners(known.table)
    n_sets = 0
    for child in range(7):
        sets = [members for v, members in known.scores if v == child]
        expected = {members for members in sets if not is_beaten(known, child, members)}
        found = kept_sets(winners, child)
        assert len(found) == len(set(found))
        assert set(found) == expected
        n_sets += len(sets)
    assert 7 <= len(winners.score) < n_sets / 2


@pytest.mark.parametrize("name", TABLES)
def test_lists_come_best_first_with_their_scores_and_pairs(name: str) -> None:
    known = TABLES[name](6)
    winners = list_winners(known.table)
    for child in range(6):
        found = kept_sets(winners, child)
        scores = winners.score[winners.start[child] : winners.start[child + 1]].tolist()
        assert scores == pytest.approx([known.score(child, members) for members in found])
        assert scores == sorted(scores, reverse=True)
        empty = found.index(()) if () in found else len(found)
        assert winners.alone[child] == winners.start[child] + empty
        for pair in range(winners.first_pair[child], winners.first_pair[child + 1]):
            listed = winners.pair_sets[winners.pair_start[pair] : winners.pair_start[pair + 1]]
            assert (listed - winners.start[child]).tolist() == [
                i for i, members in enumerate(found) if winners.parent[pair] in members
            ]


def test_of_equal_sets_a_smallest_one_comes_first() -> None:
    known = random_table(4, 3, seed=1)
    dense = np.full_like(known.table.dense, -1.0)
    dense[0, [0b011, 0b100]] = 1.0
    table = type(known.table)(
        known.table.names, 3, known.table.candidates, dense, known.table.outside
    )
    assert kept_sets(list_winners(table), 0) == [(3,), (1, 2), ()]


@kernel
def look_up(winners, child, slot, allowed, joins):
    """The best set now, and after the node in this slot has joined or left."""
    known = first_fitting(winners, child, allowed, 0)
    if joins:
        allowed[0, slot // 64] |= np.int64(1) << np.int64(slot % 64)
        return best_with(winners, child, slot, allowed, 0, known)
    return best_without(winners, child, slot, allowed, 0, known)


@pytest.mark.parametrize("name", TABLES)
def test_a_node_that_joins_or_leaves_changes_the_best_set_as_a_new_search_says(name: str) -> None:
    known = TABLES[name](6)
    winners = list_winners(known.table)
    for child in range(6):
        found = kept_sets(winners, child)
        parents = winners.parent[winners.first_pair[child] : winners.first_pair[child + 1]]
        for mask in range(1 << len(parents)):
            for slot in range(len(parents)):
                before = np.array([[mask]], dtype=np.int64)
                joins = not mask >> slot & 1
                after = {
                    int(parents[i]) for i in range(len(parents)) if (mask ^ 1 << slot) >> i & 1
                }
                expected = next(
                    (i for i, members in enumerate(found) if after >= set(members)), len(found)
                )
                place = look_up(winners, child, slot, before, joins)
                assert place - winners.start[child] == expected


@pytest.mark.parametrize("n_candidates", [0, 2, 5])
def test_what_is_left_out_never_matters_to_the_best_dag(n_candidates: int) -> None:
    """All orders of 6 nodes by the winners alone, against dynamic programming over all sets."""
    for seed in range(3):
        _, optimum = find_best(random_table(6, 3, 5, seed=seed, spread=2.0).table)
        winners = list_winners(random_table(6, 3, n_candidates, seed=seed, spread=2.0).table)
        best = max(best_dag(winners, np.array(order))[1] for order in all_orders(6))
        assert best == pytest.approx(optimum)

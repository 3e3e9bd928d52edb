"""Which parent sets a search keeps, and how it finds the best of them."""

from itertools import combinations

import numpy as np
import pytest

from outpoint.exact import find_best
from outpoint.kernels import kernel
from outpoint.search.winners import (
    WORD,
    Winners,
    best_dag,
    best_score,
    list_winners,
    search_on,
    search_with,
)
from tests.search.helpers import TABLES, all_orders
from tests.tables.helpers import KnownTable, random_table


def kept_sets(winners: Winners, child: int) -> list[tuple[int, ...]]:
    """The winning sets of a node outside its candidates, in the order of the list."""
    rows = winners.members[winners.start[child] : winners.start[child + 1]]
    return [tuple(int(u) for u in row if u >= 0) for row in rows]


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
    n_outside = n_kept = 0
    for child in range(7):
        inside = set(known.table.candidates[child].tolist())
        sets = [members for v, members in known.scores if v == child]
        expected = [members for members in sets if not is_beaten(known, child, members)]
        outside = [members for members in expected if not inside >= set(members)]
        found = kept_sets(winners, child)
        assert len(found) == len(outside)
        assert set(found) == set(outside)
        occurring = {u for members in expected for u in members}
        assert set(np.flatnonzero(winners.slot[child] >= 0).tolist()) == occurring
        n_outside += sum(not inside >= set(members) for members in sets)
        n_kept += len(outside)
    assert n_kept < n_outside / 2 or n_outside == 0


@pytest.mark.parametrize("name", TABLES)
def test_lists_come_best_first_with_their_scores_masks_and_pairs(name: str) -> None:
    known = TABLES[name](6)
    winners = list_winners(known.table)
    for child in range(6):
        found = kept_sets(winners, child)
        scores = winners.score[winners.start[child] : winners.start[child + 1]].tolist()
        assert scores == pytest.approx([known.score(child, members) for members in found])
        assert scores == sorted(scores, reverse=True)
        for parent in np.flatnonzero(winners.slot[child] >= 0).tolist():
            slot = int(winners.slot[child, parent])
            has_parent = [parent in members for members in found]
            masks = winners.mask[winners.start[child] : winners.start[child + 1], slot // WORD]
            assert (masks >> (slot % WORD) & 1).tolist() == has_parent
            pair = winners.first_pair[child] + slot
            listed = winners.pair_sets[winners.pair_start[pair] : winners.pair_start[pair + 1]]
            assert (listed - winners.start[child]).tolist() == np.flatnonzero(has_parent).tolist()


@kernel
def look_up(winners, child, inside, allowed, slot, joins, inside_after):
    """The best score now, and after the node in this slot has joined or left."""
    first = winners.start[child]
    reached = search_on(winners, child, inside, allowed, 0, first)
    before = best_score(winners, child, inside, reached)
    allowed[0, slot // 64] ^= np.int64(1) << np.int64(slot % 64)
    if joins:
        reached = search_with(winners, child, slot, allowed, 0, reached)
    else:
        reached = search_on(winners, child, inside_after, allowed, 0, reached)
    return before, best_score(winners, child, inside_after, reached)


@pytest.mark.parametrize("name", TABLES)
def test_a_node_that_joins_or_leaves_changes_the_best_score_as_a_listing_says(name: str) -> None:
    known = TABLES[name](6)
    winners = list_winners(known.table)

    def best_within(child: int, nodes: set[int]) -> float:
        sets = [s for v, s in known.scores if v == child and nodes >= set(s)]
        return max((known.score(child, s) for s in sets), default=-np.inf)

    for child in range(6):
        own = np.flatnonzero(winners.slot[child] >= 0).tolist()
        for mask in range(1 << len(own)):
            for slot in range(len(own)):
                before, after = (
                    {own[i] for i in range(len(own)) if code >> i & 1}
                    for code in (mask, mask ^ 1 << slot)
                )
                inside = [
                    known.table.maxima[child, sum(winners.bit[child, list(nodes)])]
                    for nodes in (before, after)
                ]
                found = look_up(
                    winners,
                    child,
                    inside[0],
                    np.array([[mask]], dtype=np.int64),
                    slot,
                    not mask >> slot & 1,
                    inside[1],
                )
                assert found == pytest.approx(
                    (best_within(child, before), best_within(child, after))
                )


@pytest.mark.parametrize("n_candidates", [0, 2, 5])
def test_what_is_left_out_never_matters_to_the_best_dag(n_candidates: int) -> None:
    """All orders of 6 nodes by the winners alone, against dynamic programming over all sets."""
    for seed in range(3):
        _, optimum = find_best(random_table(6, 3, 5, seed=seed, spread=2.0).table)
        table = random_table(6, 3, n_candidates, seed=seed, spread=2.0, only_winners=True).table
        winners = list_winners(table)
        best = max(best_dag(table, winners, np.array(order))[1] for order in all_orders(6))
        assert best == pytest.approx(optimum)

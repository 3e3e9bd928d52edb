"""Which sets outside the candidates a search keeps."""

from itertools import combinations

import pytest

from outpoint.search.view import view_maxima
from tests.tables.helpers import KnownTable, random_table


def kept_sets(known: KnownTable, child: int) -> set[tuple[int, ...]]:
    view = view_maxima(known.table)
    rows = view.members[view.start[child] : view.start[child + 1]]
    return {tuple(int(u) for u in row if u >= 0) for row in rows}


def is_beaten(known: KnownTable, child: int, members: tuple[int, ...]) -> bool:
    """Whether a proper subset scores at least as well, from the definition."""
    return any(
        known.score(child, subset) >= known.score(child, members)
        for size in range(len(members))
        for subset in combinations(members, size)
    )


@pytest.mark.parametrize("n_candidates", [0, 1, 3])
@pytest.mark.parametrize("spread", [1.0, 20.0])
def test_exactly_the_sets_that_no_subset_beats_are_kept(n_candidates: int, spread: float) -> None:
    known = random_table(7, 3, n_candidates, seed=n_candidates, spread=spread)
    n_outside = n_kept = 0
    for child in range(7):
        inside = set(known.table.candidates[child].tolist())
        outside = [
            members for v, members in known.scores if v == child and not inside >= set(members)
        ]
        expected = {members for members in outside if not is_beaten(known, child, members)}
        assert kept_sets(known, child) == expected
        n_outside += len(outside)
        n_kept += len(expected)
    assert 0 < n_kept < n_outside / 2


def test_kept_sets_come_best_first() -> None:
    view = view_maxima(random_table(7, 3, 2, seed=1).table)
    for child in range(7):
        scores = view.score[view.start[child] : view.start[child + 1]].tolist()
        assert scores == sorted(scores, reverse=True)

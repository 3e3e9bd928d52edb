"""Which nodes get more candidates than usual, and how many."""

import numpy as np
import pytest
from numpy.typing import NDArray

from outpoint.scores.base import count_subsets
from outpoint.tables import build
from outpoint.tables.build import USUAL_CANDIDATES, scored_parents, share_candidates, table_bytes

N = 40
LIMIT = 6
ENOUGH = 0.005
MILLIONS = 10**8


def unused_after(use: NDArray[np.float64]) -> NDArray[np.float64]:
    """The use of all parents but the first k, for nodes that use all others like this."""
    tails = np.append(np.cumsum(use[::-1])[::-1], 0.0)
    return np.tile(tails, (N, 1))


EVENLY = unused_after(np.append(np.full(N - 1, 0.02), 0.0))


def share(
    needs: dict[int, float], affordable: int = MILLIONS, n_used: int = 0
) -> NDArray[np.int64]:
    """Numbers of candidates for nodes with these needs at the usual number."""
    per_use = np.zeros(N)
    for node, need in needs.items():
        per_use[node] = need / EVENLY[node, USUAL_CANDIDATES] ** 2
    used = np.full(N, n_used)
    return share_candidates(USUAL_CANDIDATES, per_use, EVENLY, used, LIMIT, affordable, ENOUGH)


def n_scored(numbers: NDArray[np.int64]) -> int:
    """Families that nodes with more than the usual number of candidates have scored for them."""
    scored, total = scored_parents(N, LIMIT), 0
    for number in numbers[numbers > USUAL_CANDIDATES].tolist():
        total += count_subsets(number, LIMIT) - count_subsets(number, scored)
        outer = count_subsets(number, LIMIT - 1) - count_subsets(number, scored - 1)
        total += (N - 1 - number) * outer
    return total


def test_who_needs_no_more_has_the_usual_number() -> None:
    assert (share({}) == USUAL_CANDIDATES).all()
    assert (share({3: ENOUGH}) == USUAL_CANDIDATES).all()


def test_a_node_gets_as_many_as_it_needs_and_no_more() -> None:
    numbers = share({3: 0.01})
    assert (np.delete(numbers, 3) == USUAL_CANDIDATES).all()
    left = 0.01 * (EVENLY[3] / EVENLY[3, USUAL_CANDIDATES]) ** 2
    assert left[numbers[3]] <= ENOUGH < left[numbers[3] - 1]


def test_needy_nodes_get_what_they_use_clearly() -> None:
    """Sets with three members outside are not in the need."""
    assert share({3: 0.006})[3] < 14
    numbers = share({3: 0.006, 4: ENOUGH}, n_used=14)
    assert numbers[3] == 14
    assert numbers[4] == USUAL_CANDIDATES


def test_the_neediest_come_first_where_not_all_can_have_enough() -> None:
    affordable = 1_000_000
    needs = {node: 0.02 * (node + 1) for node in range(10)}
    numbers = share(needs, affordable)
    assert (np.diff(numbers[:10]) >= -1).all()
    assert numbers[9] > numbers[0]
    assert affordable / 2 < n_scored(numbers) <= affordable
    assert n_scored(share(needs)) > affordable, "there is something to share"


def test_tables_of_sums_have_their_room(monkeypatch: pytest.MonkeyPatch) -> None:
    room = N * table_bytes(1, USUAL_CANDIDATES, LIMIT) + 2 * table_bytes(1, 15, LIMIT)
    monkeypatch.setattr(build, "MAX_TABLE_BYTES", room)
    numbers = share(dict.fromkeys(range(4), 0.9))
    assert sum(table_bytes(1, number, LIMIT) for number in numbers.tolist()) <= room
    assert numbers[:4].min() > USUAL_CANDIDATES
    assert np.ptp(numbers[:4]) <= 1

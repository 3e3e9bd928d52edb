"""How much work is done before chains run, where the time of a run is limited.

Scores, searches and pilots may each take a share of the time. How long they would take is measured
on a small part of them, and they are shortened accordingly: by numbers that a run records, so that
it can be made again without a clock.
"""

from collections.abc import Callable
from math import comb
from typing import NoReturn

from outpoint.errors import TooLargeError
from outpoint.naming import named, option
from outpoint.progress import Clock
from outpoint.scores import FamilyScorer
from outpoint.scores.base import count_subsets, subsets_of_size
from outpoint.tables.build import ALL_CANDIDATES, USUAL_CANDIDATES, scored_parents

SCORING, SEARCHING, PREPARING = 0.2, 0.35, 0.5
"""Shares of the time by whose end scoring, searches, and all that comes before sampling, should be
done."""

TRIED_FAMILIES = 200_000
"""Most families that are scored to see how long scoring takes."""

TRIED_OUTSIDE = 10_000
"""Sets of one node that are scored to see how long that takes node by node."""

TABLES = 3
"""Tables that are made before sampling: for searches, for pilots, and of what pilots used."""

LEAST_SEARCH = 1 / 64
LEAST_PILOT = 1 / 8
"""The smallest searches and pilots, as shares of the usual ones."""

MOST_PILOTS = 5
USUAL_EFFORT = (1.0, float(MOST_PILOTS))
"""All of the searches, and as many pilots as there may be."""

DIGITS = 3


class Pace:
    """The share of the usual steps that searches take, and how many pilots there are.

    ``pilots`` below 1 is a shorter pilot. A value that is given stays; one that is not is the usual
    one, or what there is time for.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        search_effort: float | None = None,
        pilots: float | None = None,
    ) -> None:
        self._clock = clock or Clock()
        self.search_effort = 1.0 if search_effort is None else search_effort
        self.pilots = float(MOST_PILOTS) if pilots is None else pilots
        self._search_is_given = search_effort is not None
        self._pilots_are_given = pilots is not None

    @property
    def effort(self) -> tuple[float, float]:
        """What the choice took: the share of the usual searching, and the most pilots."""
        return self.search_effort, self.pilots

    def plan_searches(self, whole: float, try_part: Callable[[], float]) -> None:
        """Set the share of searches; ``try_part`` takes some steps and returns their number."""
        if self._search_is_given or not self._clock.is_limited:
            return
        seconds = self._time_of(whole, try_part)
        self.search_effort = _share(self._clock.left(SEARCHING), seconds, LEAST_SEARCH)

    def plan_pilots(self, whole: float, begin: Callable[[], Callable[[], float]]) -> None:
        """Set the length of the first pilot, if there is no time for a whole one.

        ``begin`` returns a function that takes some steps and returns their number.
        """
        if self._pilots_are_given or not self._clock.is_limited:
            return
        seconds = self._time_of(whole, begin())
        share = _share(self._clock.left(PREPARING), seconds, LEAST_PILOT)
        self.pilots = share if share < 1.0 else float(MOST_PILOTS)

    def allows_pilot(self, number: int, last_seconds: float) -> bool:
        """Whether there is time for another pilot after ``number`` of them."""
        if number >= self.pilots:
            return False
        if self._pilots_are_given or self._clock.left(PREPARING) >= last_seconds:
            return True
        self.pilots = float(number)
        return False

    @property
    def seconds(self) -> float:
        """What the clock says."""
        return self._clock.seconds

    def _time_of(self, whole: float, try_part: Callable[[], float]) -> float:
        try_part()  # the first time kernels are loaded
        begun = self._clock.seconds
        part = try_part()
        return (self._clock.seconds - begun) * whole / part


def effort_options(effort: tuple[float, float]) -> dict[str, float]:
    """The options that make a choice with the same effort, none if it is the usual one."""
    names = ("search_effort", "pilots")
    made = zip(names, effort, USUAL_EFFORT, strict=True)
    return {name: value for name, value, usual in made if value != usual}


def _share(left: float, seconds: float, least: float) -> float:
    """The share of these seconds that fits into the time that is left, rounded to few digits."""
    return max(least, min(1.0, round(left / max(seconds, 1e-9), DIGITS)))


def affordable_parents(scorer: FamilyScorer, max_parents: int, clock: Clock) -> int:
    """The most parents, up to ``max_parents``, whose sets can be scored in their share of time.

    It is at least 1. Time grows with the number of families and with their size. Sets with a member
    outside the candidates are scored node by node, which takes longer, and for several tables.
    """
    n = scorer.n_nodes
    size = 2 if n * count_subsets(n - 1, 2) <= TRIED_FAMILIES and max_parents > 1 else 1
    scorer.every_family(1)  # kernels are loaded
    begun = clock.seconds
    scorer.every_family(size)
    together = (clock.seconds - begun) / (n * count_subsets(n - 1, size)) / size
    apart = together
    if max_parents > size and n > ALL_CANDIDATES:
        sets = subsets_of_size(n - 1, 2)[:TRIED_OUTSIDE] + 1
        scorer.families(0, sets)
        begun = clock.seconds
        scorer.families(0, sets)
        apart = max(together, (clock.seconds - begun) / sets.size)
    limit = max_parents
    while limit > 1 and _seconds(n, limit, together, apart) > clock.left(SCORING):
        limit -= 1
    return limit


def _seconds(n_nodes: int, max_parents: int, together: float, apart: float) -> float:
    """How long scoring takes: all sets, and for each table those with one member outside.

    What is given are the seconds per family and member.
    """
    is_complete = n_nodes <= ALL_CANDIDATES
    scored = scored_parents(n_nodes, max_parents, is_complete=is_complete)
    seconds = together * n_nodes * count_subsets(n_nodes - 1, scored) * scored
    outside = max(0, n_nodes - 1 - USUAL_CANDIDATES)
    for size in range(scored + 1, max_parents + 1):
        seconds += TABLES * apart * n_nodes * outside * comb(USUAL_CANDIDATES, size - 1) * size
    return seconds


def refuse_slow_scoring(max_parents: int, affordable: int, seconds: float) -> NoReturn:
    """Refuse a number of parents that was asked for and cannot be scored in the time given."""
    raise TooLargeError(
        f"scoring sets of up to {max_parents} parents takes too long for a run of {seconds:g} "
        f"seconds: give it more {named('time')}, or {option('max_parents', affordable)}."
    )

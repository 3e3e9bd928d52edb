"""Columns that are given: causes only, about whose own distribution nothing is asked.

Of a table of slices these are the earlier values and the static columns. They have no parents, and
their score is 0, so that scores are those of the slices given what came before.
"""

from concurrent.futures import Executor

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans
from outpoint.data import Dataset
from outpoint.scores.base import FamilyScorer, Nodes
from outpoint.scores.families import Scores
from outpoint.scores.knowledge import Knowledge


def score_given(data: Dataset, scorer: FamilyScorer) -> FamilyScorer:
    """The scorer of a table of slices; that of any other as it is."""
    if data.slices is None:
        return scorer
    return GivenScorer(scorer, np.isin(data.names, data.slices.given(data.names)))


def know_given(data: Dataset) -> Knowledge:
    """What is known of a table of slices: earlier values are roots; nothing of any other."""
    if data.slices is None:
        return Knowledge()
    variables = data.slices.variables(data.names)
    forbidden = [] if data.slices.contemporaneous else _pairs(variables)
    return Knowledge(roots=data.slices.given(data.names), forbidden=forbidden)


def _pairs(names: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(one, other) for one in names for other in names if one != other]


class GivenScorer(FamilyScorer):
    """The scores of another, but for ``given`` nodes, which cannot have parents and score 0."""

    def __init__(self, scorer: FamilyScorer, given: Booleans) -> None:
        self.n_nodes = scorer.n_nodes
        self.gaussian = scorer.gaussian
        self.affordable = scorer.affordable
        self.possible_edges = scorer.possible_edges
        self._scorer = scorer
        self._given = given

    def of(self, child: int) -> FamilyScorer:
        """The scorer that computes the families of this child."""
        return self._scorer.of(child)

    def families(self, child: int, parents: NDArray[np.integer]) -> Scores:
        """Scores of ``child`` with each row of ``parents``."""
        if self._given[child]:
            return np.zeros(len(parents))
        return self._scorer.families(child, parents)

    def fill_families(
        self, children: Nodes, max_parents: int, out: Scores, pool: Executor | None = None
    ) -> None:
        """Write the rows of ``children`` in the table of :meth:`every_family`."""
        self._scorer.fill_families(children[~self._given[children]], max_parents, out, pool)
        out[children[self._given[children]]] = 0.0

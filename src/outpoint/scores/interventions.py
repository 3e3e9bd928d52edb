"""Interventions: a node is scored by the rows in which it was not set from outside.

Where v was set, its value says nothing about its parents; where a parent was set, it is a value of
that parent like any other (Cooper & Yoo 1999). So the likelihood of v given its parents is the
usual one, of fewer rows. Whatever the score, it is bound once for each set of rows that some nodes
have in common, and a node asks the one that has its rows. Everything that must not depend on the
rows, such as units, levels and priors, is settled before: on all of them.

A score that is the same for Markov equivalent DAGs remains so for those that have, after cutting
the edges into each set of targets, the same skeleton and v-structures (``graphs.validation``): a
covered edge may be turned if its ends were always set together, and then they share their rows.

Formulas: docs/math.md#interventions.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor

import numpy as np
from numpy.typing import NDArray

from outpoint.data import Dataset
from outpoint.data.interventions import sets_of_rows
from outpoint.errors import DataError, OptionError
from outpoint.naming import enumerate_names, option
from outpoint.scores.base import FamilyScorer, LocalScore, Nodes, Scores
from outpoint.scores.checks import go_on, require_complete
from outpoint.scores.prior import StructurePrior

Rows = NDArray[np.bool_]
"""Whether a row is used."""


def score_observed(data: Dataset, make: Callable[[Rows], FamilyScorer]) -> FamilyScorer:
    """Scores of nodes by the rows in which they were not set; ``make`` scores all nodes by some."""
    require_complete(data)
    every = np.ones(data.n_obs, dtype=np.bool_)
    if not data.interventions:
        return make(every)
    patterns, group = sets_of_rows(data.is_set)
    scorers = [make(rows) if rows.any() else UnobservedScorer(make(every)) for rows in patterns]
    return InterventionScorer(scorers, group)


def bind_score(score: LocalScore, data: Dataset, *, allow_degenerate: bool) -> FamilyScorer:
    """Bind a score to data; one that does not know what interventions are is refused them."""
    require_complete(data)
    scorer = score.bind(data, allow_degenerate=allow_degenerate)
    if data.interventions and not isinstance(scorer, InterventionScorer):
        raise OptionError(
            f"the score {score.name} knows nothing of the rows, so it cannot leave out those in "
            "which a variable was set: score without interventions, or choose another score."
        )
    return scorer


def refuse_unobserved(data: Dataset, prior: StructurePrior, *, allow_degenerate: bool) -> None:
    """Refuse variables that were set in every row, unless they are known to have no parents."""
    may_have_parents = (prior.edge_log_weight > -np.inf).any(axis=0)
    always = np.flatnonzero(data.is_set.all(axis=0) & may_have_parents)
    if allow_degenerate or not always.size:
        return
    names = [data.names[v] for v in always]
    one = len(names) == 1
    raise DataError(
        f"{enumerate_names(names)} {'was' if one else 'were'} set in every row, so the data say "
        f"nothing about {'its' if one else 'their'} parents, all of which score the same: declare "
        f"{'it a root' if one else 'them roots'} with {option('roots', names)}, {go_on()}."
    )


class InterventionScorer(FamilyScorer):
    """Node v is scored by ``scorers[group[v]]``."""

    def __init__(self, scorers: Sequence[FamilyScorer], group: NDArray[np.integer]) -> None:
        self.n_nodes = len(group)
        self._scorers = tuple(scorers)
        self._group = group
        self.possible_edges = scorers[0].possible_edges

    def of(self, child: int) -> FamilyScorer:
        """The scorer that has the rows of this node."""
        return self._scorers[self._group[child]]

    def families(self, child: int, parents: NDArray[np.integer]) -> Scores:
        """Scores of ``child`` with each row of ``parents``."""
        return self.of(child).families(child, parents)

    def fill_families(
        self, children: Nodes, max_parents: int, out: Scores, pool: Executor | None = None
    ) -> None:
        """Each scorer writes the rows of its own nodes."""
        for number, scorer in enumerate(self._scorers):
            own = children[self._group[children] == number]
            if own.size:
                scorer.fill_families(own, max_parents, out, pool)


class UnobservedScorer(FamilyScorer):
    """Scores of no rows at all: the probability of nothing is 1, whatever the parents.

    Families that the score of other rows excludes are excluded here, too.
    """

    def __init__(self, other: FamilyScorer) -> None:
        self.n_nodes = other.n_nodes
        self.possible_edges = other.possible_edges
        self._other = other

    def families(self, child: int, parents: NDArray[np.integer]) -> Scores:
        """Scores of ``child`` with each row of ``parents``."""
        is_possible = self._other.families(child, parents) > -np.inf
        return np.where(is_possible, 0.0, -np.inf)

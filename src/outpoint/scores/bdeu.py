"""BDeu: the Bayesian Dirichlet equivalent uniform score for categorical data.

Every cell of a family's table has prior count e / (number of cells), e being the equivalent
sample size (Heckerman, Geiger & Chickering 1995). Because a family of X nodes always has
prod r_x cells, whoever the child is, the score is a difference of one function of node sets:

    s(v, Pa) = F(Pa + v) - F(Pa),
    F(X) = sum over configurations x of X of  lgamma(a + N_x) - lgamma(a),   a = e / prod r_x,

to which only the configurations seen in the data contribute.

Formulas: docs/math.md#bdeu.
"""

from dataclasses import dataclass
from math import lgamma

import numpy as np

from outpoint.data import Dataset
from outpoint.kernels import kernel
from outpoint.scores.base import FamilyScorer, Members, Scores, SetScorer
from outpoint.scores.binding import (
    check_sample_size,
    refuse_degenerate,
    refuse_many_levels,
    require_kind,
    score_observed,
)
from outpoint.scores.contingency import (
    Table,
    count_sensible_parents,
    count_states,
    make_numbering,
    merge_rows,
)

MAX_LEVELS = 5000

KEPT_PRIORS, KEPT_COUNTS = 251, 2048
"""How many terms of the score are kept: for how many prior counts of a cell, and counts of rows."""


@dataclass(frozen=True, kw_only=True)
class BDeu:
    """Settings of the BDeu score: the equivalent sample size (prior weight, in observations)."""

    equivalent_sample_size: float = 1.0

    def __post_init__(self) -> None:
        check_sample_size(self.equivalent_sample_size, "BDeu")

    @property
    def name(self) -> str:
        """Short name of the score."""
        return "bdeu"

    def bind(self, data: Dataset, *, allow_degenerate: bool = False) -> FamilyScorer:
        """Check the data and merge equal rows."""
        require_kind(data, "categorical", "BDeu")
        refuse_many_levels(data, MAX_LEVELS, "BDeu")
        refuse_degenerate(data, "BDeu", allow_degenerate)
        return score_observed(
            data,
            lambda rows: BDeuScorer(merge_rows(data.take(rows)), self.equivalent_sample_size),
        )


class BDeuScorer(SetScorer):
    """BDeu scores of one data set."""

    def __init__(self, table: Table, equivalent_sample_size: float) -> None:
        self.n_nodes = len(table.columns)
        self.sensible_parents = count_sensible_parents(table.cardinalities, int(table.counts.sum()))
        self._table = table
        self._equivalent_sample_size = equivalent_sample_size

    def score_sets(self, members: Members, out: Scores, start: int, stop: int) -> None:
        """Write F of the rows ``start..stop`` of ``members``."""
        _score_sets(self._table, self._equivalent_sample_size, members, out, start, stop)


@kernel
def _score_sets(table, sample_size, members, out, start, stop):
    """F of each set.

    The terms lgamma(a + N) - lgamma(a) depend on few values of a, so they are kept: in the row of
    ``terms`` that a's number of cells falls into, as long as that row is not needed for another.
    """
    numbering = make_numbering(table, members.shape[1])
    width = min(table.counts.sum() + 1, KEPT_COUNTS)
    terms = np.empty((KEPT_PRIORS, width))
    kept_for = np.zeros(KEPT_PRIORS)
    for row in range(start, stop):
        n_states = count_states(table, members, row, row == start, numbering)
        n_cells = numbering.n_cells[0]
        prior = sample_size / n_cells
        base = lgamma(prior)
        place = int(n_cells % KEPT_PRIORS) if np.isfinite(n_cells) else 0
        if kept_for[place] != n_cells:
            kept_for[place] = n_cells
            terms[place, :] = np.nan
        score = 0.0
        for state in range(n_states):
            count = numbering.totals[state]
            term = terms[place, count] if count < width else np.nan
            if np.isnan(term):
                term = lgamma(prior + count) - base
                if count < width:
                    terms[place, count] = term
            score += term
        out[row] = score

"""BIC: the maximised likelihood with a penalty for every parameter (Schwarz 1978).

    s(v, Pa) = log likelihood of v given Pa at its maximum - penalty * (log N) / 2 * parameters,

for continuous columns of linear regressions with Gaussian noise (|Pa| slopes, an intercept and a
variance), for categorical ones of free conditional tables ((r - 1) q parameters). Both are
differences of a function of node sets, and so equal for Markov equivalent DAGs:

    Gaussian     F(X) = -N/2 (log det S[X] + |X| (1 + log 2 pi)) - penalty (log N)/2 |X| (|X| + 3)/2
    categorical  F(X) = sum over states x of X of N_x log N_x - penalty (log N)/2 prod r_x

with S the covariance of the data (divided by N) and N_x the number of rows in state x. Unlike BGe
it depends on neither the units nor the location of the columns.
"""

from dataclasses import dataclass
from math import log, pi

import numpy as np

from outpoint.data import Dataset
from outpoint.errors import DataError, OptionError
from outpoint.kernels import kernel
from outpoint.kinds import in_brief
from outpoint.scores.base import FamilyScorer, Members, Scores, SetScorer
from outpoint.scores.binding import (
    is_positive_number,
    refuse_degenerate,
    refuse_mixture,
    score_observed,
)
from outpoint.scores.contingency import Table, count_states, make_numbering, merge_rows

SMALLEST_PIVOT = 1e-12
"""Share of a column's variance that counts as none: what rounding leaves of collinear columns."""


@dataclass(frozen=True, kw_only=True)
class BIC:
    """Settings of BIC: ``penalty`` multiplies (log N) / 2 per parameter (2 / log N gives AIC)."""

    penalty: float = 1.0

    def __post_init__(self) -> None:
        if not is_positive_number(self.penalty):
            raise OptionError(
                f"BIC needs a penalty that is a positive number, not {in_brief(self.penalty)}."
            )

    @property
    def name(self) -> str:
        """Short name of the score."""
        return "bic"

    def bind(self, data: Dataset, *, allow_degenerate: bool = False) -> FamilyScorer:
        """Check the data; both kinds of columns are fine, but not in one table."""
        refuse_mixture(data, "BIC needs columns of one kind")
        refuse_degenerate(data, "BIC", allow_degenerate)
        return score_observed(data, lambda rows: self._of_rows(data.take(rows)))

    def _of_rows(self, data: Dataset) -> SetScorer:
        rate = self.penalty * log(data.n_obs) / 2 if data.n_obs > 1 else 0.0
        if data.is_categorical:
            return CategoricalBIC(merge_rows(data), rate)
        if data.constant_columns:
            raise DataError(
                f"column {data.constant_columns[0]!r} is constant in {data.n_obs} rows, so its "
                "likelihood has no maximum: drop it."
            )
        return GaussianBIC(data.values, rate)


class GaussianBIC(SetScorer):
    """BIC of continuous columns."""

    def __init__(self, values: Scores, rate: float) -> None:
        n_obs, n = values.shape
        self.n_nodes = n
        scale = np.abs(values).max(axis=0)
        centred = values / scale
        centred = centred - centred.mean(axis=0)
        deviation = np.sqrt((centred**2).mean(axis=0))
        centred /= deviation
        self._correlation = centred.T @ centred / n_obs
        self._log_variance = 2 * (np.log(deviation) + np.log(scale))
        self._n_obs = n_obs
        sizes = np.arange(n + 1)
        self._constants = -n_obs / 2 * sizes * (1 + log(2 * pi)) - rate * sizes * (sizes + 3) / 2
        for array in (self._correlation, self._log_variance, self._constants):
            array.flags.writeable = False

    def score_sets(self, members: Members, out: Scores, start: int, stop: int) -> None:
        """Write F of the rows ``start..stop`` of ``members``."""
        _score_gaussian(
            self._correlation,
            self._log_variance,
            self._n_obs,
            self._constants,
            members,
            out,
            start,
            stop,
        )


class CategoricalBIC(SetScorer):
    """BIC of categorical columns."""

    def __init__(self, table: Table, rate: float) -> None:
        self.n_nodes = len(table.columns)
        self._table = table
        self._rate = rate

    def score_sets(self, members: Members, out: Scores, start: int, stop: int) -> None:
        """Write F of the rows ``start..stop`` of ``members``."""
        _score_categorical(self._table, self._rate, members, out, start, stop)


@kernel
def _score_gaussian(correlation, log_variance, n_obs, constants, members, out, start, stop):
    """F of each set; the log determinant by elimination (only the lower triangle is used)."""
    size = members.shape[1]
    a = np.empty((size, size))
    for row in range(start, stop):
        log_det = 0.0
        for i in range(size):
            log_det += log_variance[members[row, i]]
            for j in range(i + 1):
                a[i, j] = correlation[members[row, i], members[row, j]]
        for step in range(size):
            pivot = max(a[step, step], SMALLEST_PIVOT)
            log_det += np.log(pivot)
            for i in range(step + 1, size):
                factor = a[i, step] / pivot
                for j in range(step + 1, i + 1):
                    a[i, j] -= factor * a[j, step]
        out[row] = constants[size] - 0.5 * n_obs * log_det


@kernel
def _score_categorical(table, rate, members, out, start, stop):
    """F of each set."""
    numbering = make_numbering(table, members.shape[1])
    for row in range(start, stop):
        n_states = count_states(table, members, row, row == start, numbering)
        score = 0.0
        for state in range(n_states):
            count = numbering.totals[state]
            score += count * np.log(count)
        out[row] = score - rate * numbering.n_cells[0]

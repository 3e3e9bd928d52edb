"""The marginal likelihood of Gaussian columns, for all sets of nodes that own them, and BGe.

The columns are Gaussian with unknown mean and precision, which have a normal-Wishart prior with
prior mean 0 and scale matrix T0 = t I (Geiger & Heckerman 2002; corrected by Kuipers, Moffa &
Heckerman 2014). With N rows, mean x and scatter S the posterior matrix is

    R = T0 + S + c x x',    c = alpha_mu N / (alpha_mu + N),

and the log likelihood of the l columns of a set X, with m columns in all,

    F(X) = c(l) - (alpha_w - m + l + N)/2 log det R[X].

R = A + s s' with A = T0 + S. Columns far from 0 would drown S in s s'; then log det R[X] is
computed as log det A[X] + log(1 + s' A[X]^-1 s).

BGe, the Bayesian Gaussian equivalent score in its corrected form, has one column for every node;
with l parents the score of a family needs two determinants, of R on the family and on the parents
alone:

    s(v, Pa) = F(Pa + v) - F(Pa).

The prior mean is 0 with one scale for all columns, so the score of raw columns depends on their
units and location: to it, a mean far from 0 is one huge outlier that all such columns share, and
independent columns get edges. So columns are standardised first; ``standardize=False`` is the
paper's setting.

Formulas: docs/math.md#bge.
"""

from dataclasses import dataclass
from math import lgamma, log, pi

import numpy as np
from numpy.typing import NDArray

from outpoint.data import Dataset
from outpoint.errors import DataError, OptionError
from outpoint.kernels import kernel
from outpoint.kinds import in_brief
from outpoint.naming import enumerate_names, option
from outpoint.scores.base import FamilyScorer, GaussianPosterior, Members, Scores, SetScorer
from outpoint.scores.binding import (
    is_positive_number,
    refuse_degenerate,
    require_kind,
    score_observed,
)

FAR = 10
"""How many standard deviations a mean is from 0 before raw units are worth a note."""


@dataclass(frozen=True, kw_only=True)
class NormalWishart:
    """Settings of the prior that all scores of Gaussian columns share.

    ``alpha_mu`` is the prior weight of the mean, ``alpha_w`` the degrees of freedom of the
    Wishart prior (default: number of columns + alpha_mu + 1). Every continuous column is centred
    and scaled first, so that units do not matter; ``standardize=False`` takes the columns as they
    are, as the paper does.
    """

    alpha_mu: float = 1.0
    alpha_w: float | None = None
    standardize: bool = True

    def __post_init__(self) -> None:
        title = type(self).__name__
        if not is_positive_number(self.alpha_mu):
            shown = in_brief(self.alpha_mu)
            raise OptionError(f"{title} needs an alpha_mu that is a positive number, not {shown}.")
        if self.alpha_w is not None and not is_positive_number(self.alpha_w):
            shown = in_brief(self.alpha_w)
            raise OptionError(f"{title} needs an alpha_w that is a positive number, not {shown}.")

    def count_columns(self, data: Dataset) -> int:
        """Gaussian columns of these data: those of continuous variables."""
        return len(data.columns_of("continuous"))

    def freedom(self, n_columns: int, what: str = "variables") -> float:
        """alpha_w for this number of columns."""
        if self.alpha_w is None:
            return n_columns + self.alpha_mu + 1.0
        if not self.alpha_w > n_columns + 1:
            raise OptionError(
                f"{type(self).__name__} needs alpha_w > {n_columns + 1} for {n_columns} {what}, "
                f"not {float(self.alpha_w)}."
            )
        return float(self.alpha_w)

    def scale(self, n_columns: int, what: str = "variables") -> float:
        """t, the diagonal of T0."""
        alpha_w = self.freedom(n_columns, what)
        return self.alpha_mu * (alpha_w - n_columns - 1) / (self.alpha_mu + 1)


def note_units(score: object, data: Dataset) -> tuple[str, ...]:
    """Sentences on what raw units do to the score of these data; empty if they do nothing."""
    if not isinstance(score, NormalWishart) or score.standardize:
        return ()
    title = type(score).__name__
    scales = np.where([levels is None for levels in data.levels], data.standard_deviations, 0.0)
    is_far = (scales > 0) & (np.abs(data.values.mean(axis=0)) > FAR * scales)
    is_small = (scales > 0) & (data.n_obs * scales**2 < score.scale(score.count_columns(data)))
    far, small = (
        [name for name, one in zip(data.names, which, strict=True) if one]
        for which in (is_far, is_small)
    )
    notes = []
    if far:
        means = "mean of {} is" if len(far) == 1 else "means of {} are"
        notes.append(
            f"in raw units the {means.format(enumerate_names(far))} more than {FAR} standard "
            f"deviations from 0, where {title}'s prior has them, so independent columns can get "
            "edges"
        )
    if small:
        verb = "varies" if len(small) == 1 else "vary"
        notes.append(
            f"in raw units {enumerate_names(small)} {verb} so little that {title}'s prior "
            f"outweighs the data: use other units, or leave out {option('standardize', False)}"
        )
    return tuple(notes)


class GaussianScorer(SetScorer):
    """Scores of one data set whose nodes own Gaussian columns.

    Node v owns the columns ``start[v]..start[v + 1]`` of ``values``. A score takes less than a
    microsecond, whatever the number of rows.
    """

    affordable = 6_000_000

    def __init__(
        self,
        values: Scores,
        start: NDArray[np.int64],
        prior: NormalWishart,
        scales: Scores,
    ) -> None:
        n_obs, n_columns = values.shape
        what = "variables" if n_columns == len(start) - 1 else "columns"
        alpha_w, t = prior.freedom(n_columns, what), prior.scale(n_columns, what)
        self.n_nodes = len(start) - 1
        self._start = start
        self._floor = t
        with np.errstate(over="ignore", invalid="ignore"):
            self._scatter, self._shift = posterior_matrix(values, prior.alpha_mu, t)
            total = self._scatter.sum() + self._shift @ self._shift
        if not np.isfinite(total):
            title = type(prior).__name__
            raise DataError(f"the values are too large for {title}: rescale the columns first.")
        freedom = alpha_w - n_columns
        self._weights = (freedom + np.arange(n_columns + 1) + n_obs) / 2.0
        self._constants = size_constants(n_columns, n_obs, float(prior.alpha_mu), freedom, t)
        for array in (self._start, self._scatter, self._shift, self._weights, self._constants):
            array.flags.writeable = False
        self.gaussian = GaussianPosterior(
            self._scatter,
            self._shift,
            float(2.0 * self._weights[0]),
            np.repeat(np.arange(self.n_nodes), np.diff(start)),
            scales,
            prior.standardize,
        )

    def score_sets(self, members: Members, out: Scores, start: int, stop: int) -> None:
        """Write F of the rows ``start..stop`` of ``members``."""
        out[start:stop] = 0.0
        add_log_likelihoods(
            self._scatter,
            self._shift,
            self._floor,
            self._start,
            self._weights,
            self._constants,
            members,
            out,
            start,
            stop,
        )


def scales_of(data: Dataset) -> Scores:
    """The standard deviations of continuous variables, 1 for a constant; 0 for categorical ones."""
    scales = data.standard_deviations
    is_continuous = [levels is None for levels in data.levels]
    return np.where(is_continuous, np.where(scales > 0, scales, 1.0), 0.0)


def posterior_matrix(values: Scores, alpha_mu: float, t: float) -> tuple[Scores, Scores]:
    """R as (A, s) with R = A + s s'; s is 0 unless adding it would cost digits."""
    n_obs, n_columns = values.shape
    mean = values.mean(axis=0)
    centred = values - mean
    scatter = t * np.eye(n_columns) + centred.T @ centred
    shift = np.sqrt(alpha_mu * n_obs / (alpha_mu + n_obs)) * mean
    if (shift**2 <= scatter.diagonal()).all():  # no mean dominates: R itself will do
        scatter += np.outer(shift, shift)
        shift[:] = 0.0
    return scatter, shift


@kernel
def size_constants(n_columns, n_obs, alpha_mu, freedom, t):
    """c(l) for 0 to ``n_columns`` columns: the part of F that depends only on their number.

    ``freedom`` is alpha_w - m.
    """
    constants = np.zeros(n_columns + 1)
    for before in range(n_columns):
        a = freedom + before + 1.0
        constants[before + 1] = (
            constants[before]
            - n_obs / 2.0 * log(pi)
            + 0.5 * log(alpha_mu / (alpha_mu + n_obs))
            + lgamma((a + n_obs) / 2.0)
            - lgamma(a / 2.0)
            + (a + before) / 2.0 * log(t)
        )
    return constants


@kernel
def add_log_likelihoods(
    scatter, shift, floor, first, weights, constants, members, out, start, stop
):
    """Add F of the sets ``start..stop`` of ``members`` to ``out``.

    A[X] = L D L' column by column, from the highest member down, so that a set begins where it
    differs from the one before. No pivot of A = T0 + S can be below t, the ``floor``, and no column
    can explain more of another than there is: what rounding leaves of collinear columns is cut to
    that, and does not grow.
    """
    n_columns = scatter.shape[0]
    size = members.shape[1]
    column = np.empty(n_columns, dtype=np.int64)
    factor = np.empty((n_columns, n_columns))
    pivot = np.empty(n_columns)
    rest = np.empty(n_columns)
    product = np.empty(n_columns)
    log_det = np.zeros(n_columns + 1)
    shifted = np.ones(n_columns + 1)
    filled = np.zeros(size + 1, dtype=np.int64)
    for row in range(start, stop):
        fresh = size - 1
        if row > start:
            while fresh >= 0 and members[row, fresh] == members[row - 1, fresh]:
                fresh -= 1
        place = filled[fresh + 1] if fresh + 1 < size else 0
        for i in range(fresh, -1, -1):
            node = members[row, i]
            for c in range(first[node], first[node + 1]):
                column[place] = c
                diagonal, remainder = scatter[c, c], shift[c]
                for q in range(place):
                    value = scatter[c, column[q]]
                    for s in range(q):
                        value -= factor[q, s] * product[s]
                    share = value / pivot[q] * value
                    if share > diagonal:
                        value = np.copysign(np.sqrt(pivot[q]) * np.sqrt(diagonal), value)
                        share = diagonal
                    diagonal -= share
                    product[q] = value
                    factor[place, q] = value / pivot[q]
                    remainder -= factor[place, q] * rest[q]
                pivot[place] = max(diagonal, floor)
                rest[place] = remainder
                log_det[place + 1] = log_det[place] + np.log(pivot[place])
                shifted[place + 1] = shifted[place] + remainder * remainder / pivot[place]
                place += 1
            filled[i] = place
        n_filled = filled[0] if size > 0 else 0
        log_det_r = log_det[n_filled]
        if shifted[n_filled] > 1.0:
            log_det_r += np.log(shifted[n_filled])
        out[row] += constants[n_filled] - weights[n_filled] * log_det_r


@dataclass(frozen=True, kw_only=True)
class BGe(NormalWishart):
    """Settings of the BGe score for continuous data.

    ``alpha_mu`` is the prior weight of the mean, ``alpha_w`` the degrees of freedom of the
    Wishart prior (default: number of nodes + alpha_mu + 1). Every column is centred and scaled
    first, so that units do not matter; ``standardize=False`` takes the columns as they are, as the
    paper does.
    """

    @property
    def name(self) -> str:
        """Short name of the score."""
        return "bge"

    def bind(self, data: Dataset, *, allow_degenerate: bool = False) -> FamilyScorer:
        """Check the data and compute the posterior matrix R."""
        require_kind(data, "continuous", "BGe")
        refuse_degenerate(data, "BGe", allow_degenerate)
        values = data.standardized().values if self.standardize else data.values
        start, scales = np.arange(data.n_nodes + 1), scales_of(data)
        return score_observed(data, lambda rows: GaussianScorer(values[rows], start, self, scales))

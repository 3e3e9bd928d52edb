"""BGe: the Bayesian Gaussian equivalent score, in its corrected form.

The data are Gaussian with unknown mean and precision, which have a normal-Wishart prior with
prior mean 0 and a diagonal scale matrix T0 = t I (Geiger & Heckerman 2002; corrected by Kuipers,
Moffa & Heckerman 2014). With the posterior matrix R, the score of a family needs two
determinants, one of R on the family and one of R on the parents alone:

    s(v, Pa) = F(Pa + v) - F(Pa),   F(X) = c(|X|) - (alpha_w - n + |X| + N)/2 log det R[X].

R = A + c m m' with A = T0 + S and m the mean. Columns far from 0 would drown S in c m m'; then
log det R[X] is computed as log det A[X] + log(1 + c m' A[X]^-1 m).

The prior mean is 0 with one scale for all columns, so the score of raw columns depends on their
units and location: to it, a mean far from 0 is one huge outlier that all such columns share, and
independent columns get edges. So columns are standardised first; ``standardize=False`` is the
paper's setting.
"""

from dataclasses import dataclass
from math import lgamma, log, pi

import numpy as np
from numpy.typing import NDArray

from outpoint.data import Dataset
from outpoint.data.wording import enumerate_names
from outpoint.errors import DataError, OptionError
from outpoint.kernels import kernel
from outpoint.scores.base import SetScorer
from outpoint.scores.checks import is_positive_number, refuse_degenerate, require_kind
from outpoint.scores.families import Members, Scores

FAR = 10
"""A mean so many standard deviations from 0 is worth a note where units are raw."""


@dataclass(frozen=True, kw_only=True)
class BGe:
    """Settings of the BGe score for continuous data.

    ``alpha_mu`` is the prior weight of the mean, ``alpha_w`` the degrees of freedom of the
    Wishart prior (default: number of nodes + alpha_mu + 1). Every column is centred and scaled
    first, so that units do not matter; ``standardize=False`` takes the columns as they are, as the
    paper does.
    """

    alpha_mu: float = 1.0
    alpha_w: float | None = None
    standardize: bool = True

    def __post_init__(self) -> None:
        if not is_positive_number(self.alpha_mu):
            raise OptionError(f"BGe needs a positive number alpha_mu, not {self.alpha_mu!r}.")
        if self.alpha_w is not None and not is_positive_number(self.alpha_w):
            raise OptionError(f"BGe needs a positive number alpha_w, not {self.alpha_w!r}.")

    @property
    def name(self) -> str:
        """Short name of the score."""
        return "bge"

    def resolved_alpha_w(self, n_nodes: int) -> float:
        """The degrees of freedom of the Wishart prior for so many variables."""
        return n_nodes + self.alpha_mu + 1.0 if self.alpha_w is None else float(self.alpha_w)

    def bind(self, data: Dataset, *, allow_degenerate: bool = False) -> "BGeScorer":
        """Check the data and compute the posterior matrix R."""
        require_kind(data, "continuous", "BGe")
        refuse_degenerate(data, "BGe", allow_degenerate)
        values = data.standardized().values if self.standardize else data.values
        scorer = BGeScorer(values, self.alpha_mu, self.resolved_alpha_w(data.n_nodes))
        scales = data.standard_deviations
        scorer.column_scales = np.where(scales > 0, scales, 1.0)
        scorer.standardized = self.standardize
        return scorer


def note_units(score: object, data: Dataset) -> tuple[str, ...]:
    """What raw units do to the score of these data, in a sentence; nothing if they do nothing."""
    if not isinstance(score, BGe) or score.standardize:
        return ()
    scales = data.standard_deviations
    is_far = (scales > 0) & (np.abs(data.values.mean(axis=0)) > FAR * scales)
    weight = prior_scale(data.n_nodes, score.alpha_mu, score.resolved_alpha_w(data.n_nodes))
    is_small = (scales > 0) & (data.n_obs * scales**2 < weight)
    far, small = (
        [name for name, one in zip(data.names, which, strict=True) if one]
        for which in (is_far, is_small)
    )
    notes = []
    if far:
        means = "mean of {} is" if len(far) == 1 else "means of {} are"
        notes.append(
            f"in raw units the {means.format(enumerate_names(far))} more than {FAR} standard "
            "deviations from 0, where BGe's prior has them, so independent columns can get edges"
        )
    if small:
        verb = "varies" if len(small) == 1 else "vary"
        notes.append(
            f"in raw units {enumerate_names(small)} {verb} so little that BGe's prior outweighs "
            "the data: use other units, or leave out --raw-units (standardize=False)"
        )
    return tuple(notes)


def prior_scale(n_nodes: int, alpha_mu: float, alpha_w: float) -> float:
    """The t of the prior's matrix t I, which the squares of every column are added to."""
    return alpha_mu * (alpha_w - n_nodes - 1) / (alpha_mu + 1)


class BGeScorer(SetScorer):
    """BGe scores of one data set.

    ``column_scales`` are the standard deviations of the columns in the units of the data (1 for a
    constant one); ``standardized`` tells whether the scores are those of columns divided by them.
    """

    column_scales: Scores
    standardized: bool

    def __init__(self, values: Scores, alpha_mu: float, alpha_w: float) -> None:
        n_obs, n = values.shape
        if not alpha_w > n + 1:
            raise OptionError(f"BGe needs alpha_w > {n + 1} for {n} variables, not {alpha_w}.")
        self.n_nodes = n
        t = prior_scale(n, alpha_mu, alpha_w)
        mean = values.mean(axis=0)
        centred = values - mean
        with np.errstate(over="ignore", invalid="ignore"):
            scatter = t * np.eye(n) + centred.T @ centred
            shift = np.sqrt(alpha_mu * n_obs / (alpha_mu + n_obs)) * mean
            representable = np.isfinite(scatter).all() and np.isfinite(shift @ shift)
        if not representable:
            raise DataError("the values are too large for BGe: rescale the columns first.")
        if (shift**2 <= scatter.diagonal()).all():  # no mean dominates: R itself will do
            scatter += np.outer(shift, shift)
            shift[:] = 0.0
        self._scatter = scatter
        self._shift = shift
        self._floor = float(t)
        sizes = np.arange(n + 1)
        self._weights = (alpha_w - n + sizes + n_obs) / 2.0
        self._constants = _size_constants(n, n_obs, alpha_mu, alpha_w, t)
        for array in (self._scatter, self._shift, self._weights, self._constants):
            array.flags.writeable = False

    @property
    def posterior_matrix(self) -> tuple[Scores, Scores]:
        """R as (A, m) with R = A + m m'; m is 0 unless adding it would cost digits."""
        return self._scatter, self._shift

    @property
    def degrees_of_freedom(self) -> float:
        """alpha_w - n + N: those of the posterior on no node; each node of a set adds one."""
        return float(2.0 * self._weights[0])

    def score_sets(self, members: Members, out: Scores, start: int, stop: int) -> None:
        """Write F of the rows ``start..stop`` of ``members``."""
        _score_sets(
            self._scatter,
            self._shift,
            self._floor,
            self._weights,
            self._constants,
            members,
            out,
            start,
            stop,
        )


def _size_constants(
    n: int, n_obs: int, alpha_mu: float, alpha_w: float, t: float
) -> NDArray[np.float64]:
    """c(m), the part of F that depends only on the size m of the set."""
    steps = [0.0]
    for n_parents in range(n):
        a = alpha_w - n + n_parents + 1
        steps.append(
            -n_obs / 2 * log(pi)
            + 0.5 * log(alpha_mu / (alpha_mu + n_obs))
            + lgamma((a + n_obs) / 2)
            - lgamma(a / 2)
            + (a + n_parents) / 2 * log(t)
        )
    return np.cumsum(steps)


@kernel
def _score_sets(scatter, shift, floor, weights, constants, members, out, start, stop):
    """F of each set, by elimination with the largest pivot first.

    No pivot of A = T0 + S can be below t, the ``floor``, so rounding cannot make one negative
    however collinear the columns.
    """
    size = members.shape[1]
    a = np.empty((size, size))
    b = np.empty(size)
    for row in range(start, stop):
        for i in range(size):
            b[i] = shift[members[row, i]]
            for j in range(i + 1):
                a[i, j] = a[j, i] = scatter[members[row, i], members[row, j]]
        log_det = 0.0
        shifted = 1.0
        for step in range(size):
            _move_largest_pivot(a, b, step)
            pivot = max(a[step, step], floor)
            log_det += np.log(pivot)
            shifted += b[step] * b[step] / pivot
            for i in range(step + 1, size):
                factor = a[i, step] / pivot
                b[i] -= factor * b[step]
                for j in range(step + 1, size):
                    a[i, j] -= factor * a[step, j]
        out[row] = constants[size] - weights[size] * (log_det + np.log(shifted))


@kernel
def _move_largest_pivot(a, b, step):
    """Swap rows and columns so that the largest diagonal entry left stands at ``step``."""
    best = step
    for i in range(step + 1, b.size):
        if a[i, i] > a[best, best]:
            best = i
    if best != step:
        b[step], b[best] = b[best], b[step]
        for j in range(step, b.size):
            a[step, j], a[best, j] = a[best, j], a[step, j]
        for j in range(step, b.size):
            a[j, step], a[j, best] = a[j, best], a[j, step]

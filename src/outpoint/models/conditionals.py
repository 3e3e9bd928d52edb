"""The law of a variable given its parents: tables of probabilities and linear regressions.

A *table* is the Dirichlet posterior of a categorical variable's parameters. With BDeu's prior count
a for every cell, and n_dk observations of level k among the n_d of the parents' state d, the
probabilities of the r levels in state d have a Dirichlet law with the parameters a + n_dk,
independently of those in other states. The predictive probability of a level is the mean,
(a + n_dk) / (a r + n_d).

A *regression* is the normal inverse gamma posterior of a Gaussian column given its parents. The
normal-Wishart prior of BGe with N observations of mean x has the posterior mean
mu = N x / (alpha_mu + N), of weight k = alpha_mu + N, and the matrix R of ``scores.gaussian``. For
a column v with l parent columns P, with nu = alpha_w - m + l + 1 + N for m columns in all,

    sigma²           ~  inverse gamma(nu / 2, R[v|P] / 2),
    b | sigma²       ~  normal(R[P,P]^-1 R[P,v], sigma² R[P,P]^-1),
    level | sigma²   ~  normal(mu_v, sigma² / k),

in the regression x_v = level + b'(x_P - mu_P) + error, the level and b being independent given
sigma². A new x_v is Student t with nu degrees of freedom, location mu_v + b'(x_P - mu_P) and

    spread² = R[v|P] / nu (1 + 1/k + (x_P - mu_P)' R[P,P]^-1 (x_P - mu_P)).

There is one regression for every state of the categorical parents, if there are any. Joint states
have numbers, and it is known which of them were observed.

Formulas: docs/math.md#parameters-and-predictive-densities.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log, pi, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Floats, Integers
from outpoint.errors import TooLargeError

MOST_NUMBERED = 2**62
"""Most configurations that can be numbered."""

FEW = 4096
"""Most configurations of which a complete list is kept."""

MOST_LISTED = 2**22
"""Most configurations whose parameters can all be drawn."""


@dataclass(frozen=True, eq=False)
class Configurations:
    """The states of categorical ``parents``, numbered from 0; the last parent counts fastest.

    ``sizes`` are the numbers of levels of the parents, ``observed`` the ascending numbers of the
    states that occur in the data. Without parents there is one state.
    """

    parents: tuple[int, ...]
    sizes: tuple[int, ...]
    observed: NDArray[np.int64]

    @property
    def n_all(self) -> int:
        """The number of possible states."""
        return prod(self.sizes)

    def number(self, columns: Floats) -> NDArray[np.int64]:
        """The number of the state in every row of level codes (row, variable)."""
        return number_states(columns, self.parents, self.sizes)

    @cached_property
    def _places(self) -> Integers:
        """The places of all states; asked for only where these are few."""
        places = np.full(self.n_all, len(self.observed), dtype=np.intp)
        places[self.observed] = np.arange(len(self.observed))
        return places

    def places(self, numbers: NDArray[np.int64]) -> Integers:
        """The places of states among those observed; states never observed share the one after."""
        if self.n_all <= FEW:
            return np.asarray(self._places[numbers])
        found = np.searchsorted(self.observed, numbers)
        known = np.append(self.observed, -1)[found] == numbers
        return np.where(known, found, len(self.observed))

    def every(self) -> NDArray[np.int64]:
        """The numbers of all states."""
        if self.n_all > MOST_LISTED:
            raise TooLargeError(
                f"the parents of a variable have {self.n_all:,} joint levels, but the parameters "
                f"of at most {MOST_LISTED:,} can be drawn: allow fewer parents, or join levels."
            )
        return np.arange(self.n_all, dtype=np.int64)


def number_states(
    columns: Floats, parents: tuple[int, ...], sizes: tuple[int, ...]
) -> NDArray[np.int64]:
    """The number of the joint state of ``parents`` in every row of level codes."""
    if prod(sizes) > MOST_NUMBERED:
        raise TooLargeError(
            "the parents of a variable have more joint levels than can be numbered: allow fewer "
            "parents, or join levels."
        )
    if not parents:
        return np.zeros(len(columns), dtype=np.int64)
    numbers = columns[:, parents[0]].astype(np.int64)
    for parent, size in zip(parents[1:], sizes[1:], strict=True):
        numbers = numbers * size + columns[:, parent].astype(np.int64)
    return numbers


class NormalPrior(NamedTuple):
    """The normal-Wishart prior: weight of the mean, alpha_w - m for m columns, diagonal of T0."""

    alpha_mu: float
    freedom: float
    t: float


class Moments(NamedTuple):
    """Rows, means and sums of squares of some columns in every observed state of other columns."""

    n_rows: Floats
    means: Floats
    scatter: Floats

    def of(self, columns: list[int]) -> Moments:
        """The moments of some of the columns."""
        chosen = self.scatter[:, columns][:, :, columns]
        return Moments(self.n_rows, self.means[:, columns], chosen)

    def with_nothing(self) -> Moments:
        """The moments with a further state that was never observed."""
        n_columns = self.means.shape[1]
        return Moments(
            np.append(self.n_rows, 0.0),
            np.vstack([self.means, np.zeros((1, n_columns))]),
            np.concatenate([self.scatter, np.zeros((1, n_columns, n_columns))]),
        )


class DrawnRegression(NamedTuple):
    """Intercepts (state,), slopes (state, parent) and variances (state,) of a Gaussian column."""

    child: int
    parents: tuple[int, ...]
    states: Configurations
    intercepts: Floats
    slopes: Floats
    variances: Floats

    def locations(self, columns: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of the column given every row's parents."""
        place = self.states.number(columns)
        inner = np.einsum("rp,rp->r", self.slopes[place], columns[:, list(self.parents)])
        return self.intercepts[place] + inner, self.variances[place]

    def log_density(self, columns: Floats) -> Floats:
        """The log density of the column given its parents, in every row."""
        mean, variance = self.locations(columns)
        gap = columns[:, self.child] - mean
        return np.asarray(-0.5 * (np.log(2 * pi * variance) + gap**2 / variance))

    def fill(self, columns: Floats, rng: np.random.Generator) -> None:
        """Draw the column, given those of its parents."""
        mean, variance = self.locations(columns)
        columns[:, self.child] = mean + np.sqrt(variance) * rng.standard_normal(len(columns))


@dataclass(frozen=True, eq=False)
class Regression:
    """The posterior of one Gaussian column given Gaussian ``parents``, for every state of others.

    Arrays have the observed states first; if there can be others, the prior of such stands last.
    ``centres`` (state, parent) and ``levels`` (state,) are the posterior means of the columns,
    ``weights`` their weight; ``slopes`` the means of b; ``roots`` upper triangular with root' root
    = R[P,P]; ``residuals`` is R[v|P] and ``freedoms`` nu.
    """

    child: int
    parents: tuple[int, ...]
    states: Configurations
    centres: Floats
    levels: Floats
    weights: Floats
    slopes: Floats
    roots: Floats
    residuals: Floats
    freedoms: Floats

    @classmethod
    def from_moments(
        cls,
        child: int,
        parents: tuple[int, ...],
        states: Configurations,
        moments: Moments,
        prior: NormalPrior,
    ) -> Regression:
        """The posterior from moments of the parents and then the child."""
        if states.parents or not len(states.observed):
            moments = moments.with_nothing()
        weights = prior.alpha_mu + moments.n_rows
        means = moments.means * (moments.n_rows / weights)[:, None]
        shifts = moments.means * np.sqrt(prior.alpha_mu * moments.n_rows / weights)[:, None]
        size = len(parents)
        factor = factor_of(moments.scatter + prior.t * np.eye(size + 1), shifts)
        roots, last = factor[:, :size, :size], factor[:, :size, size:]
        return cls(
            child,
            parents,
            states,
            means[:, :size],
            means[:, size],
            weights,
            np.asarray(np.linalg.solve(roots, last)[:, :, 0], dtype=np.float64),
            roots,
            factor[:, size, size] ** 2,
            prior.freedom + size + 1.0 + moments.n_rows,
        )

    def student(self, columns: Floats) -> tuple[Floats, Floats, Floats]:
        """Location, spread and degrees of freedom of the predictive law, given every row.

        Where there is one state for all rows, the degrees of freedom are one number.
        """
        place = self._place(columns)
        location, solved = self._located(columns, place)
        leverage = 1.0 + 1.0 / self.weights[place] + np.einsum("rp,rp->r", solved, solved)
        freedom = self.freedoms[place]
        return location, np.sqrt(self.residuals[place] / freedom * leverage), freedom

    def _place(self, columns: Floats) -> Integers:
        """The place of the state in every row, or one for all rows."""
        if not self.states.parents:
            return np.zeros(1, dtype=np.intp)
        return self.states.places(self.states.number(columns))

    def _located(self, columns: Floats, place: Integers) -> tuple[Floats, Floats]:
        """The location, and root'^-1 (x_P - mu_P) whose square is the leverage, in every row."""
        gaps = columns[:, list(self.parents)] - self.centres[place]
        slopes = np.broadcast_to(self.slopes[place], gaps.shape)
        location = self.levels[place] + np.einsum("rp,rp->r", slopes, gaps)
        solved = np.zeros_like(gaps)
        if self.states.parents:
            for p in range(len(self.parents)):
                solved += gaps[:, p, None] * self._inverse_roots[place, p]
        elif self.parents:
            solved = gaps @ self._inverse_roots[0]
        return location, solved

    @cached_property
    def _inverse_roots(self) -> Floats:
        """The inverses of the roots: with many rows a product is far quicker than a solution."""
        return np.asarray(np.linalg.inv(self.roots), dtype=np.float64)

    def log_predictive(self, columns: Floats) -> Floats:
        """The log predictive density of the column in every row."""
        location, spread, freedom = self.student(columns)
        return log_student((columns[:, self.child] - location) / spread, freedom) - np.log(spread)

    def log_predictive_along(self, columns: Floats, column: int, values: Floats) -> Floats:
        """The same (row, value) where one of the columns is set to several values in every row.

        The location is linear in such a value, and the leverage is quadratic, so that the rows are
        looked at once, with what the column is in ``columns``.
        """
        if column == self.child:
            location, spread, freedom = (np.reshape(one, (-1, 1)) for one in self.student(columns))
            return log_student((values - location) / spread, freedom) - np.log(spread)
        p, place = self.parents.index(column), self._place(columns)
        location, solved = self._located(columns, place)
        way = np.broadcast_to(self._inverse_roots[place, p], solved.shape)
        steps = values - columns[:, column, None]
        leverage = np.einsum("rp,rp->r", way, way)[:, None] * steps
        leverage = (leverage + 2.0 * np.einsum("rp,rp->r", solved, way)[:, None]) * steps
        leverage += (1.0 + 1.0 / self.weights[place] + np.einsum("rp,rp->r", solved, solved))[
            :, None
        ]
        freedom = self.freedoms[place][:, None]
        variance = (self.residuals[place][:, None] / freedom) * leverage
        gaps = (columns[:, self.child] - location)[:, None] - self.slopes[place, p, None] * steps
        return log_student(gaps / np.sqrt(variance), freedom) - 0.5 * np.log(variance)

    def fill(self, columns: Floats, rng: np.random.Generator) -> None:
        """Draw the column from its predictive law, given those of its parents."""
        location, spread, freedom = self.student(columns)
        columns[:, self.child] = location + spread * rng.standard_t(freedom, size=len(columns))

    def draw(self, rng: np.random.Generator) -> DrawnRegression:
        """Parameters in all states, drawn from the posterior."""
        place = self.states.places(self.states.every())
        gammas = 2.0 * rng.standard_gamma(self.freedoms[place] / 2.0)
        variances = self.residuals[place] / gammas
        noise = rng.standard_normal((*self.slopes[place].shape, 1))
        noise *= np.sqrt(variances)[:, None, None]
        slopes = self.slopes[place] + np.linalg.solve(self.roots[place], noise)[:, :, 0]
        levels = self.levels[place] + rng.standard_normal(len(place)) * np.sqrt(
            variances / self.weights[place]
        )
        intercepts = levels - np.einsum("sp,sp->s", slopes, self.centres[place])
        return DrawnRegression(self.child, self.parents, self.states, intercepts, slopes, variances)


def log_student(standardized: Floats, freedom: Floats) -> Floats:
    """Log density of Student's t."""
    from scipy.special import gammaln

    constant = gammaln((freedom + 1) / 2) - gammaln(freedom / 2) - 0.5 * (log(pi) + np.log(freedom))
    return np.asarray(constant - (freedom + 1) / 2 * np.log1p(standardized**2 / freedom))


def factor_of(scatter: Floats, shift: Floats) -> Floats:
    """Upper triangular F with F'F = scatter + shift shift' (..., column, column), not formed."""
    scales = np.sqrt(np.diagonal(scatter, axis1=-2, axis2=-1))
    values, vectors = np.linalg.eigh(scatter / (scales[..., :, None] * scales[..., None, :]))
    least = scatter.shape[-1] * np.finfo(np.float64).eps
    roots = np.sqrt(np.maximum(values, least))[..., :, None]
    roots = roots * np.swapaxes(vectors, -1, -2) * scales[..., None, :]
    stacked = np.concatenate([roots, shift[..., None, :]], axis=-2)
    return np.asarray(np.linalg.qr(stacked, mode="r"), dtype=np.float64)


class DrawnTable(NamedTuple):
    """Probabilities (state, level) of a categorical column in all states of its parents."""

    child: int
    states: Configurations
    probabilities: Floats

    def rows_of(self, columns: Floats) -> Floats:
        """The probabilities of the levels given every row of columns."""
        return np.asarray(self.probabilities[self.states.number(columns)])

    def log_density(self, columns: Floats) -> Floats:
        """The log probability of every row's level given its parents."""
        levels = columns[:, self.child].astype(np.intp)
        with np.errstate(divide="ignore"):
            return np.log(self.rows_of(columns)[np.arange(len(columns)), levels])

    def fill(self, columns: Floats, rng: np.random.Generator) -> None:
        """Draw the column, given those of its parents."""
        columns[:, self.child] = draw_levels(self.rows_of(columns), rng)


@dataclass(frozen=True, eq=False)
class Table:
    """The Dirichlet posterior of one categorical column given categorical ``states``.

    ``counts`` are (observed state, level), ``prior`` is the prior count of each cell.
    """

    child: int
    states: Configurations
    counts: Floats
    prior: float

    @property
    def n_levels(self) -> int:
        """The number of levels of the column."""
        return self.counts.shape[1]

    @cached_property
    def weights(self) -> Floats:
        """The parameters (state, level) of the law in the observed states, then in any other."""
        return self.prior + np.vstack([self.counts, np.zeros((1, self.n_levels))])

    @cached_property
    def shares(self) -> Floats:
        """The predictive probabilities (state, level) in the same states."""
        return self.weights / self.weights.sum(axis=1, keepdims=True)

    @cached_property
    def _log_shares(self) -> Floats:
        return np.log(self.shares)

    def means(self, columns: Floats) -> Floats:
        """The predictive probability of every level (row, level) given every row's parents."""
        return np.asarray(self.shares[self.states.places(self.states.number(columns))])

    def log_predictive(self, columns: Floats) -> Floats:
        """The log predictive probability of every row's level."""
        places = self.states.places(self.states.number(columns))
        return np.asarray(self._log_shares[places, columns[:, self.child].astype(np.intp)])

    def fill(self, columns: Floats, rng: np.random.Generator) -> None:
        """Draw the column from its predictive law, given those of its parents."""
        columns[:, self.child] = draw_levels(self.means(columns), rng)

    def draw(self, rng: np.random.Generator) -> DrawnTable:
        """Probabilities in all states, drawn from the posterior."""
        weights = self.weights[self.states.places(self.states.every())]
        return DrawnTable(self.child, self.states, draw_dirichlet(weights, rng))

    def average(self) -> DrawnTable:
        """The means of the probabilities in all states, which predict any single row."""
        shares = self.shares[self.states.places(self.states.every())]
        return DrawnTable(self.child, self.states, shares)


def draw_levels(probabilities: Floats, rng: np.random.Generator) -> Integers:
    """Draw one level for every row of probabilities (row, level)."""
    cumulative = probabilities.cumsum(axis=1)
    above = rng.random(len(cumulative))[:, None] * cumulative[:, -1:] >= cumulative
    return np.minimum(above.sum(axis=1), cumulative.shape[1] - 1)


def draw_dirichlet(weights: Floats, rng: np.random.Generator) -> Floats:
    """Draw once for every row of weights, however small: a gamma variable of shape a is one of
    shape a + 1 times U^(1/a), whose logarithm never underflows.
    """
    logs = np.log(rng.standard_gamma(weights + 1.0))
    logs -= rng.standard_exponential(weights.shape) / weights
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))

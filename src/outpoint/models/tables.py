"""Conditional probability tables: the Dirichlet posterior of a categorical variable's parameters.

With BDeu's prior count a for every cell, and n_dk observations of level k among the n_d of the
parents' state d, the probabilities of the r levels in state d have a Dirichlet law with the
parameters a + n_dk, independently of those in other states. The predictive probability of a level
is the mean, (a + n_dk) / (a r + n_d).

Formulas: docs/math.md#parameters-and-predictive-densities.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from outpoint.arrays import Floats, Integers
from outpoint.models.configurations import Configurations


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

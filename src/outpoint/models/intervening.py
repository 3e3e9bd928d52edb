"""What is expected of a variable when others are set from outside, in a DAG with parameters.

Setting variables cuts the edges into them (truncated factorisation): p(y | do(x)) is the product of
the families of all variables but x, summed over everything but y. Tables are summed exactly, one
variable after the other, keeping the joint law of those that others still depend on. Means of
Gaussian columns follow their regressions. Where categorical variables decide which regression
holds, all their joint levels are listed, each with its probability; if these are too many, or too
many tables depend on each other, levels are simulated, with the same random numbers whatever is
set. Parameters of different families are independent and each family counts once in every term, so
that the expectation over parameters is what the means of the parameters give. The earlier values of
a time series, which have no distribution of their own, are those that were observed, each as
likely. Formulas: docs/math.md#what-if.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from outpoint.arrays import Booleans, Floats, Integers
from outpoint.errors import TooLargeError
from outpoint.graphs.layers import order_of
from outpoint.kernels import kernel
from outpoint.models.conditionals import DrawnRegression, DrawnTable, Regression, Table
from outpoint.models.model import NetworkModel
from outpoint.models.network import Coding
from outpoint.models.summing import Settings, Tables, TableSums

Families = dict[int, tuple[DrawnRegression | DrawnTable, ...]]
SIMULATED = 200
"""Rows of categorical variables to simulate where there are too many to be listed."""

OFTEN = 5 * SIMULATED
"""Rows from which the probability of a level is estimated: its standard error is at most 0.016."""

MOST_LISTED = 1024
"""Most joint levels of categorical variables that are listed, with those observed before."""


@dataclass(frozen=True, eq=False)
class Target:
    """What to expect of a variable: the mean if it is continuous, or the probability of a level."""

    variable: int
    level: int | None = None

    def from_columns(self, coding: Coding, columns: Floats) -> Floats:
        """The expectation in every row of expected columns."""
        if self.level is None:
            return coding.decode(columns, self.variable)
        own = columns[:, coding.columns_of(self.variable)]
        if coding.codes[self.variable] is None:
            return np.asarray(own[:, 0] == self.level, dtype=np.float64)
        return np.asarray(coding.shares(self.variable, own)[:, self.level])


def changed(settings: Settings) -> list[int]:
    """The variables that are not set to the same value in all arms."""
    return [v for v, values in settings.items() if np.ptp(values) > 0]


class Intervened:
    """A DAG in which some variables are set, ready for any parameters.

    ``is_reached`` says whether a directed path leads to the target from one whose value changes.
    """

    def __init__(
        self, model: NetworkModel, adjacency: Booleans, settings: Settings, target: Target
    ) -> None:
        cut = adjacency.copy()
        cut[:, list(settings)] = False
        above = _ancestors(cut, target.variable)
        self.coding, self.settings, self.target = model.coding, settings, target
        self.is_reached = any(above[v] for v in changed(settings))
        self.order = [
            v for v in order_of(cut) if above[v] and v not in settings and not model.given[v]
        ]
        self.pasts = {
            v: model.pasts[:, v]
            for v in np.flatnonzero(above & model.given).tolist()
            if v not in settings
        }
        self.parents = {v: tuple(np.flatnonzero(adjacency[:, v]).tolist()) for v in self.order}
        self.families = {v: model.family(v, self.parents[v]) for v in self.order}

    def expected(self, rng: np.random.Generator) -> Floats:
        """The expectation in every arm, parameters averaged out."""
        return self._evaluate(
            {v: tuple(average_of(part) for part in own) for v, own in self.families.items()}, rng
        )

    def drawn(self, rng: np.random.Generator) -> Floats:
        """The expectation in every arm, given parameters drawn from their posterior."""
        return self._evaluate(
            {v: tuple(part.draw(rng) for part in own) for v, own in self.families.items()}, rng
        )

    def _evaluate(self, families: Families, rng: np.random.Generator) -> Floats:
        v = self.target.variable
        if self.coding.levels[v] is None or self.coding.codes[v] is not None:
            return self._follow(families, SIMULATED, rng)
        try:
            return self._sum(families)
        except TooLargeError:
            return self._follow(families, OFTEN, rng)

    def _sum(self, families: Families) -> Floats:
        """The probability of a level in every arm, from the tables."""
        v, n_arms = self.target.variable, len(next(iter(self.settings.values())))
        n_rows = len(next(iter(self.pasts.values()), np.zeros(1)))
        settings = {u: np.repeat(own, n_rows) for u, own in self.settings.items()}
        settings |= {u: np.tile(own, n_arms) for u, own in self.pasts.items()}
        laws = TableSums(stack_tables([families])).laws(self.order, settings, (v,))
        found = laws[v][0, :, self.target.level]
        return np.asarray(found.reshape(n_arms, n_rows).mean(axis=1))

    def _follow(self, families: Families, n_simulated: int, rng: np.random.Generator) -> Floats:
        """The expectation in every arm, from rows whose levels are listed or simulated."""
        n_arms = len(next(iter(self.settings.values())))
        n_pasts = len(next(iter(self.pasts.values()), np.zeros(1)))
        tabled = [u for u in self.order if isinstance(families[u][0], DrawnTable)]
        listed = list_levels(self.coding, tabled, MOST_LISTED // n_pasts)
        n_states = n_simulated if listed is None else len(next(iter(listed.values()), [0.0]))
        n_rows = n_states if listed is None else n_states * n_pasts
        rows = np.arange(n_arms * n_rows)
        fixed = {u: (rows, np.repeat(own, n_rows)) for u, own in self.settings.items()}
        for u, own in self.pasts.items():
            each = np.resize(own, n_rows) if listed is None else np.repeat(own, n_states)
            fixed[u] = rows, np.tile(each, n_arms)
        order = [*fixed, *self.order]
        columns, weights = follow(
            self.coding, order, families, fixed, len(rows), n_rows, rng, listed=listed
        )
        found = self.target.from_columns(self.coding, columns) * weights
        return np.asarray(found.reshape(n_arms, n_rows).sum(axis=1))


def list_levels(coding: Coding, variables: Sequence[int], most: int) -> dict[int, Floats] | None:
    """All joint levels of categorical variables, one row for each; None if there are too many."""
    sizes = [len(coding.levels[v] or ()) for v in variables]
    if prod(sizes) > most:
        return None
    grid = np.unravel_index(np.arange(prod(sizes)), sizes) if sizes else ()
    return {v: own.astype(np.float64) for v, own in zip(variables, grid, strict=True)}


def stack_tables(sets: Sequence[Families]) -> Tables:
    """The tables of several sets of parameters of the same families."""
    stacked = {}
    for v in sets[0]:
        tables = [part for families in sets for part in families[v] if isinstance(part, DrawnTable)]
        states, every = tables[0].states, np.stack([table.probabilities for table in tables])
        sizes = (*states.sizes, every.shape[-1])
        stacked[v] = states.parents, every.reshape(len(sets), *sizes)
    return stacked


def follow(
    coding: Coding,
    order: Sequence[int],
    families: Families,
    fixed: dict[int, tuple[Integers, Floats]],
    n_rows: int,
    period: int,
    rng: np.random.Generator,
    *,
    start: Floats | None = None,
    listed: dict[int, Floats] | None = None,
) -> tuple[Floats, Floats]:
    """Columns (row, column), and the weights of the rows, which add up to 1 in every ``period``.

    Gaussian columns are means. Columns with tables have the ``listed`` levels, over and over, and
    rows weigh as much as these are probable; or else levels are simulated. ``fixed`` has rows in
    which a variable is set, and what to; rows that are ``period`` apart use the same random
    numbers. ``start`` has the columns of given variables, 0 by default.
    """
    columns = np.zeros((n_rows, len(coding.owner))) if start is None else start.copy()
    n_states = 1 if not listed else len(next(iter(listed.values())))
    weights = np.full(n_rows, n_states / period if listed is not None else 1.0 / period)
    for v in order:
        for part in families.get(v, ()):
            if isinstance(part, DrawnRegression):
                columns[:, part.child] = part.locations(columns)[0]
                continue
            if listed is None:
                states = part.states.number(columns)
                levels = _levels_at(part.probabilities, states, rng.random(period))
                columns[:, part.child] = levels
                continue
            shares = part.rows_of(columns)
            levels = np.resize(listed[v], n_rows)
            columns[:, part.child] = levels
            own = shares[np.arange(n_rows), levels.astype(np.intp)]
            if v in fixed:
                own[fixed[v][0]] = 1.0 / shares.shape[1]  # set, whatever level is listed
            weights *= own
        if v in fixed:
            rows, values = fixed[v]
            columns[rows[:, None], np.array(coding.columns_of(v))] = encode(coding, v, values)
    return columns, weights


@kernel
def _levels_at(probabilities, states, uniform):
    """For each state, the level (row,) at which cumulative probabilities pass a uniform number.

    The same numbers are used repeatedly.
    """
    levels = np.empty(len(states), dtype=np.float64)
    n_levels = probabilities.shape[1]
    for row in range(len(states)):
        shares = probabilities[states[row]]
        total = 0.0
        for level in range(n_levels):
            total += shares[level]
        limit, reached, level = uniform[row % len(uniform)] * total, shares[0], 0
        while level < n_levels - 1 and limit >= reached:
            level += 1
            reached += shares[level]
        levels[row] = level
    return levels


def encode(coding: Coding, variable: int, values: Floats) -> Floats:
    """The columns (row, column) of values of one variable."""
    codes = coding.codes[variable]
    if codes is not None:
        return np.asarray(codes[values.astype(np.intp)])
    return np.asarray((values - coding.shifts[variable]) / coding.scales[variable])[:, None]


def _ancestors(adjacency: Booleans, node: int) -> Booleans:
    """The node and all its ancestors."""
    found = np.zeros(len(adjacency), dtype=np.bool_)
    waiting = [node]
    found[node] = True
    while waiting:
        for u in np.flatnonzero(adjacency[:, waiting.pop()] & ~found).tolist():
            found[u] = True
            waiting.append(u)
    return found


def average_of(part: Regression | Table) -> DrawnRegression | DrawnTable:
    """The means of the parameters."""
    if isinstance(part, Table):
        return part.average()
    place = part.states.places(part.states.every())
    slopes = part.slopes[place]
    intercepts = part.levels[place] - np.einsum("sp,sp->s", slopes, part.centres[place])
    return DrawnRegression(
        part.child, part.parents, part.states, intercepts, slopes, part.residuals[place]
    )

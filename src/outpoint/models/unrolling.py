"""What setting a variable once does to all variables of a time series, some steps later.

The same families, with the same parameters, hold at every time: a network of slices is unrolled by
giving each family its parents at the times before. Variable and time v, t have the number t n + v
among n columns; values before the first slice are those that were observed. Tables are summed
exactly where their joint law is small enough, as in :mod:`outpoint.models.intervening`. Otherwise
categorical variables are simulated, and Gaussian columns follow their regressions in the mean,
which is exact as nothing but their own regressions depends on them.
Formulas: docs/math.md#what-if.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from outpoint.arrays import Booleans, Floats
from outpoint.errors import TooLargeError
from outpoint.graphs.layers import order_of
from outpoint.models.intervening import (
    SIMULATED,
    Families,
    Target,
    encode,
    follow,
    stack_tables,
)
from outpoint.models.model import NetworkModel
from outpoint.models.summing import TableSums


@dataclass(frozen=True, eq=False)
class Lags:
    """Which variable each column is, and its lag: ``base`` and ``lag`` (column,), -1 if static."""

    variables: tuple[int, ...]
    base: tuple[int, ...]
    lag: tuple[int, ...]

    def before(self, column: int, time: int) -> tuple[int, int]:
        """The variable and time that a column of the slice at ``time`` holds, or (column, -1).

        The time is -1 for what lies before the first slice or is static, and the column then that
        of the first slice; the same column, if that one has none for the time in question.
        """
        if self.base[column] < 0:
            return column, -1
        then = time - self.lag[column]
        if then >= 0:
            return self.base[column], then
        columns = list(zip(self.base, self.lag, strict=True))
        wanted = self.base[column], -then
        return columns.index(wanted) if wanted in columns else column, -1


class Unrolled:
    """A DAG of slices over some steps, with the two values (variable, arm) each one is set to."""

    def __init__(
        self,
        model: NetworkModel,
        adjacency: Booleans,
        lags: Lags,
        steps: int,
        values: Floats,
        targets: Sequence[Target],
    ) -> None:
        self.model, self.dag, self.lags, self.steps = model, adjacency, lags, steps
        self.values, self.targets = values, targets
        self.order = [v for v in order_of(adjacency) if not model.given[v]]
        self.parents = {v: tuple(np.flatnonzero(adjacency[:, v]).tolist()) for v in self.order}
        self.posteriors = {v: model.family(v, self.parents[v]) for v in self.order}

    @cached_property
    def reach(self) -> Booleans:
        """[step, cause, effect]: whether a path leads there."""
        n = len(self.dag)
        found = np.zeros((self.steps + 1, n, n), dtype=np.bool_)
        found[0] = np.eye(n, dtype=np.bool_)
        for t in range(self.steps + 1):
            for v in self.order:
                for u in self.parents[v]:
                    base, then = self.lags.before(u, t)
                    if then >= 0:
                        found[t, :, v] |= found[then, :, base]
        return found

    def drawn(self, count: int, rng: np.random.Generator) -> Floats:
        """Effects (draw, step, cause, effect) for parameters drawn from their posterior."""
        sets = [
            {v: tuple(part.draw(rng) for part in own) for v, own in self.posteriors.items()}
            for _ in range(count)
        ]
        variables = list(self.lags.variables)
        reach = self.reach[:, variables][:, :, variables]
        found = np.zeros((count, *reach.shape))
        if all(self._is_table(v) for v in self.order):
            try:
                self._sum(sets, found)
            except TooLargeError:
                self._simulate_all(sets, found, rng)
        else:
            self._simulate_all(sets, found, rng)
        return np.where(reach, found, 0.0)

    def _is_table(self, v: int) -> bool:
        coding = self.model.coding
        return coding.levels[v] is not None and coding.codes[v] is None

    def _sum(self, sets: list[Families], out: Floats) -> None:
        """Effects on the probabilities of levels, summed over all variables in between."""
        n, pasts = len(self.dag), self.model.pasts
        tables, settings = {}, {}
        for v, (_, array) in stack_tables(sets).items():
            for t in range(self.steps + 1):
                places = [self.lags.before(u, t) for u in self.parents[v]]
                around = tuple(u + n * t if t >= 0 else -1 - u for u, t in places)
                tables[v + n * t] = around, array
        used = sorted({u for around, _ in tables.values() for u in around if u < 0})
        rows, weights = np.zeros((1, 0)), np.ones(1)
        if used:
            columns = [-1 - u for u in used]
            rows, counts = np.unique(pasts[:, columns], axis=0, return_counts=True)
            weights = counts / counts.sum()
        for place, u in enumerate(used):
            settings[u] = np.tile(rows[:, place], 2)
        nodes = [v + n * t for t in range(self.steps + 1) for v in self.order]
        sums = TableSums(tables)
        for place, cause in enumerate(self.lags.variables):
            out[:, 0, place, place] = 1.0
            if cause not in self.order:
                continue  # its values follow from those before
            fixed = settings | {cause: np.repeat(self.values[cause], len(rows))}
            wanted = {node for node in nodes if node != cause}
            order = [node for node in nodes if node != cause]
            laws = sums.laws(order, fixed, wanted)
            for t in range(self.steps + 1):
                for other, v in enumerate(self.lags.variables):
                    if v + n * t not in laws:
                        continue
                    law = laws[v + n * t][:, :, self.targets[v].level]
                    arms = law.reshape(len(sets), 2, len(rows)) @ weights
                    out[:, t, place, other] = arms[:, 1] - arms[:, 0]

    def _simulate_all(self, sets: list[Families], out: Floats, rng: np.random.Generator) -> None:
        for own, families in zip(out, sets, strict=True):
            self._simulate(families, own, rng)

    def _simulate(self, families: Families, out: Floats, rng: np.random.Generator) -> None:
        """Two arms for every cause, in rows of one table, one slice after the other."""
        coding, variables = self.model.coding, self.lags.variables
        period = SIMULATED if any(self._is_table(v) for v in self.order) else 1
        n_rows = 2 * period * len(variables)
        fixed = {
            v: (
                np.arange(2 * period * i, 2 * period * (i + 1)),
                np.repeat(self.values[v], period),
            )
            for i, v in enumerate(variables)
            if v in self.order
        }
        first = self._first(period, n_rows)
        slices: list[Floats] = []
        for t in range(self.steps + 1):
            start = first.copy()
            for u in np.flatnonzero(self.model.given).tolist():
                base, then = self.lags.before(u, t)
                source = slices[then] if then >= 0 else first
                start[:, coding.columns_of(u)] = source[:, coding.columns_of(base)]
            held = fixed if t == 0 else {}
            now, _ = follow(coding, self.order, families, held, n_rows, period, rng, start=start)
            slices.append(now)
            for other, v in enumerate(variables):
                arms = (
                    self.targets[v]
                    .from_columns(coding, now)
                    .reshape(len(variables), 2, period)
                    .mean(axis=2)
                )
                out[t, :, other] = arms[:, 1] - arms[:, 0]

    def _first(self, period: int, n_rows: int) -> Floats:
        """The columns, filled with what was observed before the first slice."""
        coding, pasts = self.model.coding, self.model.pasts
        columns = np.zeros((n_rows, len(coding.owner)))
        if period > 1:
            for u in np.flatnonzero(self.model.given).tolist():
                own = np.tile(np.resize(pasts[:, u], period), n_rows // period)
                columns[:, coding.columns_of(u)] = encode(coding, u, own)
        return columns

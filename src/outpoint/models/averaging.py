"""Predictive densities averaged over DAGs, for rows with any pattern of known cells.

Averages over DAGs are averages of densities, p(x | D) = sum over G of P(G | D) p(x | G, D); what is
unknown in a row is integrated out of them. A conditional p(x_T | x_B, D) is the ratio of two such
averages, so that DAGs count by how well they predict x_B.

There are three ways to integrate; the first that is feasible is taken:

* Completions: all levels of unknown categorical cells, and at most one continuous cell at the nodes
  of a trapezoidal rule in u, x = centre + width sinh u, which converges exponentially. Exact but
  for rounding. Cells that no known one depends on, in any DAG, integrate to 1 and are left out.
* Networks: where all columns are Gaussian, draws of DAGs and parameters. Given these any set of
  columns is multivariate normal, and so are conditionals.
* Simulation: unknown cells are drawn, parents first, from their predictive densities, and weigh as
  much as the known cells are probable given them.

The last two have Monte Carlo errors, which are estimated.

Formulas: docs/math.md#averages-over-structures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np

from outpoint.arrays import Booleans, Floats, Integers
from outpoint.errors import DataError
from outpoint.graphs.layers import order_of
from outpoint.models.conditionals import Regression, Table
from outpoint.models.gaussian_rows import GaussianNetworks, relative_error
from outpoint.models.model import NetworkModel
from outpoint.naming import enumerate_names
from outpoint.progress import FractionCallback, part_of, say_nothing, tell_fractions

MOST_COMPLETIONS = 4096
"""Most completions of a row that are summed over, all of them."""

CELLS = 50_000
"""Completed rows that are handled together."""

LEAST_TOGETHER = 8
"""The fewest combinations of families that are added up at a time."""

STEP = 0.08
"""Distance between the nodes of the trapezoidal rule."""

USUAL_NODES = 200
"""The usual number of nodes, roughly."""

NEGLIGIBLE = 1e-13
"""Share of a Student t density that may lie beyond the last node."""

N_NETWORKS = 1000
"""Draws of DAGs where parameters are drawn or cells are simulated."""

LEAST_NETWORKS = 16
"""The fewest such draws for each of several models."""


class Predicted(NamedTuple):
    """The predictive law of a target in every row, as a mixture.

    ``log_density`` (row,) is that of the known cells, and ``error`` its standard error.
    ``weights``, ``means`` and ``sds`` (row, part) are in the units of the data for a continuous
    target; of a categorical one, ``weights`` (row, level) are the probabilities.
    """

    log_density: Floats
    error: Floats
    weights: Floats
    means: Floats
    sds: Floats


class Completions(NamedTuple):
    """Completed rows (row, completion, variable), the logs of their steps, and the lines in them.

    Where a continuous ``column`` is unknown, completions are the same but for it in as many as
    there are ``nodes`` (row and rest of the completion, value); ``middle`` is one of these.
    """

    full: Floats
    log_steps: Floats
    column: int | None = None
    nodes: Floats = np.zeros((0, 1))

    @property
    def middle(self) -> int:
        """The number of a value in the middle."""
        return self.nodes.shape[1] // 2


@dataclass(frozen=True, eq=False)
class AveragedModel:
    """A model with weighted DAGs (DAG, parent, child); drawn parameters use ``seed``.

    ``others`` [parent, child] are further edges that unknown cells are judged by, so that several
    models integrate in the same way; ``n_networks`` are drawn where parameters or cells are.
    """

    model: NetworkModel
    dags: Booleans
    weights: Floats
    seed: int = 0
    others: Booleans | None = None
    n_networks: int = N_NETWORKS

    def log_predictive(
        self, values: Floats, tell: FractionCallback = say_nothing
    ) -> tuple[Floats, Floats]:
        """Log densities of the known cells of every row, and their standard errors."""
        found = self._by_pattern(values, None, tell)
        return found.log_density, found.error

    def predict(
        self, values: Floats, target: int, tell: FractionCallback = say_nothing
    ) -> Predicted:
        """The law of a variable given the known cells of every row; its own are not looked at."""
        hidden = values.copy()
        hidden[:, target] = np.nan
        return self._by_pattern(hidden, target, tell)

    def choose(
        self, n_rows: int, rng: np.random.Generator
    ) -> Iterator[tuple[NetworkModel, Booleans]]:
        """The model and a DAG for every row, drawn by their weights."""
        for number in rng.choice(len(self.dags), size=n_rows, p=self.weights):
            yield self.model, self.dags[number]

    def draw_dags(self, n_draws: int) -> Integers:
        """Indices of DAGs, each about as often as its weight says."""
        ends = np.cumsum(self.weights) / self.weights.sum()
        places = np.searchsorted(ends, (np.arange(n_draws) + 0.5) / n_draws)
        return np.minimum(places, len(self.dags) - 1)

    @cached_property
    def _families(self) -> list[tuple[list[tuple[int, ...]], Integers]]:
        """For each variable its distinct parent sets, and the index of the one in each DAG."""
        found = []
        for v in range(len(self.model.names)):
            sets, numbers = np.unique(self.dags[:, :, v], axis=0, return_inverse=True)
            parents = [tuple(np.flatnonzero(one).tolist()) for one in sets]
            found.append((parents, numbers.reshape(-1)))
        return found

    @cached_property
    def _networks(self) -> GaussianNetworks:
        """Networks with drawn parameters, where all columns are Gaussian."""
        chosen = self.dags[self.draw_dags(self.n_networks)]
        return GaussianNetworks.draw(self.model, chosen, np.random.default_rng(self.seed))

    def _by_pattern(self, values: Floats, target: int | None, tell: FractionCallback) -> Predicted:
        """The law in each row, found for rows of the same known cells together, equal ones once."""
        plain = np.where(np.isnan(values), np.inf, values)
        plain, inverse = np.unique(plain, axis=0, return_inverse=True)
        distinct = np.where(np.isinf(plain), np.nan, plain)
        patterns, group = np.unique(np.isnan(distinct), axis=0, return_inverse=True)
        advance = tell_fractions(len(distinct), tell)
        places, found, left = [], [], []
        for number, unknown in enumerate(patterns):
            rows = np.flatnonzero(group.reshape(-1) == number)
            pieces = self._predict_rows(distinct[rows], unknown, target)
            if pieces is None:
                left.append(rows)
                continue
            for piece in pieces:
                found.append(piece)
                advance(len(piece.log_density))
            places.append(rows)
        if left:
            rows = np.sort(np.concatenate(left))
            size = max(1, 10 * CELLS // self.n_networks)
            for start in range(0, len(rows), size):
                found.append(self._simulate(distinct[rows[start : start + size]], target))
                advance(len(found[-1].log_density))
            places.append(rows)
        order = np.argsort(np.concatenate(places))[inverse.reshape(-1)]
        return Predicted(*(_stacked(parts)[order] for parts in zip(*found, strict=True)))

    def _predict_rows(
        self, values: Floats, unknown: Booleans, target: int | None
    ) -> Iterator[Predicted] | None:
        """Predictions for rows of the same unknown cells, in pieces; None if simulated instead."""
        needed = self._needed(unknown, target)
        missing = np.flatnonzero(unknown & needed)
        self._require_given(missing)
        coding = self.model.coding
        levels = [coding.levels[v] for v in missing]
        is_coded = [coding.codes[v] is not None and v != target for v in missing]
        n_nodes = prod(1 if one is None else len(one) for one in levels)
        n_continuous = sum(one is None for one in levels)
        if not any(is_coded) and n_continuous <= 1 and n_nodes <= MOST_COMPLETIONS:
            size = max(1, CELLS // (n_nodes * (USUAL_NODES if n_continuous else 1)))
            return (
                self._complete(values[start : start + size], missing, needed, target)
                for start in range(0, len(values), size)
            )
        if not self.model.is_gaussian:
            return None
        size = max(1, CELLS // 10)
        return (
            Predicted(*self._networks.predict(values[start : start + size], unknown, target))
            for start in range(0, len(values), size)
        )

    def _require_given(self, missing: Integers) -> None:
        """Refuse rows that lack values which have no distribution but on which others depend."""
        absent = [self.model.names[v] for v in missing if self.model.given[v]]
        if absent:
            raise DataError(
                f"rows of a time series are predicted from the values before them: "
                f"{enumerate_names(absent)} must be known; load_series makes such rows of a series."
            )

    def _needed(self, unknown: Booleans, target: int | None) -> Booleans:
        """Variables that are known or asked for, and those that these may depend on."""
        needed = ~unknown
        if target is not None:
            needed[target] = True
        edges: Booleans = np.asarray(self.dags.any(axis=0))
        if self.others is not None:
            edges = edges | self.others
        while True:
            more: Booleans = needed | edges[:, needed].any(axis=1)
            if np.array_equal(more, needed):
                return needed
            needed = more

    @cached_property
    def _reach(self) -> float:
        """The standard deviations of a variable within which the trapezoidal rule has its nodes."""
        normal = self.model.prior.normal
        assert normal is not None
        freedom = normal.freedom + 1.0 + self.model.statistics.n_rows
        return float(np.clip(12.0 * NEGLIGIBLE ** (-1.0 / freedom), 12.0, 1e6))

    def _complete(
        self, values: Floats, missing: Integers, needed: Booleans, target: int | None
    ) -> Predicted:
        """The predictions of rows, summed over their completions."""
        completions = self._completions(values, missing, needed)
        full, n_rows = completions.full, len(values)
        total = self._log_average(values, completions, missing, needed) + completions.log_steps
        total = np.where(np.isnan(total), -np.inf, total)  # levels without a code
        density = _log_sum(total, axis=1)
        known = ~np.isnan(values) & ~self.model.given
        log_density = density + self.model.coding.log_units(known)
        nothing = np.zeros((n_rows, 0))
        if target is None:
            return Predicted(log_density, np.zeros(n_rows), nothing, nothing, nothing)
        found = full[:, :, target]
        if target in self.model.level_corrections:
            total = total + self.model.level_corrections[target][found.astype(np.intp)]
            density = _log_sum(total, axis=1)
        shares = np.exp(total - density[:, None])
        levels = self.model.coding.levels[target]
        if levels is None:
            order = np.argsort(found, axis=1, kind="stable")
            shares, found = (np.take_along_axis(one, order, axis=1) for one in (shares, found))
            return Predicted(log_density, np.zeros(n_rows), shares, found, np.zeros_like(found))
        weights = np.stack(
            [(shares * (found == k)).sum(axis=1) for k in range(len(levels))], axis=1
        )
        return Predicted(log_density, np.zeros(n_rows), weights, nothing, nothing)

    def _completions(self, values: Floats, missing: Integers, needed: Booleans) -> Completions:
        """The completions of rows; the values of a continuous variable count fastest."""
        coding = self.model.coding
        full, log_steps = values[:, None, :].copy(), np.zeros((len(values), 1))
        line: tuple[int, Floats] | tuple[()] = ()
        for v in sorted(missing, key=lambda v: coding.levels[v] is None):
            levels = coding.levels[v]
            n_before = full.shape[1]
            if levels is None:
                nodes, steps = self._nodes(full.reshape(-1, full.shape[2]), int(v), needed)
                line = coding.columns_of(v)[0], nodes
                nodes = nodes * coding.scales[v] + coding.shifts[v]
                nodes, steps = (one.reshape(len(values), -1) for one in (nodes, steps))
                n_new = nodes.shape[1] // n_before
            else:
                n_new = len(levels)
                nodes = np.tile(np.arange(n_new, dtype=np.float64), (len(values), n_before))
                steps = np.zeros_like(nodes)
            full = np.repeat(full, n_new, axis=1)
            full[:, :, v] = nodes
            log_steps = np.repeat(log_steps, n_new, axis=1) + steps
        return Completions(full, log_steps, *line)

    def _nodes(self, rows: Floats, variable: int, needed: Booleans) -> tuple[Floats, Floats]:
        """Values of the column of a continuous variable (row, node), and log steps.

        Centre and width are those of a normal approximation given the rest of the row, in the DAG
        with the most weight: the variable's own family and those of its children are taken as
        normal.
        """
        column = self.model.coding.columns_of(variable)[0]
        columns = self.model.coding.encode(rows)
        at_zero, at_one = columns.copy(), columns.copy()
        at_zero[:, column], at_one[:, column] = 0.0, 1.0
        precision, pull = np.full(len(rows), 1e-9), np.zeros(len(rows))
        families = self.model.families(self.dags[int(np.argmax(self.weights))])
        parts = [part for v in np.flatnonzero(needed) for part in families[v]]
        for part in parts:
            if isinstance(part, Regression) and column in (part.child, *part.parents):
                location, spread, _ = part.student(at_zero)
                if part.child == column:
                    gap, slope = location, np.ones(len(rows))
                else:
                    gap = columns[:, part.child] - location
                    slope = part.student(at_one)[0] - location
                precision += (slope / spread) ** 2
                pull += slope * gap / spread**2
        width = 1.0 / np.sqrt(precision)
        centre = pull / precision
        far = np.abs(centre) + self._reach * self.model.coding.spreads[variable]
        half = int(np.ceil(np.arcsinh(far / width).max() / STEP))
        u = STEP * np.arange(-half, half + 1)
        nodes = centre[:, None] + width[:, None] * np.sinh(u)
        log_steps = np.log(STEP * width)[:, None] + np.log(np.cosh(u))
        return nodes, log_steps

    def _log_average(
        self, values: Floats, completions: Completions, missing: Integers, needed: Booleans
    ) -> Floats:
        """Log densities (row, completion) of completed rows, averaged over DAGs."""
        n_rows, n_all, n = completions.full.shape
        rows = self.model.coding.encode(values)
        apart = completions.full.reshape(-1, completions.nodes.shape[1], n)
        completed = self.model.coding.encode(apart[:, completions.middle])
        with np.errstate(divide="ignore"):
            base = np.tile(np.log(self.weights)[:, None], n_rows)
        varied: list[tuple[Integers, list[Floats | None]]] = []
        touched = set(missing.tolist())
        for v in np.flatnonzero(needed & ~self.model.given):
            sets, numbers = self._families[v]
            is_varied = [bool(touched & {int(v), *parents}) for parents in sets]
            logs = np.zeros((len(sets), n_rows))
            spread: list[Floats | None] = [None] * len(sets)
            for i, parents in enumerate(sets):
                family = self.model.family(int(v), parents)
                if is_varied[i]:
                    found = np.zeros(apart.shape[:2])
                    for part in family:
                        found += _along(part, completed, completions)
                    spread[i] = found.reshape(n_rows, n_all)
                else:
                    logs[i] = sum(part.log_predictive(rows) for part in family)
            base += logs[numbers]
            if any(is_varied):
                varied.append((np.where(is_varied, np.arange(len(sets)), -1)[numbers], spread))
        return _averaged(base, varied, (n_rows, n_all))

    def _simulate(self, values: Floats, target: int | None) -> Predicted:
        """Predictions from unknown cells drawn given their parents, weighted by what is known."""
        rng = np.random.default_rng(self.seed)
        numbers, counts = np.unique(self.draw_dags(self.n_networks), return_counts=True)
        n_rows, column = len(values), -1 if target is None else target
        logs, drawn = np.empty((2, n_rows, self.n_networks))
        encoded, unknown = self.model.coding.encode(values), np.isnan(values)
        needed = self._needed(np.asarray(unknown.all(axis=0)), target)
        done = 0
        for number, count in zip(numbers, counts, strict=True):
            columns = np.repeat(encoded, count, axis=0)
            hidden = np.repeat(unknown, count, axis=0)
            total = np.zeros(len(columns))
            families = self.model.families(self.dags[number])
            for v in order_of(self.dags[number]):
                for part in families[v] if needed[v] else ():
                    _fill_or_weigh(part, columns, hidden[:, v], total, rng)
            logs[:, done : done + count] = total.reshape(n_rows, count)
            drawn[:, done : done + count] = columns[:, column].reshape(n_rows, count)
            done += count
        density = _log_sum(logs, axis=1)
        shares = np.exp(logs - density[:, None])
        known = ~np.isnan(values) & ~self.model.given
        log_density = density - np.log(self.n_networks) + self.model.coding.log_units(known)
        error = relative_error(shares)
        nothing = np.zeros((n_rows, 0))
        if target is None:
            return Predicted(log_density, error, nothing, nothing, nothing)
        levels = self.model.coding.levels[target]
        if levels is not None:
            weights = [(shares * (drawn == k)).sum(axis=1) for k in range(len(levels))]
            return Predicted(log_density, error, np.stack(weights, axis=1), nothing, nothing)
        drawn = drawn * self.model.coding.scales[target] + self.model.coding.shifts[target]
        order = np.argsort(drawn, axis=1, kind="stable")
        shares, drawn = (np.take_along_axis(one, order, axis=1) for one in (shares, drawn))
        return Predicted(log_density, error, shares, drawn, np.zeros_like(drawn))


@dataclass(frozen=True, eq=False)
class MixedModel:
    """Several averaged models of the same variables, all of the same weight.

    They belong to tables that were completed differently.
    """

    parts: tuple[AveragedModel, ...]

    @classmethod
    def of(cls, parts: Sequence[AveragedModel]) -> MixedModel:
        """The mixture of averaged models, all made to integrate in the same way."""
        edges = np.any([one.dags.any(axis=0) for one in parts], axis=0)
        n_networks = max(LEAST_NETWORKS, N_NETWORKS // len(parts))
        return cls(
            tuple(
                replace(one, seed=one.seed + number, others=edges, n_networks=n_networks)
                for number, one in enumerate(parts)
            )
        )

    @property
    def model(self) -> NetworkModel:
        """The first of the models; all have the same variables and columns."""
        return self.parts[0].model

    def choose(
        self, n_rows: int, rng: np.random.Generator
    ) -> Iterator[tuple[NetworkModel, Booleans]]:
        """A model and a DAG for every row."""
        for number in rng.integers(len(self.parts), size=n_rows):
            yield from self.parts[number].choose(1, rng)

    def log_predictive(
        self, values: Floats, tell: FractionCallback = say_nothing
    ) -> tuple[Floats, Floats]:
        """Log densities of the known cells of every row, and their standard errors."""
        found = [one.log_predictive(values, told) for one, told in self._told(tell)]
        logs, errors = (np.stack(own) for own in zip(*found, strict=True))
        density, shares = self._weigh(logs)
        return density, np.sqrt((shares**2 * errors**2).sum(axis=0))

    def predict(
        self, values: Floats, target: int, tell: FractionCallback = say_nothing
    ) -> Predicted:
        """The law of a variable given the known cells of every row; its own are not looked at."""
        found = [one.predict(values, target, told) for one, told in self._told(tell)]
        density, shares = self._weigh(np.stack([one.log_density for one in found]))
        errors = np.stack([one.error for one in found])
        error = np.sqrt((shares**2 * errors**2).sum(axis=0))
        weights = [one.weights * share[:, None] for one, share in zip(found, shares, strict=True)]
        if self.model.coding.levels[target] is not None:
            return Predicted(density, error, np.sum(weights, axis=0), found[0].means, found[0].sds)
        means = np.hstack([one.means for one in found])
        order = np.argsort(means, axis=1, kind="stable")
        columns = np.hstack(weights), means, np.hstack([one.sds for one in found])
        return Predicted(
            density, error, *(np.take_along_axis(one, order, axis=1) for one in columns)
        )

    def _told(self, tell: FractionCallback) -> Iterator[tuple[AveragedModel, FractionCallback]]:
        """The models, each with what is told how far its own work is."""
        n = len(self.parts)
        for number, one in enumerate(self.parts):
            yield one, part_of(tell, number / n, (number + 1) / n)

    def _weigh(self, logs: Floats) -> tuple[Floats, Floats]:
        """Log mean densities (row,) of logs (part, row), and the share of each part."""
        total = _log_sum(logs, axis=0)
        return total - np.log(len(logs)), np.exp(logs - np.where(np.isfinite(total), total, 0.0))


Averaged = AveragedModel | MixedModel


def _fill_or_weigh(
    part: Regression | Table,
    columns: Floats,
    hidden: Booleans,
    total: Floats,
    rng: np.random.Generator,
) -> None:
    """Draw a column in the rows where it is hidden; add its log density to that of the others."""
    if hidden.all():
        part.fill(columns, rng)
    elif not hidden.any():
        total += part.log_predictive(columns)
    else:
        own = columns[hidden]
        part.fill(own, rng)
        columns[hidden] = own
        total[~hidden] += part.log_predictive(columns[~hidden])


def _along(part: Regression | Table, columns: Floats, completions: Completions) -> Floats:
    """Log densities (row, value) of one column, with the values that another one may have."""
    column = completions.column
    if isinstance(part, Regression) and column in (part.child, *part.parents):
        assert column is not None
        return part.log_predictive_along(columns, column, completions.nodes)
    return part.log_predictive(columns)[:, None]


def _averaged(
    base: Floats, varied: list[tuple[Integers, list[Floats | None]]], shape: tuple[int, int]
) -> Floats:
    """The log of the sum over DAGs, of which those that vary in the same way are added up first."""
    if not varied:
        return np.broadcast_to(_log_sum(base, axis=0)[:, None], shape)
    group = np.zeros(len(base), dtype=np.int64)
    for numbers, spread in varied:  # np.unique of whole rows would be slow
        group = np.unique(group * (len(spread) + 1) + numbers, return_inverse=True)[1]
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    distinct = np.stack([numbers[order[starts]] for numbers, _ in varied], axis=1)
    together = np.logaddexp.reduceat(base[order], starts, axis=0)
    top, total = np.full(shape, -np.inf), np.zeros(shape)
    size = max(LEAST_TOGETHER, CELLS // (shape[0] * shape[1]))
    for start in range(0, len(distinct), size):
        part = slice(start, start + size)
        own = np.repeat(together[part, :, None], shape[1], axis=2)
        for places, (_, spread) in zip(distinct[part].T, varied, strict=True):
            for place in np.unique(places[places >= 0]):
                own[places == place] += spread[place]
        before, top = top, np.maximum(top, own.max(axis=0))
        shift = np.where(np.isfinite(top), top, 0.0)
        own -= shift
        total *= np.exp(before - shift)
        total += np.exp(own, out=own).sum(axis=0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(total) + shift)


def _log_sum(logs: Floats, axis: int) -> Floats:
    """Log of the sum of exp; -inf where there is nothing."""
    top = logs.max(axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        total = np.log(np.exp(logs - top).sum(axis=axis))
    return np.asarray(total + np.squeeze(top, axis=axis))


def _stacked(parts: tuple[Floats, ...]) -> Floats:
    """The parts stacked row upon row; rows with fewer entries are filled up with weights of 0."""
    if parts[0].ndim == 1:
        return np.concatenate(parts)
    width = max(part.shape[1] for part in parts)
    return np.vstack([np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts])

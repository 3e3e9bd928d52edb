"""Effects between all pairs of variables, where some are categorical.

As in :mod:`outpoint.posterior.what_if`, for all pairs at once: a categorical variable is set to its
first and its last level, a continuous one is raised by one unit; what responds is the probability
of the last level, or the mean. One set of parameters serves all pairs, and one pass through the
tables all variables that respond. Where too many tables depend on each other for that, levels are
simulated, with the same random numbers for both values of the cause.
Formulas: docs/math.md#what-if.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from outpoint.arrays import Booleans, Floats, Integers
from outpoint.errors import OptionError, TooLargeError
from outpoint.graphs.layers import order_of
from outpoint.models import NetworkModel
from outpoint.models.conditionals import Table
from outpoint.models.intervening import (
    MOST_LISTED,
    OFTEN,
    SIMULATED,
    Families,
    Target,
    average_of,
    follow,
    list_levels,
    stack_tables,
)
from outpoint.models.summing import TableSums
from outpoint.models.unrolling import Lags, Unrolled
from outpoint.posterior.effects import UNITS, CausalEffects, refuse_large
from outpoint.posterior.what_if import (
    Component,
    default_values,
    make_target,
    spread_by_weight,
)
from outpoint.progress import FractionCallback, say_nothing, tell_fractions


def sample_all_effects(
    components: Sequence[Component],
    n_draws: int,
    rng: np.random.Generator,
    *,
    units: str,
    level: float,
    tell: FractionCallback = say_nothing,
) -> CausalEffects:
    """The effects [cause, effect] of DAGs drawn by their weights, parameters drawn for each."""
    if units not in UNITS:
        raise OptionError(f"units must be 'original' or 'sd', not {units!r}.")
    if not 0 < level < 1:
        raise OptionError(
            f"level must be a probability between 0 and 1, such as 0.95, not {level!r}."
        )
    model = components[0][0]
    if model.given.any() and not model.is_gaussian:
        raise OptionError(
            "in a time series with categorical variables, use effects_over_time, or effect for one "
            "pair at a time."
        )
    n = len(model.names)
    refuse_large(n_draws * n * n * 4, n)
    values = np.stack([default_values(model, v) for v in range(n)])
    targets = [make_target(model, name) for name in model.names]
    means, paths, samples, drawn = np.zeros((n, n)), np.zeros((n, n)), [], []
    advance = tell_fractions(n_draws, tell)
    shares = [len(part) for part in np.array_split(np.arange(n_draws), len(components))]
    for (own, graphs), share in zip(components, shares, strict=True):
        if not share:
            continue
        numbers, counts = spread_by_weight(graphs.weights, share)
        dags = graphs.adjacencies(numbers)
        drawn.append(np.repeat(dags, counts, axis=0))
        for dag, count in zip(dags, counts, strict=True):
            reach = _descendants(dag)
            effects = _PairsOf(own, dag, reach, values, targets).effects(count, rng)
            means += count * effects[0]
            paths += count * reach
            samples.append(effects[1:].astype(np.float32))
            advance(int(count))
    factors = _unit_factors(model, units)
    np.fill_diagonal(means, n_draws)
    return CausalEffects(
        names=model.names,
        units=units,
        level=level,
        means=means / n_draws * factors,
        paths=paths / n_draws,
        samples=np.concatenate(samples) * factors.astype(np.float32),
        dags=np.concatenate(drawn),
        outermost={
            name: (levels[0], levels[-1])
            for name, levels in zip(model.names, model.coding.levels, strict=True)
            if levels
        },
    )


def sample_responses(
    components: Sequence[Component],
    lags: Lags,
    steps: int,
    n_draws: int,
    rng: np.random.Generator,
    tell: FractionCallback = say_nothing,
) -> Floats:
    """Draws (step, draw, cause, effect) of effects in a time series, parameters drawn for each."""
    first = components[0][0]
    n = len(first.names)
    values = np.stack([default_values(first, v) for v in range(n)])
    targets = [make_target(first, name) for name in first.names]
    found = []
    advance = tell_fractions(n_draws, tell)
    shares = [len(part) for part in np.array_split(np.arange(n_draws), len(components))]
    for (model, graphs), share in zip(components, shares, strict=True):
        numbers, counts = spread_by_weight(graphs.weights, share)
        for dag, count in zip(graphs.adjacencies(numbers), counts.tolist(), strict=True):
            found.append(Unrolled(model, dag, lags, steps, values, targets).drawn(count, rng))
            advance(count)
    return np.swapaxes(np.concatenate(found), 0, 1)


def _unit_factors(model: NetworkModel, units: str) -> Floats:
    """What effects [cause, effect] are multiplied by; categorical variables have no unit."""
    scales = model.coding.deviations
    return scales[:, None] / scales[None, :] if units == "sd" else np.ones((len(scales),) * 2)


class _PairsOf:
    """One DAG, and what is needed for the effects of all its variables."""

    def __init__(
        self,
        model: NetworkModel,
        dag: Booleans,
        reach: Booleans,
        values: Floats,
        targets: list[Target],
    ) -> None:
        self.model, self.reach, self.values, self.targets = model, reach, values, targets
        self.families = dict(enumerate(model.families(dag)))
        self.order = order_of(dag)
        self.has_table = np.array(
            [any(isinstance(part, Table) for part in own) for own in self.families.values()]
        )

    def effects(self, count: int, rng: np.random.Generator) -> Floats:
        """Effects (1 + count, cause, effect): the means, then those of drawn parameters."""
        average = {v: tuple(average_of(part) for part in own) for v, own in self.families.items()}
        drawn = [
            {v: tuple(part.draw(rng) for part in own) for v, own in self.families.items()}
            for _ in range(count)
        ]
        sets = [average, *drawn]
        n = len(self.order)
        out = np.zeros((len(sets), n, n))
        self._add_tables(sets, out, rng)
        if not self.has_table.all():
            for own, families in zip(out, sets, strict=True):
                self._add_means(families, own, rng)
        out *= self.reach
        out[:, np.arange(n), np.arange(n)] = 1.0
        return out

    def _add_tables(self, sets: list[Families], out: Floats, rng: np.random.Generator) -> None:
        """Add the effects on probabilities of levels, for every cause that has children."""
        tabled = [v for v in self.order if self.has_table[v]]
        if not tabled:
            return
        sums = TableSums(stack_tables([{v: families[v] for v in tabled} for families in sets]))
        for cause in tabled:
            wanted = np.flatnonzero(self.reach[cause] & self.has_table)
            if not len(wanted):
                continue
            above = np.logical_or.reduce(self.reach[:, wanted], axis=1)
            above[wanted] = True
            order = [v for v in tabled if above[v] and v != cause]
            try:
                laws = sums.laws(order, {cause: self.values[cause]}, set(wanted.tolist()))
            except TooLargeError:
                for own, families in zip(out, sets, strict=True):
                    own[cause, wanted] = self._simulated(families, cause, order, wanted, rng)
                continue
            for v in wanted.tolist():
                found = laws[v][:, :, self.targets[v].level]
                out[:, cause, v] = found[:, 1] - found[:, 0]

    def _simulated(
        self,
        families: Families,
        cause: int,
        order: list[int],
        wanted: Integers,
        rng: np.random.Generator,
    ) -> Floats:
        """Effects of one cause on the probabilities of levels, from simulated rows."""
        coding, n_rows = self.model.coding, 2 * OFTEN
        fixed = {cause: (np.arange(n_rows), np.repeat(self.values[cause], OFTEN))}
        columns, _ = follow(coding, [cause, *order], families, fixed, n_rows, OFTEN, rng)
        found = np.stack([self.targets[v].from_columns(coding, columns) for v in wanted.tolist()])
        low, high = found.reshape(-1, 2, OFTEN).mean(axis=2).T
        return np.asarray(high - low)

    def _add_means(self, families: Families, out: Floats, rng: np.random.Generator) -> None:
        """Add the effects on means of columns: two arms for every cause, in rows of one table."""
        n, coding = len(self.order), self.model.coding
        listed = list_levels(coding, np.flatnonzero(self.has_table).tolist(), MOST_LISTED // n)
        period = SIMULATED if listed is None else len(next(iter(listed.values()), [0.0]))
        fixed = {v: self._setting(v, period) for v in range(n)}
        columns, weights = follow(
            coding, self.order, families, fixed, 2 * period * n, period, rng, listed=listed
        )
        for v in np.flatnonzero(~self.has_table):
            found = self.targets[v].from_columns(coding, columns) * weights
            arms = found.reshape(n, 2, period).sum(axis=2)
            out[:, v] = arms[:, 1] - arms[:, 0]

    def _setting(self, v: int, period: int) -> tuple[Integers, Floats]:
        """The rows in which a variable is set, and its values there.

        A given variable has no distribution. As everything that has effects is linear then, it is
        held at the first of its values in all other rows.
        """
        own = np.arange(2 * period * v, 2 * period * (v + 1))
        values = np.repeat(self.values[v], period)
        if not self.model.given[v]:
            return own, values
        every = np.full(2 * period * len(self.order), self.values[v, 0])
        every[own] = values
        return np.arange(len(every)), every


def _descendants(dag: Booleans) -> Booleans:
    """[ancestor, descendant] of one DAG."""
    reach = dag.copy()
    for v in order_of(dag):
        reach[reach[:, v]] |= reach[v]
    return reach

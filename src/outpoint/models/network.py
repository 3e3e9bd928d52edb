"""A Bayesian network: one DAG with one set of parameters, from which rows can be simulated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from outpoint.arrays import Booleans, Floats
from outpoint.errors import OptionError
from outpoint.models.coding import Coding
from outpoint.models.regression import DrawnRegression
from outpoint.models.tables import DrawnTable
from outpoint.naming import enumerate_names

if TYPE_CHECKING:
    import pandas as pd

Setting = Mapping[str, Any]
"""Variables that are set: to a number or a level, or to one for each row."""

DrawnFamily = tuple[DrawnRegression | DrawnTable, ...]


@dataclass(frozen=True, eq=False)
class Network:
    """A DAG with parameters.

    ``families[v]`` are the parameters of a variable given its parents: one regression or table; of
    a categorical variable that the score codes as contrasts, one regression for each of these, on
    the parents' columns and the contrasts before it. Parameters are those of the model's columns,
    see ``coding``. ``order`` lists the variables, parents first. ``level_corrections`` are those of
    :class:`~outpoint.models.NetworkModel`, by which levels are drawn.
    """

    coding: Coding
    order: tuple[int, ...]
    families: tuple[DrawnFamily, ...]
    level_corrections: Mapping[int, Floats] = field(default_factory=dict)

    def simulate(
        self,
        n_rows: int,
        rng: np.random.Generator,
        do: Setting | None = None,
        past: Floats | None = None,
    ) -> Floats:
        """Values (row, variable) as a data set has them: categorical variables as level codes.

        ``do`` sets variables from outside, whatever their parents are; ``past`` (variable,) are
        the values of those that have no distribution, NaN for all others.
        """
        columns = np.full((n_rows, len(self.coding.owner)), np.nan)
        values = np.full((n_rows, len(self.coding.names)), np.nan)
        fixed = {}
        if past is not None:
            known = np.flatnonzero(~np.isnan(past)).tolist()
            fixed = {v: np.full(n_rows, past[v]) for v in known}
        fixed |= settings(self.coding, do or {}, n_rows)
        for v in self.order:
            own = self.coding.columns_of(v)
            if v in fixed:
                values[:, v] = fixed[v]
                columns[:, own] = self.coding.encode(values)[:, own]
            elif self.coding.codes[v] is not None:
                values[:, v] = self._draw_level(v, columns, own, rng)
            else:
                for part in self.families[v]:
                    part.fill(columns, rng)
                values[:, v] = self.coding.decode(columns, v)
        return values

    def to_frame(self, values: Floats) -> pd.DataFrame:
        """Values as a table with the names of variables and levels."""
        return to_frame(self.coding, values)

    def log_density(self, values: Floats) -> Floats:
        """The log density, in the units of the data, of every row of values, all known."""
        columns = self.coding.encode(values)
        total = self.coding.log_units(np.ones(values.shape, dtype=np.bool_))
        for family in self.families:
            for part in family:
                total = total + part.log_density(columns)
        return total

    def level_weights(self, variable: int, columns: Floats) -> Floats:
        """Log densities (row, level) at the codes of a variable's levels, given its parents."""
        codes, own = self.coding.codes[variable], self.coding.columns_of(variable)
        assert codes is not None
        out = np.full((len(columns), len(codes)), -np.inf)
        for level in np.flatnonzero(~np.isnan(codes).any(axis=1)):
            columns[:, own] = codes[level]
            out[:, level] = sum(part.log_density(columns) for part in self.families[variable])
        return out

    def _draw_level(
        self, variable: int, columns: Floats, own: list[int], rng: np.random.Generator
    ) -> Floats:
        """Draw the level of a variable coded as contrasts, and write its columns."""
        codes = self.coding.codes[variable]
        assert codes is not None
        logs = self.level_weights(variable, columns) + self.level_corrections.get(variable, 0.0)
        chosen = np.argmax(logs + rng.gumbel(size=logs.shape), axis=1)
        columns[:, own] = codes[chosen]
        return chosen.astype(np.float64)

    def gaussian(self) -> tuple[Floats, Floats]:
        """Mean and covariance matrix of the columns, where all of them are Gaussian."""
        size = len(self.coding.owner)
        effects, mean, variances = np.eye(size), np.zeros(size), np.zeros(size)
        for v in self.order:
            for part in self.families[v]:
                if not isinstance(part, DrawnRegression) or part.states.parents:
                    raise OptionError(
                        "only a network whose columns are all Gaussian has one mean and covariance."
                    )
                parents = list(part.parents)
                effects[:, part.child] += effects[:, parents] @ part.slopes[0]
                mean[part.child] = part.intercepts[0] + mean[parents] @ part.slopes[0]
                variances[part.child] = part.variances[0]
        return mean, effects.T @ (variances[:, None] * effects)


def settings(coding: Coding, do: Setting, n_rows: int) -> dict[int, Floats]:
    """The values that ``do`` gives to variables, one per row, levels as their codes."""
    unknown = [name for name in do if name not in coding.names]
    if unknown:
        raise OptionError(
            f"do names {enumerate_names(unknown)}, but the variables are "
            f"{enumerate_names(coding.names)}."
        )
    found = {}
    for name, value in do.items():
        v = coding.names.index(name)
        given = np.atleast_1d(np.asarray(value, dtype=object))
        if given.shape not in ((1,), (n_rows,)):
            raise OptionError(
                f"do sets {name!r} to {given.size} values for {n_rows} rows: give one, or one each."
            )
        found[v] = np.broadcast_to([code_of(coding, v, one) for one in given], n_rows).astype(float)
    return found


def code_of(coding: Coding, variable: int, value: Any) -> float:
    """The number that stands for a value: the code of a level, or the number itself."""
    levels, name = coding.levels[variable], coding.names[variable]
    if levels is None:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = np.nan
        if not np.isfinite(number):
            raise OptionError(f"{name!r} is continuous: set it to a finite number, not {value!r}.")
        return number
    label = str(value)
    if label not in levels:
        raise OptionError(
            f"{name!r} has the levels {enumerate_names(levels)}, and {label!r} is not one of them."
        )
    codes = coding.codes[variable]
    place = levels.index(label)
    if codes is not None and np.isnan(codes[place]).any():
        raise OptionError(f"the level {label!r} of {name!r} was never observed: it has no code.")
    return float(place)


def to_frame(coding: Coding, values: Floats) -> pd.DataFrame:
    """Values (row, variable) as a table with the names of variables and levels."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for v, (name, levels) in enumerate(zip(coding.names, coding.levels, strict=True)):
        if levels is None:
            columns[name] = values[:, v].copy()
        else:
            codes = np.where(np.isnan(values[:, v]), -1, values[:, v]).astype(np.int32)
            columns[name] = pd.Categorical.from_codes(codes.tolist(), categories=pd.Index(levels))
    return pd.DataFrame(columns)


def order_of(adjacency: Booleans) -> tuple[int, ...]:
    """The nodes of a DAG [parent, child], parents first."""
    waiting = adjacency.sum(axis=0)
    ready, order = [int(v) for v in np.flatnonzero(waiting == 0)], []
    while ready:
        v = ready.pop()
        order.append(v)
        for child in np.flatnonzero(adjacency[v]):
            waiting[child] -= 1
            if waiting[child] == 0:
                ready.append(int(child))
    return tuple(order)

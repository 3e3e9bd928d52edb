"""A Bayesian network: one DAG with one set of parameters, from which rows can be simulated.

Its columns are not those of the data. Data hold values of continuous variables in their units and
level codes of categorical ones. A model takes continuous columns centred and scaled, if its score
does. Level codes it takes as they are, or for the score of blocks as the contrasts of
:mod:`outpoint.scores.blocks`. A :class:`Coding` leads from the ones to the others and back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats
from outpoint.data import Dataset
from outpoint.data.dataset import Levels
from outpoint.errors import OptionError
from outpoint.models.conditionals import DrawnRegression, DrawnTable
from outpoint.naming import enumerate_names
from outpoint.scores.blocks import contrasts
from outpoint.scores.gaussian import scales_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Coding:
    """How values (row, variable) become columns (row, column).

    A continuous variable becomes (value - ``shifts``) / ``scales``, whose standard deviation is
    ``spreads``. ``codes[v]`` are the columns
    (level, column) of a categorical variable's levels, NaN for levels without; None where its level
    codes are the column. ``owner`` is the variable of each column.
    """

    names: tuple[str, ...]
    levels: tuple[Levels | None, ...]
    shifts: Floats
    scales: Floats
    spreads: Floats
    codes: tuple[Floats | None, ...]
    owner: NDArray[np.int64]

    @classmethod
    def from_data(cls, data: Dataset, *, standardize: bool, contrasted: bool) -> Coding:
        """The coding that a score gives to a table, from the values that were observed."""
        is_continuous = np.array([one is None for one in data.levels])
        scaled = is_continuous & standardize
        observed = [data.values[~gone, v] for v, gone in enumerate(data.missing.T)]
        shifts = np.where(scaled, [own.mean() for own in observed], 0.0)
        scales = np.where(scaled, scales_of(data), 1.0)
        spreads = np.where(is_continuous, scales_of(data), 1.0) / scales
        codes = tuple(
            _level_codes(observed[v], len(one)) if one is not None and contrasted else None
            for v, one in enumerate(data.levels)
        )
        return cls.from_parts(data.names, data.levels, shifts, scales, spreads, codes)

    @classmethod
    def from_parts(
        cls,
        names: tuple[str, ...],
        levels: tuple[Levels | None, ...],
        shifts: Floats,
        scales: Floats,
        spreads: Floats,
        codes: tuple[Floats | None, ...],
    ) -> Coding:
        """A coding made from everything but the owners of columns, which follow."""
        sizes = [1 if own is None else own.shape[1] for own in codes]
        owner = np.repeat(np.arange(len(names)), sizes)
        return cls(names, levels, shifts, scales, spreads, codes, owner)

    @property
    def is_continuous(self) -> Booleans:
        """Whether each variable is continuous."""
        return np.array([one is None for one in self.levels])

    @property
    def deviations(self) -> Floats:
        """The standard deviations of continuous variables, 1 for categorical ones."""
        return np.where(self.is_continuous, self.scales * self.spreads, 1.0)

    def columns_of(self, variable: int) -> list[int]:
        """The columns of a variable."""
        return np.flatnonzero(self.owner == variable).tolist()

    def shares(self, variable: int, columns: Floats | None = None) -> Floats:
        """Shares (row, level) of levels with these mean columns; the observed (level,) without.

        The columns of a level are an affine function of the shares of levels, and 0 on average.
        """
        codes = self.codes[variable]
        assert codes is not None
        known = ~np.isnan(codes).any(axis=1)
        own = np.zeros((1, codes.shape[1])) if columns is None else columns
        system = np.column_stack([codes[known], np.ones(int(known.sum()))])
        out = np.zeros((len(own), len(codes)))
        out[:, known] = np.linalg.solve(system.T, np.column_stack([own, np.ones(len(own))]).T).T
        return out[0] if columns is None else out

    def encode(self, values: Floats) -> Floats:
        """The columns of values; NaN where a value is NaN, and for levels that have no code."""
        parts = []
        for v, own in enumerate(self.codes):
            if own is None:
                parts.append((values[:, [v]] - self.shifts[v]) / self.scales[v])
            else:
                known = ~np.isnan(values[:, v])
                part = np.full((len(values), own.shape[1]), np.nan)
                part[known] = own[values[known, v].astype(np.intp)]
                parts.append(part)
        return np.hstack(parts)

    def decode(self, columns: Floats, variable: int) -> Floats:
        """The values of a variable that has one column."""
        place = int(np.searchsorted(self.owner, variable))
        return np.asarray(columns[:, place] * self.scales[variable] + self.shifts[variable])

    def log_units(self, known: Booleans) -> Floats:
        """What to add to log densities (row,) of known cells for them to be in the data's units."""
        logs = np.where(self.is_continuous, np.log(self.scales), 0.0)
        return np.asarray(-(known * logs).sum(axis=1))


def _level_codes(codes: Floats, n_levels: int) -> Floats:
    """The centred contrasts of the observed levels, NaN for the others."""
    observed, counts = np.unique(codes, return_counts=True)
    own = contrasts(len(observed))
    out = np.full((n_levels, own.shape[1]), np.nan)
    out[observed.astype(np.intp)] = own - counts @ own / counts.sum()
    return out


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
        """Log densities (row, level) at the codes of a variable's levels, given its parents.

        The codes of a level are the same in every row and the means of contrasts given the parents
        are those of all levels, so that the sum of squared gaps is a product of matrices.
        """
        codes, own = self.coding.codes[variable], self.coding.columns_of(variable)
        assert codes is not None
        columns[:, own] = 0.0
        means, precisions, gaps = [], [], []
        for part in self.families[variable]:
            assert isinstance(part, DrawnRegression)
            mean, variance = part.locations(columns)
            among = [own.index(p) for p in part.parents if p in own]
            slopes = part.slopes[0, [p in own for p in part.parents]]
            means.append(mean)
            precisions.append(1.0 / variance)
            gaps.append(codes[:, own.index(part.child)] - codes[:, among] @ slopes)
        mean, precision, gap = np.stack(means, 1), np.stack(precisions, 1), np.stack(gaps)
        constant = (precision * mean**2 - np.log(precision / (2 * np.pi))).sum(axis=1)
        squares = precision @ gap**2 - 2.0 * (precision * mean) @ gap + constant[:, None]
        return np.asarray(np.where(np.isnan(codes).any(axis=1), -np.inf, -0.5 * squares))

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

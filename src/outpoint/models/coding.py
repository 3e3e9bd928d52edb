"""How columns of the data become columns of the model, and back.

Data hold values of continuous variables in their units and level codes of categorical ones. A model
takes continuous columns centred and scaled, if its score does. Level codes it takes as they are, or
for the score of blocks as the contrasts of :mod:`outpoint.scores.blocks`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats
from outpoint.data import Dataset
from outpoint.data.dataset import Levels
from outpoint.scores.blocks import contrasts
from outpoint.scores.gaussian import scales_of


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

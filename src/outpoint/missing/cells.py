"""The cells without a value, and what draws them: one object for each kind of model."""

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from outpoint.arrays import Booleans, Floats
from outpoint.data import Dataset
from outpoint.errors import DataError, require
from outpoint.naming import enumerate_names
from outpoint.scores import FamilyScorer, LocalScore


class Cells(ABC):
    """The missing cells of a table, and the model that they are drawn from.

    Tables are completed on the scale of the model: continuous columns are standardised if the score
    does so, once, by the values that were observed. ``missing`` tells which cells are drawn.
    """

    def __init__(self, data: Dataset, score: Any) -> None:
        refuse_set(data)
        self.original = data
        self.score: Any = score
        is_scaled = getattr(score, "standardize", False)
        self.data = data.standardized() if is_scaled else data
        if is_scaled:
            self.score = replace(score, standardize=False)
        self.missing: Booleans = data.missing
        self._is_scaled = is_scaled

    def start(self, rng: np.random.Generator) -> Floats:
        """A first table: every missing cell is drawn from the observed ones of its column."""
        values = self.data.values.copy()
        for v in np.flatnonzero(self.missing.any(axis=0)):
            gone = self.missing[:, v]
            values[gone, v] = rng.choice(values[~gone, v], int(gone.sum()))
        return values

    def complete(self, values: Floats) -> Dataset:
        """A completed table, on the scale of the model, as a data set."""
        return replace(self.data, values=values)

    def scorer(self, values: Floats) -> FamilyScorer:
        """The scores of a completed table."""
        score: LocalScore = self.score
        return score.bind(self.complete(values), allow_degenerate=True)

    @abstractmethod
    def redraw(self, values: Floats, dag: Booleans, rng: np.random.Generator) -> None:
        """Draw all missing cells anew, given a DAG [parent, child], in place."""

    def drawn(self, values: Floats) -> Floats:
        """The drawn cells of a table, row by row, in the units of the data."""
        shift, scale = self._units
        return np.asarray(shift + scale * values[self.missing])

    def filled(self, drawn: Floats) -> Floats:
        """The table, on the scale of the model, that these cells in units of the data complete."""
        shift, scale = self._units
        values = self.data.values.copy()
        values[self.missing] = (drawn - shift) / scale
        return values

    def checked(self, cells: Floats) -> Floats:
        """Cells on the scale of the model, if levels among them are levels; else a ValueError."""
        sizes = np.array([0 if one is None else len(one) for one in self.data.levels])
        own = sizes[np.nonzero(self.missing)[1]]
        levels = cells[own > 0]
        is_level = (levels >= 0) & (levels < own[own > 0]) & (levels == np.floor(levels))
        require(bool(is_level.all()), "a drawn level is none")
        return cells

    @cached_property
    def _units(self) -> tuple[Floats, Floats]:
        """Shift and scale of every missing cell, from the scale of the model to the data."""
        columns = np.nonzero(self.missing)[1]
        is_scaled = [levels is None and self._is_scaled for levels in self.data.levels]
        deviations = self.original.standard_deviations
        means = np.nanmean(self.original.values, axis=0)
        shift = np.where(is_scaled, means, 0.0)[columns]
        scale = np.where(is_scaled & (deviations > 0), deviations, 1.0)[columns]
        return shift, scale


def refuse_set(data: Dataset) -> None:
    """Refuse variables that were set from outside to a value that nobody knows."""
    unknown = data.missing & data.is_set if data.interventions else data.missing[:0]
    if unknown.any():
        names = [data.names[v] for v in np.flatnonzero(unknown.any(axis=0))]
        raise DataError(
            f"{enumerate_names(names)} {'was' if len(names) == 1 else 'were'} set from outside in "
            "rows where the value is missing, and what a variable was set to cannot be inferred: "
            "fill in the values, or leave out the rows."
        )


def rows_by_targets(data: Dataset) -> tuple[Booleans, np.ndarray[Any, Any]]:
    """The distinct sets of rows in which nodes were not set (set, row), and that of each node."""
    patterns, group = np.unique(~data.is_set.T, axis=0, return_inverse=True)
    return patterns, group.ravel()

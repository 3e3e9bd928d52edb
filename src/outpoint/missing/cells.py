"""The cells without a value, and what draws them: one object for each kind of model."""

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from outpoint.arrays import Booleans, Floats
from outpoint.data import Dataset
from outpoint.errors import DataError, require
from outpoint.missing.beginnings import Beginnings
from outpoint.missing.unknowns import find_new, find_unknowns
from outpoint.naming import enumerate_names
from outpoint.scores import FamilyScorer, LocalScore, score_given
from outpoint.scores.binding import score_observed


class Cells(ABC):
    """The missing cells of a table, and the model that they are drawn from.

    Tables are completed on the scale of the model: continuous columns are standardised if the score
    does so, once, by the values that were observed. ``missing`` says which cells are drawn,
    ``unknowns`` which of them are the same value. ``is_used`` (row, node) says in which rows a
    node follows its family: where it was not set, and of a given column where its value is new.
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
        self.unknowns = find_unknowns(data, *self._units)
        new = find_new(data)
        is_given = np.zeros(data.n_nodes, dtype=np.bool_)
        if data.slices is not None:
            is_given = np.isin(data.names, data.slices.given(data.names))
        self.is_used: Booleans = ~data.is_set & (new | ~is_given)
        self._beginnings = Beginnings(data, new) if (new & self.missing).any() else None

    def start(self, rng: np.random.Generator) -> Floats:
        """A first table: every missing cell is drawn from the observed ones of its column."""
        values = self.data.values.copy()
        for v in np.flatnonzero(self.missing.any(axis=0)):
            gone = self.missing[:, v]
            values[gone, v] = rng.choice(values[~gone, v], int(gone.sum()))
        self.unknowns.agree(values)
        return values

    def complete(self, values: Floats) -> Dataset:
        """A completed table, on the scale of the model, as a data set."""
        return replace(self.data, values=values)

    def scorer(self, values: Floats) -> FamilyScorer:
        """The scores of a completed table."""
        scorer = score_observed(self.complete(values), lambda rows: self.score_rows(values, rows))
        return score_given(self.data, scorer)

    def score_rows(self, values: Floats, rows: Booleans) -> FamilyScorer:
        """The scores of some rows of a completed table, for all nodes alike."""
        score: LocalScore = self.score
        table = replace(self.data, values=values[rows], interventions=(), slices=None)
        return score.bind(table, allow_degenerate=True)

    def redraw(self, values: Floats, dag: Booleans, rng: np.random.Generator) -> None:
        """Draw all missing cells anew, given a DAG [parent, child], in place."""
        if self._beginnings is not None:
            dag = dag | self._beginnings.draw(values, self.score_rows, rng)
        self.draw(values, dag, rng)

    @abstractmethod
    def draw(self, values: Floats, dag: Booleans, rng: np.random.Generator) -> None:
        """Draw all missing cells given a DAG in which given columns may have parents, too."""

    def drawn(self, values: Floats) -> Floats:
        """The drawn cells of a table, row by row, in the units of the data."""
        shift, scale = (own[np.nonzero(self.missing)[1]] for own in self._units)
        return np.asarray(shift + scale * values[self.missing])

    def filled(self, drawn: Floats) -> Floats:
        """The table, on the scale of the model, that these cells in units of the data complete."""
        shift, scale = (own[np.nonzero(self.missing)[1]] for own in self._units)
        values = self.data.values.copy()
        values[self.missing] = (drawn - shift) / scale
        return values

    def checked(self, cells: Floats) -> Floats:
        """Cells on the scale of the model; a ValueError if a level among them does not exist."""
        sizes = np.array([0 if one is None else len(one) for one in self.data.levels])
        own = sizes[np.nonzero(self.missing)[1]]
        levels = cells[own > 0]
        is_level = (levels >= 0) & (levels < own[own > 0]) & (levels == np.floor(levels))
        require(bool(is_level.all()), "a drawn level does not exist")
        return cells

    @cached_property
    def _units(self) -> tuple[Floats, Floats]:
        """Shift and scale of every column, from the scale of the model to the data."""
        is_scaled = [levels is None and self._is_scaled for levels in self.data.levels]
        deviations = self.original.standard_deviations
        shift = np.where(is_scaled, np.nanmean(self.original.values, axis=0), 0.0)
        return shift, np.where(is_scaled & (deviations > 0), deviations, 1.0)


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

"""What the posteriors of families need of the data: counts and moments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats
from outpoint.data import Dataset
from outpoint.data.interventions import sets_of_rows
from outpoint.errors import OptionError
from outpoint.models.coding import Coding
from outpoint.models.configurations import Configurations
from outpoint.models.regression import Moments
from outpoint.naming import enumerate_names

States = NDArray[np.int64]
"""The numbers of observed states of categorical parents, ascending."""


class Statistics(ABC):
    """What a family needs of the data, from the rows in which its child was not set.

    ``n_rows`` is the smallest number of rows that a regression comes from.
    """

    n_rows: float

    @abstractmethod
    def counts(self, child: int, states: Configurations) -> tuple[States, Floats]:
        """Observed states of the parents, and the counts (state, level) of the child in them."""

    @abstractmethod
    def moments(
        self, child: int, columns: tuple[int, ...], states: Configurations
    ) -> tuple[States, Moments]:
        """Observed states of the categorical parents, and the moments of columns in them."""


@dataclass(frozen=True, eq=False)
class RowStatistics(Statistics):
    """Statistics from rows: ``columns`` as they are coded, ``is_used`` (row, variable)."""

    coding: Coding
    columns: Floats
    is_used: Booleans
    n_rows: float = 0.0

    @classmethod
    def from_data(cls, data: Dataset, coding: Coding) -> RowStatistics:
        """Those of a table."""
        return cls(coding, coding.encode(data.values), ~data.is_set)

    def counts(self, child: int, states: Configurations) -> tuple[States, Floats]:
        """Observed states of the parents, and the counts (state, level) of the child in them."""
        rows = self.columns[self.is_used[:, child]]
        n_levels = len(self.coding.levels[child] or ())
        observed, place = np.unique(states.number(rows), return_inverse=True)
        cells = place * n_levels + rows[:, child].astype(np.intp)
        counts = np.bincount(cells, minlength=len(observed) * n_levels)
        return observed, counts.reshape(len(observed), n_levels).astype(np.float64)

    def moments(
        self, child: int, columns: tuple[int, ...], states: Configurations
    ) -> tuple[States, Moments]:
        """Observed states of the categorical parents, and the moments of columns in them."""
        rows = self.columns[self.is_used[:, child]]
        observed, place = np.unique(states.number(rows), return_inverse=True)
        order = np.argsort(place, kind="stable")
        ends = np.cumsum(np.bincount(place, minlength=len(observed)))[:-1]
        values = rows[order][:, list(columns)]
        parts = np.split(values, ends) if len(observed) else []
        return observed, stack_moments(parts, len(columns))


@dataclass(frozen=True, eq=False)
class ColumnMoments(Statistics):
    """Moments of all columns at once, where all of them are Gaussian.

    There is one entry for each group of variables that were set in the same rows; ``group`` has the
    number of each variable's.
    """

    every: Moments
    group: NDArray[np.int64]

    @property
    def n_rows(self) -> float:  # type: ignore[override]
        """The smallest number of rows."""
        return float(self.every.n_rows[self.group].min())

    @classmethod
    def from_data(cls, data: Dataset, coding: Coding) -> ColumnMoments:
        """Those of a table."""
        columns = coding.encode(data.values)
        patterns, group = sets_of_rows(data.is_set)
        every = stack_moments([columns[rows] for rows in patterns], columns.shape[1])
        return cls(every, group)

    def counts(self, child: int, states: Configurations) -> tuple[States, Floats]:
        """Nothing: there are no tables."""
        raise NotImplementedError

    def moments(
        self, child: int, columns: tuple[int, ...], states: Configurations
    ) -> tuple[States, Moments]:
        """The one state that there is, and the moments of columns."""
        chosen = Moments(*(part[[self.group[child]]] for part in self.every))
        return np.zeros(1, dtype=np.int64), chosen.of(list(columns))


class Family(NamedTuple):
    """The statistics of one family: ``numbers`` (state, ...) in observed ``states``.

    Of a table these are the counts of levels, of a regression the number of rows, the means of the
    continuous parents and the child, and their sums of squares.
    """

    states: States
    numbers: Floats


@dataclass(frozen=True, eq=False)
class FamilyStatistics(Statistics):
    """Statistics of the families that a file has, by child and parents."""

    coding: Coding
    families: Mapping[tuple[int, tuple[int, ...]], Family]
    n_rows: float = 0.0

    def counts(self, child: int, states: Configurations) -> tuple[States, Floats]:
        """Observed states of the parents, and the counts (state, level) of the child in them."""
        found = self._find(child, states.parents)
        return found.states, found.numbers

    def moments(
        self, child: int, columns: tuple[int, ...], states: Configurations
    ) -> tuple[States, Moments]:
        """Observed states of the categorical parents, and the moments of columns in them."""
        found = self._find(child, tuple(sorted((*states.parents, *columns[:-1]))))
        size, numbers = len(columns), found.numbers
        scatter = numbers[:, 1 + size :].reshape(-1, size, size)
        return found.states, Moments(numbers[:, 0], numbers[:, 1 : 1 + size], scatter)

    def _find(self, child: int, parents: tuple[int, ...]) -> Family:
        found = self.families.get((child, parents))
        if found is None:
            names = [self.coding.names[parent] for parent in parents]
            raise OptionError(
                f"the file has no statistics of {self.coding.names[child]!r} with the parents "
                f"{enumerate_names(names) if names else 'none'}, as no draw has this family: "
                "learn again and ask in the same session."
            )
        return found


def stack_moments(parts: list[Floats], n_columns: int) -> Moments:
    """The moments of several tables of the same columns; those of no rows are 0."""
    n_rows = np.array([float(len(part)) for part in parts])
    means, scatter = np.zeros((len(parts), n_columns)), np.zeros((len(parts), n_columns, n_columns))
    for i, part in enumerate(parts):
        if len(part):
            means[i] = part.mean(axis=0)
            centred = part - means[i]
            scatter[i] = centred.T @ centred  # symmetric to the last digit, as it is one array
    return Moments(n_rows, means, scatter)

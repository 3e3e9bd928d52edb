"""What data say about the parameters of any DAG, by the model that the score is derived from.

Parameters of different families are independent, before the data and after, so that everything is a
product over families: posteriors (:mod:`outpoint.models.conditionals`), predictive
densities p(x | G, D), draws of parameters. A family uses the rows in which its child was not set
from outside. The scores bge, bdeu, blocks and conditional-gaussian have such a model; bic and
scores of one's own have none.

Formulas: docs/math.md#parameters-and-predictive-densities.

Of the data the posteriors of families need counts and moments.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats
from outpoint.data import Dataset
from outpoint.data.interventions import sets_of_rows
from outpoint.errors import OptionError
from outpoint.graphs import Dag
from outpoint.graphs.layers import order_of
from outpoint.models.conditionals import Configurations, Moments, NormalPrior, Regression, Table
from outpoint.models.network import Coding, Network
from outpoint.naming import enumerate_names
from outpoint.scores import BDeu, BGe, LocalScore
from outpoint.scores.blocks import Blocks
from outpoint.scores.conditional_gaussian import ConditionalGaussian
from outpoint.scores.gaussian import NormalWishart

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

    There is one entry for each group of variables that were set in the same rows; ``group`` holds
    the number of each variable's group.
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
        """Not available: there are no tables."""
        raise NotImplementedError

    def moments(
        self, child: int, columns: tuple[int, ...], states: Configurations
    ) -> tuple[States, Moments]:
        """The only state, and the moments of columns in it."""
        chosen = Moments(*(part[[self.group[child]]] for part in self.every))
        return np.zeros(1, dtype=np.int64), chosen.of(list(columns))


class FamilyNumbers(NamedTuple):
    """The statistics of one family: ``numbers`` (state, ...) in observed ``states``.

    For a table these are the counts of levels, for a regression the number of rows, the means of
    the continuous parents and the child, and their sums of squares.
    """

    states: States
    numbers: Floats


@dataclass(frozen=True, eq=False)
class FamilyStatistics(Statistics):
    """Statistics of the families in a file, by child and parents."""

    coding: Coding
    families: Mapping[tuple[int, tuple[int, ...]], FamilyNumbers]
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

    def _find(self, child: int, parents: tuple[int, ...]) -> FamilyNumbers:
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
    """The moments of several tables of the same columns; they are 0 for tables without rows."""
    n_rows = np.array([float(len(part)) for part in parts])
    means, scatter = np.zeros((len(parts), n_columns)), np.zeros((len(parts), n_columns, n_columns))
    for i, part in enumerate(parts):
        if len(part):
            means[i] = part.mean(axis=0)
            centred = part - means[i]
            scatter[i] = centred.T @ centred  # symmetric to the last digit, as it is one array
    return Moments(n_rows, means, scatter)


NEEDS_MODEL = (
    "parameters and predictions need a score with a model of the data: bge, bdeu, blocks or "
    "conditional-gaussian; bic and scores of your own have none."
)

MOST_PASTS = 200
"""Rows of earlier values that are kept from a time series."""

Family = tuple[Regression | Table, ...]
"""The posterior of a variable's parameters: one part for each column that it owns."""

Graph = Dag | Booleans
"""A DAG over the variables of a model, or its matrix [parent, child]."""


@dataclass(frozen=True, eq=False)
class Prior:
    """The settings of a score that decide its posteriors."""

    normal: NormalPrior | None
    sample_size: float | None


@dataclass(frozen=True, eq=False)
class NetworkModel:
    """The conjugate posterior of the parameters of every family.

    ``given`` variables, the earlier values of a time series, have no distribution of their own;
    ``pasts`` (row, variable) are some of their observed values, NaN for all other variables.
    """

    coding: Coding
    prior: Prior
    statistics: Statistics
    given: Booleans
    pasts: Floats = field(default_factory=lambda: np.zeros((0, 0)), repr=False)
    _families: dict[tuple[int, tuple[int, ...]], Family] = field(default_factory=dict, repr=False)

    @classmethod
    def from_score(
        cls, score: LocalScore, data: Dataset, observed: Dataset | None = None
    ) -> NetworkModel | None:
        """The model behind a score, or None if it has none.

        Columns are centred and scaled as those of the ``observed`` table, of which ``data`` may be
        a completion.
        """
        if not isinstance(score, BGe | BDeu | Blocks | ConditionalGaussian):
            return None
        coding = Coding.from_data(
            data if observed is None else observed,
            standardize=isinstance(score, NormalWishart) and score.standardize,
            contrasted=isinstance(score, Blocks),
        )
        given = np.zeros(data.n_nodes, dtype=np.bool_)
        if data.slices is not None:
            given = np.isin(data.names, data.slices.given(data.names))
        source = ColumnMoments if isinstance(score, BGe | Blocks) else RowStatistics
        statistics = source.from_data(data, coding)
        return cls(coding, _prior_of(score, coding), statistics, given, _pasts(data, given))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the variables."""
        return self.coding.names

    @property
    def is_gaussian(self) -> bool:
        """Whether all columns are Gaussian, those of categorical variables included."""
        coding = self.coding
        pairs = zip(coding.levels, coding.codes, strict=True)
        return all(levels is None or codes is not None for levels, codes in pairs)

    def family(self, child: int, parents: tuple[int, ...]) -> Family:
        """The posterior of a variable's parameters given its parents, ascending."""
        key = child, parents
        if key not in self._families:
            self._families[key] = self._make(child, parents)
        return self._families[key]

    def families(self, dag: Graph) -> list[Family]:
        """The posteriors of all variables' parameters; empty for given variables."""
        adjacency = self.adjacency(dag)
        return [
            () if self.given[v] else self.family(v, tuple(np.flatnonzero(adjacency[:, v]).tolist()))
            for v in range(len(self.names))
        ]

    def adjacency(self, dag: Graph) -> Booleans:
        """The matrix of a DAG, over the variables in the order of the model."""
        if isinstance(dag, Dag):
            return dag.reorder(self.names).adjacency
        return np.asarray(dag, dtype=np.bool_)

    def sample_parameters(self, dag: Graph, rng: np.random.Generator) -> Network:
        """A network with parameters drawn from their posterior."""
        drawn = tuple(tuple(part.draw(rng) for part in family) for family in self.families(dag))
        return Network(self.coding, order_of(self.adjacency(dag)), drawn, self.level_corrections)

    @cached_property
    def level_corrections(self) -> dict[int, Floats]:
        """By variable coded as columns, what to add to log densities at codes of levels (level,).

        The normal density at the code of a rare level is far smaller than its share. With the
        share over the density of the variable alone as a factor, a level has its observed share
        where nothing is known, and Bayes' rule from there.
        """
        found = {}
        for v, codes in enumerate(self.coding.codes):
            if codes is None or self.given[v]:
                continue
            known = ~np.isnan(codes).any(axis=1)
            columns = np.zeros((int(known.sum()), len(self.coding.owner)))
            columns[:, self.coding.columns_of(v)] = codes[known]
            density = sum(part.log_predictive(columns) for part in self.family(v, ()))
            out = np.full(len(codes), -np.inf)
            out[known] = np.log(self.coding.shares(v)[known]) - density
            found[v] = out
        return found

    def log_predictive(self, dag: Graph, values: Floats) -> Floats:
        """Log predictive densities, in the units of the data, of rows of known values.

        Values (row, variable) are those of a data set, parameters are integrated out. Given
        variables are conditioned on.
        """
        columns = self.coding.encode(values)
        total = self.coding.log_units(np.broadcast_to(~self.given, values.shape))
        for family in self.families(dag):
            for part in family:
                total = total + part.log_predictive(columns)
        return total

    def family_statistics(self, child: int, parents: tuple[int, ...]) -> FamilyNumbers:
        """The statistics behind the posterior of a family, in every observed state of parents."""
        if self._is_table(child):
            return FamilyNumbers(*self.statistics.counts(child, self._states(parents)))
        inner, states = self._split(parents)
        columns = (*inner, *self.coding.columns_of(child))
        observed, moments = self.statistics.moments(child, columns, states)
        size = len(columns) ** 2
        parts = (moments.n_rows[:, None], moments.means, moments.scatter.reshape(-1, size))
        return FamilyNumbers(observed, np.hstack(parts))

    def _is_table(self, variable: int) -> bool:
        """Whether a variable is categorical, with its level codes as the column."""
        coding = self.coding
        return coding.codes[variable] is None and coding.levels[variable] is not None

    def _split(self, parents: tuple[int, ...]) -> tuple[list[int], Configurations]:
        """The Gaussian columns of parents, and the states of the others."""
        inner: list[int] = []
        for parent in parents:
            inner += [] if self._is_table(parent) else self.coding.columns_of(parent)
        return inner, self._states(tuple(filter(self._is_table, parents)))

    def _make(self, child: int, parents: tuple[int, ...]) -> Family:
        if self._is_table(child):
            return (self._table(child, parents),)
        inner, states = self._split(parents)
        own = self.coding.columns_of(child)
        columns = (*inner, *own)
        observed, moments = self.statistics.moments(child, columns, states)
        states = Configurations(states.parents, states.sizes, observed)
        assert self.prior.normal is not None
        return tuple(
            Regression.from_moments(
                column,
                columns[: len(inner) + i],
                states,
                moments.of(list(range(len(inner) + i + 1))),
                self.prior.normal,
            )
            for i, column in enumerate(own)
        )

    def _table(self, child: int, parents: tuple[int, ...]) -> Table:
        states = self._states(parents)
        if len(states.parents) != len(parents):
            raise OptionError(NO_SUCH_EDGE)
        observed, counts = self.statistics.counts(child, states)
        states = Configurations(states.parents, states.sizes, observed)
        assert self.prior.sample_size is not None
        n_cells = float(states.n_all) * counts.shape[1]
        return Table(child, states, counts, self.prior.sample_size / n_cells)

    def _states(self, parents: tuple[int, ...]) -> Configurations:
        """The states of categorical parents, without any observed ones so far."""
        levels = [self.coding.levels[parent] for parent in parents]
        if any(one is None for one in levels):
            raise OptionError(NO_SUCH_EDGE)
        sizes = tuple(len(one or ()) for one in levels)
        return Configurations(parents, sizes, np.zeros(0, dtype=np.int64))


NO_SUCH_EDGE = (
    "the DAG has an edge from a continuous to a categorical variable, which the score excludes."
)


def _pasts(data: Dataset, given: Booleans) -> Floats:
    """Evenly spread rows of the given variables."""
    if not given.any():
        return np.zeros((0, data.n_nodes))
    n_kept = min(MOST_PASTS, data.n_obs)
    rows = np.arange(n_kept) * data.n_obs // n_kept
    return np.where(given, data.values[rows], np.nan)


def _prior_of(score: Any, coding: Coding) -> Prior:
    normal = None
    if isinstance(score, NormalWishart):
        is_gaussian = [
            coding.levels[v] is None or coding.codes[v] is not None for v in coding.owner
        ]
        n_columns = int(np.sum(is_gaussian))
        freedom = score.freedom(n_columns) - n_columns
        normal = NormalPrior(float(score.alpha_mu), freedom, score.scale(n_columns))
    return Prior(normal, getattr(score, "equivalent_sample_size", None))

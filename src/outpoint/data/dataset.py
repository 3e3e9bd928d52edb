"""One validated table of data, the only form in which the rest of the package sees data.

A :class:`Dataset` is a rectangle of finite numbers with a name and a kind for every column; a cell
without a value holds NaN. A continuous column holds its values; a categorical column holds level
codes ``0 .. r-1`` and carries the ``r`` labels next to it, including levels that were never
observed, because the number of levels is part of the model. Everything is read-only, so a data set
can be shared between threads and identified by its fingerprint.

Constant columns, copies of columns and fewer rows than columns are valid data here: whether they
are a problem depends on the score, and the scores say so.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from outpoint.arguments import COLUMN, NODE, ListOf, Made, takes
from outpoint.arrays import Integers
from outpoint.data.copies import find_copies
from outpoint.data.interventions import (
    Interventions,
    Targets,
    check_length,
    count_rows_by_targets,
    mark_targets,
    parse_interventions,
    write_entries,
)
from outpoint.data.transforms import quantile_bins
from outpoint.errors import DataError, OptionError
from outpoint.kinds import Tested, checked, choice, is_whole, list_of, whole
from outpoint.naming import count_of, enumerate_items, enumerate_names, option, suggest
from outpoint.notebook import as_html, first_of

if TYPE_CHECKING:
    import pandas as pd


MOST_LAGS = 10**4


@dataclass(frozen=True)
class Slices:
    """How a table was made of a series.

    Each row holds a time and the ``lags`` before it, ``x[-1]`` being x one time earlier. ``static``
    columns do not change within a subject, or follow from their earlier values. Variables may
    depend on others at the same time if they are ``contemporaneous``. ``origin`` (row, 2) has the
    subject of each row and the place of its time among all rows of the series, those of a subject
    one after the other, by which the same value is recognised in other rows.
    """

    lags: int
    static: tuple[str, ...] = ()
    contemporaneous: bool = True
    origin: Integers | None = field(default=None, repr=False, compare=False)

    def variables(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns of the time itself."""
        given = set(self.given(names))
        return tuple(name for name in names if name not in given)

    def given(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns that are causes only: lagged and static ones."""
        earlier = {lagged_name(name, lag) for name in names for lag in range(1, self.lags + 1)}
        return tuple(name for name in names if name in earlier or name in self.static)

    def past(self, names: Sequence[str]) -> list[tuple[str, int]]:
        """The variable that each column holds, and how many times earlier; 0 for static ones."""
        lags = range(1, self.lags + 1)
        known = {lagged_name(name, lag): (name, lag) for name in names for lag in lags}
        return [known.get(name, (name, 0)) for name in names]

    def take(self, rows: npt.NDArray[Any]) -> "Slices":
        """The slices of these rows."""
        return self if self.origin is None else replace(self, origin=self.origin[rows])


def lagged_name(name: str, lag: int) -> str:
    """The name of the column that holds a variable ``lag`` times earlier."""
    return f"{name}[-{lag}]" if lag else name


Kind = Literal["continuous", "categorical"]
Asked = Literal["continuous", "categorical", "ordinal"]
"""What a user can ask a column to be; ordinal ones become continuous."""
Levels = tuple[str, ...]

LABELS = Made("a list of column names", make=lambda given: _texts(given))
LEVELS = Made(
    "a list of the levels of each column, None for a continuous one",
    make=lambda given: tuple(None if one is None else _texts(one) for one in list_of(given)),
)
ROWS = Tested(
    "an array of truth values, one for each row",
    test=lambda given: isinstance(given, np.ndarray) and given.dtype == bool and given.ndim == 1,
)

N_ROWS = 5
"""Values of each column that a notebook shows."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Named columns of finite numbers, read-only.

    ``values`` (row, column) holds the numbers of a continuous column, level codes from 0 of a
    categorical one, and NaN where a value is missing. ``levels`` has one entry per column: ``None``
    for a continuous column, for a categorical one the labels, also of levels never observed; left
    empty, all columns are continuous. ``interventions`` has one entry per row, the names of the
    variables that were set from outside in it; left empty, all rows were only observed. A table
    that ``declares_states`` has a row with the number of states of every column, and is taken as it
    is, copies included. ``slices`` says which columns of a time series are earlier values of
    others.

    How the data came here takes no part in comparisons: ``source`` says where from; ``path`` is
    what ``load_dataset`` was given, a file or the name of a bundled data set, and ``reading`` holds
    the options that make the data from there again: ``None`` where no such call does, as for data
    that were built or changed in Python; ``notes`` say what reading had to assume or leave out.
    """

    names: tuple[str, ...]
    values: npt.NDArray[np.float64]
    levels: tuple[Levels | None, ...] = ()
    source: str = "memory"
    path: str | None = None
    reading: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()
    interventions: Interventions = ()
    declares_states: bool = False
    slices: Slices | None = None

    def __post_init__(self) -> None:
        names = checked("names", LABELS, self.names)
        values = _as_matrix(self.values)
        levels = checked("levels", LEVELS, self.levels)
        levels = levels or (None,) * len(names)
        check_column_names(names)
        if values.shape[1] != len(names) or len(levels) != len(names):
            raise DataError(
                f"There are {len(names)} names for {values.shape[1]} columns of values and "
                f"{len(levels)} entries of levels; give one of each per column."
            )
        if values.shape[0] < 1:
            raise DataError("The data have no rows; at least one observation is needed.")
        _validate_values(names, values, levels)
        interventions = parse_interventions(self.interventions, names)
        check_length(interventions, len(values))
        values[np.isnan(values)] = np.nan  # one pattern of bits for all
        values.flags.writeable = False
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "interventions", interventions)

    @property
    def n_obs(self) -> int:
        """The number of observations (rows)."""
        return int(self.values.shape[0])

    @property
    def n_nodes(self) -> int:
        """The number of variables (columns)."""
        return len(self.names)

    @cached_property
    def missing(self) -> npt.NDArray[np.bool_]:
        """Whether a cell has no value (row, column), read-only."""
        missing = np.isnan(self.values)
        missing.flags.writeable = False
        return missing

    @cached_property
    def is_complete(self) -> bool:
        """Whether every cell has a value."""
        return not self.missing.any()

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """``"continuous"`` or ``"categorical"`` for every column."""
        return tuple("continuous" if one is None else "categorical" for one in self.levels)

    @takes(kind=choice("continuous", "categorical"))
    def columns_of(self, kind: Kind) -> tuple[str, ...]:
        """The names of the columns of one kind."""
        return tuple(name for name, one in zip(self.names, self.kinds, strict=True) if one == kind)

    @property
    def is_continuous(self) -> bool:
        """Whether all columns are continuous."""
        return all(one is None for one in self.levels)

    @property
    def is_categorical(self) -> bool:
        """Whether all columns are categorical."""
        return all(one is not None for one in self.levels)

    @cached_property
    def codes(self) -> npt.NDArray[np.int32]:
        """The level codes of all-categorical data, read-only; :class:`DataError` otherwise."""
        self._require_categorical()
        if not self.is_complete:
            raise DataError(f"Level codes need a complete table; {describe_holes(self)}.")
        codes = self.values.astype(np.int32)
        codes.flags.writeable = False
        return codes

    @cached_property
    def cardinalities(self) -> npt.NDArray[np.int64]:
        """The number of levels of every column of all-categorical data, observed or not."""
        self._require_categorical()
        sizes = np.array([len(one or ()) for one in self.levels], dtype=np.int64)
        sizes.flags.writeable = False
        return sizes

    def _require_categorical(self) -> None:
        if not self.is_categorical:
            continuous = self.columns_of("continuous")
            raise DataError(
                f"Categorical data are needed, but {enumerate_names(continuous)} "
                f"{'is' if len(continuous) == 1 else 'are'} continuous; use a score for continuous "
                f"data, or read with {option('categorical')} or {option('discretize')}."
            )

    @property
    def constant_columns(self) -> tuple[str, ...]:
        """The names of the columns with a single observed value."""
        return tuple(
            name for name, flag in zip(self.names, are_constant(self.values), strict=True) if flag
        )

    @cached_property
    def copied_columns(self) -> tuple[tuple[str, str], ...]:
        """Pairs of columns of the same kind that say the same.

        One of two continuous columns is a linear function of the other, up to rounding; the levels
        of two categorical ones correspond one to one.
        """
        pairs = find_copies(self.values, [one is None for one in self.levels])
        return tuple((self.names[a], self.names[b]) for a, b in pairs)

    @cached_property
    def is_set(self) -> npt.NDArray[np.bool_]:
        """Whether a variable was set from outside (row, column), read-only."""
        is_set = mark_targets(self.interventions, self.names, self.n_obs)
        is_set.flags.writeable = False
        return is_set

    @property
    def target_sets(self) -> list[tuple[Targets, int]]:
        """The distinct sets of variables that were set together, each with its number of rows.

        The empty set stands for the rows that were only observed; there are no sets at all if all
        rows were.
        """
        return count_rows_by_targets(self.interventions)

    @takes(column=NODE)
    def index(self, column: str | int) -> int:
        """The position of a column given by name or by position."""
        if is_whole(column):
            if 0 <= column < self.n_nodes:
                return int(column)
            raise DataError(
                f"There is no column {column}; positions go from 0 to {self.n_nodes - 1}."
            )
        if column in self.names:
            return self.names.index(str(column))
        hint = suggest(str(column), self.names) or f"the columns are {enumerate_names(self.names)}."
        raise DataError(f"There is no column {column!r}; {hint}")

    def standardized(self) -> "Dataset":
        """Continuous columns shifted to mean 0 and scaled to sample standard deviation 1.

        Constant columns become 0; categorical columns and missing values are left alone.
        """
        values = self.values.copy()
        constant = are_constant(values)
        for v, one in enumerate(self.levels):
            if one is None:
                there = ~self.missing[:, v]
                scaled, _ = _tame(values[there, v])
                centred = scaled - scaled.mean()
                values[there, v] = 0.0 if constant[v] else centred / np.std(centred, ddof=1)
        return self._changed(values=values)

    @cached_property
    def standard_deviations(self) -> npt.NDArray[np.float64]:
        """The sample standard deviation of every column; 0 where only one value was observed."""
        deviations = np.zeros(self.n_nodes)
        for v in np.flatnonzero(~are_constant(self.values)):
            scaled, exponent = _tame(self.values[~self.missing[:, v], v])
            deviations[v] = np.ldexp(scaled.std(ddof=1), exponent)
        deviations.flags.writeable = False
        return deviations

    def _changed(self, **changes: Any) -> "Dataset":
        """These data with other content, which no call of ``load_dataset`` reads any more."""
        return replace(self, **changes, reading=None)

    @takes(columns=ListOf("a list of columns", item=NODE))
    def select(self, columns: Iterable[str | int]) -> "Dataset":
        """The given columns (at least two), in the given order."""
        chosen = [self.index(column) for column in columns]
        return self._changed(
            names=tuple(self.names[v] for v in chosen),
            values=self.values[:, chosen],
            levels=tuple(self.levels[v] for v in chosen),
        )

    @takes(rows=ROWS)
    def take(self, rows: npt.NDArray[np.bool_]) -> "Dataset":
        """The rows at which ``rows`` is true (at least one); all levels are kept."""
        if len(rows) != self.n_obs:
            raise OptionError(f"rows has {len(rows)} values for {self.n_obs} rows.")
        kept = tuple(t for t, one in zip(self.interventions, rows, strict=False) if one)
        slices = None if self.slices is None else self.slices.take(rows)
        return self._changed(values=self.values[rows], interventions=kept, slices=slices)

    @takes(bins=whole(2))
    def discretized(self, bins: int = 3) -> "Dataset":
        """Continuous columns cut at quantiles into at most ``bins`` levels of about equal size.

        Equal values stay together, so a column with many ties can get fewer levels; a column with
        at most ``bins`` distinct values keeps one level for each. Categorical columns are left
        alone.
        """
        values = self.values.copy()
        levels = list(self.levels)
        for v, one in enumerate(self.levels):
            if one is None:
                there = ~self.missing[:, v]
                values[there, v], levels[v] = quantile_bins(values[there, v], bins)
        return self._changed(values=values, levels=tuple(levels))

    @takes(interventions=COLUMN)
    def to_frame(self, interventions: str | None = None) -> "pd.DataFrame":
        """A pandas DataFrame; categorical columns carry their labels and all their levels.

        With ``interventions``, a further column of this name says what was set in each row.
        """
        import pandas as pd

        columns: dict[str, npt.NDArray[np.float64] | pd.Categorical[str]] = {}
        for v, (name, one) in enumerate(zip(self.names, self.levels, strict=True)):
            column = self.values[:, v]
            if one is None:
                columns[name] = column.copy()
            else:
                codes = np.where(self.missing[:, v], -1, column).astype(np.int32)
                columns[name] = pd.Categorical.from_codes(codes.tolist(), categories=pd.Index(one))
        frame = pd.DataFrame(columns)
        if interventions is not None:
            if interventions in self.names:
                raise OptionError(f"{interventions!r} is a variable: choose another name.")
            entries = self.interventions or ((),) * self.n_obs
            frame[interventions] = write_entries(entries, self.names)
        return frame

    def fingerprint(self) -> str:
        """SHA-256 (hex) of names, levels, values and interventions, alike on every platform."""
        digest = hashlib.sha256()
        header = json.dumps([self.names, self.levels, self.values.shape], ensure_ascii=True)
        digest.update(header.encode("ascii"))
        digest.update(np.ascontiguousarray(self.values, dtype="<f8").tobytes())
        if self.interventions:
            digest.update(np.packbits(self.is_set).tobytes())
        if self.slices is not None:
            digest.update(repr(self.slices).encode())
            if not self.is_complete and self.slices.origin is not None:
                digest.update(np.ascontiguousarray(self.slices.origin, dtype="<i8").tobytes())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dataset):
            return NotImplemented
        same_labels = self.names == other.names and self.levels == other.levels
        same_rows = np.array_equal(self.values, other.values, equal_nan=True)
        same_roles = self.interventions == other.interventions and self.slices == other.slices
        return same_labels and same_rows and same_roles

    def __hash__(self) -> int:
        return hash(self.fingerprint())

    def describe(self) -> str:
        """Size, kinds and interventions in words, naming the columns of a rarer kind."""
        holes = "" if self.is_complete else f"; {count_of(int(self.missing.sum()), 'missing cell')}"
        return self._describe_kinds() + self._describe_interventions() + holes

    def _describe_interventions(self) -> str:
        if not self.interventions:
            return ""
        targets = [self.names[v] for v in np.flatnonzero(self.is_set.any(axis=0))]
        n_rows = int(self.is_set.any(axis=1).sum())
        return f"; {enumerate_items(targets)} set in {n_rows} rows"

    def _describe_kinds(self) -> str:
        if self.is_continuous or self.is_categorical:
            return f"{self.n_obs:,} observations of {self.n_nodes:,} {self.kinds[0]} variables"
        continuous, categorical = self.columns_of("continuous"), self.columns_of("categorical")
        counts = [f"{len(continuous)} continuous", f"{len(categorical)} categorical"]
        rarer = int(len(categorical) <= len(continuous))
        counts[rarer] += f" ({enumerate_items((continuous, categorical)[rarer], ', ', 5)})"
        return f"{self.n_obs:,} observations of {self.n_nodes:,} variables: {', '.join(counts)}"

    def __repr__(self) -> str:
        return f"Dataset({self.source!r}: {self.describe()})"

    def _repr_html_(self) -> str:
        """In a notebook: every column with its kind and its first values."""
        head = replace(self, values=self.values[:N_ROWS], interventions=()).to_frame()
        rows = [
            (
                name,
                kind,
                ", ".join(f"{v:.6g}" if isinstance(v, float) else str(v) for v in head[name]),
            )
            for name, kind in zip(self.names, self.kinds, strict=True)
        ]
        parts = [*self.notes, first_of(self.n_nodes, "columns")]
        note = "; ".join(part for part in parts if part)
        title = f"Dataset {self.source!r}: {self.describe()}"
        return as_html(title, ("column", "kind", "first values"), rows, note)


def check_column_names(names: tuple[str, ...], where: str = "The data") -> None:
    """Refuse fewer than two columns, columns without a name and names used twice."""
    if len(names) < 2:
        found = f"one column ({names[0]!r})" if names else "no columns"
        raise DataError(f"{where} have {found}, but outpoint needs at least two variables.")
    unnamed = [str(position) for position, name in enumerate(names, start=1) if not name.strip()]
    if unnamed:
        one = len(unnamed) == 1
        raise DataError(
            f"Column{'' if one else 's'} {enumerate_items(unnamed)} {'has' if one else 'have'} no "
            "name; name all columns."
        )
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataError(
            f"Column names must be unique, but {enumerate_names(repeated)} "
            f"{'occurs' if len(repeated) == 1 else 'occur'} more than once; rename the columns."
        )


def describe_holes(data: Dataset) -> str:
    """How many cells of which columns are missing."""
    numbers = data.missing.sum(axis=0)
    order = [v for v in np.argsort(-numbers, kind="stable") if numbers[v]]
    counts = enumerate_items([f"{data.names[v]!r} ({numbers[v]})" for v in order], limit=4)
    total = int(numbers.sum())
    where = ""
    if data.slices is not None:
        where = f" of a table in which a value appears in up to {data.slices.lags + 1} rows"
    return f"{count_of(total, 'cell')} {'is' if total == 1 else 'are'} missing, in {counts}{where}"


def are_constant(values: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Which columns have a single observed value."""
    first = values[np.argmax(~np.isnan(values), axis=0), np.arange(values.shape[1])]
    constant: npt.NDArray[np.bool_] = ((values == first) | np.isnan(values)).all(axis=0)
    return constant


def _tame(column: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], int]:
    """A column divided by a power of 2, and its exponent: no digit changes, no square overflows."""
    exponent = int(np.frexp(np.abs(column).max())[1])
    return np.ldexp(column, -exponent), exponent


def _texts(given: Any) -> Levels:
    """Labels as texts."""
    return tuple(str(one) for one in (given if isinstance(given, str) else list_of(given)))


def _as_matrix(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """A fresh row-major float64 copy of ``values``, with -0 turned into 0."""
    try:
        matrix = np.array(values, dtype=np.float64, order="C", copy=True)
    except Exception as error:
        raise DataError(
            "The values are not a table of numbers; load text with load_dataset instead."
        ) from error
    if matrix.ndim != 2:
        raise DataError(
            f"The values must form a table (2 dimensions), not {matrix.ndim} dimension(s)."
        )
    matrix[np.isnan(matrix)] = np.nan  # whatever bits stand for it
    matrix += 0.0  # equal values must have equal bytes: fingerprints and column comparison
    return matrix


def _validate_values(
    names: tuple[str, ...], values: npt.NDArray[np.float64], levels: tuple[Levels | None, ...]
) -> None:
    """Refuse infinite values, columns without any value, and codes without a level."""
    if np.isinf(values).any():
        row, v = np.argwhere(np.isinf(values))[0]
        raise DataError(
            f"Column {names[v]!r} has the value {values[row, v]} in row {row + 1}; "
            "correct or remove infinite values first."
        )
    missing = np.isnan(values)
    if missing.all(axis=0).any():
        v = int(np.argmax(missing.all(axis=0)))
        raise DataError(f"Column {names[v]!r} has no value in any row; leave it out.")
    for v, one in enumerate(levels):
        if one is None:
            continue
        if len(set(one)) != len(one):
            raise DataError(
                f"The levels of column {names[v]!r} are not unique ({enumerate_names(one)}); "
                "rename them."
            )
        column = values[:, v]
        bad = (column < 0) | (column >= len(one)) | (column != np.floor(column))
        bad &= ~missing[:, v]
        if bad.any():
            row = int(np.argmax(bad))
            raise DataError(
                f"Column {names[v]!r} has the code {column[row]:g} in row {row + 1}, but its "
                f"{len(one)} levels are coded 0 to {len(one) - 1}; correct the code or the levels."
            )

"""From whatever the user has to a :class:`~outpoint.data.dataset.Dataset`.

A source makes columns, missing values are treated, each column gets its kind, and all that is wrong
is said at once. The same steps for every source.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from outpoint.data import bundled
from outpoint.data.cardinality import has_cardinality_row, take_cardinality_row
from outpoint.data.cells import DecimalMark
from outpoint.data.columns import Column, as_categorical, as_continuous, assemble, decide_kind
from outpoint.data.dataset import Dataset, Kind, check_column_names
from outpoint.data.interventions import Entry, check_length, parse_interventions
from outpoint.data.problems import ColumnProblem, Missing, refuse, refuse_empty
from outpoint.data.reading import Names, Reading
from outpoint.data.sources import (
    Data,
    Made,
    Source,
    source_of_dataset,
    source_of_file,
    source_of_memory,
)
from outpoint.data.suitability import find_unsuitable
from outpoint.errors import DataError, OptionError
from outpoint.naming import named

_OF_CELLS = ("decimal", "separator", "cardinality_row")


def load_dataset(
    data: Data,
    *,
    columns: Names | None = None,
    drop: Names = (),
    categorical: Names = (),
    continuous: Names = (),
    discretize: Mapping[str, int] | None = None,
    decimal: DecimalMark | None = None,
    missing: Literal["refuse", "drop"] = "refuse",
    separator: str | None = None,
    cardinality_row: bool | None = None,
    interventions: str | Iterable[Entry] | None = None,
) -> Dataset:
    """Load data from a file, a pandas or polars DataFrame, a 2-D array or a list of rows.

    The kind of each column is decided by that column: text and truth
    values are categorical, numbers with decimals continuous; whole numbers are categorical if they
    have at most 12 distinct values, and these are two, or at most half as many as rows.

    Parameters
    ----------
    data
        One of these, the name of a bundled data set, or a :class:`Dataset`, which is returned as it
        is if no option changes it.
    columns, drop
        The columns to read, or not to read; all others are never looked at.
    categorical, continuous
        Columns whose kind you know; ``"all"`` stands for all columns not named elsewhere.
    discretize
        Numeric columns to cut at quantiles, each into so many levels: ``{"age": 3}``. ``"all"``
        stands for all continuous columns.
    decimal
        The decimal mark of numbers in a file; a comma is recognised by itself only between
        semicolons.
    missing
        Whether a missing value is an error, or its row is dropped.
    separator
        What separates the columns of a file, found unless given.
    cardinality_row
        Whether the first row below the header holds the number of levels of each column; left open,
        such a row is recognised in files.
    interventions
        Which variables were set from outside in each row: the name of a column that tells, which is
        no variable itself (``a;b`` where a and b were set, nothing where the row was only
        observed), or a list with the names for each row.
    """
    column = interventions if isinstance(interventions, str) else None
    entries = None if column is not None else interventions
    reading = Reading(
        columns=columns,
        drop=drop,
        categorical=categorical,
        continuous=continuous,
        discretize=discretize,
        decimal=decimal,
        missing=missing,
        separator=separator,
        cardinality_row=cardinality_row,
        interventions=column,
    )
    # a list for each row is no option that could be written down
    given = reading.given() if entries is None else None
    if isinstance(data, str) and data in bundled.available() and not os.path.isfile(data):
        data = replace(bundled.load(data), path=data)
    if isinstance(data, Dataset):
        return _reread(data, reading, entries)
    if isinstance(data, (str, os.PathLike)):
        path = os.path.expanduser(os.fsdecode(data))
        if not os.path.exists(path):
            raise DataError(_no_file_message(path))
        found = _build(source_of_file(Path(path), reading), reading, given, entries)
        return replace(found, path=path)
    if separator is not None or decimal is not None:
        raise OptionError(
            f"{named('separator')} and {named('decimal')} apply to files only; leave them out for "
            "data in memory."
        )
    return _build(source_of_memory(data), reading, given, entries)


def _reread(data: Dataset, reading: Reading, entries: Iterable[Entry] | None) -> Dataset:
    """Options applied to a data set; what they cannot change is refused."""
    given = reading.given()
    useless = [name for name in _OF_CELLS if name in given]
    if useless:
        raise OptionError(
            f"{' and '.join(map(named, useless))} tell how cells are read, and these data are a "
            "Dataset already; leave the options out."
        )
    if not given.keys() - {"missing"} and entries is None:
        return data
    # options on top of others, or of changes in Python, cannot be written as one call
    written = given if data.reading == {} and entries is None else None
    built = _build(source_of_dataset(data), reading, written, entries)
    return replace(built, path=data.path)


def _build(
    source: Source,
    reading: Reading,
    given: dict[str, object] | None,
    entries: Iterable[Entry] | None,
) -> Dataset:
    """The data set that a source and the options give, or one error about all columns."""
    chosen = reading.choose(source.names)
    names = tuple(source.names[v] for v in chosen)
    check_column_names(names)
    if source.n_rows == 0:
        raise DataError("The data have no rows; at least one observation is needed.")
    asked = reading.kinds_of(names)
    made = [source.make(v, asked.get(source.names[v])) for v in chosen]
    n_above = 0
    if _has_cardinalities(source, reading, asked, chosen, made):
        made = _take_cardinalities(made, asked)
        n_above = 1
    if reading.interventions is not None:
        entries = _entries_of(source, reading.interventions)[n_above:]
    elif entries is None:
        entries = source.interventions
    interventions = parse_interventions(entries, names, lambda row: source.where(row + n_above))
    check_length(interventions, source.n_rows - n_above)
    columns, notes, kept = _check(made, asked, source, reading)
    kinds = {c.name: decide_kind(c, asked.get(c.name)) for c in columns}
    return Dataset(
        *assemble(columns, kinds, reading.bins_of(names, kinds)),
        source.label,
        reading=given,
        notes=source.notes + notes,
        interventions=tuple(compress(interventions, kept)),
    )


def _entries_of(source: Source, name: str) -> list[str]:
    """The texts of the column that tells what was set; empty where there is none."""
    column = source.make(source.names.index(name), "categorical")
    if isinstance(column, ColumnProblem):
        raise DataError(
            f"Column {name!r} holds no names of variables, so it tells no interventions."
        )
    present = ~column.missing
    found = as_categorical(column.take(present))
    texts = np.full(len(present), "", dtype=object)
    texts[present] = [(found.levels or ())[int(code)] for code in found.values]
    return list(texts)


def _has_cardinalities(
    source: Source,
    reading: Reading,
    asked: Mapping[str, Kind],
    chosen: Sequence[int],
    made: Sequence[Made],
) -> bool:
    """Whether the first row holds cardinalities; the columns left out are asked as well."""
    if reading.cardinality_row is not None:
        return reading.cardinality_row
    if not source.maybe_cardinalities or "continuous" in asked.values():
        return False
    known = dict(zip(chosen, made, strict=True))
    every = [
        known.get(v) or source.make(v, None)
        for v, name in enumerate(source.names)
        if name != reading.interventions
    ]
    columns, problems = _separate(every)
    return not problems and has_cardinality_row(columns)


def _take_cardinalities(made: Sequence[Made], asked: Mapping[str, Kind]) -> list[Made]:
    forced = [name for name, kind in asked.items() if kind == "continuous"]
    if forced:
        raise OptionError(
            f"Column {forced[0]!r} cannot be continuous in data with a cardinality row; "
            "drop one of the two options."
        )
    columns, problems = _separate(made)
    return [*take_cardinality_row(columns), *problems]


def _separate(made: Iterable[Made]) -> tuple[list[Column], list[ColumnProblem]]:
    """The columns, and what is wrong with the others."""
    found = list(made)
    return (
        [column for column in found if isinstance(column, Column)],
        [problem for problem in found if isinstance(problem, ColumnProblem)],
    )


def _check(
    made: Sequence[Made],
    asked: Mapping[str, Kind],
    source: Source,
    reading: Reading,
) -> tuple[list[Column], tuple[str, ...], npt.NDArray[np.bool_]]:
    """Complete columns that can be variables, a note on dropped rows, and which rows are left."""
    columns, problems = _separate(made)
    n_rows = columns[0].values.size if columns else source.n_rows
    incomplete = np.zeros(n_rows, dtype=bool)
    missing = []
    for column in columns:
        gone = column.missing
        if gone.any():
            incomplete |= gone
            first = source.where(int(np.argmax(gone)))
            is_text = column.levels is not None
            missing.append(Missing(column.name, int(gone.sum()), first, column.spelling, is_text))
    notes: tuple[str, ...] = ()
    if missing and reading.missing == "drop":
        if incomplete.all():
            refuse_empty(missing, n_rows)
        columns = [column.take(~incomplete) for column in columns]
        notes = (f"{int(incomplete.sum())} of {n_rows} rows had missing values and were dropped",)
        missing = []
    complete, unfit = _separate(
        _fit(column.take(~column.missing) if missing else column, asked.get(column.name))
        for column in columns
    )
    refuse(problems + unfit, missing, (int(incomplete.sum()), n_rows))
    return complete, notes, ~incomplete


def _fit(column: Column, asked: Kind | None) -> Made:
    """A complete column as the kind that was asked for, or judged by its content."""
    if asked == "continuous":
        return as_continuous(column)
    if asked is None and not column.declared:
        return find_unsuitable(column) or column
    return column


def _no_file_message(name: str) -> str:
    shown = repr(name if len(name) <= 200 else name[:197] + "...")
    if name.isidentifier():
        known = ", ".join(bundled.available())
        return (
            f"There is no file {shown}, nor a bundled data set of that name (there are: {known})."
        )
    return f"There is no file {shown}; check the path."

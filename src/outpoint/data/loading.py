"""From whatever the user has to a :class:`~outpoint.data.dataset.Dataset`.

A source makes columns, and :mod:`outpoint.data.building` makes a data set of them: the same steps
for every source.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from outpoint.data import bundled
from outpoint.data.building import build, build_rows
from outpoint.data.cells import DecimalMark
from outpoint.data.columns import Column
from outpoint.data.dataset import Dataset, Kind
from outpoint.data.interventions import Entry
from outpoint.data.problems import ColumnProblem
from outpoint.data.reading import Names, Reading, Treatment
from outpoint.data.sources import (
    Data,
    Source,
    source_of_dataset,
    source_of_file,
    source_of_memory,
)
from outpoint.errors import DataError, OptionError
from outpoint.kinds import in_brief
from outpoint.naming import named
from outpoint.options import LOAD, Options, carried_out_by

_OF_CELLS = ("decimal", "separator", "cardinality_row", "na")
"""Options on cells, which a :class:`Dataset` no longer has."""

_OF_TABLES = {"missing", "strict", "allow_degenerate", "keep", "prefer"}
"""Options that leave a :class:`Dataset` as it is."""


def load(data: Data, asked: Options, *, keeps_holes: bool = False) -> Dataset:
    """The data, read as ``asked``; :func:`load_dataset` says what is read how.

    What ``missing="auto"`` means depends on who reads: ``keeps_holes`` keeps missing values.
    """
    column = asked.interventions if isinstance(asked.interventions, str) else None
    entries = None if column is not None else asked.interventions
    reading = Reading.of(replace(asked, interventions=column))
    data = _plain(data)
    # a list for each row is not an option that could be written down
    chosen = reading.given()
    given = chosen if entries is None else None
    reading = _with_holes(reading, keeps_holes)
    if isinstance(data, str) and data in bundled.available() and not os.path.isfile(data):
        data = replace(bundled.load(data), path=data)
    if isinstance(data, Dataset):
        return _reread(data, reading, chosen, entries)
    if isinstance(data, str):
        source, path = _source_of(data, reading)
        return replace(build(source, reading, given, entries), path=path)
    if asked.separator is not None or asked.decimal is not None:
        raise OptionError(
            f"{named('separator')} and {named('decimal')} apply to files only; leave them out for "
            "data in memory."
        )
    return build(source_of_memory(data, reading.words), reading, given, entries)


def _load_dataset(data: Data, asked: Options) -> Dataset:
    return load(data, asked, keeps_holes=True)


@carried_out_by(_load_dataset)
def load_dataset(
    data: Data,
    *,
    columns: Names | None = None,
    drop: Names = (),
    categorical: Names = (),
    continuous: Names = (),
    ordinal: Names | Mapping[str, Sequence[str]] = (),
    normal_scores: Names = (),
    discretize: Mapping[str, int] | None = None,
    weights: str | None = None,
    missing: Treatment = "auto",
    na: Names | None = None,
    decimal: DecimalMark | None = None,
    separator: str | None = None,
    cardinality_row: bool | None = None,
    interventions: str | Iterable[Entry] | None = None,
    strict: bool = False,
    allow_degenerate: bool = False,
    keep: bool = False,
    prefer: Kind | None = None,
) -> Dataset:
    """Load data from a file, a pandas or polars DataFrame, a 2-D array or a list of rows.

    Numbers are continuous, unless they have two values only; text, truth values and pandas'
    categories are categorical. A table in which every column holds at most three codes is taken
    as categorical. Identifiers, dates, free text, constant columns and copies are left out.
    ``Dataset.notes`` has a line for each such decision.

    Parameters
    ----------
    data
        One of these, the name of a bundled data set, or a :class:`Dataset`, which is returned as it
        is if no option changes it, and of which no column is left out.
    columns, drop
        The columns to read, or not to read; all others are never looked at.
    categorical, continuous
        Columns whose kind you know; ``"all"`` stands for all columns not named elsewhere.
    ordinal
        Columns of which only the order counts; they enter as normal scores of their ranks. Levels
        are in natural order, unless a dictionary gives it: ``{"size": ["small", "large"]}``.
        Ordered categories of pandas are taken so by themselves.
    normal_scores
        Numeric columns, skewed ones say, that enter as normal scores of their ranks; ``"all"``
        stands for all continuous columns.
    discretize
        Numeric columns to cut at quantiles, each into the given number of levels:
        ``{"age": 3}``. ``"all"`` stands for all continuous columns.
    weights
        A column of whole numbers that says how often each row was observed, as in a table of
        counts; it is not a variable itself.
    missing
        ``"augment"`` keeps missing values: :func:`learn` integrates them out. ``"drop"`` leaves out
        rows with missing values, ``"refuse"`` refuses them. ``"auto"`` keeps them, too; whoever has
        no use for them, such as ``find_map``, ``log_score`` and scores without a model of the data,
        leaves out columns that lack more than a third of their values, then rows if at least two
        thirds of them stay, and refuses otherwise.
    na
        Words that stand for a missing value, instead of the usual ones; an empty cell always does.
    decimal
        The decimal mark of numbers in a file; it is found from the cells unless given.
    separator
        What separates the columns of a file; it is found from the first lines unless given.
    cardinality_row
        Whether the first row below the header holds the number of levels of each column; left open,
        such a row is recognised in files.
    interventions
        Which variables were set from outside in each row: the name of a column that says so, which
        is not a variable itself (``a;b`` where a and b were set, nothing where the row was only
        observed), or a list with the names for each row.
    strict
        Refuse what would be left out or assumed, all of it in one message.
    allow_degenerate
        Keep constant columns and copies.
    keep
        Leave no column out, whatever it looks like; rows are still dropped as ``missing`` says.
    prefer
        The kind that the score needs: whole numbers are read as categories for
        ``"categorical"``, numbers with two values and truth values as numbers for
        ``"continuous"``. ``learn`` and similar functions set it themselves.
    """
    raise NotImplementedError  # _load_dataset is called instead


def load_rows(
    data: Data, apart: Mapping[str, str], options: Mapping[str, Any], *, keeps_holes: bool
) -> tuple[Dataset, npt.NDArray[np.int64], dict[str, Column]]:
    """Data without some columns, the numbers of their rows in the file, and these columns.

    The columns ``apart``, by the options that name them, have all rows of the file, and their cells
    as levels unless they are numbers. ``options`` are those of :func:`load_dataset`, and with
    ``keeps_holes`` missing values are kept as there.
    """
    asked = Options.read(LOAD, options)
    column = asked.interventions if isinstance(asked.interventions, str) else None
    entries = None if column is not None else asked.interventions
    reading = Reading.of(replace(asked, interventions=column))
    source, path = _source_of(_plain(data), reading)
    for option, name in apart.items():
        Reading.require_known(option, [name], source.names)
    given = reading.given() if entries is None else None
    reading = _with_holes(reading, keeps_holes)
    own = {*apart.values()}
    wanted = reading.columns and tuple(name for name in reading.columns if name not in own)
    reading = replace(reading, columns=wanted, drop=(*reading.drop, *own))
    found, rows = build_rows(source, reading, given, entries)
    made = {name: source.make(source.names.index(name), "categorical") for name in apart.values()}
    for name, one in made.items():
        if isinstance(one, ColumnProblem):
            raise DataError(f"Column {name!r} cannot be read: give numbers or texts.")
    known = {name: one for name, one in made.items() if isinstance(one, Column)}
    return replace(found, path=path), rows, known


def _with_holes(reading: Reading, keeps_holes: bool) -> Reading:
    """What ``missing="auto"`` means to whoever keeps missing values."""
    is_open = reading.missing == "auto" and not reading.strict
    return replace(reading, missing="augment") if keeps_holes and is_open else reading


def _plain(data: Data) -> Data:
    """The data, a path as text; what only looks like a path is refused."""
    if not isinstance(data, (str, os.PathLike)):
        return data
    try:
        return str(os.fsdecode(data))
    except Exception:
        raise DataError(f"{in_brief(data)} is not the path of a file.") from None


def _source_of(data: Data, reading: Reading) -> tuple[Source, str | None]:
    """Where the columns come from, and the path of the file if it is one."""
    if isinstance(data, str) and data in bundled.available() and not os.path.isfile(data):
        return source_of_dataset(bundled.load(data)), data
    if isinstance(data, Dataset):
        return source_of_dataset(data), data.path
    if isinstance(data, str):
        path = os.path.expanduser(data)
        if not os.path.exists(path):
            raise DataError(_no_file_message(path))
        return source_of_file(Path(path), reading), path
    return source_of_memory(data, reading.words), None


def _reread(
    data: Dataset,
    reading: Reading,
    given: dict[str, Any],
    entries: Iterable[Entry] | None,
) -> Dataset:
    """Options applied to a data set; what they cannot change is refused."""
    has_holes = reading.missing != "augment" and not data.is_complete
    useless = [name for name in _OF_CELLS if name in given]
    if useless:
        raise OptionError(
            f"{' and '.join(map(named, useless))} say how cells are read, but these data are a "
            "Dataset already; leave the options out."
        )
    is_unchanged = not given.keys() - _OF_TABLES and entries is None and not has_holes
    if is_unchanged and not _changes_kinds(data, reading):
        return data
    # options on top of others, or of changes in Python, cannot be written as one call
    written = given if data.reading == {} and entries is None else None
    built, rows = build_rows(source_of_dataset(data), reading, written, entries)
    slices = None if data.slices is None else data.slices.take(rows)
    return replace(built, path=data.path, slices=slices)


def _changes_kinds(data: Dataset, reading: Reading) -> bool:
    """Whether there are columns that are not of the preferred kind."""
    return reading.prefer is not None and set(data.kinds) != {reading.prefer}


def _no_file_message(name: str) -> str:
    shown = repr(name if len(name) <= 200 else name[:197] + "...")
    if name.isidentifier():
        known = ", ".join(bundled.available())
        return (
            f"There is no file {shown}, nor a bundled data set of that name (there are: {known})."
        )
    return f"There is no file {shown}; check the path."

"""Where columns come from: text files, pandas and polars frames, arrays, lists, data sets.

Every source becomes a :class:`Source`, which makes its columns one by one, so that a column nobody
asked for is never interpreted. Neither pandas nor polars is imported: an object of theirs can only
exist if the user has imported it already.
"""

import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from outpoint.data.cardinality import may_be_cardinalities
from outpoint.data.cells import DecimalMark, find_decimal_comma, looked_at
from outpoint.data.columns import (
    Column,
    Where,
    column_from_codes,
    column_from_numbers,
    column_from_objects,
    column_from_text,
    without_numbers,
)
from outpoint.data.dataset import Asked, Dataset, Kind, lagged_name
from outpoint.data.interventions import Interventions
from outpoint.data.problems import ColumnProblem
from outpoint.data.reading import Reading
from outpoint.data.textfile import read_table
from outpoint.errors import DataError
from outpoint.graphs.validation import default_names
from outpoint.naming import option
from outpoint.options import LOAD, Options, options_of

Made = Column | ColumnProblem


class Frame(Protocol):
    """A DataFrame of pandas or polars."""

    @property
    def columns(self) -> Any:
        """Names of the columns."""
        ...

    def __len__(self) -> int:
        """Number of rows."""
        ...


Data = str | os.PathLike[str] | Dataset | Frame | NDArray[Any] | Sequence[Sequence[Any]]
"""What data may be: a path or the name of a bundled set, a frame, a 2-D array or a list of rows."""


@dataclass(frozen=True)
class Source:
    """Names of columns, a way to make each of them, and what to say about it all.

    ``make`` takes the position of a column and the kind that was asked for. With
    ``maybe_cardinalities`` the first row can be one of cardinalities, which only the complete table
    shows. ``interventions`` are those that the source knows itself, ``said`` the kinds that the
    user has said before. A source that ``is_let_in`` has been judged already: none of its columns
    is left out.
    """

    names: tuple[str, ...]
    n_rows: int
    make: Callable[[int, Kind | None], Made]
    label: str = "memory"
    where: Where = lambda row: f"row {row + 1}"
    notes: tuple[str, ...] = ()
    maybe_cardinalities: bool = False
    interventions: Interventions = ()
    said: Mapping[str, Kind] = field(default_factory=dict)
    is_let_in: bool = False
    declares_states: bool = False

    def kinds_said(self, names: Collection[str]) -> dict[str, Asked]:
        """The kinds that the user has said of these columns."""
        return {name: kind for name, kind in self.said.items() if name in names}


def source_of_file(path: Path, reading: Reading, least_columns: int = 2) -> Source:
    """A text file; a decimal comma is recognised between semicolons, where it must be one."""
    table = read_table(path, reading.separator, least_columns)
    decimal: DecimalMark = reading.decimal or "."
    notes = table.notes
    if reading.decimal is None and table.separator == ";":
        chosen = [table.columns[v] for v in reading.choose(table.names)]
        if find_decimal_comma(chosen):
            decimal = ","
            notes += (
                "numbers were read with a decimal comma; if commas separate thousands, use "
                f"{option('decimal', '.')}",
            )

    def make(v: int, asked: Kind | None) -> Made:
        cells = table.columns[v]
        if cells.numbers is not None and decimal == "." and not reading.words:
            return Column(table.names[v], cells.numbers)
        return column_from_text(
            table.names[v], cells, table.where, asked, decimal=decimal, na=reading.words
        )

    named = zip(table.names, table.columns, strict=True)
    first = [cells[0] for name, cells in named if name != reading.interventions]
    return Source(
        table.names,
        len(table.lines),
        make,
        path.name,
        table.where,
        notes,
        may_be_cardinalities(first),
    )


def source_of_dataset(data: Dataset) -> Source:
    """A data set: its columns have their kinds already.

    Kinds that were found in reading may change with what a score needs. Those that the user has
    said stay, and all are said in data that were built or changed in Python.
    """
    kinds = dict(zip(data.names, data.kinds, strict=True))
    said = data.names
    if data.reading is not None:
        said = _said(data, data.reading)

    def make(v: int, asked: Kind | None) -> Made:
        return Column(data.names[v], data.values[:, v], data.levels[v], declared=True)

    return Source(
        data.names,
        data.n_obs,
        make,
        data.source,
        notes=data.notes,
        interventions=data.interventions,
        said={name: kinds[name] for name in said},
        is_let_in=True,
        declares_states=data.declares_states,
    )


def _said(data: Dataset, reading: Mapping[str, Any]) -> tuple[str, ...]:
    """Columns whose kind the options ``reading`` say; in a series, their earlier values, too."""
    known = {one.name for one in options_of(LOAD)}
    own = Reading.of(Options.read(LOAD, {k: v for k, v in reading.items() if k in known}))
    lags = 0 if data.slices is None else data.slices.lags
    said = {lagged_name(name, lag) for name in own.said(data.names) for lag in range(lags + 1)}
    return tuple(name for name in data.names if name in said)


def source_of_memory(data: Any, na: Collection[str] | None) -> Source:
    """A frame, a matrix or a list of rows; ``na`` are the words for missing values."""
    names, n_rows = _names_and_rows(data)
    where = Source.where
    if _is_pandas(data):

        def make(v: int, asked: Kind | None) -> Made:
            return _pandas_column(names[v], data.iloc[:, v], where, asked, na)

    elif _is_polars(data):
        series = data.get_columns()

        def make(v: int, asked: Kind | None) -> Made:
            return _polars_column(names[v], series[v], where, asked, na)

    elif isinstance(data, np.ndarray):

        def make(v: int, asked: Kind | None) -> Made:
            return _array_column(names[v], data[:, v], where, asked, na)

    else:

        def make(v: int, asked: Kind | None) -> Made:
            return column_from_objects(names[v], [row[v] for row in data], where, asked, na)

    def make_known(v: int, asked: Kind | None) -> Made:
        with looked_at(names[v]):
            made = make(v, asked)
        return without_numbers(made, na) if isinstance(made, Column) else made

    return Source(names, n_rows, make_known)


def _is_pandas(data: object) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def _is_polars(data: object) -> bool:
    kind = type(data)
    return kind.__module__.split(".")[0] == "polars" and kind.__name__ == "DataFrame"


def _is_rows(data: object) -> bool:
    return isinstance(data, (list, tuple)) and all(isinstance(row, (list, tuple)) for row in data)


def _names_and_rows(data: Any) -> tuple[tuple[str, ...], int]:
    """Column names and number of rows of data in memory, after checking their shape."""
    if _is_pandas(data) or _is_polars(data):
        return tuple(str(name) for name in data.columns), len(data)
    if isinstance(data, np.ndarray):
        if data.ndim != 2:
            raise DataError(
                f"An array of data must have 2 dimensions (rows, columns), not {data.ndim}."
            )
        return default_names(data.shape[1]), data.shape[0]
    if _is_rows(data):
        widths = [len(row) for row in data]
        for row, width in enumerate(widths):
            if width != widths[0]:
                raise DataError(
                    f"Row {row + 1} has {width} values, but row 1 has {widths[0]}; "
                    "all rows must have the same length."
                )
        return default_names(widths[0] if widths else 0), len(widths)
    raise DataError(
        f"Data of type {type(data).__name__!r} cannot be read; give a file name, a pandas or "
        "polars DataFrame, a 2-D array or a list of rows."
    )


def _array_column(
    name: str, column: Any, where: Where, asked: Kind | None, na: Collection[str] | None
) -> Made:
    """One column of a NumPy array, masked or not."""
    kind = column.dtype.kind
    if kind == "b" and not np.ma.is_masked(column):
        return column_from_codes(name, column.astype(np.int8), ("False", "True"))
    if kind in "biuf":
        numbers = np.ma.filled(column.astype(np.float64), np.nan)
        exact = np.ma.filled(column, 0).tolist() if kind in "iu" else None
        return column_from_numbers(name, numbers, where, exact)
    if kind in "OUT":
        return column_from_objects(name, column.tolist(), where, asked, na)
    return _of_type(name, str(column.dtype), kind == "M")


def _pandas_column(
    name: str, series: Any, where: Where, asked: Kind | None, na: Collection[str] | None
) -> Made:
    """One column of a pandas DataFrame, by its dtype."""
    from pandas import CategoricalDtype
    from pandas.api import types as pandas_types

    dtype = series.dtype
    if isinstance(dtype, CategoricalDtype):
        codes, levels = series.cat.codes.to_numpy(), series.cat.categories.tolist()
        return column_from_codes(name, codes, levels, ordered=bool(dtype.ordered))
    if pandas_types.is_bool_dtype(dtype):
        codes = series.astype("boolean").astype("Int8").to_numpy(dtype=np.int8, na_value=-1)
        return column_from_codes(name, codes, ("False", "True"))
    if pandas_types.is_numeric_dtype(dtype) and not pandas_types.is_complex_dtype(dtype):
        numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
        exact = None
        if pandas_types.is_integer_dtype(dtype):
            exact = series.fillna(0).tolist()
        return column_from_numbers(name, numbers, where, exact)
    if pandas_types.is_object_dtype(dtype) or pandas_types.is_string_dtype(dtype):
        return column_from_objects(name, series.tolist(), where, asked, na)
    return _of_type(name, str(dtype), pandas_types.is_datetime64_any_dtype(dtype))


def _polars_column(
    name: str, series: Any, where: Where, asked: Kind | None, na: Collection[str] | None
) -> Made:
    """One column of a polars DataFrame; an Enum keeps its order and its unobserved levels."""
    dtype = str(series.dtype).split("(")[0]
    cells = series.to_list()
    if dtype == "Enum":
        levels = series.dtype.categories.to_list()
        position = {level: code for code, level in enumerate(levels)}
        codes = np.array([position.get(cell, -1) for cell in cells], dtype=np.int64)
        return column_from_codes(name, codes, levels)
    if dtype == "Boolean":
        codes = np.array([-1 if cell is None else int(cell) for cell in cells], dtype=np.int8)
        return column_from_codes(name, codes, ("False", "True"))
    if dtype.startswith(("Int", "UInt", "Float", "Decimal")):
        numbers = [np.nan if cell is None else float(cell) for cell in cells]
        exact = [cell or 0 for cell in cells] if dtype.startswith(("Int", "UInt")) else None
        return column_from_numbers(name, np.array(numbers, dtype=np.float64), where, exact)
    if dtype in ("String", "Utf8", "Categorical", "Object", "Null"):
        return column_from_objects(name, cells, where, asked, na)
    return _of_type(name, str(series.dtype), dtype in ("Date", "Datetime", "Time"))


def _of_type(name: str, dtype: str, is_date: bool) -> ColumnProblem:
    """Dates are refused like dates in files, other types for what they are."""
    return ColumnProblem("date" if is_date else "type", name, dtype)

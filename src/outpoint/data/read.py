"""From whatever the user has to a :class:`~outpoint.data.dataset.Dataset`.

Every source is first turned into columns (one function per source), then the same rules decide what
the columns mean. Neither pandas nor polars is imported: an object of theirs can only exist if the
user has imported it already.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from outpoint.data import bundled
from outpoint.data.cardinality import has_cardinality_row, take_cardinality_row
from outpoint.data.columns import (
    Column,
    assemble,
    column_from_codes,
    column_from_numbers,
    column_from_objects,
    column_from_text,
    validate_types,
)
from outpoint.data.dataset import Dataset, Kind, validate_names
from outpoint.data.textfile import read_table, validate_separator
from outpoint.errors import DataError, OptionError

Types = str | Mapping[str, str] | None


def load_dataset(
    data: object,
    *,
    types: Types = None,
    cardinality_row: bool | None = None,
    separator: str | None = None,
) -> Dataset:
    """Load data from a file, a pandas or polars DataFrame, a 2-D array or a list of rows.

    ``data`` may also be a :class:`Dataset`, returned as it is, or the name of a bundled data set.
    ``types`` overrides the kind of all columns (``"continuous"`` or ``"categorical"``) or of some
    (a dictionary by column). Otherwise text and truth values are categorical, numbers with decimals
    are continuous, and whole numbers are categorical only if the table has no continuous column
    and none of them has more than 20 distinct values.

    ``cardinality_row`` says whether the first row below the header holds the number of levels of
    each column; left open, such a row is recognised in files. ``separator`` is found unless given.
    """
    separator = validate_separator(separator)
    is_bundled = isinstance(data, str) and data in bundled.available() and not os.path.isfile(data)
    if isinstance(data, Dataset) or is_bundled:
        if types is not None or cardinality_row or separator is not None:
            raise OptionError(
                "types, cardinality_row and separator apply when data are read, and these data "
                "are a Dataset already; leave the options out."
            )
        return data if isinstance(data, Dataset) else bundled.load(str(data))
    if isinstance(data, (str, os.PathLike)):
        path = os.path.expanduser(os.fsdecode(data))
        if not os.path.exists(path):
            raise DataError(_no_file_message(path))
        return _load_file(Path(path), types, cardinality_row, separator)
    if separator is not None:
        raise OptionError("separator applies to files only; leave it out for data in memory.")
    names, rows = _names_and_rows(data)
    validate_names(names)
    if rows == 0:
        raise DataError("The data have no rows; at least one observation is needed.")
    kinds = validate_types(types, names)
    columns = _memory_columns(data, names, kinds)
    return _finish(columns, kinds, bool(cardinality_row), "memory")


def _load_file(
    path: Path, types: Types, cardinality_row: bool | None, separator: str | None
) -> Dataset:
    table = read_table(path, separator)
    kinds = validate_types(types, table.names)
    columns = [
        column_from_text(name, cells, table.where, kinds.get(name))
        for name, cells in zip(table.names, table.columns, strict=True)
    ]
    if cardinality_row is None:
        cardinality_row = "continuous" not in kinds.values() and has_cardinality_row(columns)
    return _finish(columns, kinds, cardinality_row, path.name)


def _finish(
    columns: list[Column], kinds: dict[str, Kind], cardinality_row: bool, source: str
) -> Dataset:
    if cardinality_row:
        forced = [name for name, kind in kinds.items() if kind == "continuous"]
        if forced:
            raise OptionError(
                f"Column {forced[0]!r} cannot be continuous in data with a cardinality row; "
                "drop one of the two options."
            )
        columns = take_cardinality_row(columns)
    return assemble(columns, kinds, source)


def _no_file_message(name: str) -> str:
    shown = repr(name if len(name) <= 200 else name[:197] + "...")
    if name.isidentifier():
        known = ", ".join(bundled.available())
        return (
            f"There is no file {shown}, nor a bundled data set of that name (there are: {known})."
        )
    return f"There is no file {shown}; check the path."


def _where(row: int) -> str:
    return f"row {row + 1}"


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
        return _numbered_names(data.shape[1]), data.shape[0]
    if _is_rows(data):
        widths = [len(row) for row in data]
        for row, width in enumerate(widths):
            if width != widths[0]:
                raise DataError(
                    f"Row {row + 1} has {width} values, but row 1 has {widths[0]}; "
                    "all rows must have the same length."
                )
        return _numbered_names(widths[0] if widths else 0), len(widths)
    raise DataError(
        f"Data of type {type(data).__name__!r} cannot be read; give a file name, a pandas or "
        "polars DataFrame, a 2-D array or a list of rows."
    )


def _numbered_names(width: int) -> tuple[str, ...]:
    return tuple(f"x{i}" for i in range(1, width + 1))


def _memory_columns(data: Any, names: tuple[str, ...], kinds: Mapping[str, Kind]) -> list[Column]:
    if _is_pandas(data):
        series = [data.iloc[:, v] for v in range(len(names))]
        return [_pandas_column(n, s, kinds.get(n)) for n, s in zip(names, series, strict=True)]
    if _is_polars(data):
        series = data.get_columns()
        return [_polars_column(n, s, kinds.get(n)) for n, s in zip(names, series, strict=True)]
    if isinstance(data, np.ndarray):
        return [_array_column(n, data[:, v], kinds.get(n)) for v, n in enumerate(names)]
    cells: list[Sequence[object]] = list(zip(*data, strict=True))
    return [
        column_from_objects(n, column, _where, kinds.get(n))
        for n, column in zip(names, cells, strict=True)
    ]


def _array_column(name: str, column: Any, kind: Kind | None) -> Column:
    """One column of a NumPy array, masked or not."""
    if column.dtype.kind == "b" and not np.ma.is_masked(column):
        return column_from_codes(name, column.astype(np.int8), ("False", "True"), _where)
    if column.dtype.kind in "biuf":
        numbers = np.ma.filled(column.astype(np.float64), np.nan)
        return column_from_numbers(name, numbers, _where)
    if column.dtype.kind in "OUT":
        return column_from_objects(name, column.tolist(), _where, kind)
    return _refuse_dtype(name, str(column.dtype))


def _pandas_column(name: str, series: Any, kind: Kind | None) -> Column:
    """One column of a pandas DataFrame, by its dtype."""
    from pandas import CategoricalDtype
    from pandas.api import types as pandas_types

    dtype = series.dtype
    if isinstance(dtype, CategoricalDtype):
        codes = series.cat.codes.to_numpy()
        return column_from_codes(name, codes, series.cat.categories.tolist(), _where)
    if pandas_types.is_bool_dtype(dtype):
        codes = series.astype("boolean").astype("Int8").to_numpy(dtype=np.int8, na_value=-1)
        return column_from_codes(name, codes, ("False", "True"), _where)
    if pandas_types.is_numeric_dtype(dtype) and not pandas_types.is_complex_dtype(dtype):
        return column_from_numbers(name, series.to_numpy(dtype=np.float64, na_value=np.nan), _where)
    if pandas_types.is_object_dtype(dtype) or pandas_types.is_string_dtype(dtype):
        return column_from_objects(name, series.tolist(), _where, kind)
    return _refuse_dtype(name, str(dtype))


def _polars_column(name: str, series: Any, kind: Kind | None) -> Column:
    """One column of a polars DataFrame; an Enum keeps its order and its unobserved levels."""
    dtype = str(series.dtype).split("(")[0]
    cells = series.to_list()
    if dtype == "Enum":
        levels = series.dtype.categories.to_list()
        position = {level: code for code, level in enumerate(levels)}
        codes = np.array([position.get(cell, -1) for cell in cells], dtype=np.int64)
        return column_from_codes(name, codes, levels, _where)
    if dtype == "Boolean":
        codes = np.array([-1 if cell is None else int(cell) for cell in cells], dtype=np.int8)
        return column_from_codes(name, codes, ("False", "True"), _where)
    if dtype.startswith(("Int", "UInt", "Float", "Decimal")):
        numbers = [np.nan if cell is None else float(cell) for cell in cells]
        return column_from_numbers(name, np.array(numbers, dtype=np.float64), _where)
    if dtype in ("String", "Utf8", "Categorical", "Object", "Null"):
        return column_from_objects(name, cells, _where, kind)
    return _refuse_dtype(name, str(series.dtype))


def _refuse_dtype(name: str, dtype: str) -> Column:
    raise DataError(
        f"Column {name!r} has the type {dtype}, which is neither numbers nor categories; "
        "convert or drop it."
    )

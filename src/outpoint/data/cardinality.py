"""Tables of codes: a row that states the numbers of levels, and columns that only name levels.

Some benchmark files carry a row of cardinalities below their header: they hold the codes ``0 ..
r-1`` and say ``r`` for every column in the first row, so that levels that happen not to occur are
known. Read as data, that row would add a level to every column; read as cardinalities by mistake, a
real observation would be lost. The rule is therefore strict: see :func:`has_cardinality_row`.

Without such a row, whole numbers may still only name levels: see :func:`are_codes`.
"""

from collections.abc import Sequence

import numpy as np

from outpoint.data.columns import Column
from outpoint.errors import DataError
from outpoint.naming import option

_MIN_COLUMNS = 3
_MANY_COLUMNS = 8
_MIN_ROWS = 2


def may_be_cardinalities(cells: Sequence[str]) -> bool:
    """Whether a first row of texts can be cardinalities at all: whole numbers from 2 on."""
    return all(cell.strip().isdecimal() and float(cell) >= 2 for cell in cells)


def has_cardinality_row(columns: Sequence[Column]) -> bool:
    """Whether the first row can hardly be anything but the cardinalities.

    All cells are whole and not negative, there are at least three columns and two further rows, and
    the first row is at least 2 and above everything below it in every single column. Shrinking
    counts could look like this too, so codes must also look like codes: at least half of the
    columns start at 0 and at least half use their highest code ``r - 1``; or, as in short samples
    of wide files with many levels, there are at least eight columns and all of them start at 0.
    """
    if len(columns) < _MIN_COLUMNS or any(c.levels is not None for c in columns):
        return False
    if any(c.missing.any() for c in columns):
        return False
    values = np.column_stack([c.values for c in columns])
    if values.shape[0] < 1 + _MIN_ROWS or (values < 0).any() or (values != np.floor(values)).any():
        return False
    first, rest = values[0], values[1:]
    if (first < 2).any() or (rest.max(axis=0) >= first).any():
        return False
    starts_at_zero = (rest.min(axis=0) == 0).mean()
    reaches_top = (rest.max(axis=0) == first - 1).mean()
    if len(columns) >= _MANY_COLUMNS and starts_at_zero == 1:
        return True
    return bool(starts_at_zero >= 0.5 and reaches_top >= 0.5)


def take_cardinality_row(columns: Sequence[Column]) -> list[Column]:
    """The columns without their first row, with the levels ``"0" .. "r-1"`` that it declares."""
    return [_take(column) for column in columns]


def _take(column: Column) -> Column:
    if column.levels is not None or not column.is_whole or column.values.size < 2:
        raise DataError(
            f"Column {column.name!r} has no cardinality row: whole numbers and at least one row of "
            f"codes below are needed; read with {option('cardinality_row', False)}."
        )
    size, codes = int(column.values[0]), column.values[1:]
    if size < 1 or (codes < 0).any() or (codes >= size).any():
        wrong = codes[(codes < 0) | (codes >= size)]
        raise DataError(
            f"The cardinality row gives column {column.name!r} {size} levels, but the code "
            f"{int(wrong[0]) if wrong.size else 0} occurs in it; codes must go from 0 to the "
            f"cardinality minus 1, or read with {option('cardinality_row', False)}."
        )
    levels = tuple(str(level) for level in range(size))
    return Column(column.name, codes, levels, declared=True)


MOST_CODES = 3
"""A table is taken as coded if no column has more values. Of 1,589 public tables the limit 3 takes
four for coded and errs in none; with 4, scales of answers are among them."""


def are_codes(columns: Sequence[Column]) -> bool:
    """Whether all columns hold codes from 0 or 1 on, at most three, and some column three.

    In tables of any other kind three or more whole numbers are counts, doses or grades.
    """
    if any(column.levels is not None or column.declared for column in columns):
        return False
    largest = 0
    for column in columns:
        distinct = column.distinct()
        if distinct.size > MOST_CODES or distinct[0] not in (0, 1):
            return False
        if not np.array_equal(distinct, np.arange(distinct[0], distinct[0] + distinct.size)):
            return False
        largest = max(largest, int(distinct.size))
    return largest > 2

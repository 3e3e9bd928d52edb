"""Columns that can be read but are hardly variables: identifiers, dates, free text.

Nothing here is about single cells being wrong. A column is found unsuitable if no model of this
package could learn from it what the user wants to know; a user who disagrees declares its kind.
"""

import re
from collections.abc import Sequence

import numpy as np

from outpoint.data.cells import LARGEST_EXACT, is_compact_date, is_date, is_quantity
from outpoint.data.columns import FEW_LEVELS, Column
from outpoint.data.problems import ColumnProblem
from outpoint.naming import clip

ROWS_PER_LEVEL = 5
"""Many levels need at least this many rows each, on average, to be learned about."""

MOST_LEVELS = 100
"""A column with more levels is hardly a category; the states of a country may well be."""

MANY_UNITS = 30
"""This many different numbers are more likely names of units than grades, seeds or sizes."""

ROWS_PER_SUBJECT = 50
"""Subjects have fewer rows on average; what has more is a category, whatever its name."""

_WORDS_OF_PROSE = 4
_FEWEST_COUNTED = 6
_LEAST_FILLED = 0.5
_YEARS = (1500, 2100)
_SUBJECT = (
    r"(case|subject|subj|participant|patient|pat|respondent|resp|individual|indiv|person|pers|"
    r"child|kid|student|pupil|animal)"
)
_UNIT_NAME = re.compile(
    rf"(?i:{_SUBJECT}?[ _.-]*(id|ids|idx|nr))|(?i:subject|subj|patient|participant|respondent)"
    r"|(?i:individual|person|caseid|patnr|uuid|guid)|.+[ _.-](?i:id)|.*[a-z](ID|Id)"
)
"""Names of columns that say which subject a row belongs to."""

_GROUP_NAME = re.compile(
    r"(?i:family|famid|household|school|sch|firm|hospital|pair|stratum|brood|litter|kid|mom|fid|mid"
    r"|pid|provnum|[a-z]*code)"
)
"""Names that say so only where there are many different numbers: a family also has a size."""

_ROW_NAME = re.compile(
    rf"{_UNIT_NAME.pattern}|(?i:(row|record|case|sample|serial|obs|observation)"
    r"[ _.-]*(id|index|nr|no|num|number|key|names?)?)"
    r"|(?i:unnamed: ?[0-9]+)|(?i:index|seqn?|seqno|code|names?)|.+[ _.-](?i:nr|no|key|idx|code)"
)
"""Names of columns that may name the rows, if they differ in every row."""

_TIMES = {
    *("year", "years", "yr", "yrs", "month", "months", "week", "weeks", "day", "days", "date"),
    *("time", "times", "hour", "hours", "minute", "period", "visit", "wave", "occasion", "quarter"),
    *("season", "trial", "age", "rank", "order", "t"),
}
"""Words in the names of columns whose numbers may well count the rows, or repeat for subjects."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def find_unsuitable(column: Column) -> ColumnProblem | None:
    """Why a column without missing values is hardly a variable; None if it may well be one."""
    if column.values.size < 2:
        return None
    if column.levels is not None:
        return _judge_levels(column, column.levels)
    return _judge_whole_numbers(column) if column.is_whole else None


def _judge_levels(column: Column, levels: tuple[str, ...]) -> ColumnProblem | None:
    """Why texts are hardly a variable: they are dates, or nearly as many as rows, or very many."""
    observed = [levels[int(code)] for code in np.unique(column.values)]
    example = clip(levels[int(column.values[0])])
    n_rows = column.values.size
    is_prose = np.mean([len(level.split()) for level in observed]) >= _WORDS_OF_PROSE
    if not column.declared and all(is_date(level) for level in observed):
        return ColumnProblem("date", column.name, example)
    is_free = not column.declared and len(observed) > FEW_LEVELS
    if is_free and all(is_quantity(level) for level in observed):
        return ColumnProblem("quantity", column.name, example)
    if len(observed) == n_rows and n_rows > 2:
        return ColumnProblem("prose" if is_prose else "identifier", column.name, example)
    if not is_free:
        return None
    if is_prose and 2 * len(observed) > n_rows:
        return ColumnProblem("prose", column.name, example)
    if _UNIT_NAME.fullmatch(column.name.strip()) and n_rows < ROWS_PER_SUBJECT * len(observed):
        return ColumnProblem("repeated", column.name, f"{len(observed)} different values")
    if ROWS_PER_LEVEL * len(observed) > n_rows or len(observed) > MOST_LEVELS:
        return ColumnProblem("levels", column.name, f"{len(observed)} levels, such as {example}")
    return None


def judge_levels(problem: ColumnProblem, columns: Sequence[Column]) -> ColumnProblem:
    """Many levels in few rows each may be the units of a panel, among these columns."""
    column = next((one for one in columns if one.name == problem.name), None)
    if problem.kind != "levels" or column is None or column.missing.any():
        return problem
    times = [one for one in columns if _is_time(one) and not one.missing.any() and _repeats(one)]
    if not any(_is_panel(column, time) for time in times if time is not column):
        return problem
    return problem._replace(kind="repeated", detail=f"{column.distinct().size} different values")


def judge_words(problem: ColumnProblem) -> ColumnProblem:
    """Numbers with some words among them, such as 207a, may name the subjects."""
    name = problem.name.strip()
    if problem.kind == "text" and (_UNIT_NAME.fullmatch(name) or _GROUP_NAME.fullmatch(name)):
        return ColumnProblem("repeated", problem.name, problem.detail)
    return problem


def _judge_whole_numbers(column: Column) -> ColumnProblem | None:
    """Why whole numbers are hardly a variable: they are days like 20240131, or name the rows.

    A different number in every row proves nothing, since incomes differ, too: the numbers must be
    larger than measurements get, or the column must have the name of an identifier or count the
    rows one by one. Years and ranks may do that as well, but their names or values show it.
    """
    distinct = column.distinct()
    if distinct.size > 1 and all(is_compact_date(int(value)) for value in distinct):
        return ColumnProblem("date", column.name, f"{int(column.values[0])}", True)
    if distinct.size < column.values.size or distinct.size < _FEWEST_COUNTED:
        return None
    beyond = np.abs(column.values).min() >= LARGEST_EXACT
    name = column.name.strip()
    named = _ROW_NAME.fullmatch(name) is not None or _GROUP_NAME.fullmatch(name) is not None
    if beyond or named or _counts_rows(column):
        first = column.values[0] if column.exact is None else column.exact[0]
        return ColumnProblem("identifier", column.name, f"{int(first)}", True)
    return None


def _counts_rows(column: Column) -> bool:
    """Whether each number is the one before plus 1, and nothing says that they are measured."""
    first, last = column.values[0], column.values[-1]
    if not (np.diff(column.values) == 1.0).all() or _is_time(column):
        return False
    return not (_YEARS[0] <= first and last <= _YEARS[1])


def _is_time(column: Column) -> bool:
    """Whether the name of a column has a word for time, or for another order of the rows."""
    return any(word.lower() in _TIMES for word in _WORD.findall(column.name))


def find_units(columns: Sequence[Column]) -> list[ColumnProblem]:
    """Columns that say which subject a row belongs to, where subjects have several rows.

    They have the name of an identifier, or many values each of which meets most values of a
    column of times, and none twice, as the units of a panel do.
    """
    times = [column for column in columns if _is_time(column) and _repeats(column)]
    return [
        ColumnProblem("repeated", column.name, f"{column.distinct().size} different values")
        for column in columns
        if _repeats(column) and _is_unit(column, [time for time in times if time is not column])
    ]


def _repeats(column: Column) -> bool:
    return 1 < column.distinct().size < column.values.size


def _is_unit(column: Column, times: Sequence[Column]) -> bool:
    if column.declared or (column.levels is None and not column.is_whole):
        return False
    n_distinct, name = column.distinct().size, column.name.strip()
    if column.values.size >= ROWS_PER_SUBJECT * n_distinct:
        return False
    if _UNIT_NAME.fullmatch(name):
        return n_distinct >= _FEWEST_COUNTED
    if n_distinct <= (FEW_LEVELS if column.levels else MANY_UNITS) or _is_time(column):
        return False
    if _GROUP_NAME.fullmatch(name):
        return True
    if column.levels is None:
        values = column.distinct()
        if int(values[-1]) - int(values[0]) != n_distinct - 1:
            return False
    return any(_is_panel(column, time) for time in times)


def _is_panel(unit: Column, time: Column) -> bool:
    """Whether most pairs of values occur, and each of them once."""
    n_pairs = unit.distinct().size * time.distinct().size
    if unit.values.size < _LEAST_FILLED * n_pairs:
        return False
    pairs = np.unique(np.column_stack([unit.values, time.values]), axis=0)
    return len(pairs) == unit.values.size

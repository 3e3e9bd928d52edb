"""What reading has decided by itself, each decision in a line that names what changes it."""

from collections.abc import Mapping, Sequence
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from outpoint.data.columns import Column
from outpoint.data.dataset import Kind
from outpoint.data.problems import ColumnProblem, Missing, ProblemKind
from outpoint.errors import DataError
from outpoint.naming import count_of, enumerate_items, enumerate_names, option

_WHY: dict[ProblemKind, tuple[str, str]] = {
    "identifier": ("differs in every row", "differ in every row"),
    "date": ("holds dates or times", "hold dates or times"),
    "prose": ("holds free text", "hold free text"),
    "levels": ("has too many levels for its rows", "have too many levels for their rows"),
    "quantity": ("holds numbers with signs or units", "hold numbers with signs or units"),
    "repeated": ("tells which rows belong to one subject", "tell which rows belong to one subject"),
    "text": ("has words among its numbers", "have words among their numbers"),
    "infinite": ("has infinite values", "have infinite values"),
    "type": ("holds neither numbers nor categories", "hold neither numbers nor categories"),
    "empty": ("has no values", "have no values"),
    "sparse": ("lacks too many values", "lack too many values"),
    "scarce": ("has hardly any values", "have hardly any values"),
    "constant": ("is constant", "are constant"),
}
"""Why a column, or several, is left out."""

_DEPENDENT = (
    "rows of one subject are not independent, so that everything will look more certain than it is"
)


def describe_aside(problems: Sequence[ColumnProblem]) -> list[str]:
    """A line for each reason for which columns were left out."""
    lines = [
        _describe(kind, [problem for problem in problems if problem.kind == kind])
        for kind in dict.fromkeys(problem.kind for problem in problems)
        if kind != "copy"
    ]
    lines += [
        f"left out {problem.name!r}, which says the same as {problem.detail!r}; keep both with "
        f"{option('allow_degenerate', True)}"
        for problem in problems
        if problem.kind == "copy"
    ]
    return lines


def _describe(kind: ProblemKind, problems: Sequence[ColumnProblem]) -> str:
    """Which columns were left out, why, and how they are kept."""
    names = [problem.name for problem in problems]
    example = f" ({problems[0].detail})" if len(problems) == 1 and problems[0].detail else ""
    line = f"left out {enumerate_names(names)}, which {_WHY[kind][len(names) > 1]}{example}"
    if kind == "repeated":
        line += f"; {_DEPENDENT}"
    it = "it" if len(names) == 1 else "them"
    if kind == "text":
        keep = option("categorical", names)
        return f"{line}; keep {it} with {keep}, or say which words mean missing with {option('na')}"
    ways = _ways_to_keep(kind, problems)
    return f"{line}; keep {it} with {' or '.join(ways)}" if ways else line


def _ways_to_keep(kind: ProblemKind, problems: Sequence[ColumnProblem]) -> list[str]:
    """Options by which columns stay: numbers as numbers, texts as categories."""
    if kind in ("infinite", "type", "empty"):
        return []
    if kind == "constant":
        return [option("allow_degenerate", True)]
    if kind == "sparse":
        return [option("missing", "drop")]
    numbers = [one.name for one in problems if one.is_number]
    texts = [one.name for one in problems if not one.is_number]
    ways = {"continuous": numbers, "categorical": texts}
    return [option(way, names) for way, names in ways.items() if names]


def describe_doubts(doubts: Sequence[ColumnProblem]) -> list[str]:
    """A line for each assumption that was made in reading cells."""
    lines = []
    for kind in dict.fromkeys(doubt.kind for doubt in doubts):
        names = [doubt.name for doubt in doubts if doubt.kind == kind]
        example = next(doubt.detail for doubt in doubts if doubt.kind == kind)
        listed = enumerate_names(names)
        lines.append(
            {
                "comma": f"numbers with a comma in {listed} ({example}) were read with a decimal "
                "comma",
                "thousands": f"commas in the numbers of {listed} ({example}) were taken to "
                f"separate thousands; if they are decimal commas, use {option('decimal', ',')}",
                "number-text": f"{listed} stored numbers as text, which were read as numbers; for "
                f"categories use {option('categorical', names)}",
                "text": f"words among the numbers of {listed} ({example}) make them categories; if "
                f"such a word means missing, say so with {option('na')}",
            }[kind]
        )
    return lines


def describe_dropped(
    n_dropped: int, missing: Sequence[Missing], kept: npt.NDArray[np.bool_]
) -> str:
    """The line on rows that were dropped."""
    rows = "1 row" if n_dropped == 1 else f"{n_dropped} rows"
    most = sorted(missing, key=lambda one: -one.n_missing)
    counts = enumerate_items([f"{one.name!r} ({one.n_missing})" for one in most], limit=4)
    where = f", in {counts}" if missing else ""
    return (
        f"{rows} of {len(kept)} had missing values{where}, and "
        f"{'was' if n_dropped == 1 else 'were'} dropped; refuse such rows with "
        f"{option('missing', 'refuse')}"
    )


def describe_empty_rows(n_rows: int) -> str:
    """The line on rows without any value."""
    return (
        f"{count_of(n_rows, 'row')} without any value {'was' if n_rows == 1 else 'were'} left out, "
        f"as {'it says' if n_rows == 1 else 'they say'} nothing"
    )


def describe_orders(columns: Sequence[Column], kinds: Mapping[str, Kind | None]) -> list[str]:
    """A line for each column of ordered levels that enters by its ranks."""
    return [
        f"{column.name!r} enters as normal scores of its ordered levels "
        f"({_in_order(column.levels or ())}); another order is given with {option('ordinal')}, and "
        f"levels without an order with {option('categorical', [column.name])}"
        for column in columns
        if column.ordered and kinds[column.name] == "continuous"
    ]


def _in_order(levels: Sequence[str]) -> str:
    """Small < medium < large; the middle of long lists is cut."""
    shown = [*levels[:3], "...", *levels[-3:]] if len(levels) > 7 else levels
    return " < ".join(shown)


def describe_coded() -> str:
    """The line on a table whose numbers are all codes."""
    return (
        "every column holds a few codes, so all were taken as categories; read numbers with "
        f"{option('continuous', ['all'])}"
    )


def describe_counts(name: str) -> str:
    """The line on a table of all combinations with counts."""
    return (
        f"the rows look like all combinations of categories and {name!r} like their counts; to "
        f"count each row that many times, use {option('weights', name)}"
    )


def refuse_nothing_left(columns: Sequence[Column], aside: Sequence[ColumnProblem]) -> NoReturn:
    """Say that fewer than two columns are left, and why."""
    left = f"only {columns[0].name!r} is" if columns else "no column is"
    why = "; ".join(describe_aside(aside))
    raise DataError(f"There is nothing to learn, because {left} left as a variable: {why}.")

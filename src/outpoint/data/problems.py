"""What is wrong with columns, said once for all columns it is wrong with.

Every reader returns a :class:`ColumnProblem` instead of a column where it cannot make one. They are
collected, so that one message names all columns in question and the option that helps.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, NoReturn

from outpoint.errors import DataError
from outpoint.naming import enumerate_items, enumerate_names, named, option

ProblemKind = Literal[
    "text",
    "comma",
    "thousands",
    "infinite",
    "type",
    "labels",
    "number-text",
    "identifier",
    "date",
    "prose",
    "levels",
    "quantity",
    "repeated",
    "order",
    "empty",
    "sparse",
    "scarce",
    "constant",
    "copy",
]
NO_VARIABLES: tuple[ProblemKind, ...] = (
    *("identifier", "date", "prose", "levels", "quantity", "repeated", "scarce"),
)
"""Columns that were read, but are hardly variables of a model."""


class ColumnProblem(NamedTuple):
    """A column that cannot be used as it is, and an example from it."""

    kind: ProblemKind
    name: str
    detail: str = ""
    is_number: bool = False


class Missing(NamedTuple):
    """A column with missing values: how many, and where and how the first is written."""

    name: str
    n_missing: int
    first: str
    spelling: str
    is_text: bool


def refuse(
    problems: Sequence[ColumnProblem], missing: Sequence[Missing], n_rows: tuple[int, int]
) -> None:
    """Raise one error that says all that is wrong; do nothing if nothing is.

    ``n_rows`` is the number of rows with a missing value, and of all rows.
    """
    sentences = []
    for kind, describe in _SENTENCES.items():
        found = [problem for problem in problems if problem.kind == kind]
        if found:
            sentences.append(describe(found))
    unsuitable = [problem for problem in problems if problem.kind in NO_VARIABLES]
    if unsuitable:
        sentences.append(_no_variables(unsuitable))
    if missing:
        sentences.append(_missing_values(missing, n_rows))
    if sentences:
        raise DataError(" ".join(sentences))


def refuse_empty(missing: Sequence[Missing], n_rows: int) -> NoReturn:
    """Say that every row has a missing value somewhere."""
    worst = sorted(missing, key=lambda one: -one.n_missing)
    empty = [one.name for one in worst if one.n_missing == n_rows]
    names = empty or [one.name for one in worst[:3]]
    one = len(names) == 1
    what = "have most of them"
    if empty:
        what = "holds nothing else" if one else "hold nothing else"
    raise DataError(
        f"Every row has a missing value, so none is left; leave out {enumerate_names(names)}, "
        f"which {what}, with {option('drop', names)}."
    )


def refuse_sparse(
    missing: Sequence[Missing], costly: Sequence[str], n_rows: tuple[int, int]
) -> NoReturn:
    """Say that too few rows are complete, and which columns cost most of them."""
    incomplete, total = n_rows
    worst = sorted(missing, key=lambda one: -one.n_missing)
    counts = enumerate_items([f"{one.name!r} ({one.n_missing})" for one in worst])
    raise DataError(
        f"{incomplete} of {total} rows have missing values, too many to leave them out unasked: "
        f"{counts}; leave out the columns that cost most rows with "
        f"{option('drop', costly or [worst[0].name])}, drop the rows with "
        f"{option('missing', 'drop')}, or let learn integrate them out, with a score that has a "
        "model of the data."
    )


def _columns(problems: Sequence[ColumnProblem], verbs: tuple[str, str] = ("", "")) -> str:
    """'Column a holds', 'Columns a and b hold'."""
    names = enumerate_names([problem.name for problem in problems])
    if len(problems) == 1:
        return f"Column {names} {verbs[0]}".strip()
    return f"Columns {names} {verbs[1]}".strip()


def _examples(problems: Sequence[ColumnProblem]) -> str:
    return enumerate_items([f"{problem.name!r} has {problem.detail}" for problem in problems])


def _names(problems: Sequence[ColumnProblem]) -> list[str]:
    return [problem.name for problem in problems]


def _text(problems: Sequence[ColumnProblem]) -> str:
    where = "a numeric column" if len(problems) == 1 else "numeric columns"
    meant = "it is a category" if len(problems) == 1 else "they are categories"
    return (
        f"There is text in {where}: {_examples(problems)}; correct it, or read with "
        f"{option('categorical', _names(problems))} if {meant}."
    )


def _comma(problems: Sequence[ColumnProblem]) -> str:
    return (
        f"There are numbers with a decimal comma: {_examples(problems)}; "
        f"read with {option('decimal', ',')}."
    )


def _thousands(problems: Sequence[ColumnProblem]) -> str:
    return (
        f"There are commas in numbers: {_examples(problems)}; if they are decimal commas, read "
        f"with {option('decimal', ',')}, and if they separate thousands, remove them."
    )


def _infinite(problems: Sequence[ColumnProblem]) -> str:
    return (
        f"There are infinite values: {_examples(problems)}; correct them, drop the rows, or leave "
        f"the columns out with {option('drop', _names(problems))}."
    )


def _type(problems: Sequence[ColumnProblem]) -> str:
    types = enumerate_items([f"{problem.name!r} ({problem.detail})" for problem in problems])
    subject = "Column" if len(problems) == 1 else "Columns"
    verb = "holds" if len(problems) == 1 else "hold"
    return (
        f"{subject} {types} {verb} neither numbers nor categories; convert, or leave out with "
        f"{option('drop', _names(problems))}."
    )


def _labels(problems: Sequence[ColumnProblem]) -> str:
    found = enumerate_items([f"{problem.name!r} ({problem.detail})" for problem in problems])
    return (
        f"Not all levels are numbers, so these cannot be continuous: {found}; leave them "
        "categorical or recode them."
    )


def _number_text(problems: Sequence[ColumnProblem]) -> str:
    names = _names(problems)
    return (
        f"{_columns(problems, ('holds', 'hold'))} numbers stored as text; convert them to numbers, "
        f"or read with {option('continuous', names)} or {option('categorical', names)}."
    )


def _order(problems: Sequence[ColumnProblem]) -> str:
    found = enumerate_items([f"{problem.name!r} ({problem.detail})" for problem in problems])
    return f"{named('ordinal')} does not name all levels in order; it lacks those of {found}."


_SENTENCES = {
    "order": _order,
    "text": _text,
    "comma": _comma,
    "thousands": _thousands,
    "infinite": _infinite,
    "type": _type,
    "labels": _labels,
    "number-text": _number_text,
}

_WHAT = {
    "identifier": "a different value in every row, like an identifier",
    "date": "dates or times",
    "prose": "free text",
    "levels": "many levels in few rows each",
    "quantity": "numbers with signs or units",
    "repeated": "identifiers of subjects with several rows each",
    "scarce": "hardly any values",
}


def _no_variables(problems: Sequence[ColumnProblem]) -> str:
    """One sentence about all columns that are hardly variables."""
    parts: list[str] = []
    for kind in NO_VARIABLES:
        found = [problem for problem in problems if problem.kind == kind]
        if found:
            subject = _columns(found, ("holds", "hold"))
            if parts:
                subject = subject[0].lower() + subject[1:]
            parts.append(f"{subject} {_WHAT[kind]} (such as {found[0].detail})")
    names = _names(problems)
    it = "it" if len(names) == 1 else "them"
    ways = f"leave {it} out with {option('drop', names)}"
    if any(problem.kind == "quantity" for problem in problems):
        ways += ", write plain numbers where there are units"
    return (
        f"{enumerate_items(parts)}; {ways}, or keep what is a variable with "
        f"{option('continuous')} or {option('categorical')}."
    )


def _missing_values(missing: Sequence[Missing], n_rows: tuple[int, int]) -> str:
    incomplete, total = n_rows
    if len(missing) == 1:
        one = missing[0]
        shown = f" ({one.spelling})" if one.spelling else ""
        found = (
            f"1 missing value, in {one.first}"
            if one.n_missing == 1
            else f"{one.n_missing} missing values, first in {one.first}"
        )
        what = f"Column {one.name!r} has {found}{shown}"
        rows = f"{incomplete} {'row' if incomplete == 1 else 'rows'} of {total}"
    else:
        counts = enumerate_items([f"{one.name!r} ({one.n_missing})" for one in missing])
        what = f"There are missing values in {incomplete} of {total} rows: {counts}"
        rows = "these rows"
    words = sorted(
        {one.spelling for one in missing if one.is_text and one.spelling not in ("", "''")}
    )
    level = f", rename {enumerate_items(words, ' or ')} if it is a category" if words else ""
    return (
        f"{what}; drop {rows} with {option('missing', 'drop')}, leave "
        f"columns out with {option('drop')}{level}, or impute the values first."
    )

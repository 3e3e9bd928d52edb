"""What kind of variable is a column? Decided here, for every source of data alike.

Each column arrives as cells (texts or objects), as numbers or as codes, and becomes a
:class:`Column`: either numbers, or codes with levels. Its kind follows from its content (see
:func:`decide_kind`), unless the user or the score says otherwise.

Messages name the row, so functions are handed ``where``, which turns a row position into words.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from outpoint.arrays import Booleans, Floats
from outpoint.data.cells import (
    LARGEST_EXACT,
    DecimalMark,
    has_leading_zeros,
    is_decimal_comma,
    is_quantity,
    is_thousands,
    missing_spellings,
    natural_key,
    parse_integers,
    parse_number,
    parse_numbers,
)
from outpoint.data.dataset import Kind
from outpoint.data.problems import ColumnProblem
from outpoint.data.transforms import exact_labels, normal_scores, quantile_bins
from outpoint.naming import clip

FEW_LEVELS = 12
"""Columns with at most this many distinct texts are categories, whatever these look like."""

Where = Callable[[int], str]


@dataclass(frozen=True)
class Column:
    """Numbers, or codes if ``levels`` is given; NaN where a value is missing.

    ``exact`` holds whole numbers that doubles would merge. ``spelling`` shows how the first missing
    value is written. A column is ``declared`` if its source says its kind, and ``ordered`` if it
    says that its levels are in order. ``doubt`` is what had to be assumed to read it.
    """

    name: str
    values: Floats
    levels: tuple[str, ...] | None = None
    exact: npt.NDArray[np.object_] | None = None
    spelling: str = ""
    declared: bool = False
    ordered: bool = False
    doubt: ColumnProblem | None = None

    @property
    def missing(self) -> Booleans:
        """Which rows have no value."""
        return np.isnan(self.values)

    @property
    def present(self) -> "Column":
        """The column at the rows that have a value."""
        missing = self.missing
        return self.take(~missing) if missing.any() else self

    @property
    def is_whole(self) -> bool:
        """Whether all values are whole numbers."""
        return bool((self.values == np.floor(self.values)).all())

    def take(self, rows: Booleans | npt.NDArray[np.int64]) -> "Column":
        """The column at these rows; levels that no longer occur go, unless they are declared."""
        exact = None if self.exact is None else self.exact[rows]
        taken = replace(self, values=self.values[rows], exact=exact)
        if taken.levels is None or taken.declared:
            return taken
        observed = np.unique(taken.values[~taken.missing])
        levels = tuple(taken.levels[int(code)] for code in observed)
        codes = np.where(taken.missing, np.nan, np.searchsorted(observed, taken.values))
        return replace(taken, values=codes, levels=levels)

    def distinct(self) -> npt.NDArray[Any]:
        """The distinct values in order, exact whole numbers where doubles would merge some."""
        return np.unique(self.values if self.exact is None else self.exact)


def decide_kind(
    column: Column, asked: Kind | None = None, prefer: Kind | None = None
) -> Kind | None:
    """The kind of a column; None for a constant number, which says nothing about it.

    Text, truth values and numbers with two values are categorical, other numbers continuous, and
    so are ordered levels, by their ranks. Where a kind is preferred, because the score needs it,
    levels that are numbers become continuous, or whole numbers become categorical.
    """
    if asked is not None:
        return asked
    if column.levels is not None:
        is_number = prefer == "continuous" and has_numeric_levels(column)
        is_ranked = prefer != "categorical" and column.ordered
        return "continuous" if is_number or is_ranked else "categorical"
    if prefer == "categorical" and column.is_whole:
        return "categorical"
    if column.declared:
        return "continuous"
    n_distinct = column.distinct().size
    if n_distinct == 1:
        return None
    return "categorical" if n_distinct == 2 and prefer != "continuous" else "continuous"


def has_numeric_levels(column: Column) -> bool:
    """Whether the levels of a column are numbers or truth values."""
    if column.levels is None or has_leading_zeros(column.levels):
        return False
    return isinstance(as_continuous(column), Column)


def column_from_text(
    name: str,
    cells: Sequence[str],
    where: Where,
    asked: Kind | None,
    *,
    decimal: DecimalMark = ".",
    na: Collection[str] | None = None,
    stored_as_text: bool = False,
) -> Column | ColumnProblem:
    """A column of texts; ``stored_as_text`` says that its source could have stored numbers.

    ``na`` are the words that stand for a missing value, if not the usual ones.
    """
    numbers = parse_numbers(cells, decimal) if not na else None
    if numbers is None:
        return _column_from_words(name, cells, where, asked, decimal, na)
    texts = [cell.strip() for cell in cells]
    column = _numbers_or_codes(name, numbers, texts, where)
    if isinstance(column, Column) and stored_as_text and asked is None and column.levels is None:
        if not column.is_whole:
            return replace(column, doubt=ColumnProblem("number-text", name))
        return as_categorical(column)
    return column


def _numbers_or_codes(
    name: str, numbers: Floats, texts: Sequence[str], where: Where
) -> Column | ColumnProblem:
    """Numbers as they are; whole numbers written with leading zeros are codes."""
    infinite = np.isinf(numbers)
    if infinite.any():
        row = int(np.argmax(infinite))
        return ColumnProblem("infinite", name, f"{clip(texts[row])} in {where(row)}")
    present = ~np.isnan(numbers)
    whole = bool((numbers[present] == np.floor(numbers[present])).all())
    if whole and has_leading_zeros(texts):
        labels = np.array(texts, dtype=object)
        return _column_of_levels(name, labels, present)
    exact = None
    if whole and (np.abs(numbers[present]) >= LARGEST_EXACT).any():
        pairs = zip(texts, present, strict=True)
        integers = parse_integers(text if there else "0" for text, there in pairs)
        exact = None if integers is None else _object_array(integers)
    return Column(name, numbers, exact=exact)


def _object_array(values: Sequence[object]) -> npt.NDArray[np.object_]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _column_from_words(
    name: str,
    cells: Sequence[str],
    where: Where,
    asked: Kind | None,
    decimal: DecimalMark,
    na: Collection[str] | None,
) -> Column | ColumnProblem:
    """A column in which at least one cell is missing or not a number."""
    texts = [cell.strip() for cell in cells]
    distinct = dict.fromkeys(texts)
    nothing = missing_spellings(distinct, na)
    present = np.fromiter((text not in nothing for text in texts), dtype=bool, count=len(texts))
    spelling = clip(texts[int(np.argmin(present))]) if nothing else ""
    value_of = {text: parse_number(text, decimal) for text in distinct if text not in nothing}
    doubt = None
    words = [text for text, value in value_of.items() if value is None]
    if words and asked != "categorical":
        doubt = _doubt_words(name, texts, words, where, value_of, asked)
        if doubt is not None and doubt.kind in ("comma", "thousands"):
            value_of |= {word: _without_commas(word, doubt.kind) for word in words}
            words = []
        elif doubt is not None and (asked is not None or len(value_of) > FEW_LEVELS):
            return doubt
    if words:
        column = _column_of_levels(name, _object_array(texts), present)
        return replace(column, spelling=spelling, doubt=doubt)
    numbers = np.fromiter(
        (np.nan if text in nothing else value_of[text] for text in texts),
        dtype=np.float64,
        count=len(texts),
    )
    column_of = _numbers_or_codes(name, numbers, texts, where)
    if isinstance(column_of, ColumnProblem):
        return column_of
    return replace(column_of, spelling=spelling, doubt=doubt)


def _doubt_words(
    name: str,
    texts: Sequence[str],
    words: Sequence[str],
    where: Where,
    value_of: Mapping[str, float | None],
    asked: Kind | None,
) -> ColumnProblem | None:
    """What is odd about words in a column, most of whose texts are numbers or should be."""
    detail = f"{clip(words[0])} in {where(texts.index(words[0]))}"
    if all(is_thousands(word) for word in words):
        return ColumnProblem("thousands", name, detail)
    if all(is_decimal_comma(word) for word in words) and not any(
        "." in text for text, value in value_of.items() if value is not None
    ):
        return ColumnProblem("comma", name, detail)
    n_present = sum(text in value_of for text in texts)
    n_numeric = sum(value_of.get(text) is not None for text in texts)
    if asked == "continuous" and n_numeric == 0 and all(is_quantity(word) for word in words):
        return ColumnProblem("quantity", name, clip(words[0]))
    is_odd = asked == "continuous" or 2 * n_numeric >= n_present
    return ColumnProblem("text", name, detail) if is_odd else None


def _without_commas(word: str, kind: str) -> float:
    """The number that a word with commas stands for."""
    return float(word.replace(",", "") if kind == "thousands" else word.replace(",", "."))


def _column_of_levels(name: str, texts: npt.NDArray[np.object_], present: Booleans) -> Column:
    """Texts as categories, one level for each distinct text, in natural order."""
    levels = tuple(sorted(dict.fromkeys(texts[present].tolist()), key=natural_key))
    position = {level: float(code) for code, level in enumerate(levels)}
    values = np.full(texts.size, np.nan)
    values[present] = [position[text] for text in texts[present].tolist()]
    return Column(name, values, levels)


def column_from_numbers(
    name: str, numbers: Floats, where: Where, exact: Sequence[int] | None = None
) -> Column | ColumnProblem:
    """A column that its source stores as numbers; NaN is missing.

    ``exact`` are the same values as whole numbers, if the source has them.
    """
    infinite = np.isinf(numbers)
    if infinite.any():
        row = int(np.argmax(infinite))
        return ColumnProblem("infinite", name, f"{str(numbers[row])!r} in {where(row)}")
    kept = None
    if exact is not None and (np.abs(numbers[~np.isnan(numbers)]) >= LARGEST_EXACT).any():
        kept = _object_array(exact)
    return Column(name, numbers, exact=kept, spelling="NaN")


def column_from_codes(
    name: str,
    codes: npt.NDArray[np.integer[Any]],
    levels: Sequence[object],
    *,
    ordered: bool = False,
) -> Column:
    """A column that its source stores as levels; the code -1 is missing."""
    values = np.where(codes < 0, np.nan, codes.astype(np.float64))
    labels = tuple(str(level) for level in levels)
    return Column(name, values, labels, declared=True, ordered=ordered)


def column_from_objects(
    name: str,
    cells: Sequence[object],
    where: Where,
    asked: Kind | None,
    na: Collection[str] | None = None,
) -> Column | ColumnProblem:
    """A column of Python objects: all truth values, all numbers, or else text."""
    absent = [cell is None or type(cell).__name__ in ("NAType", "NaTType") for cell in cells]
    found = [cell for cell, gone in zip(cells, absent, strict=True) if not gone]
    if found and all(isinstance(cell, (bool, np.bool_)) for cell in found):
        codes = [-1 if gone else int(bool(cell)) for cell, gone in zip(cells, absent, strict=True)]
        return column_from_codes(name, np.array(codes, dtype=np.int8), ("False", "True"))
    if all(
        isinstance(cell, (Real, Decimal)) and not isinstance(cell, (bool, np.bool_))
        for cell in found
    ):
        pairs = list(zip(cells, absent, strict=True))
        numbers = [np.nan if gone else _as_float(cell) for cell, gone in pairs]
        exact = None
        if all(isinstance(cell, Integral) for cell in found):
            exact = [0 if gone else int(cell) for cell, gone in pairs]  # type: ignore[call-overload]
        return column_from_numbers(name, np.array(numbers, dtype=np.float64), where, exact)
    texts = ["" if gone else str(cell) for cell, gone in zip(cells, absent, strict=True)]
    all_text = all(isinstance(cell, str) for cell in cells)
    return column_from_text(name, texts, where, asked, na=na, stored_as_text=all_text)


def without_numbers(column: Column, na: Collection[str] | None) -> Column:
    """A column in which the numbers among these words are missing values."""
    found = [parse_number(word) for word in na or ()]
    numbers = [number for number in found if number is not None]
    if column.levels is not None or not numbers:
        return column
    gone = np.isin(column.values, numbers)
    return replace(column, values=np.where(gone, np.nan, column.values))


def _as_float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf


def as_categorical(column: Column) -> Column:
    """Numbers as categories, one level per distinct value."""
    if column.levels is not None:
        return column
    if column.exact is None:
        distinct, codes = np.unique(column.values, return_inverse=True)
        labels = exact_labels(distinct + 0.0)
    else:
        distinct, codes = np.unique(column.exact, return_inverse=True)
        labels = tuple(str(value) for value in distinct)
    return Column(column.name, codes.astype(np.float64), labels)


def order_levels(column: Column, order: Sequence[str]) -> Column | ColumnProblem:
    """An ordinal column: its levels in the order that is given, or else in natural order."""
    if not order:
        return replace(column, ordered=column.levels is not None)
    made = column
    if column.levels is None:
        made = as_categorical(column.take(~column.missing))
    position = {level: float(place) for place, level in enumerate(order)}
    unknown = [level for level in made.levels or () if level not in position]
    if unknown:
        return ColumnProblem("order", column.name, ", ".join(clip(level) for level in unknown[:3]))
    values = np.full(column.values.size, np.nan)
    codes = made.values[~made.missing].astype(np.int64)
    values[~column.missing] = [position[(made.levels or ())[code]] for code in codes]
    return replace(column, values=values, levels=tuple(order), exact=None, ordered=True)


def as_continuous(column: Column) -> Column | ColumnProblem:
    """Levels as numbers, where their labels are numbers or truth values."""
    if column.levels is None:
        return column
    if column.levels == ("False", "True"):
        return Column(column.name, column.values)
    numbers = parse_numbers(column.levels)
    if numbers is None or not np.isfinite(numbers).all():
        return ColumnProblem("labels", column.name, ", ".join(column.levels[:5]))
    return Column(column.name, numbers[column.values.astype(np.int64)])


def assemble(
    columns: Sequence[Column],
    kinds: Mapping[str, Kind | None],
    discretize: Mapping[str, int],
    ranked: Collection[str] = (),
) -> tuple[tuple[str, ...], Floats, tuple[tuple[str, ...] | None, ...]]:
    """Names, values and levels of columns, each of its kind by :func:`decide_kind`.

    Columns that are ``ranked``, and ordered levels taken as continuous, enter as normal scores.
    What is made of a column depends on the values it has; missing ones stay missing.
    """
    of_constants: Kind = "continuous" if "continuous" in kinds.values() else "categorical"
    values, levels = [], []
    for whole in columns:
        column = whole.present
        kind = kinds[column.name] or of_constants
        made = as_categorical(column) if kind == "categorical" else column
        codes, labels = (made.values, made.levels)
        if column.name in discretize:
            codes, labels = quantile_bins(made.values, discretize[column.name])
        elif kind == "continuous" and (column.name in ranked or labels is not None):
            codes, labels = normal_scores(made.values), None
        spread = np.full(whole.values.size, np.nan)
        spread[~whole.missing] = codes
        values.append(spread)
        levels.append(labels)
    names = tuple(column.name for column in columns)
    return names, np.column_stack(values), tuple(levels)

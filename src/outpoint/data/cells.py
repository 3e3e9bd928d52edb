"""What a single cell of text can mean: nothing, a number, a date, a quantity with its unit.

A column of a text file is a text for every batch of rows, and numbers where all its cells are. As
many strings as a large table has cells would fill gigabytes, so cells are strings only while
somebody looks at them.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from typing import Literal

import numpy as np
import numpy.typing as npt

from outpoint.arrays import Floats
from outpoint.errors import DataError, OutpointError

DecimalMark = Literal[".", ","]

MISSING = frozenset(
    {"", "na", "n/a", "#n/a", "#na", "<na>", "nan", "-nan", "nat", "null", "?", ".", "-"}
)
"""Spellings of a missing value, in lower case; ``None`` is one too, among numbers."""

LARGEST_EXACT = 2.0**53
"""From here on a double no longer holds every whole number."""

_DIGITS = re.compile(r"([0-9]{1,15})")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?")
_DECIMAL_POINT = re.compile(r"[+-]?[0-9]*\.[0-9]+([eE][+-]?[0-9]+)?")
_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?")
_INTEGER = re.compile(r"[+-]?[0-9]{1,400}")
_LEADING_ZERO = re.compile(r"0[0-9]+")
_QUANTITY = re.compile(r"[<>~$€£¥]?\s*[+-]?[0-9][0-9.,]*\s*(%|[^\W\d_/]{0,4}|[$€£¥])")
_TIME = r"([T ,]+[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?\s*(Z|[AaPp][Mm]|[+-][0-9:]{2,5})?)?"
_MONTH = r"(jan|feb|mar|apr|ma[iy]|jun|jul|aug|sep|okt|oct|nov|dec|dez)[a-z]*\.?"
_DATES = (
    re.compile(r"[0-9]{4}([-/.])[0-9]{1,2}\1[0-9]{1,2}" + _TIME),
    re.compile(r"[0-9]{1,2}([-/.])[0-9]{1,2}\1([0-9]{4}|[0-9]{2})" + _TIME),
    re.compile(r"[0-9]{1,2}[-. ]*" + _MONTH + r"[-., ]*[0-9]{2,4}" + _TIME, re.IGNORECASE),
    re.compile(_MONTH + r"\s*[0-9]{1,2},?\s*[0-9]{4}" + _TIME, re.IGNORECASE),
    re.compile(r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?\s*([AaPp][Mm])?"),
)


@contextmanager
def looked_at(column: str) -> Iterator[None]:
    """Around code that looks at the values of a column, which may be objects that then fail."""
    try:
        yield
    except (OutpointError, MemoryError):
        raise
    except Exception as error:
        raise DataError(
            f"Column {column!r} cannot be read: looking at its values fails with "
            f"{type(error).__name__}."
        ) from error


def missing_spellings(distinct: Iterable[str], words: Collection[str] | None) -> frozenset[str]:
    """Which of a column's distinct texts stand for a missing value; empty ones always do.

    ``words`` are those that the user says. Left open, they are the usual spellings; "None" is an
    answer where there are other words, and so is "-" beside "+".
    """
    texts = frozenset(distinct)
    if words is not None:
        return frozenset(text for text in texts if not text or text in words)
    found = frozenset(text for text in texts if text.lower() in MISSING)
    if "None" in texts and all(parse_number(text) is not None for text in texts - found - {"None"}):
        found |= {"None"}
    return found - {"-"} if "+" in texts else found


def parse_numbers(
    cells: Sequence[str], decimal: DecimalMark = "."
) -> npt.NDArray[np.float64] | None:
    """All cells as numbers, or None if one is missing or not a number."""
    if decimal == ",":
        if any("." in cell for cell in cells):
            return None
        cells = [cell.replace(",", ".") for cell in cells]
    try:
        numbers = np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
    except ValueError:
        return None
    # float() also reads "nan", which is missing, and "1_000", which is Python and not data.
    if np.isnan(numbers).any() or "_" in "".join(cells):
        return None
    return numbers


def parse_number(text: str, decimal: DecimalMark = ".") -> float | None:
    """One text as a number; None if it is not a number, or a missing value."""
    if "_" in text or (decimal == "," and "." in text):
        return None
    try:
        number = float(text.replace(",", ".") if decimal == "," else text)
    except ValueError:
        return None
    return number if number == number else None


def parse_integers(cells: Iterable[str]) -> list[int] | None:
    """All cells as whole numbers without loss, or None if one is not written in digits alone."""
    texts = list(cells)
    if not all(_INTEGER.fullmatch(text) for text in texts):
        return None
    return [int(text) for text in texts]


def has_leading_zeros(cells: Iterable[str]) -> bool:
    """Whether some cells are written like 007: numbers are not, codes are."""
    return any(cell[:1] == "0" and _LEADING_ZERO.fullmatch(cell) for cell in cells)


def is_decimal_comma(text: str) -> bool:
    """Whether a text is a number with a decimal comma; ``1,234`` may be one."""
    return _DECIMAL_COMMA.fullmatch(text) is not None


def is_thousands(text: str) -> bool:
    """Whether a text is a number whose thousands are separated by commas; ``1,234`` may be one."""
    return _THOUSANDS.fullmatch(text) is not None


def find_decimal_comma(columns: Iterable[Sequence[str]]) -> bool:
    """Whether commas in the cells of a table can be nothing but decimal commas.

    Some cells are numbers with a decimal comma and not all of these could be thousands instead; no
    cell is a number with a decimal point.
    """
    found = False
    for cells in columns:
        for cell in cells:
            if "," in cell and not found:
                text = cell.strip()
                found = is_decimal_comma(text) and not is_thousands(text)
            elif "." in cell and _DECIMAL_POINT.fullmatch(cell.strip()):
                return False
    return found


def is_date(text: str) -> bool:
    """Whether a text is a date or a time of day, in one of the usual spellings."""
    return any(pattern.fullmatch(text) for pattern in _DATES)


def is_compact_date(number: int) -> bool:
    """Whether a whole number is a day of the last or this century written like 20240131."""
    if not 19000101 <= number <= 20991231:
        return False
    try:
        date(number // 10000, number // 100 % 100, number % 100)
    except ValueError:
        return False
    return True


def is_quantity(text: str) -> bool:
    """Whether a text is a number with a sign or a short unit, such as ``45 %`` or ``<5``."""
    return _QUANTITY.fullmatch(text) is not None


def natural_key(text: str) -> tuple[list[tuple[int, float, str]], str]:
    """Sort numbers by value and texts by their parts, so that ``q2`` comes before ``q10``."""
    number = parse_number(text)
    if number is not None:
        return [(0, number, "")], text
    parts = [part for part in _DIGITS.split(text) if part]
    return [(0, float(p), "") if _DIGITS.fullmatch(p) else (1, 0.0, p) for p in parts], text


BATCH = 300
"""Rows of every piece but the last."""

_GAP = "\0"
"""Stands before every cell; no text that is read has it."""

_CODE = re.compile(_GAP + r"\s*0[0-9]")


class TextColumn(Sequence[str]):
    """The cells of a column, in the order of the rows."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._numbers: list[Floats] | None = []
        self._length = 0

    def append_batch(self, cells: Sequence[str]) -> None:
        """Take the cells of the next rows, `BATCH` of them unless they are the last."""
        piece = _GAP + _GAP.join(cells)
        self._pieces.append(piece)
        self._length += len(cells)
        if self._numbers is not None:
            found = parse_numbers(cells)
            if found is None or not (np.abs(found) < LARGEST_EXACT).all() or _CODE.search(piece):
                self._numbers = None
            else:
                self._numbers.append(found)

    @property
    def numbers(self) -> Floats | None:
        """All cells as numbers, if these say all that the texts do: none is missing or a code."""
        return None if self._numbers is None else np.concatenate(self._numbers)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[str]:
        for piece in self._pieces:
            yield from piece[1:].split(_GAP)

    def __getitem__(self, row):
        if isinstance(row, slice):
            return list(self)[row]
        piece, place = divmod(range(self._length)[row], BATCH)
        return self._pieces[piece][1:].split(_GAP)[place]

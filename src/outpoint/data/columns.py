"""What kind of variable is a column? Decided here, for every source of data alike.

Each column arrives as cells (texts or objects) or as numbers and becomes a :class:`Column`: either
numbers, or codes with levels. Whether a column of whole numbers is categorical cannot be seen from
that column alone (think of counts, or of a 0/1 variable in a table of measurements), so
:func:`assemble` decides it for the table: as soon as one column is continuous, they all are.

Messages name the column and the row, so every function is handed ``where``, which turns a row
position into words.
"""

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from outpoint.data.binning import exact_labels
from outpoint.data.dataset import Dataset, Kind, enumerate_names
from outpoint.errors import DataError, OptionError

MAX_INTEGER_LEVELS = 20
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "<na>", "nat"})

FloatArray = npt.NDArray[np.float64]
Where = Callable[[int], str]

_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+([eE][+-]?[0-9]+)?")
_DIGITS = re.compile(r"([0-9]{1,15})")


@dataclass(frozen=True)
class Column:
    """A column without missing values: ``values`` are codes if ``levels`` is given."""

    name: str
    values: FloatArray
    levels: tuple[str, ...] | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all values are whole numbers."""
        return bool((self.values == np.floor(self.values)).all())


def validate_types(types: object, names: Sequence[str]) -> dict[str, Kind]:
    """The kind asked for each column, as a dictionary that holds only valid entries."""
    if types is None:
        return {}
    if isinstance(types, Mapping):
        asked = {str(name): kind for name, kind in types.items()}
    else:
        asked = dict.fromkeys(names, types)
    for name, kind in asked.items():
        if name not in names:
            raise OptionError(
                f"types names the column {name!r}, which is not in the data; "
                f"the columns are {enumerate_names(names)}."
            )
        if kind not in ("continuous", "categorical"):
            raise OptionError(
                f"The type {kind!r} is unknown; use 'continuous' or 'categorical', "
                "for all columns or by column."
            )
    return asked


def column_from_text(
    name: str, cells: Sequence[str], where: Where, kind: Kind | None, *, declared: bool = False
) -> Column:
    """A column of texts; ``declared`` says that its source stores it as text, not as numbers."""
    numbers = _parse_numbers(cells)
    if numbers is None:
        return _column_from_mixed_text(name, cells, where, kind)
    if not np.isfinite(numbers).all():
        row = int(np.argmax(~np.isfinite(numbers)))
        _refuse_infinite(name, where(row), cells[row])
    column = Column(name, numbers)
    if declared and kind is None:
        if not column.is_whole:
            raise DataError(
                f"Column {name!r} holds numbers stored as text; convert it to numbers, "
                f"or load with {_override(name)}."
            )
        return _as_categorical(column)
    return column


def _parse_numbers(cells: Sequence[str]) -> FloatArray | None:
    """All cells as numbers, or None if one is missing or not a number."""
    try:
        numbers = np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
    except ValueError:
        return None
    # float() also reads "nan", which is missing, and "1_000", which is Python and not data.
    if np.isnan(numbers).any() or "_" in "".join(cells):
        return None
    return numbers


def _is_number(text: str) -> bool:
    try:
        return float(text) == float(text) and "_" not in text
    except ValueError:
        return False


def _column_from_mixed_text(
    name: str, cells: Sequence[str], where: Where, kind: Kind | None
) -> Column:
    """A column in which at least one cell is missing or not a number."""
    texts = [cell.strip() for cell in cells]
    distinct = dict.fromkeys(texts)
    markers = {text for text in distinct if text.lower() in MISSING}
    if markers:
        rows = [row for row, text in enumerate(texts) if text in markers]
        _refuse_missing(name, len(rows), where(rows[0]), texts[rows[0]])
    numeric = {text for text in distinct if _is_number(text)}
    others = [text for text in distinct if text not in numeric]
    n_numeric = sum(text in numeric for text in texts)
    if kind != "categorical":
        first = where(texts.index(others[0]))
        if all(_DECIMAL_COMMA.fullmatch(text) for text in others):
            raise DataError(
                f"Column {name!r} has a decimal comma in {first} ({_clip(others[0])}); "
                "write numbers with a decimal point."
            )
        if kind == "continuous" or 2 * n_numeric >= len(texts):
            raise DataError(
                f"There is text in a numeric column: {name!r} has {_clip(others[0])} in {first}; "
                f"correct it, or load with {_override(name)} if it is a category."
            )
    levels = tuple(sorted(distinct, key=natural_key))
    position = {level: float(code) for code, level in enumerate(levels)}
    return Column(name, np.array([position[text] for text in texts]), levels)


def natural_key(text: str) -> tuple[list[tuple[int, float, str]], str]:
    """Sort numbers by value and texts by their parts, so that ``q2`` comes before ``q10``."""
    if _is_number(text):
        return [(0, float(text), "")], text
    parts = [part for part in _DIGITS.split(text) if part]
    return [(0, float(p), "") if _DIGITS.fullmatch(p) else (1, 0.0, p) for p in parts], text


def column_from_numbers(name: str, numbers: FloatArray, where: Where) -> Column:
    """A column that its source stores as numbers; NaN is missing."""
    missing = np.isnan(numbers)
    if missing.any():
        _refuse_missing(name, int(missing.sum()), where(int(np.argmax(missing))), "NaN")
    infinite = np.isinf(numbers)
    if infinite.any():
        row = int(np.argmax(infinite))
        _refuse_infinite(name, where(row), str(numbers[row]))
    return Column(name, numbers)


def column_from_codes(
    name: str, codes: npt.NDArray[np.integer[Any]], levels: Sequence[object], where: Where
) -> Column:
    """A column that its source stores as levels; the code -1 is missing."""
    missing = codes < 0
    if missing.any():
        _refuse_missing(name, int(missing.sum()), where(int(np.argmax(missing))), "")
    return Column(name, codes.astype(np.float64), tuple(str(level) for level in levels))


def column_from_objects(
    name: str, cells: Sequence[object], where: Where, kind: Kind | None
) -> Column:
    """A column of Python objects: all truth values, all numbers, or else text."""
    if all(isinstance(cell, (bool, np.bool_)) for cell in cells):
        return column_from_codes(name, np.array(cells, dtype=np.int8), ("False", "True"), where)
    absent = [cell is None or type(cell).__name__ in ("NAType", "NaTType") for cell in cells]
    if all(
        gone or (isinstance(cell, (Real, Decimal)) and not isinstance(cell, (bool, np.bool_)))
        for gone, cell in zip(absent, cells, strict=True)
    ):
        pairs = zip(absent, cells, strict=True)
        numbers = [np.nan if gone else float(cell) for gone, cell in pairs]  # type: ignore[arg-type]
        return column_from_numbers(name, np.array(numbers, dtype=np.float64), where)
    texts = ["" if gone else str(cell) for gone, cell in zip(absent, cells, strict=True)]
    all_text = all(isinstance(cell, str) for cell in cells)
    return column_from_text(name, texts, where, kind, declared=all_text)


def assemble(columns: Sequence[Column], types: Mapping[str, Kind], source: str) -> Dataset:
    """Decide the columns of whole numbers (module docstring) and build the data set."""
    columns = [_apply_type(column, types.get(column.name)) for column in columns]
    numeric = [c for c in columns if c.levels is None]
    any_continuous = any(
        types.get(c.name) == "continuous"
        or not c.is_whole
        or np.unique(c.values).size > MAX_INTEGER_LEVELS
        for c in numeric
    )
    if not any_continuous:
        columns = [c if c.levels is not None else _as_categorical(c) for c in columns]
    return Dataset(
        tuple(c.name for c in columns),
        np.column_stack([c.values for c in columns]),
        tuple(c.levels for c in columns),
        source,
    )


def _apply_type(column: Column, kind: Kind | None) -> Column:
    """Turn a column into the kind that was asked for."""
    if kind == "categorical" and column.levels is None:
        return _as_categorical(column)
    if kind == "continuous" and column.levels is not None:
        if column.levels == ("False", "True"):
            return Column(column.name, column.values)
        numbers = _parse_numbers(column.levels)
        if numbers is None or not np.isfinite(numbers).all():
            raise DataError(
                f"Column {column.name!r} cannot be continuous: its levels "
                f"({', '.join(column.levels[:5])}) are not all numbers; leave it categorical or "
                "recode it."
            )
        return Column(column.name, numbers[column.values.astype(np.int64)])
    return column


def _as_categorical(column: Column) -> Column:
    """Numbers as categories, one level per distinct value."""
    distinct, codes = np.unique(column.values, return_inverse=True)
    return Column(column.name, codes.astype(np.float64), exact_labels(distinct + 0.0))


def _refuse_missing(name: str, count: int, first: str, marker: str) -> NoReturn:
    shown = f" ({_clip(marker)})" if marker else ""
    found = (
        f"1 missing value, in {first}"
        if count == 1
        else f"{count} missing values, first in {first}"
    )
    level = f", or rename {_clip(marker)} if it is a category" if marker.lower() == "none" else ""
    raise DataError(
        f"Column {name!r} has {found}{shown}; drop these rows or impute the values first{level}."
    )


def _refuse_infinite(name: str, where: str, text: str) -> NoReturn:
    raise DataError(
        f"Column {name!r} has an infinite value in {where} ({_clip(text)}); "
        "correct the value or drop the row."
    )


def _override(name: str) -> str:
    """The option that declares a column categorical, ready to be copied."""
    option = shlex.quote(f"{name}=categorical")
    return f'types={{{json.dumps(name, ensure_ascii=False)}: "categorical"}} (--type {option})'


def _clip(text: str) -> str:
    """A cell as it is shown in a message."""
    return repr(text if len(text) <= 40 else text[:37] + "...")

"""Text tables: bytes to a header and columns of cells, with the line of every row.

The separator is found from the first lines, quoting follows RFC 4180 and blank lines are skipped.
Nothing is interpreted here: what the cells mean is decided in :mod:`outpoint.data.columns`.
"""

import csv
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from outpoint.data.dataset import validate_names
from outpoint.errors import DataError, OptionError

WHITESPACE = " "
_CANDIDATES = (",", "\t", ";")
_SAMPLE_CHARACTERS = 1 << 16
_SAMPLE_LINES = 10
_QUOTED = re.compile(r'"(?:[^"]|"")*"')


@dataclass(frozen=True)
class TextTable:
    """The cells of a file by column, and the line on which each data row ends."""

    names: tuple[str, ...]
    columns: list[tuple[str, ...]]
    lines: list[int]

    def where(self, row: int) -> str:
        """A row position in words."""
        return f"row {row + 1} (line {self.lines[row]})"


def validate_separator(separator: str | None) -> str | None:
    """A single character, where a blank means any run of blanks; None if it is to be found."""
    if separator is None:
        return None
    if separator in ("whitespace", " "):
        return WHITESPACE
    if len(separator) != 1 or separator in "\r\n\"'" or separator.isalnum():
        raise OptionError(
            f"The separator {separator!r} is not usable; give one character such as ',', ';' "
            "or a tab, or 'whitespace'."
        )
    return separator


def read_table(path: Path, separator: str | None = None) -> TextTable:
    """Read a table with a header row from a text file, plain or gzip-compressed."""
    text = _read_text(path)
    shown = repr(path.name)
    if not text.strip():
        raise DataError(f"The file {shown} is empty; it needs a header row and data.")
    separator = separator or find_separator(text)
    rows: list[list[str]] = []
    lines: list[int] = []
    names: tuple[str, ...] | None = None
    for line, fields in _iterate_rows(text, separator, shown):
        if names is None:
            names = tuple(field.strip() for field in fields)
            _validate_header(names, shown, separator)
            continue
        if len(fields) != len(names):
            raise DataError(_ragged_message(shown, line, len(fields), len(names)))
        rows.append(fields)
        lines.append(line)
    if names is None or not rows:
        raise DataError(f"The file {shown} has a header but no data rows; add the observations.")
    return TextTable(names, list(zip(*rows, strict=True)), lines)


def _read_text(path: Path) -> str:
    """The decoded content; every way this can fail has its own sentence."""
    shown = repr(str(path))
    if os.path.isdir(path):
        raise DataError(f"{shown} is a directory; give the path of a data file.")
    try:
        raw = path.read_bytes()
        if path.suffix.lower() == ".gz":
            raw = gzip.decompress(raw)
    except FileNotFoundError as error:
        raise DataError(f"There is no file {shown}; check the path.") from error
    except PermissionError as error:
        raise DataError(f"You are not allowed to read {shown}; check its permissions.") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{shown} is not a valid gzip file; compress it again.") from error
    except OSError as error:
        raise DataError(f"{shown} cannot be read ({error.strerror}); check the path.") from error
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{shown} is not UTF-8 text (byte {error.start + 1}); save it as CSV in UTF-8."
        ) from error
    if "\0" in text:
        raise DataError(f"{shown} is not a text file; save the table as CSV in UTF-8.")
    return text


def find_separator(text: str) -> str:
    """The first of comma, tab and semicolon that splits the first lines evenly, else blanks."""
    sample = _QUOTED.sub("q", text[:_SAMPLE_CHARACTERS])
    lines = [line for line in sample.splitlines() if line.strip()]
    if len(text) > _SAMPLE_CHARACTERS and len(lines) > 1:
        lines.pop()  # probably cut in the middle
    header, *others = lines[:_SAMPLE_LINES]
    present = [candidate for candidate in _CANDIDATES if candidate in header]
    for candidate in present:
        if all(line.count(candidate) == header.count(candidate) for line in others):
            return candidate
    return present[0] if present else WHITESPACE


def _iterate_rows(text: str, separator: str, shown: str) -> Iterator[tuple[int, list[str]]]:
    """The fields of every non-blank row, with the line on which the row ends."""
    if separator == WHITESPACE and '"' not in text:
        for line, content in enumerate(io.StringIO(text, newline=None), start=1):
            fields = content.split()
            if fields:
                yield line, fields
        return
    source: Iterator[str] = io.StringIO(text, newline="")
    if separator == WHITESPACE:
        source = (re.sub(r"[ \t]+", " ", line.strip()) + "\n" for line in source)
    reader = csv.reader(source, delimiter=separator, skipinitialspace=True, strict=True)
    try:
        for fields in reader:
            if fields and (len(fields) > 1 or fields[0].strip()):
                yield reader.line_num, fields
    except csv.Error as error:
        raise DataError(
            f"Line {reader.line_num} of {shown} cannot be read ({error}); check its quotes."
        ) from error


def _validate_header(names: tuple[str, ...], shown: str, separator: str) -> None:
    """Refuse a single column and a first row that holds data instead of names."""
    if len(names) == 1:
        raise DataError(
            f"The file {shown} has one column ({names[0][:40]!r}), but outpoint needs at least two "
            "variables; if its columns are separated by an unusual character, "
            "give separator= (--separator)."
        )
    width = len(names)
    counting = [tuple(str(i + first) for i in range(width)) for first in (0, 1)]
    if names not in counting and all(_looks_numeric(name) for name in names):
        raise DataError(
            f"The first row of {shown} holds numbers; a header row with the column names is needed."
        )
    validate_names(names)


def _looks_numeric(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _ragged_message(shown: str, line: int, found: int, expected: int) -> str:
    hint = "check its separators and quotes"
    if found == expected + 1:
        hint += ", and remove row names if there are any"
    fields = "1 field" if found == 1 else f"{found} fields"
    return f"Line {line} of {shown} has {fields}, but the header has {expected}; {hint}."

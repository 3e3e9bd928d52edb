"""The content of a file as text, whatever program wrote it, or a sentence that says what it is.

Files are read in pieces up to a limit, compressed ones likewise, so that neither an endless device
nor a small archive of a huge file costs more time or memory than a table would. Text that is not
UTF-8 is taken as Windows-1252, the code of spreadsheets in western Europe, of which Latin-1 is a
part.

A text table becomes a header and columns of cells, with the line of every row. The separator is
found from the first lines, quoting follows RFC 4180, and what programs add around a table is left
out: a line ``sep=;``, comments, blank lines, separators at the ends of lines, and row names, which
have no name themselves. Nothing is interpreted here: what the cells mean is decided in
:mod:`outpoint.data.columns`.
"""

import csv
import gzip
import io
import os
import re
import zlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from outpoint.data.cells import BATCH, TextColumn
from outpoint.errors import DataError, OptionError
from outpoint.naming import count_of, option

MAX_BYTES = 500_000_000
"""The longest text that is read as a table."""

_PIECE = 1 << 20
_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_FORMATS = {
    b"PK\x03\x04": "an Excel or other zipped file",
    b"\xd0\xcf\x11\xe0": "an Excel workbook",
    b"PAR1": "a Parquet file",
    b"$FL2": "an SPSS file",
    b"$FL3": "an SPSS file",
    b"<stata_dta>": "a Stata file",
    b"\x89HDF": "an HDF5 file",
    b"RDX": "an R data file",
    b"X\n\x00": "an R data file",
    b"%PDF": "a PDF document",
}
"""How common files that are not text begin."""

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_MOST_STRAY = 1e-3
"""A text may have this share of control characters, which old programs leave behind."""


class FileText(NamedTuple):
    """The text of a file, and what had to be assumed to read it."""

    text: str
    notes: tuple[str, ...]


def read_content(path: Path) -> FileText:
    """The decoded content of a file; every way this can fail has its own sentence."""
    shown = repr(str(path))
    if os.path.isdir(path):
        raise DataError(f"{shown} is a directory; give the path of a data file.")
    try:
        with path.open("rb") as file:
            raw = _read_bytes(file, path.suffix.lower() == ".gz", shown)
    except FileNotFoundError as error:
        raise DataError(f"There is no file {shown}; check the path.") from error
    except PermissionError as error:
        raise DataError(f"You are not allowed to read {shown}; check its permissions.") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{shown} is not a valid gzip file; compress it again.") from error
    except OSError as error:
        raise DataError(f"{shown} cannot be read ({error.strerror}); check the path.") from error
    return _decode(raw, shown)


def _read_bytes(file: BinaryIO, named_gzip: bool, shown: str) -> bytes:
    """All bytes, unpacked; stops as soon as they are too many or cannot be a text."""
    start = file.read(_PIECE)
    stream: Any = _Rewound(start, file)
    if named_gzip or start.startswith(_GZIP):
        stream = gzip.GzipFile(fileobj=stream, mode="rb")
    pieces: list[bytes] = []
    size = 0
    while piece := stream.read(_PIECE):
        pieces.append(piece)
        size += len(piece)
        _refuse_other_formats(pieces[0], piece, shown)
        if size > MAX_BYTES:
            raise DataError(
                f"{shown} holds more than {MAX_BYTES // 1_000_000:,} MB of text, too much for a "
                "table: keep the rows and columns you need, or give them as a DataFrame."
            )
    return b"".join(pieces)


class _Rewound:
    """A stream whose first piece was read already; pipes cannot be rewound otherwise."""

    def __init__(self, start: bytes, rest: BinaryIO) -> None:
        self._start, self._rest = start, rest

    def read(self, size: int) -> bytes:
        """The next bytes, ``size`` of them at most."""
        if self._start:
            taken, self._start = self._start[:size], self._start[size:]
            return taken
        return self._rest.read(size)


def _refuse_other_formats(start: bytes, piece: bytes, shown: str) -> None:
    """Refuse a piece of a file, which begins with ``start``, that no text file contains."""
    for beginning, what in _FORMATS.items():
        if start.startswith(beginning):
            raise DataError(f"{shown} is {what}, not a text file; save the table as CSV.")
    if b"\0" in piece and not start.startswith(_UTF16):
        raise DataError(_not_text(shown))


def _decode(raw: bytes, shown: str) -> FileText:
    """The text in the first code that fits: UTF-16 if marked, UTF-8, Windows-1252."""
    attempts = ["utf-16"] if raw.startswith(_UTF16) else ["utf-8-sig", "cp1252"]
    for encoding in attempts:
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        text, n_stray = _CONTROL.subn("", text)
        if n_stray > 1 + len(text) * _MOST_STRAY:
            break
        name = {"cp1252": "Windows-1252 (Latin-1)", "utf-16": "UTF-16"}.get(encoding)
        notes = [] if name is None else [f"the text was read as {name}"]
        if n_stray:
            notes.append(f"left out {count_of(n_stray, 'control character')} of the text")
        return FileText(text, tuple(notes))
    raise DataError(_not_text(shown))


def _not_text(shown: str) -> str:
    return f"{shown} is not a text file; save the table as CSV in UTF-8."


WHITESPACE = " "
MAX_CELLS = 50_000_000
"""The largest table that is read from text."""

_CANDIDATES = (",", "\t", ";", "|")
_SAMPLE_CHARACTERS = 1 << 16
_SAMPLE_LINES = 10
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?', re.IGNORECASE)
_COMMENT = "#"


@dataclass(frozen=True)
class TextTable:
    """The cells of a file by column, and the line on which each data row ends."""

    names: tuple[str, ...]
    columns: list[TextColumn]
    lines: "array[int]"
    separator: str
    notes: tuple[str, ...] = ()

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


def read_table(path: Path, separator: str | None = None, least_columns: int = 2) -> TextTable:
    """Read a table with a header row from a text file, plain or gzip-compressed.

    One of fewer than ``least_columns`` is refused.
    """
    content = read_content(path)
    shown = repr(path.name)
    body, n_skipped, stated = _skip_preamble(content.text)
    if not body.strip():
        raise DataError(f"The file {shown} is empty; it needs a header row and data.")
    separator = separator or stated or find_separator(body)
    # far too many cells are seen without splitting a line; the columns are counted later
    _check_size((body.count(separator) + body.count("\n")) // 2, 1, shown)
    numbered = _iterate_rows(body, separator, n_skipped, shown)
    _, header = next(numbered)
    names = tuple(field.strip() for field in header)
    n_named = max((v + 1 for v, name in enumerate(names) if name), default=0)
    _validate_header(names[:n_named], shown, least_columns)
    columns, lines = _collect_columns(numbered, len(names), n_named, shown)
    if not columns:
        raise DataError(f"The file {shown} has a header but no data rows; add the observations.")
    if len(columns) == len(names) + 1:
        if not _are_row_names(columns[0], separator):
            raise DataError(_ragged_message(shown, lines[0], len(columns), len(names)))
        names = ("", *names)
    names, columns, notes = _set_row_names_aside(names, columns)
    return TextTable(names, columns, lines, separator, content.notes + notes)


def _skip_preamble(text: str) -> tuple[str, int, str | None]:
    """The text from its header on, the number of lines before it, and a separator stated there.

    Of the comments before a table without another header the last one is the header, which is how
    NumPy writes it.
    """
    position, n_lines, stated, comment = 0, 0, None, ""
    while position < len(text):
        match = _LINE.match(text, position)
        assert match is not None  # the pattern matches anything
        line = match[1].strip()
        found = _SEPARATOR_LINE.fullmatch(line)
        if found and stated is None and not comment:
            stated = found[1]
        elif line.startswith(_COMMENT):
            comment = line.lstrip(_COMMENT).strip()
        elif line:
            separator = stated or find_separator(f"{comment}\n{line}")
            if _is_header_of(comment, line, separator):
                return f"{comment}\n{text[position:]}", n_lines - 1, stated
            break
        position = match.end()
        n_lines += 1
    return text[position:], n_lines, stated


def _is_header_of(comment: str, line: str, separator: str) -> bool:
    """Whether a comment names the columns of a table that begins with this line of numbers."""
    sep = None if separator == WHITESPACE else separator
    cells, names = line.split(sep), comment.split(sep)
    return len(cells) == len(names) and all(map(_looks_numeric, cells)) and len(cells) > 1


def find_separator(text: str) -> str:
    """The first of comma, tab, semicolon and bar that splits the first lines evenly, else blanks.

    Lines with row names have one separator more than the header.
    """
    sample = _QUOTED.sub("q", text[:_SAMPLE_CHARACTERS])
    lines = [line for line in sample.splitlines() if line.strip() and not line.startswith(_COMMENT)]
    if len(text) > _SAMPLE_CHARACTERS and len(lines) > 1:
        lines.pop()  # probably cut in the middle
    header, *others = lines[:_SAMPLE_LINES] or [""]
    present = [candidate for candidate in _CANDIDATES if candidate in header]
    for candidate in present:
        counts = {line.count(candidate) for line in others}
        if len(counts) <= 1 and counts <= {header.count(candidate), header.count(candidate) + 1}:
            return candidate
    return present[0] if present else WHITESPACE


def _iterate_rows(
    text: str, separator: str, n_skipped: int, shown: str
) -> Iterator[tuple[int, list[str]]]:
    """The fields of every row that is not blank, with the line on which the row ends."""
    if separator == WHITESPACE and '"' not in text:
        for line, content in enumerate(io.StringIO(text, newline=None), start=n_skipped + 1):
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
            if fields and (fields[0] or any(map(str.strip, fields))):
                yield n_skipped + reader.line_num, fields
    except csv.Error as error:
        raise DataError(
            f"Line {n_skipped + reader.line_num} of {shown} cannot be read ({error}); "
            "check its quotes."
        ) from error


def _collect_columns(
    numbered: Iterator[tuple[int, list[str]]], width: int, n_named: int, shown: str
) -> tuple[list[TextColumn], "array[int]"]:
    """The cells by column: ``width`` columns, or one more if row names stand before the rows.

    Separators at the end of a line, of rows or of the header, whose first ``n_named`` fields end
    with a name, make no difference.
    """
    columns: list[TextColumn] = []
    lines = array("q")
    batch: list[list[str]] = []  # of rows, so that not all of them are held next to the columns
    for line, fields in numbered:
        if len(fields) > width and not any(map(str.strip, fields[width:])):
            fields = fields[:width]
        elif n_named <= len(fields) < width:
            fields = fields + [""] * (width - len(fields))
        if not columns:
            columns = [TextColumn() for _ in range(width + (len(fields) == width + 1))]
        if len(fields) != len(columns):
            if fields[0].lstrip().startswith(_COMMENT):
                continue
            raise DataError(_ragged_message(shown, line, len(fields), width, is_first=not lines))
        batch.append(fields)
        lines.append(line)
        if len(batch) == BATCH:
            _move(batch, columns)
            _check_size(len(lines), width, shown)
    _move(batch, columns)
    _check_size(len(lines), width, shown)
    return (columns, lines) if lines else ([], lines)


def _move(batch: list[list[str]], columns: list[TextColumn]) -> None:
    """Hand the cells of a batch of rows to their columns."""
    for column, cells in zip(columns, zip(*batch, strict=True), strict=bool(batch)):
        column.append_batch(cells)
    batch.clear()


def _check_size(n_rows: int, width: int, shown: str) -> None:
    if n_rows * width > MAX_CELLS:
        raise DataError(
            f"The file {shown} has more than {MAX_CELLS // 1_000_000} million cells; keep the rows "
            "and columns you need, or give them as a DataFrame."
        )


def _are_row_names(cells: Sequence[str], separator: str) -> bool:
    """Whether the first cells of rows that are one longer than the header can be row names.

    They are all different, and texts or rising whole numbers. Between commas the numbers must also
    count the rows: a decimal comma makes a row longer, too.
    """
    if len(set(cells)) < len(cells):
        return False
    numeric = [_looks_numeric(cell) for cell in cells]
    if not any(numeric):
        return True
    if not all(cell.strip().isdecimal() for cell in cells):
        return False
    numbers = [int(cell) for cell in cells]
    if separator == ",":
        return numbers in (list(range(len(cells))), list(range(1, len(cells) + 1)))
    return numbers == sorted(numbers)


def _set_row_names_aside(
    names: tuple[str, ...], columns: list[TextColumn]
) -> tuple[tuple[str, ...], list[TextColumn], tuple[str, ...]]:
    """Leave out a first column of row names without a name, and empty columns without a name."""
    notes: tuple[str, ...] = ()
    if not names[0] and len(set(columns[0])) == len(columns[0]):
        names, columns = names[1:], columns[1:]
        notes = ("the first column, which has no name, was taken as row names",)
    named = [v for v, name in enumerate(names) if name or any(map(str.strip, columns[v]))]
    return tuple(names[v] for v in named), [columns[v] for v in named], notes


def _validate_header(names: tuple[str, ...], shown: str, least: int) -> None:
    """Refuse a single column and a first row that holds data instead of names."""
    if len(names) < least:
        only = names[0][:40] if names else ""
        raise DataError(
            f"The file {shown} has one column ({only!r}), but outpoint needs at least two "
            "variables; if its columns are separated by an unusual character, "
            f"give {option('separator')}."
        )
    width = len(names)
    counting = [tuple(str(i + first) for i in range(width)) for first in (0, 1)]
    if names not in counting and all(_looks_numeric(name) for name in names):
        raise DataError(
            f"The first row of {shown} holds numbers; a header row with the column names is needed."
        )


def _looks_numeric(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _ragged_message(shown: str, line: int, found: int, expected: int, is_first: bool = True) -> str:
    hint = "check its separators and quotes"
    if is_first:
        hint += ", and that the first line of the file is the header"
    if found == expected + 1:
        hint += ", and remove row names if there are any"
    if found > expected:
        hint += "; numbers with decimal commas need semicolons between them"
    fields = "1 field" if found == 1 else f"{found} fields"
    return f"Line {line} of {shown} has {fields}, but the header has {expected}; {hint}."

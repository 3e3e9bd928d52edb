"""The content of a file as text, whatever program wrote it, or a sentence that says what it is.

Files are read in pieces up to a limit, compressed ones likewise, so that neither an endless device
nor a small archive of a huge file costs more time or memory than a table would. Text that is not
UTF-8 is taken as Windows-1252, the code of spreadsheets in western Europe, of which Latin-1 is a
part.
"""

import gzip
import os
import re
import zlib
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from outpoint.amounts import count_of
from outpoint.errors import DataError

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
"""How common files begin that are not text."""

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

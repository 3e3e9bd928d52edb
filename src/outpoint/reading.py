"""Text files that users give: opened and read in one way, up to a stated size.

Graphs, knowledge and scores come in files that somebody else may have made. None may be a device,
which never ends, or larger than its reader states; what the text means is decided where it is used.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from outpoint.errors import OutpointError

MOST_BYTES = 8_000_000
"""Largest file that is read as a whole; the slowest readers take some seconds for as much."""


@contextmanager
def opened(
    path: Path, kind: type[OutpointError], most: int = MOST_BYTES, *, is_stored: bool = False
) -> Iterator[BinaryIO]:
    """A file of at most so many bytes; whatever else it is becomes an error of this ``kind``.

    One that ``is_stored`` can be read more than once, which a pipe cannot.
    """
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            is_pipe = stat.S_ISFIFO(found.st_mode) or stat.S_ISSOCK(found.st_mode)
            if not stat.S_ISREG(found.st_mode) and (is_stored or not is_pipe):
                what = "pipe" if is_pipe else "device"
                raise kind(f"cannot read {path}: it is a {what} and not a file.")
            if found.st_size > most:
                raise _too_large(path, kind, most)
            yield file
    except OutpointError:
        raise
    except OSError as error:
        raise kind(f"cannot read {path}: {error.strerror}.") from None
    except ValueError:
        raise kind(f"cannot read {str(path)!r}: no file has such a name.") from None


def read_text(path: Path, kind: type[OutpointError], most: int = MOST_BYTES) -> str:
    """The text of a file, line ends as they are: a name may hold one."""
    with opened(path, kind, most) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise _too_large(path, kind, most)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise kind(f"{path} is not a text file in UTF-8: save it as UTF-8.") from None


def read_lines(path: Path, kind: type[OutpointError], most: int, longest: int) -> Iterator[str]:
    """The lines of a stored file that may be large, none longer than ``longest`` bytes."""
    with opened(path, kind, most, is_stored=True) as file:
        number = 0
        while line := file.readline(longest + 1):
            number += 1
            if len(line) > longest:
                raise kind(f"line {number} of {path} is longer than {longest:,} bytes.")
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise kind(f"{path} is not a text file in UTF-8: save it as UTF-8.") from None


@contextmanager
def understood(path: Path, kind: type[OutpointError]) -> Iterator[None]:
    """Around what makes sense of a text; that it is too much for this process is an error, too."""
    try:
        yield
    except RecursionError:
        raise kind(f"cannot read {path}: it is nested too deeply.") from None
    except MemoryError:
        raise kind(f"cannot read {path}: that takes more memory than there is.") from None


def _too_large(path: Path, kind: type[OutpointError], most: int) -> OutpointError:
    return kind(f"{path} is larger than {most:,} bytes, the most that is read of such a file.")

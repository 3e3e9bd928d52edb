"""How files are opened, read, checked and replaced, whatever is in them.

Text files that users give are opened and read in one way, up to a stated size. Graphs, knowledge
and scores come in files that somebody else may have made. None may be a device, which never ends,
or larger than its reader states; what the text means is decided where it is used.

Files that users ask for appear complete, or not at all.
"""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from outpoint.errors import OptionError, OutpointError

MOST_BYTES = 8_000_000
"""Largest file that is read as a whole; the slowest readers take some seconds for as much."""


@contextmanager
def opened(
    path: Path, kind: type[OutpointError], most: int = MOST_BYTES, *, is_stored: bool = False
) -> Iterator[BinaryIO]:
    """A file of at most ``most`` bytes; anything else becomes an error of this ``kind``.

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
    """Around what makes sense of a text; one that is too much for this process is an error, too."""
    try:
        yield
    except RecursionError:
        raise kind(f"cannot read {path}: it is nested too deeply.") from None
    except MemoryError:
        raise kind(f"cannot read {path}: that takes more memory than there is.") from None


def _too_large(path: Path, kind: type[OutpointError], most: int) -> OutpointError:
    return kind(f"{path} is larger than {most:,} bytes, the most that is read of such a file.")


def absolute(path: str | Path, kind: type[OutpointError] = OptionError) -> Path:
    """A path that stays the same wherever the process goes."""
    try:
        return Path(path).absolute()
    except FileNotFoundError:
        raise kind(
            f"there is no place for {path}, as the working directory is gone: go to another one."
        ) from None


@contextmanager
def replaced(path: Path, kind: type[OutpointError] = OptionError) -> Iterator[Path]:
    """A place to write what then becomes ``path``; a failure is an error of this ``kind``.

    What is not an ordinary file, such as ``/dev/stdout``, is written to directly; for a link, the
    file that it leads to is replaced.
    """
    try:
        if path.exists() and not path.is_file():
            yield path
            return
        target = absolute(path, kind).resolve()
        with tempfile.TemporaryDirectory(prefix=".outpoint-", dir=target.parent) as private:
            beside = Path(private) / target.name
            yield beside
            beside.replace(target)
    except OSError as error:
        raise kind(f"cannot write {path}: {os.strerror(error.errno or 5)}.") from None


def write_text(path: Path, text: str, kind: type[OutpointError] = OptionError) -> None:
    """Write a file in UTF-8, or say why it cannot be written."""
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError:
        raise kind(f"cannot write {path}: a name is not valid Unicode.") from None
    with replaced(path, kind) as place:
        place.write_bytes(content)

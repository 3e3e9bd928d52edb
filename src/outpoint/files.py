"""How files are opened, read, checked and replaced, whatever is in them.

Text files that users give: opened and read in one way, up to a stated size.

Graphs, knowledge and scores come in files that somebody else may have made. None may be a device,
which never ends, or larger than its reader states; what the text means is decided where it is used.

Files that users ask for: they appear complete, or not at all.

What all files share that outpoint writes for itself and reads back.

Posteriors, checkpoints, kept scores and the identity of a run lie in two kinds of files:
:mod:`outpoint.posterior.sealed` and :mod:`outpoint.runs.checkpoint` say why. Either may be damaged
or made by somebody. Both are read as bytes with one checksum, and both declare their arrays as a
`Field` each; here is the one check of such arrays, and the one wording of what is wrong with them.
"""

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import OptionError, OutpointError, require

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
    """Around what makes sense of a text; that it is too much for this process is an error, too."""
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

    What is not an ordinary file, such as ``/dev/stdout``, is written to as it is; of a link, the
    file it leads to is replaced.
    """
    try:
        if path.exists() and not path.is_file():
            yield path
            return
        target = path.resolve()
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


class Field(NamedTuple):
    """An array in a file: its dimensions, its type, and the range of its values."""

    dimensions: tuple[str, ...]
    dtype: str = "f8"
    least: float = -inf
    most: float = inf
    finite: bool = True

    def check_type(self, name: str, dtype: np.dtype[Any]) -> None:
        """Refuse numbers of another kind; their width may differ if the values fit."""
        kinds = "f" if self.dtype[0] == "f" else "iu"
        require(dtype.kind in kinds, f"{name!r} has the wrong type")

    def check_shape(self, name: str, shape: tuple[int, ...], sizes: dict[str, int]) -> None:
        """Refuse another shape than that of ``sizes``, which learns the dimensions it lacks."""
        known = dict(zip(self.dimensions, shape, strict=False))
        wanted = tuple(sizes.setdefault(d, known.get(d, -1)) for d in self.dimensions)
        require(wanted == shape, f"{name!r} has the shape {shape} and not {wanted}")

    def take(self, name: str, values: NDArray[Any]) -> NDArray[Any]:
        """The values in the type of the field, if they are in its range."""
        least, most = self.least, self.most
        if self.dtype[0] != "f":
            held = np.iinfo(self.dtype)
            least, most = max(least, held.min), min(most, held.max)
        is_within = are_within(values, least, most, finite=self.finite)
        require(is_within, f"{name!r} has values out of range")
        return np.asarray(values, dtype=self.dtype, order="C")


def are_within(values: NDArray[Any], least: float, most: float, *, finite: bool = True) -> bool:
    """Whether all values are in a range; those that are not finite are in any, if they may be."""
    is_finite = np.isfinite(values)
    if finite and not is_finite.all():
        return False
    own = values if finite else values[is_finite]
    return not own.size or bool(own.min() >= least and own.max() <= most)


def checked_arrays(
    arrays: Mapping[str, NDArray[Any]], fields: Mapping[str, Field], sizes: dict[str, int]
) -> dict[str, NDArray[Any]]:
    """The arrays of these fields and no others; a ValueError says what is wrong with them."""
    for name in arrays:
        require(name in fields, f"{name!r} is not known")
    taken = {}
    for name, field in fields.items():
        require(name in arrays, f"{name!r} is missing")
        field.check_type(name, arrays[name].dtype)
        field.check_shape(name, arrays[name].shape, sizes)
        taken[name] = field.take(name, arrays[name])
    return taken


def check_like(name: str, array: NDArray[Any], own: NDArray[Any]) -> None:
    """Refuse an array that cannot take the place of ``own``."""
    require(array.dtype == own.dtype, f"{name!r} has the wrong type")
    require(array.shape == own.shape, f"{name!r} has the shape {array.shape} and not {own.shape}")


def digest_of(content: bytes) -> bytes:
    """The checksum of a file's content."""
    return hashlib.sha256(content).hexdigest().encode()


def read_content(path: Path, kind: type[OutpointError]) -> bytes:
    """All bytes of a file; where there is none to be read, an error of this ``kind``."""
    try:
        if path.exists() and not path.is_file():
            raise kind(f"{path} is not a file.")
        return path.read_bytes()
    except FileNotFoundError:
        raise kind(f"there is no file {path}.") from None
    except OSError as error:
        raise kind(f"cannot read {path}: {error.strerror}.") from None
    except MemoryError:
        raise kind(f"{path} is larger than the memory there is.") from None


@contextmanager
def unpacking(path: Path, kind: type[OutpointError], what: str) -> Iterator[None]:
    """Around what makes sense of a file's bytes: whatever fails says that it is not ``what``.

    A file that somebody made can fail anywhere in the libraries that read it.
    """
    try:
        yield
    except kind:
        raise
    except MemoryError:
        raise kind(f"{path} needs more memory than there is.") from None
    except Exception as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise kind(f"{path} is not {what} of outpoint ({reason}).") from None

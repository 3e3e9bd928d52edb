"""What outpoint writes for itself and reads back: one kind of file, one reader, one set of checks.

Posteriors, checkpoints, the identity of a run and kept scores are sealed files: a NumPy ``.npz``
archive of arrays and a ``header.json``, and ends with the SHA-256 of everything before it. NumPy
reads such files, and so does whatever reads zip archives. They depend on nothing but their content,
so that equal posteriors are equal files. Checkpoints are stored as they are, as a run writes one
every few seconds; what is written once is deflated.

Any of these files may be damaged, or forged. Nothing in them is pickled, and no array is unpacked
before its size has been compared with the size of the file. Every array is declared as a `Field`,
with its dimensions, its type and its range; this module has the one check of such arrays, and the
one wording of what is wrong with them. What only the reader knows, such as which codes stand for
parent sets, is checked where it is read.
"""

import hashlib
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import inf, isfinite, prod
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import OutpointError, require

Arrays = Mapping[str, NDArray[Any]]

HEADER, SUFFIX = "header.json", ".npy"
ITSELF = "outpoint"
"""Where the header says what kind of file it is in, and of which format."""

SEAL = b"outpoint sha256 "
"""How the comment at the end of an archive begins; the checksum of all before it follows."""

SEALED_BYTES = len(SEAL) + 64
MOST_SHORT = 1 << 31
"""Bytes of an array that the usual entry of an archive can hold."""

ARCHIVE = b"PK"
EARLIER = (b"\x89HDF\r\n\x1a\n", b"outpoint checkpoint 1\n")
"""How files of earlier versions begin."""

LEVEL = 4
"""Level of deflating: more takes twice as long and saves a hundredth."""

MOST_UNPACKED = 1100
"""Deflated bytes become at most 1,032 times as many."""

ALWAYS_ALLOWED = 1 << 28
"""Bytes of memory that a file may always ask for, however small it is."""

ROUNDING = 1e-6
"""How far another order of summation, or another processor, may take a number from ours."""


class Kind(NamedTuple):
    """What a sealed file is: its name and format, and what is said where it cannot be read.

    ``again`` says how to make such a file again.
    """

    name: str
    format: int
    error: type[OutpointError]
    again: Callable[[], str]
    is_packed: bool = False


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
        """Refuse a shape that differs from ``sizes``, to which dimensions it lacks are added."""
        known = dict(zip(self.dimensions, shape, strict=False))
        wanted = tuple(sizes.setdefault(d, known.get(d, -1)) for d in self.dimensions)
        require(wanted == shape, f"{name!r} has the shape {shape} and not {wanted}")

    def take(self, name: str, values: NDArray[Any]) -> NDArray[Any]:
        """The values in the type of the field; refuses values out of its range."""
        least, most = self.least, self.most
        if self.dtype[0] != "f":
            held = np.iinfo(self.dtype)
            least, most = max(least, held.min), min(most, held.max)
        is_within = are_within(values, least, most, finite=self.finite)
        require(is_within, f"{name!r} has values out of range")
        return np.asarray(values, dtype=self.dtype, order="C")


Fields = Mapping[str, Field]


def real(*dimensions: str) -> Field:
    """Finite numbers."""
    return Field(dimensions)


def probability(*dimensions: str) -> Field:
    """Numbers from 0 to 1, but for rounding."""
    return Field(dimensions, least=-ROUNDING, most=1.0 + ROUNDING)


def count(*dimensions: str, least: int = 0) -> Field:
    """Whole numbers from ``least`` on."""
    return Field(dimensions, "i8", least)


def code(*dimensions: str) -> Field:
    """Numbers of nodes, or codes of parent sets."""
    return Field(dimensions, "i4")


def bit(*dimensions: str) -> Field:
    """Zeros and ones."""
    return Field(dimensions, "u1", 0, 1)


class _Place(NamedTuple):
    """Where an array is in an archive, and what it says of itself."""

    member: ZipInfo
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def n_bytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize


class Content:
    """What an opened file holds. Anything unexpected raises a ValueError that says what."""

    def __init__(self, archive: ZipFile, n_bytes: int) -> None:
        self._archive = archive
        self._allowed = max(ALWAYS_ALLOWED, MOST_UNPACKED * n_bytes)
        members = _checked_members(archive, n_bytes)
        self.header: dict[str, Any] = _read_header(archive, members.pop(HEADER, None))
        self._places = {
            name.removesuffix(SUFFIX): self._look(member) for name, member in members.items()
        }
        self.sizes: dict[str, int] = {}
        """The dimensions by name, known in advance or from the fields looked at so far."""

    def __contains__(self, name: str) -> bool:
        """Whether there is an array of this name."""
        return name in self._places

    def number(self, name: str, least: float = -inf, most: float = inf) -> float:
        """A finite number of the header that is in a range."""
        require(name in self.header, f"{name!r} is missing")
        value = self.header[name]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        require(is_number, f"{name!r} is not a number")
        require(least <= value <= most, f"{name!r} is out of range")
        return float(value)

    def read(self, fields: Fields, made: Sequence[tuple[str, ...]] = ()) -> dict[str, NDArray[Any]]:
        """The arrays of these fields; types, shapes and sizes are compared before any is unpacked.

        ``made`` are the dimensions of arrays of numbers that will be made from them.
        """
        for name, field in fields.items():
            require(name in self, f"{name!r} is missing")
            field.check_type(name, self._places[name].dtype)
            field.check_shape(name, self._places[name].shape, self.sizes)
        needed = sum(self._places[name].n_bytes for name in fields)
        needed += sum(8 * prod(self.sizes[d] for d in own) for own in made)
        require(needed <= self._allowed, "its arrays are larger than the file can hold")
        return {name: field.take(name, self._unpacked(name)) for name, field in fields.items()}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays as they are, for a reader that compares them with its own."""
        needed = sum(place.n_bytes for place in self._places.values())
        require(needed <= self._allowed, "its arrays are larger than the file can hold")
        return {name: self._unpacked(name) for name in self._places}

    def _look(self, member: ZipInfo) -> _Place:
        """What an array in NumPy's own format says of itself, compared with its size."""
        with self._archive.open(member) as file:
            version = np.lib.format.read_magic(file)
            require(version == (1, 0), f"an array has the version {version}")
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
            place = _Place(member, shape, dtype)
            is_whole = place.n_bytes == member.file_size - file.tell()
        require(is_whole and not dtype.hasobject, f"{member.filename!r} does not have its size")
        return place

    def _unpacked(self, name: str) -> NDArray[Any]:
        with self._archive.open(self._places[name].member) as file:
            return np.lib.format.read_array(file, allow_pickle=False)


def _checked_members(archive: ZipFile, n_bytes: int) -> dict[str, ZipInfo]:
    """The members of an archive by name; refuses unusual, oversized and repeated ones."""
    members = archive.infolist()
    for one in members:
        is_usual = one.compress_type in (ZIP_STORED, ZIP_DEFLATED) and not one.flag_bits & 1
        require(is_usual, f"{one.filename!r} is stored in an unusual way")
        can_be = one.file_size <= MOST_UNPACKED * one.compress_size
        require(can_be, f"{one.filename!r} is larger than the file can hold")
    n_packed = sum(one.compress_size for one in members)
    require(n_packed <= n_bytes, "its arrays are larger than the file can hold")
    found = {one.filename: one for one in members}
    require(len(found) == len(members), "an array occurs twice")
    return found


def _read_header(archive: ZipFile, member: ZipInfo | None) -> dict[str, Any]:
    if member is None:
        raise ValueError(f"{HEADER!r} is missing")
    require(member.file_size <= ALWAYS_ALLOWED, "its header is too long")
    header = parse(archive.read(member).decode())
    require(isinstance(header, dict), "its header is not a table")
    return dict(header)


def parse(text: str) -> Any:
    """JSON without numbers that are not finite."""

    def finite(word: str) -> float:
        require(isfinite(float(word)), f"{word} is not a finite number")
        return float(word)

    try:
        return json.loads(text, parse_float=finite, parse_constant=finite)
    except RecursionError:
        raise ValueError("its description is nested too deeply") from None


def write_sealed(file: BinaryIO, kind: Kind, header: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a sealed file; it is made in memory, so that it is written to disk as a whole."""
    itself = {"kind": kind.name, "format": kind.format}
    text = json.dumps({ITSELF: itself, **header}, allow_nan=False)
    method = ZIP_DEFLATED if kind.is_packed else ZIP_STORED
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", method, compresslevel=LEVEL) as archive:
        archive.comment = bytes(SEALED_BYTES)
        with archive.open(HEADER, "w") as member:
            member.write(text.encode())
        for name, array in arrays.items():
            with archive.open(name + SUFFIX, "w", force_zip64=array.nbytes >= MOST_SHORT) as member:
                np.lib.format.write_array(member, np.asarray(array, order="C"), allow_pickle=False)
    content = buffer.getbuffer()
    content[-SEALED_BYTES:] = SEAL + digest_of(content[:-SEALED_BYTES])
    file.write(content)


@contextmanager
def opened_sealed(path: Path, kind: Kind) -> Iterator[Content]:
    """The content of a file of this kind; whatever is wrong with it is said in one sentence.

    A file that somebody made can fail anywhere in the libraries that read it.
    """
    content = _unsealed(path, kind)
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            found = Content(archive, len(content))
            _check_kind(found, path, kind)
            yield found
    except kind.error:
        raise
    except MemoryError:
        raise kind.error(f"{path} needs more memory than there is.") from None
    except Exception as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise kind.error(f"{path} is not a complete {kind.name} of outpoint ({reason}).") from None


def _unsealed(path: Path, kind: Kind) -> bytes:
    """All bytes of a file; refuses one that is not what was written."""
    content = _read_content(path, kind.error)
    if content.startswith(EARLIER):
        raise kind.error(f"{path} was written by an earlier version of outpoint: {kind.again()}.")
    sealed, seal = memoryview(content)[:-SEALED_BYTES], content[-SEALED_BYTES:]
    if not content.startswith(ARCHIVE):
        raise kind.error(f"{path} is not a {kind.name} of outpoint.")
    if not seal.startswith(SEAL):
        raise kind.error(
            f"{path} is not a {kind.name} of outpoint, or damaged, as its end is missing: "
            f"{kind.again()}."
        )
    if seal != SEAL + digest_of(sealed):
        raise kind.error(f"{path} is damaged, as its checksum does not match: {kind.again()}.")
    return content


def _read_content(path: Path, error: type[OutpointError]) -> bytes:
    """All bytes of a file; where there is none to be read, an error of this kind."""
    try:
        if path.exists() and not path.is_file():
            raise error(f"{path} is not a file.")
        return path.read_bytes()
    except FileNotFoundError:
        raise error(f"there is no file {path}.") from None
    except OSError as failure:
        raise error(f"cannot read {path}: {failure.strerror}.") from None
    except MemoryError:
        raise error(f"{path} is larger than the memory there is.") from None


def _check_kind(content: Content, path: Path, kind: Kind) -> None:
    """Refuse other files of outpoint, and those of other versions."""
    itself = content.header.pop(ITSELF, None)
    if not isinstance(itself, dict) or itself.get("kind") != kind.name:
        raise kind.error(f"{path} is not a {kind.name} of outpoint.")
    if itself.get("format") != kind.format:
        raise kind.error(
            f"{path} has format {itself.get('format')!r} of another version of outpoint: "
            f"{kind.again()}."
        )


def digest_of(content: bytes | memoryview) -> bytes:
    """The checksum of a file's content."""
    return hashlib.sha256(content).hexdigest().encode()


def are_within(values: NDArray[Any], least: float, most: float, *, finite: bool = True) -> bool:
    """Whether all values are in a range; without ``finite``, infinite ones and NaN pass."""
    is_finite = np.isfinite(values)
    if finite and not is_finite.all():
        return False
    own = values if finite else values[is_finite]
    return not own.size or bool(own.min() >= least and own.max() <= most)


def checked_arrays(
    arrays: Arrays, fields: Fields, sizes: dict[str, int]
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

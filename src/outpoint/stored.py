"""What all files share that outpoint writes for itself and reads back.

Posteriors, checkpoints, kept scores and the identity of a run lie in two kinds of files:
:mod:`outpoint.posterior.sealed` and :mod:`outpoint.runs.checkpoint` say why. Either may be damaged
or made by somebody. Both are read as bytes with one checksum, and both declare their arrays as a
`Field` each; here is the one check of such arrays, and the one wording of what is wrong with them.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import OutpointError, require


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

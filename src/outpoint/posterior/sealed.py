"""Sealed files: a netCDF file (HDF5, compressed) and behind its end a checksum.

Posteriors are kept like this because other programs read netCDF. HDF5 itself notices little of what
can happen to a file, and a file that somebody made may say anything. What is read from one is
therefore asked for by name, type and dimensions, and compared with the size of the file before
memory is taken: neither links into other files nor arrays that unpack to more than any honest ones
are followed.

The arrays in the file of a posterior: their dimensions, types and ranges.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import inf, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import DataError, require
from outpoint.files import Field, are_within, digest_of, read_content, unpacking
from outpoint.posterior.checks import ROUNDING

if TYPE_CHECKING:
    import h5py  # type: ignore[import-untyped]

HDF5 = b"\x89HDF\r\n\x1a\n"
"""How every such file begins."""

SEAL = b"\noutpoint sha256 "
"""What follows is the checksum of all before it; readers of HDF5 do not look beyond the end."""

MOST_UNPACKED = 1100
"""Deflated bytes become at most 1,032 times as many."""

ALWAYS_ALLOWED = 1 << 28
"""Bytes of memory that a file may always ask for, however small it is."""

DEFLATE, SHUFFLE = 1, 2


class Content:
    """What an opened file holds. Anything unexpected raises a ValueError that says what."""

    def __init__(self, file: h5py.File, n_bytes: int) -> None:
        self._file = file
        self._n_bytes = n_bytes
        self.sizes: dict[str, int] = {}
        """The dimensions by name, known in advance or from the fields looked at so far."""

    def __contains__(self, name: str) -> bool:
        """Whether the file has it, in itself: links to other places are not followed."""
        import h5py

        return isinstance(self._file.get(name, getlink=True, default=None), h5py.HardLink)

    def text(self, name: str) -> str:
        """A text, which is stored as its bytes: HDF5 can hang where its own texts are damaged."""
        return self.read({name: Field((f"{name}_byte",), "u1")})[name].tobytes().decode()

    def has_number(self, name: str) -> bool:
        """Whether there is such an attribute."""
        return name in self._file.attrs

    def number(self, name: str, least: float = -inf, most: float = inf) -> float:
        """An attribute that is a finite number in a range."""
        import h5py

        if not self.has_number(name):
            raise ValueError(f"{name!r} is missing")
        stored = h5py.h5a.open(self._file.id, name.encode())
        if prod(stored.shape) != 1 or stored.dtype.kind not in "iuf":
            raise ValueError(f"{name!r} is not a number")
        value = np.asarray(self._file.attrs[name]).reshape(())
        require(are_within(value, least, most), f"{name!r} is out of range")
        return value.item()

    def read(
        self, fields: Mapping[str, Field], made: Sequence[tuple[str, ...]] = ()
    ) -> dict[str, NDArray[Any]]:
        """All these arrays; their shapes are compared first, and their sizes with the file's.

        ``made`` are the dimensions of arrays of numbers that will be made of them.
        """
        stored = {name: self._look(name, field) for name, field in fields.items()}
        n_packed = sum(array.id.get_storage_size() for array in stored.values())
        needed = sum(array.nbytes for array in stored.values())
        needed += sum(8 * prod(self.sizes[d] for d in own) for own in made)
        if n_packed > self._n_bytes or needed > self._allowed:
            raise ValueError("its arrays are larger than the file can hold")
        return {
            name: field.take(name, np.asarray(stored[name][()])) for name, field in fields.items()
        }

    @property
    def _allowed(self) -> int:
        return max(ALWAYS_ALLOWED, MOST_UNPACKED * self._n_bytes)

    def _look(self, name: str, field: Field) -> h5py.Dataset:
        """The array where it is stored, if it is what the field says."""
        import h5py

        if name not in self:
            raise ValueError(f"{name!r} is missing")
        array = self._file[name]
        if not isinstance(array, h5py.Dataset):
            raise ValueError(f"{name!r} is not an array")
        if array.is_virtual or array.external or not _has_usual_filters(array):
            raise ValueError(f"{name!r} is stored in an unusual way")
        field.check_type(name, array.dtype)
        field.check_shape(name, array.shape, self.sizes)
        chunk = prod(array.chunks or ()) * array.dtype.itemsize
        if chunk > self._allowed or array.nbytes > MOST_UNPACKED * array.id.get_storage_size():
            raise ValueError(f"{name!r} is larger than the file can hold")
        return array


def _has_usual_filters(array: h5py.Dataset) -> bool:
    """Whether values are deflated at most once."""
    made = array.id.get_create_plist()
    filters = [made.get_filter(i)[0] for i in range(made.get_nfilters())]
    return len(set(filters)) == len(filters) and set(filters) <= {DEFLATE, SHUFFLE}


@contextmanager
def opened(path: Path) -> Iterator[Content]:
    """The content of a file with a matching checksum; whatever is wrong becomes a DataError."""
    import h5py

    content = _unsealed(path)
    if not content.startswith(HDF5):
        raise DataError(f"{path} is not a posterior of outpoint.")
    complete = "a complete posterior"
    with unpacking(path, DataError, complete), h5py.File(io.BytesIO(content), "r") as file:
        yield Content(file, len(content))


def _unsealed(path: Path) -> bytes:
    content, seal, digest = read_content(path, DataError).rpartition(SEAL)
    if not seal:
        raise DataError(f"{path} is not a posterior of outpoint, or not all of it.")
    if digest_of(content) + b"\n" != digest:
        raise DataError(f"{path} is damaged: its checksum does not match.")
    return content


def write_sealed(
    path: Path, arrays: dict[str, Any], texts: dict[str, str], numbers: dict[str, float]
) -> None:
    """Write a sealed file; HDF5 works in memory, as on a full disk it would crash."""
    import h5netcdf  # type: ignore[import-untyped]
    import xarray as xr
    from xarray.backends import H5NetCDFStore

    coded = {
        name: ((f"{name}_byte",), np.frombuffer(text.encode(), dtype=np.uint8))
        for name, text in texts.items()
    }
    dataset = xr.Dataset({**arrays, **coded}, attrs=numbers)
    packed = {"zlib": True, "complevel": 4, "shuffle": True}
    encoding = {name: packed for name, array in dataset.items() if array.ndim > 1 and array.size}
    buffer = io.BytesIO()
    with h5netcdf.File(buffer, "w") as file:
        dataset.dump_to_store(H5NetCDFStore(file), encoding=encoding)
    content = buffer.getvalue()
    path.write_bytes(content + SEAL + digest_of(content) + b"\n")


def _real(*dimensions: str) -> Field:
    return Field(dimensions)


def _probability(*dimensions: str) -> Field:
    return Field(dimensions, least=-ROUNDING, most=1.0 + ROUNDING)


def _count(*dimensions: str, least: int = 0) -> Field:
    return Field(dimensions, "i8", least)


def _code(*dimensions: str) -> Field:
    return Field(dimensions, "i4")


def _bit(*dimensions: str) -> Field:
    return Field(dimensions, "u1", 0, 1)


RECORD_FIELDS = {
    "codes": _code("chain", "draw", "node"),
    "log_score": _real("chain", "draw"),
    "log_weight": _real("chain", "draw"),
    "edge_batches": _probability("chain", "batch", "node", "candidate"),
    "edges": _probability("chain", "node", "candidate"),
    "outside_batches": _probability("chain", "outside_batch", "outside_edge"),
    "outside_edges": _probability("chain", "outside_edge"),
    "best_code": _code("chain", "node"),
    "best_log_score": _real("chain"),
    "attempts": _count("chain", "move"),
    "accepted": _count("chain", "move"),
    "start_code": _code("chain", "node"),
    "power": _probability("chain", "replica")._replace(finite=False),
    "swap_attempts": _count("chain", "pair"),
    "swap_accepted": _count("chain", "pair"),
    "round_trips": _count("chain"),
    "hot_log_weight": _real("chain"),
    "hot_spread": _real("chain")._replace(least=0.0),
    "hot_batches": _real("chain", "hot_batch"),
    "n_steps": _count("chain"),
    "thin": _count("chain", least=1),
}
RECORD_SCALARS: dict[str, Any] = {
    "best_log_score": float,
    "round_trips": int,
    "hot_log_weight": float,
    "hot_spread": float,
    "n_steps": int,
    "thin": int,
}
SINCE_BATCHES = ("hot_batches",)
"""Fields that files of earlier versions do not have."""

CODES = ("best_code", "start_code")
CANDIDATES = {"candidates": _code("node", "candidate")}
OUTSIDE_FIELDS = {
    "outside_pairs": _code("outside_edge", "end"),
    "outside_members": Field(("outside_set", "member"), "i2"),
}
MISSING_MASS = {"missing_mass": _probability("node")}
"""What files have if it is known; those of earlier versions do not."""

HOLES_FIELDS = {
    "holes_values": _real("row", "node")._replace(finite=False),
    "holes_tables": _real("chain", "table", "cell"),
    "holes_numbers": _count("table"),
    "holes_squares": _probability("chain", "node", "candidate"),
    "holes_ancestors": _probability("chain", "parent", "child"),
}
"""What files of posteriors of tables with missing values have besides."""

MADE = (
    ("chain", "outside_batch", "node", "node"),
    ("chain", "node", "node"),
    ("chain", "node", "node"),
)
"""Arrays of numbers that a posterior makes of the records."""

SOLUTION_FIELDS = {
    "edges": _probability("parent", "child"),
    "ancestors": _probability("parent", "child"),
    "log_parent_sets": Field(("node", "parent_set"), most=ROUNDING, finite=False),
    "best_adjacency": _bit("parent", "child"),
    "dags": _bit("draw", "parent", "child"),
    "log_scores": _real("draw"),
}
SET_FIELDS = {
    "set_child": _code("set"),
    "set_members": Field(("set", "set_member"), "i2"),
    "set_log_probability": Field(("set",), most=ROUNDING),
}
PARTS_FIELDS = {
    **{name: field for name, field in SOLUTION_FIELDS.items() if name != "log_parent_sets"},
    "drawn_ancestors": _bit("parent", "child"),
    "part_size": _code("part"),
    **SET_FIELDS,
}
PARTLY_FIELDS = {
    "exact_edges": _probability("parent", "child"),
    "part_size": _code("part"),
    "sampled_size": _code("sampled_part"),
    "part_log_score": _real("chain", "draw"),
    **SET_FIELDS,
}
"""What a posterior with exact parts has beside the records of its chains."""

MODEL_FIELDS = {
    "model_factor": _real("group", "column", "other_column"),
    "model_degrees_of_freedom": _real("group"),
    "model_group": _real("node"),
    "model_owner": _real("column"),
    "model_scales": _real("node")._replace(least=0.0),
    "model_standardized": Field((), least=0, most=1),
}

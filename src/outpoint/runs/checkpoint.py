"""Checkpoint files: arrays and a header, replaced at once, refused if anything in them is wrong.

A file starts with a line that names the format and a line with the SHA-256 of the rest, which is a
NumPy ``.npz`` archive without pickled objects: a run writes such files every few seconds, and NumPy
does so in a fraction of the time that netCDF takes. A file is written beside its place, flushed to
the disk and renamed, so that a crash at any moment leaves the old file or the new one.
"""

import io
import json
import os
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import CheckpointError
from outpoint.files import digest_of, read_content, unpacking
from outpoint.naming import option
from outpoint.signals import deferred_signals

FORMAT = b"outpoint checkpoint 1\n"
HEADER = "header"


def write_checkpoint(
    path: Path, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Replace the file at ``path``; what was there before stays if writing fails.

    Signals wait: an archive that is interrupted hides that behind errors of its own.
    """
    with deferred_signals():
        _write(path, header, arrays)


def _write(path: Path, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    buffer = io.BytesIO()
    text = np.frombuffer(json.dumps(header, sort_keys=True).encode(), dtype=np.uint8)
    np.savez(buffer, allow_pickle=False, **{HEADER: text, **arrays})
    payload = buffer.getvalue()
    digest = digest_of(payload) + b"\n"
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(beside, "wb") as file:
            file.writelines((FORMAT, digest, payload))
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    flush_directory(path.parent)


def read_checkpoint(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a file; damaged and foreign files are refused."""
    content = read_content(path, CheckpointError)
    if not content.startswith(FORMAT):
        raise CheckpointError(f"{path} is not a checkpoint of this version of outpoint.")
    digest, _, payload = content[len(FORMAT) :].partition(b"\n")
    if digest_of(payload) != digest:
        raise CheckpointError(
            f"{path} is damaged (its checksum does not match): start the run anew with "
            f"{option('overwrite', True)}."
        )
    with unpacking(path, CheckpointError, "a checkpoint"):
        return _unpacked(payload)


def _unpacked(payload: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of an archive, which is not compressed and can hold no more than it is."""
    with ZipFile(io.BytesIO(payload)) as archive:
        members = archive.infolist()
        if any(one.compress_type != ZIP_STORED for one in members):
            raise ValueError("it is compressed")
        if sum(one.file_size for one in members) > len(payload):
            raise ValueError("its arrays are larger than the file")
        arrays = {one.filename.removesuffix(".npy"): _array(archive.read(one)) for one in members}
    header = json.loads(arrays.pop(HEADER).tobytes())
    if not isinstance(header, dict):
        raise ValueError("its header is not a table")
    return header, arrays


def _array(content: bytes) -> NDArray[Any]:
    """An array in NumPy's own format, compared with its size before memory is taken."""
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"an array has the version {version}")
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.hasobject or prod(shape) * dtype.itemsize != len(content) - file.tell():
        raise ValueError("an array does not have its size")
    return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)


class explained:
    """Turns a failure to write below ``directory`` into a sentence that says what is left."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if not isinstance(error, OSError):
            return
        if not self._directory.exists():
            raise CheckpointError(
                f"{self._directory} has disappeared while the run was going on: start it anew."
            ) from None
        raise CheckpointError(
            f"cannot write to {self._directory} ({error.strerror or error}); the last good "
            f"state is kept: make room there and continue with {option('resume', True)}."
        ) from None


def flush_directory(directory: Path) -> None:
    """Make renamed files survive a loss of power, where the system can."""
    if os.name == "posix":
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

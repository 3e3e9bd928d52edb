"""Checkpoints: sealed files that are replaced at once: a crash leaves the old one or the new one.

A file is written beside its place, flushed to the disk and renamed.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from outpoint.errors import CheckpointError
from outpoint.naming import option
from outpoint.signals import deferred_signals
from outpoint.store import Arrays, Kind, opened_sealed, write_sealed

CHECKPOINT = Kind(
    "checkpoint",
    format=2,
    error=CheckpointError,
    again=lambda: f"start the run anew with {option('overwrite', True)}",
)


def write_checkpoint(path: Path, header: Mapping[str, Any], arrays: Arrays) -> None:
    """Replace the file at ``path``; what was there before stays if writing fails.

    Signals wait: an archive that is interrupted hides that behind errors of its own.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with deferred_signals():
        try:
            with open(beside, "wb") as file:
                write_sealed(file, CHECKPOINT, header, arrays)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        finally:
            beside.unlink(missing_ok=True)
        flush_directory(path.parent)


def read_checkpoint(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a file; damaged and foreign files are refused."""
    with opened_sealed(path, CHECKPOINT) as content:
        return content.header, content.arrays()


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

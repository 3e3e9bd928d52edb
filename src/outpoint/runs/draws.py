"""The kept draws of one chain, in memory or streamed to a file.

A file holds one fixed-size record per draw and is named after the steps between two of them. What
a record says depends only on its place, so writing it again after a crash, or by two workers at
once, changes nothing. A checkpoint knows how many records belong to it and their checksum.
"""

import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import CheckpointError
from outpoint.mcmc.trace import KeptDags
from outpoint.naming import option

BLOCK = 65536
"""Records that are copied or checked at a time."""


class MemoryDraws:
    """Draws held in memory."""

    def __init__(self, n_nodes: int) -> None:
        self._blocks = [
            KeptDags(np.zeros((0, n_nodes), dtype=np.int32), np.zeros(0), np.zeros(0)),
        ]

    def __len__(self) -> int:
        return sum(len(block.log_score) for block in self._blocks)

    def append(self, draws: KeptDags) -> None:
        """Add draws at the end."""
        self._blocks.append(draws)

    def halve(self) -> None:
        """Keep every second draw, beginning with the second."""
        self._blocks = [self.read().part(slice(1, None, 2))]

    def read(self) -> KeptDags:
        """All draws."""
        if len(self._blocks) > 1:
            self._blocks = [KeptDags(*map(np.concatenate, zip(*self._blocks, strict=True)))]
        return self._blocks[0]


class FileDraws:
    """Draws in the file that ``place`` names for ``thin``; ``flush`` brings them to the disk."""

    def __init__(self, place: Callable[[int], Path], n_nodes: int, thin: int) -> None:
        self._place = place
        self._thin = thin
        self._record = np.dtype(
            [("codes", "<i4", (n_nodes,)), ("log_score", "<f8"), ("log_weight", "<f8")]
        )
        self._count = 0
        self._checksum = 0
        self._outdated: list[Path] = []

    def __len__(self) -> int:
        return self._count

    @property
    def path(self) -> Path:
        """The file in use."""
        return self._place(self._thin)

    def append(self, draws: KeptDags) -> None:
        """Add draws at the end."""
        records = np.empty(len(draws.log_score), dtype=self._record)
        for name, values in zip(KeptDags._fields, draws, strict=True):
            records[name] = values
        if len(records):
            self._write(records)

    def halve(self) -> None:
        """Keep every second draw, in a new file; the old one stays until the next checkpoint."""
        old, count = self._map(), self._count
        self._outdated.append(self.path)
        self._thin *= 2
        self._count = self._checksum = 0
        for start in range(1, count, BLOCK):
            self._write(np.array(old[start : min(start + BLOCK, count) : 2]))

    def read(self) -> KeptDags:
        """All draws, read from the file when they are used."""
        records = self._map()
        return KeptDags(*(np.asarray(records[name]) for name in KeptDags._fields))

    def flush(self) -> dict[str, int]:
        """Bring everything to the disk; returns what ``restore`` needs to know."""
        if self._count:
            with open(self.path, "rb") as file:
                os.fsync(file.fileno())
        return {"thin": self._thin, "count": self._count, "checksum": self._checksum}

    def forget_outdated(self) -> None:
        """Delete files that no checkpoint needs any more."""
        for path in self._outdated:
            path.unlink(missing_ok=True)
        self._outdated.clear()

    def restore(self, known: dict[str, int]) -> None:
        """Go back to the draws that belong to a checkpoint."""
        self._thin, self._count, expected = known["thin"], known["count"], known["checksum"]
        size = self.path.stat().st_size if self.path.exists() else 0
        self._checksum = 0
        if size >= self._count * self._record.itemsize:
            records = self._map()
            for start in range(0, self._count, BLOCK):
                block = np.array(records[start : start + BLOCK])
                self._checksum = zlib.crc32(block.tobytes(), self._checksum)
        else:
            self._checksum = -1
        if self._checksum != expected:
            raise CheckpointError(
                f"{self.path} is damaged or missing: start the run anew with "
                f"{option('overwrite', True)}."
            )

    def _write(self, records: NDArray[Any]) -> None:
        content = records.tobytes()
        if not self._count:
            self.path.touch()  # later on a missing file is a failure, not a file to begin
        with open(self.path, "r+b") as file:
            file.seek(self._count * self._record.itemsize)
            file.write(content)
        self._checksum = zlib.crc32(content, self._checksum)
        self._count += len(records)

    def _map(self) -> NDArray[Any]:
        if not self._count:
            return np.zeros(0, dtype=self._record)
        return np.memmap(self.path, dtype=self._record, mode="r", shape=(self._count,))

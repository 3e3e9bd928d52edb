"""One chain of a run: advanced to a step, its draws taken away, saved and loaded.

Draws are kept in memory or streamed to a file. A file holds one fixed-size record per draw and is
named after the steps between two of them. What a record says depends only on its place, so writing
it again after a crash, or by two workers at once, changes nothing. A checkpoint knows how many
records belong to it and their checksum.
"""

import os
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import CheckpointError, require
from outpoint.mcmc import ROOM, SWEEP, Settings, make_chain
from outpoint.mcmc.restoring import check_draws
from outpoint.mcmc.trace import KeptDags
from outpoint.naming import option
from outpoint.progress import ChainStatus
from outpoint.runs.checkpoint import read_checkpoint, write_checkpoint
from outpoint.runs.directory import RunDirectory
from outpoint.runs.record import ChainRecord, record_chain
from outpoint.tables.view import TableView

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


SHOWN = 400
"""Most log scores that a status holds."""

PIECE_SECONDS = 0.1
"""Time between two looks at whether to stop."""


class ChainRunner:
    """A chain with the draws it has left so far, in memory or in the ``directory`` of its run."""

    def __init__(
        self, view: TableView, settings: Settings, index: int, directory: RunDirectory | None = None
    ) -> None:
        self._settings = settings
        self._index = index
        self._view = view
        self._chain = make_chain(view, settings, index)
        self._directory = directory
        n_nodes = len(settings.start)
        self._draws: MemoryDraws | FileDraws = (
            MemoryDraws(n_nodes)
            if directory is None
            else FileDraws(partial(directory.draws, index), n_nodes, self._chain.thin)
        )
        self._steps_per_second = 2000.0

    @property
    def step(self) -> int:
        """Steps taken, warm-up included."""
        return self._chain.step

    @property
    def status(self) -> ChainStatus:
        """How far the chain is."""
        log_scores = self._draws.read().log_score
        spacing = -(-len(log_scores) // SHOWN)
        shown = np.array(log_scores[::-spacing][::-1]) if spacing else log_scores
        return ChainStatus(self.step, shown, float(self._chain.trace.best_log_score[0]))

    @property
    def record(self) -> ChainRecord:
        """What the chain has recorded."""
        return record_chain(self._chain, self._draws.read())

    @property
    def n_warmup(self) -> int:
        """Steps that are not recorded."""
        return self._chain.n_warmup

    def shorten_warm_up(self, n_warmup: int) -> None:
        """Let the warm-up end at this step, unless it has ended already."""
        if n_warmup < self._chain.n_warmup:
            self._chain.shorten_warm_up(n_warmup)

    def advance_to(self, target: int, is_stopped: Callable[[], bool] = lambda: False) -> None:
        """Take the steps up to ``target``, in pieces; their lengths change nothing."""
        while self.step < target and not is_stopped():
            begun = perf_counter()
            n_steps = self._next_stop(target) - self.step
            self._chain.advance(n_steps)
            self._steps_per_second = n_steps / max(perf_counter() - begun, 1e-6)
            self._keep_draws()

    def _next_stop(self, target: int) -> int:
        """The end of the next piece: at whole sweeps, before the room for draws is used up."""
        room = min(ROOM, self._settings.n_draws) * self._chain.thin
        n_steps = min(int(self._steps_per_second * PIECE_SECONDS), room)
        stop = max(self.step // SWEEP + 1, (self.step + n_steps) // SWEEP) * SWEEP
        full = self._chain.n_warmup + 2 * self._settings.n_draws * self._chain.thin
        return min(stop, target, full if full > self.step else target)

    def _keep_draws(self) -> None:
        self._draws.append(self._chain.take_draws())
        if len(self._draws) == 2 * self._settings.n_draws:
            self._draws.halve()
            self._chain.thin *= 2

    # On disk

    @property
    def _path(self) -> Path:
        assert self._directory is not None
        return self._directory.chain(self._index)

    def save(self, run: str, seconds: float) -> None:
        """Write a checkpoint that belongs to ``run``, after ``seconds`` of sampling."""
        assert isinstance(self._draws, FileDraws)
        header = {
            "run": run,
            "chain": self._index,
            "seconds": seconds,
            "draws": self._draws.flush(),
        }
        write_checkpoint(self._path, header, self._chain.snapshot())
        self._draws.forget_outdated()

    def load(self, run: str) -> float:
        """Continue from the checkpoint, if there is one; returns its seconds of sampling."""
        if not self._path.exists():
            return 0.0
        assert isinstance(self._draws, FileDraws)
        header, arrays = read_checkpoint(self._path)
        if header.get("run") != run:
            raise CheckpointError(f"{self._path} belongs to another run: remove it.")
        if header.get("chain") != self._index:
            raise CheckpointError(f"{self._path} belongs to another chain: remove it.")
        try:
            return self._restore(header, arrays)
        except KeyError as error:
            raise CheckpointError(f"{self._path} has no {error}.") from None
        except (ValueError, TypeError, OverflowError, OSError) as error:
            raise CheckpointError(f"{self._path} does not fit this run ({error}).") from None

    def _restore(self, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> float:
        """Take over what a checkpoint says, if it can be true; returns its seconds of sampling."""
        assert isinstance(self._draws, FileDraws)
        self._chain.restore(arrays)
        known, seconds = header["draws"], header["seconds"]
        require(isinstance(known, dict), "its draws are not numbers")
        numbers = [known["thin"], known["count"], known["checksum"]]
        require(all(type(number) is int for number in numbers), "its draws are not numbers")
        require(known["thin"] == self._chain.thin, "its draws are thinned differently")
        require(0 <= known["count"] < 2 * self._settings.n_draws, "it has too many draws")
        require(type(seconds) in (int, float) and 0 <= seconds < inf, "its time is wrong")
        self._draws.restore(known)
        check_draws(self._view, self._draws.read())
        return float(seconds)

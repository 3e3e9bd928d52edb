"""One chain of a run: advanced to a step, its draws taken away, saved and loaded."""

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
from outpoint.progress import ChainStatus
from outpoint.runs.checkpoint import read_checkpoint, write_checkpoint
from outpoint.runs.directory import RunDirectory
from outpoint.runs.draws import FileDraws, MemoryDraws
from outpoint.runs.record import ChainRecord, record_chain
from outpoint.tables.view import TableView

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

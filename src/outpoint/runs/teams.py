"""Who runs the chains: threads of this process on one shared table, or workers that share a disk.

A team advances all chains to a step and waits. Whatever the team, the number of its members and
the lengths of the pieces, the same seed gives the same draws.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import CancelledError, Executor, Future
from concurrent.futures import wait as wait_for
from contextlib import AbstractContextManager, nullcontext, suppress
from threading import Event
from typing import Any, Protocol

import numpy as np

from outpoint.errors import CheckpointError, OutpointError
from outpoint.mcmc import Settings
from outpoint.naming import option
from outpoint.processors import n_threads, thread_pool
from outpoint.progress import ChainStatus
from outpoint.runs.checkpoint import explained
from outpoint.runs.directory import RunDirectory
from outpoint.runs.record import ChainRecord
from outpoint.runs.runner import ChainRunner
from outpoint.tables.view import TableView, open_view, save_view

ENDING = 10.0
"""Seconds that tasks have to end when they are told to."""


class Team(Protocol):
    """What runs the chains."""

    round_seconds: float
    seconds: float
    n_warmup: int

    @property
    def statuses(self) -> list[ChainStatus]:
        """How far each chain is."""

    def shorten_warm_up(self, n_warmup: int) -> None:
        """Let the warm-up of all chains end at this step."""

    def advance_to(self, target: int) -> None:
        """Take all chains to the step ``target``."""

    def save(self, seconds: float) -> None:
        """Write checkpoints after ``seconds`` of sampling, if there is a place for them."""

    def stop(self) -> None:
        """End what is going on, as soon as possible."""

    def records(self) -> list[ChainRecord]:
        """What the chains have recorded."""


class ThreadTeam:
    """Chains in threads; kernels release the interpreter's lock."""

    round_seconds = 1.0

    def __init__(
        self,
        view: TableView,
        settings: Settings,
        directory: RunDirectory | None = None,
        run: str = "",
    ) -> None:
        self._stopped = Event()
        self._directory = directory
        self._run = run
        self._runners = [
            ChainRunner(view, settings, index, directory) for index in range(settings.n_chains)
        ]
        loaded = [runner.load(run) for runner in self._runners] if directory else [0.0]
        self.seconds = max(loaded)
        self.n_warmup = min(runner.n_warmup for runner in self._runners)
        self._pool = thread_pool(min(settings.n_chains, n_threads()))
        self._futures: list[Future[None]] = []

    @property
    def statuses(self) -> list[ChainStatus]:
        """How far each chain is."""
        return [runner.status for runner in self._runners]

    def shorten_warm_up(self, n_warmup: int) -> None:
        """Let the warm-up of all chains end at this step."""
        self.n_warmup = n_warmup
        for runner in self._runners:
            runner.shorten_warm_up(n_warmup)

    def advance_to(self, target: int) -> None:
        """Take all chains to the step ``target``."""
        self._futures = [
            self._pool.submit(runner.advance_to, target, self._stopped.is_set)
            for runner in self._runners
        ]
        with self._explained():
            for future in self._futures:
                future.result()

    def save(self, seconds: float) -> None:
        """Write all checkpoints."""
        if self._directory is not None:
            with self._explained():
                for runner in self._runners:
                    runner.save(self._run, seconds)

    def stop(self) -> None:
        """Let every chain finish its piece."""
        self._stopped.set()
        wait_for(self._futures)
        self._pool.shutdown()

    def records(self) -> list[ChainRecord]:
        """What the chains have recorded."""
        return [runner.record for runner in self._runners]

    def _explained(self) -> AbstractContextManager[None]:
        return nullcontext() if self._directory is None else explained(self._directory.checkpoint)


class WorkerTeam:
    """Chains as tasks for an executor whose workers see ``directory``, such as a Dask cluster.

    A task is a function of the directory, the chain and the target: it maps the table into
    memory, loads the checkpoint, takes the steps and saves. A worker that dies loses nothing but
    the steps since the last checkpoint, and they will be the same when taken again.
    """

    round_seconds = 5.0

    def __init__(
        self,
        executor: Executor,
        view: TableView,
        settings: Settings,
        directory: RunDirectory,
        run: str,
    ) -> None:
        self._executor = executor
        self._settings = settings
        self._directory = directory
        self._run = run
        self._table = _digest(view)
        with explained(directory.checkpoint):
            directory.stop.unlink(missing_ok=True)
            save_view(view, directory.table(self._table))
        self._futures: list[Future[Any]] = []
        runners = [self._load(index) for index in range(settings.n_chains)]
        self._statuses = [runner.status for runner, _ in runners]
        self.seconds = max(seconds for _, seconds in runners)
        self.n_warmup = min(runner.n_warmup for runner, _ in runners)

    def shorten_warm_up(self, n_warmup: int) -> None:
        """Let the warm-up of all chains end at this step, which the next tasks are told."""
        self.n_warmup = n_warmup

    def advance_to(self, target: int) -> None:
        """Take all chains to the step ``target``."""
        self._futures = [
            self._executor.submit(
                advance_saved_chain,
                str(self._directory.path),
                self._table,
                self._settings,
                index,
                self._run,
                self.n_warmup,
                target,
                self.seconds,
            )
            for index in range(self._settings.n_chains)
        ]
        self._statuses = await_workers(self._futures)

    @property
    def statuses(self) -> list[ChainStatus]:
        """How far each chain is."""
        return self._statuses

    def save(self, seconds: float) -> None:
        """Note the time, in one of the checkpoints that the tasks have written."""
        self.seconds = seconds
        runner, _ = self._load(0)
        with explained(self._directory.checkpoint):
            runner.save(self._run, seconds)

    def stop(self) -> None:
        """Let every task finish its piece and save it; what does not answer is given up."""
        end_workers(self._futures, self._directory)

    def records(self) -> list[ChainRecord]:
        """What the chains have recorded."""
        return [self._load(index)[0].record for index in range(self._settings.n_chains)]

    def _load(self, index: int) -> tuple[ChainRunner, float]:
        return _load_runner(self._directory, self._table, self._settings, index, self._run)


def await_workers(futures: Sequence[Future[Any]]) -> list[Any]:
    """What the tasks return; if they have failed, an error says so in a sentence."""
    try:
        return [future.result() for future in futures]
    except (OutpointError, CancelledError):  # cancelled by an executor that has been left alone
        raise
    except Exception as error:
        raise CheckpointError(
            f"the workers have failed ({type(error).__name__}: {error}); the last good state "
            f"is kept: continue with {option('resume', True)}."
        ) from None


def end_workers(futures: Sequence[Future[Any]], directory: RunDirectory) -> None:
    """Let every task finish its piece and save it; what does not answer is given up."""
    if not all(future.done() for future in futures):
        with suppress(OSError):
            directory.stop.touch()
        wait_for(futures, timeout=ENDING)
    for future in futures:
        future.cancel()


def advance_saved_chain(
    directory: str,
    table: str,
    settings: Settings,
    index: int,
    run: str,
    n_warmup: int,
    target: int,
    seconds: float,
) -> ChainStatus:
    """Take a chain from its checkpoint to the step ``target``, and save it there."""
    place = RunDirectory(directory)
    runner, _ = _load_runner(place, table, settings, index, run)
    runner.shorten_warm_up(n_warmup)
    if runner.step < target:
        with explained(place.checkpoint):
            runner.advance_to(target, place.stop.exists)
            runner.save(run, seconds)
    return runner.status


def _load_runner(
    directory: RunDirectory, table: str, settings: Settings, index: int, run: str
) -> tuple[ChainRunner, float]:
    runner = ChainRunner(open_view(directory.table(table)), settings, index, directory)
    return runner, runner.load(run)


def _digest(view: TableView) -> str:
    """The name of a table by its content: a worker may remember another table from this place.

    Everything else in the view follows from these arrays.
    """
    digest = hashlib.sha256()
    for array in (view.candidates, view.dense, *view.outside):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:16]

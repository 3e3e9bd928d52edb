"""Who completes tables: threads of this process, or workers that share a disk.

A team has all chains of a run, takes them to a step and saves them. Whatever the team, the same
seed gives the same tables.
"""

from concurrent.futures import Executor, Future
from concurrent.futures import wait as wait_for
from threading import Event
from typing import Protocol

from outpoint.errors import CheckpointError
from outpoint.missing.chain import AugmentedChain
from outpoint.missing.setup import Setup
from outpoint.processors import thread_pool
from outpoint.runs import RunDirectory
from outpoint.runs.checkpoint import explained, read_checkpoint, write_checkpoint
from outpoint.runs.teams import await_workers, end_workers


class Team(Protocol):
    """Has chains, and takes them further, for about ``round_seconds`` at a time."""

    chains: list[AugmentedChain]
    round_seconds: float

    def advance_to(self, target: int) -> None:
        """Take all chains to the step ``target``."""

    def stop(self) -> None:
        """End what is going on, as soon as possible."""

    def save(self) -> None:
        """Write all chains to the directory of the run, if it has one."""


class ThreadTeam:
    """Chains in threads of this process."""

    round_seconds = 0.25

    def __init__(
        self, setup: Setup, n_threads: int, directory: RunDirectory | None, run: str
    ) -> None:
        self.chains = setup.make_chains(*range(setup.n_chains))
        self._directory, self._run = directory, run
        if directory is not None:
            for index, chain in enumerate(self.chains):
                _load(directory, run, index, chain)
        self._stopped = Event()
        self._pool = thread_pool(n_threads)
        self._futures: list[Future[None]] = []

    def advance_to(self, target: int) -> None:
        """Take all chains to the step ``target``."""
        self._futures = [
            self._pool.submit(chain.advance_to, target, self._stopped.is_set)
            for chain in self.chains
        ]
        for future in self._futures:
            future.result()

    def stop(self) -> None:
        """Let every chain finish its table."""
        self._stopped.set()
        wait_for(self._futures)
        self._pool.shutdown()

    def save(self) -> None:
        """Write all chains to the directory of the run, if it has one."""
        if self._directory is None:
            return
        with explained(self._directory.checkpoint):
            for index, chain in enumerate(self.chains):
                _save(self._directory, self._run, index, chain)


class WorkerTeam:
    """Chains as tasks for workers that see ``directory``, such as those of a Dask cluster.

    A task loads its chain, takes it further and saves it; the chains here follow. A worker that
    dies loses nothing but the tables since the last checkpoint, and they will be the same when
    they are completed again.
    """

    round_seconds = 5.0

    def __init__(self, setup: Setup, executor: Executor, directory: RunDirectory, run: str) -> None:
        self._setup, self._executor, self._directory, self._run = setup, executor, directory, run
        self.chains = setup.make_chains(*range(setup.n_chains))
        self._futures: list[Future[None]] = []
        with explained(directory.checkpoint):
            directory.stop.unlink(missing_ok=True)
        self._follow()

    def advance_to(self, target: int) -> None:
        """Take all chains to the step ``target``."""
        self._futures = [
            self._executor.submit(
                advance_saved,
                str(self._directory.path),
                self._setup,
                self._run,
                index,
                chain.n_warmup,
                target,
            )
            for index, chain in enumerate(self.chains)
        ]
        await_workers(self._futures)
        self._follow()

    def stop(self) -> None:
        """Let every task finish its table and save it; what does not answer is given up."""
        end_workers(self._futures, self._directory)
        self._follow()

    def save(self) -> None:
        """Do nothing, as the tasks have saved their chains."""

    def _follow(self) -> None:
        for index, chain in enumerate(self.chains):
            _load(self._directory, self._run, index, chain)


def advance_saved(
    directory: str, setup: Setup, run: str, index: int, n_warmup: int, target: int
) -> None:
    """Take a chain from its checkpoint to the step ``target``, and save it there."""
    place = RunDirectory(directory)
    [chain] = setup.make_chains(index)
    _load(place, run, index, chain)
    chain.n_warmup = min(n_warmup, chain.n_warmup)
    if chain.step < target:
        with explained(place.checkpoint):
            chain.advance_to(target, place.stop.exists)
            _save(place, run, index, chain)


def _save(directory: RunDirectory, run: str, index: int, chain: AugmentedChain) -> None:
    header = {"run": run, "chain": index}
    write_checkpoint(directory.chain(index), header, chain.snapshot())


def _load(directory: RunDirectory, run: str, index: int, chain: AugmentedChain) -> None:
    """Take a chain to where its checkpoint is, if there is one."""
    path = directory.chain(index)
    if not path.exists():
        return
    header, arrays = read_checkpoint(path)
    if header.get("run") != run or header.get("chain") != index:
        raise CheckpointError(f"{path} belongs to another run: remove it.")
    try:
        chain.restore(arrays)
    except KeyError as error:
        raise CheckpointError(f"{path} has no {error}.") from None
    except (ValueError, TypeError, OverflowError) as error:
        raise CheckpointError(f"{path} does not fit this run ({error}).") from None

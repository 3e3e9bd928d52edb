"""Tables tried two at a time, each in a forked process with limits.

The parent has imported everything, so that a table does not wait for that; it has computed
nothing, because threads do not survive a fork.
"""

import multiprocessing
import os
import resource
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.tables.trial import FAILED, LATE, ORDER, Step, try_table

FORK = multiprocessing.get_context("fork")
AT_ONCE = 2
LIMIT = 90.0
"""Seconds after which a command is ended."""

MEMORY = 12 * 2**30
"""Bytes of addresses that a process may use."""


class Job(NamedTuple):
    """A file to try, under a name."""

    key: str
    file: Path
    again: bool


class _Child:
    """A process that tries a file and tells what came of it."""

    def __init__(self, job: Job, limit: float) -> None:
        self.job = job
        self.facts: dict[str, Any] = {}
        self.steps: list[Step] = []
        self._limit = limit
        self._folder = tempfile.TemporaryDirectory()
        self.ear, mouth = FORK.Pipe(duplex=False)
        self._process: ForkProcess = FORK.Process(
            target=_work, args=(job, self._folder.name, mouth)
        )
        self._process.start()
        mouth.close()
        self._begun = time.monotonic()

    @property
    def left(self) -> float:
        """Seconds that the command under way has left."""
        return self._begun + self._limit - time.monotonic()

    def listen(self) -> bool:
        """Take what the process tells; whether it has ended."""
        try:
            told = self.ear.recv()
        except EOFError:
            self._process.join()
            if self._process.exitcode:
                why = (Path(self._folder.name) / "crash").read_text(errors="replace")
                said = f"ended with the code {self._process.exitcode}: {why.strip()[-2000:]}"
                self.steps.append(Step(self._under_way, FAILED, said=said))
            self._close()
            return True
        if isinstance(told, Step):
            self.steps.append(told)
        else:
            self.facts |= told
        self._begun = time.monotonic()
        return False

    def end(self) -> None:
        """End the process, and all that it has started."""
        os.killpg(self._process.pid or 0, signal.SIGKILL)
        self._process.join()
        self.steps.append(
            Step(self._under_way, LATE, self._limit, said=f"ended after {self._limit:.0f} s")
        )
        self._close()

    @property
    def _under_way(self) -> str:
        return ORDER[len(self.steps)]

    def _close(self) -> None:
        self.ear.close()
        self._folder.cleanup()


def try_all(
    jobs: Sequence[Job], *, at_once: int = AT_ONCE, limit: float = LIMIT
) -> Iterator[tuple[Job, dict[str, Any], list[Step]]]:
    """Try files, ``at_once`` at a time, and tell of each when it is done: the facts and steps."""
    waiting, running = list(reversed(jobs)), {}
    while waiting or running:
        while waiting and len(running) < at_once:
            child = _Child(waiting.pop(), limit)
            running[child.ear] = child
        ready = wait(list(running), timeout=max(0.0, min(c.left for c in running.values())))
        done = [ear for ear in ready if running[ear].listen()]  # type: ignore[index]
        for ear, child in running.items():
            if ear not in done and child.left <= 0:
                child.end()
                done.append(ear)
        for ear in done:
            child = running.pop(ear)  # type: ignore[arg-type]
            yield child.job, child.facts, child.steps


def _work(job: Job, folder: str, mouth: Connection) -> None:
    """Try a file in ``folder``; whatever the process says on its way out is kept there."""
    os.setsid()
    os.chdir(folder)
    with open("crash", "wb") as crash:
        os.dup2(crash.fileno(), 1)
        os.dup2(crash.fileno(), 2)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try_table(job.file, mouth.send, again=job.again)

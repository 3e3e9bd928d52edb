"""Dask clusters as executors: a scheduler at an address, or workers of our own on this machine.

Clusters lose workers, and their schedulers die. A lost worker is replaced by another; a cluster
without any, or one that does not answer, is given up after a while, with a sentence.
"""

from __future__ import annotations

import logging
import signal
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future, InvalidStateError
from contextlib import ExitStack, contextmanager, suppress
from threading import Event, Thread
from time import monotonic
from typing import Any

from outpoint.errors import CheckpointError, OptionError
from outpoint.naming import option, speak_in_flags, speaks_in_flags
from outpoint.processors import n_threads
from outpoint.signals import deferred_signals

RETRIES = 5
"""How often a task is tried again if its worker raised an error or died."""

CONNECTING = 5.0
"""Seconds that a scheduler has to answer."""

PATIENCE = 20.0
"""Seconds that a cluster may be without workers."""

PAUSE = 0.5
"""Seconds between two looks at the cluster."""

CLOSING = 2.0
"""Seconds that a client has to close its connection."""

LOGGERS = ("distributed", "tornado", "asyncio")
HERE = "127.0.0.1"


@contextmanager
def dask_executor(scheduler: str | None) -> Iterator[Executor]:
    """Workers of the cluster at ``scheduler``, or of a local one with a process per thread.

    A local cluster can be reached from this machine only, and has no dashboard.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise OptionError(
            f"{option('engine', 'dask')} needs dask.distributed: install it with pip install "
            "'outpoint[dask]'."
        ) from None
    with ExitStack() as stack:
        stack.enter_context(_silenced())
        if scheduler is None:
            with held_back():
                cluster = stack.enter_context(
                    LocalCluster(
                        n_workers=n_threads(),
                        threads_per_worker=1,
                        processes=True,
                        host=HERE,
                        dashboard_address=f"{HERE}:0",
                        scheduler_kwargs={"dashboard": False},
                        silence_logs=50,
                    )
                )
                client = stack.enter_context(Client(cluster, set_as_default=False))
                client.register_plugin(_manners())
        else:
            client = _connect(scheduler)
            stack.callback(client.close, timeout=CLOSING)
        with _watched(client, scheduler or "this machine") as pool:
            yield pool


class WatchedExecutor(Executor):
    """Tasks for a cluster that end, with an error, if the cluster is gone."""

    def __init__(self, client: Any) -> None:
        self._inner = client.get_executor(retries=RETRIES, pure=False)
        self._futures: weakref.WeakSet[Future[Any]] = weakref.WeakSet()
        self.failure: Exception | None = None

    def submit(self, fn: Callable[..., Any], /, *values: Any, **options: Any) -> Future[Any]:
        """Submit a task."""
        if self.failure is not None:
            raise self.failure
        future: Future[Any] = self._inner.submit(fn, *values, **options)
        self._futures.add(future)
        return future

    def fail(self, failure: Exception) -> None:
        """End all tasks with this error, and submit no more."""
        self.failure = failure
        for future in list(self._futures):
            with suppress(InvalidStateError):
                future.set_exception(failure)


@contextmanager
def _watched(client: Any, place: str) -> Iterator[WatchedExecutor]:
    """An executor for the tasks of a client, which fails when there is nobody to do them."""
    pool = WatchedExecutor(client)
    over, seen = Event(), Event()
    lost = CheckpointError(
        f"the Dask cluster at {place} has no workers any more, or does not answer; the last good "
        f"state is kept: continue with {option('resume', True)} when it is back."
    )
    none = OptionError(
        f"the Dask cluster at {place} has no workers: start some with 'dask worker ADDRESS'."
    )
    last = monotonic()

    def look() -> None:
        nonlocal last
        while not over.is_set():
            with suppress(Exception):  # whoever does not answer has no workers
                if client.nthreads():
                    seen.set()
                    last = monotonic()
            over.wait(PAUSE)

    def judge() -> None:
        while not over.wait(PAUSE):
            if monotonic() - last > PATIENCE:
                pool.fail(lost if seen.is_set() else none)
                seen.set()
                return

    for work in (look, judge):
        Thread(target=work, name=f"outpoint {work.__name__}", daemon=True).start()
    try:
        seen.wait()
        if pool.failure is not None:
            raise pool.failure
        yield pool
    except CancelledError:  # by the client, when it gives up
        raise lost from None
    finally:
        over.set()


def _connect(scheduler: str) -> Any:
    """A client of the cluster at an address; in a thread, as not all that answer are schedulers."""
    from distributed import Client

    outcome: list[Any] = []

    def connect() -> None:
        try:
            outcome.append(Client(scheduler, timeout=CONNECTING, set_as_default=False))
        except Exception as error:
            outcome.append(error)

    thread = Thread(target=connect, name="outpoint connect", daemon=True)
    thread.start()
    thread.join(2 * CONNECTING)
    found = outcome[0] if outcome else TimeoutError("it does not answer like a scheduler")
    if isinstance(found, Exception):
        raise OptionError(f"no Dask scheduler answers at {scheduler!r} ({found}).")
    return found


@contextmanager
def held_back() -> Iterator[None]:
    """Remember Ctrl-C and a hang-up until the processes that start here are running.

    A cluster that is interrupted in the middle of its start cannot be closed, and says so at
    length. Processes that start here never hear them: a terminal sends its signals to all.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    held = {signal.SIGINT, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    with deferred_signals():  # which come to other threads
        try:
            resource_tracker.ensure_running()  # here, as it lets Ctrl-C through to its thread
            signal.pthread_sigmask(signal.SIG_BLOCK, held)
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _silenced() -> Iterator[None]:
    """Keep Dask from writing to standard error what we say in one sentence."""
    known = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in LOGGERS]
    loggers = [logging.getLogger(name) for name in known]  # each may have a level of its own
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _manners() -> Any:
    """A plugin for workers on this machine: they ignore Ctrl-C, which this process deals with.

    Their messages name options as ours do.
    """
    from distributed import WorkerPlugin

    in_flags = speaks_in_flags()

    class Manners(WorkerPlugin):
        def setup(self, worker: Any) -> None:
            speak_in_flags(in_flags)
            for name in ("SIGINT", "SIGHUP"):
                if hasattr(signal, name):
                    signal.signal(getattr(signal, name), signal.SIG_IGN)

    return Manners()

"""Dask clusters as executors: a scheduler at an address, or workers of our own on this machine."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from typing import Any

from outpoint.errors import OptionError
from outpoint.kernels import n_threads

RETRIES = 5
"""How often a task is tried again if its worker raised an error or died."""


@contextmanager
def dask_executor(scheduler: str | None) -> Iterator[Executor]:
    """Workers of the cluster at ``scheduler``, or of a local one with a process per processor."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise OptionError(
            "engine 'dask' needs dask.distributed: install it with pip install 'outpoint[dask]'."
        ) from None
    with ExitStack() as stack:
        if scheduler is None:
            cluster = stack.enter_context(
                LocalCluster(
                    n_workers=n_threads(),
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=":0",
                    silence_logs=50,
                )
            )
            client = stack.enter_context(Client(cluster, set_as_default=False))
            client.register_plugin(_deaf_to_ctrl_c())
        else:
            try:
                client = stack.enter_context(Client(scheduler, timeout="20s", set_as_default=False))
            except (OSError, ValueError, TimeoutError) as error:
                raise OptionError(
                    f"no Dask scheduler answers at {scheduler!r} ({error})."
                ) from None
        yield client.get_executor(retries=RETRIES, pure=False)


def _deaf_to_ctrl_c() -> Any:
    """For workers on this machine: a terminal tells them of Ctrl-C too, but we decide on it."""
    from distributed import WorkerPlugin

    class DeafToCtrlC(WorkerPlugin):
        def setup(self, worker: Any) -> None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    return DeafToCtrlC()

"""How outpoint compiles and runs its numerical kernels.

Kernels are module-level functions of arrays, compiled on first use and cached on disk. They
release the interpreter lock, so plain threads run them side by side: :func:`run_chunked` is the
only parallel construct they need.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile ``function`` without the interpreter lock, strict floating point, cached on disk."""
    return cast(F, numba.njit(nogil=True, cache=True, error_model="numpy")(function))


def n_threads() -> int:
    """Threads to use: the processors this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_chunked(
    work: Callable[[int, int], Any],
    n_items: int,
    *,
    min_chunk: int = 1,
    chunks_per_thread: int = 4,
    done: Callable[[int], None] | None = None,
) -> None:
    """Call ``work(start, stop)`` over ``range(n_items)`` in chunks spread over all threads.

    ``done`` is told the size of each finished chunk, in the calling thread. The chunks must be
    independent; what they compute must not depend on where they are cut.
    """
    threads = n_threads()
    chunk = max(min_chunk, -(-n_items // (threads * chunks_per_thread)))
    spans = [(start, min(start + chunk, n_items)) for start in range(0, n_items, chunk)]
    if threads == 1 or len(spans) <= 1:
        for start, stop in spans:
            work(start, stop)
            if done is not None:
                done(stop - start)
        return
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(work, start, stop) for start, stop in spans]
        for future, (start, stop) in zip(futures, spans, strict=True):
            future.result()
            if done is not None:
                done(stop - start)

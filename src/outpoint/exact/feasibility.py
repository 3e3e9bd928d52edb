"""Whether the exact engine fits: its memory and time as functions of the number of nodes.

What ``method="auto"`` chooses depends on the problem, on the memory and the time that it was given,
and for the largest problems on whether the memory of the machine is enough, but never on what else
runs there: the same command means the same on every machine that is large enough. A run keeps its
method when it is resumed.
"""

import os
from pathlib import Path

from outpoint.errors import TooLargeError
from outpoint.naming import named, option
from outpoint.processors import n_threads

MAX_NODES = 28
MAX_AUTO_BEST_NODES = 22
"""Up to this number of nodes the best DAG is found exactly unless something else is asked for."""

MAX_AUTO_NODES = 21
"""``method="auto"`` is exact up to this number of nodes: half a minute and less than 2 GB at
most, where sampling usually takes longer."""

MAX_TOLD_NODES = 25
"""Up to this number of nodes it is worth saying what an exact run would take."""

SECONDS_PER_TERM = 4e-9
"""Processor seconds of an exact run, divided by 3 to the number of nodes, as measured."""

USED_THREADS = 8
"""Threads beyond which an exact run does not become quicker."""


def estimate_memory(n_nodes: int) -> int:
    """Bytes needed at the peak, by up to eight threads, to results written and draws made.

    Six doubles per node and parent set: the score, the maximum over subsets, mantissa and exponent
    of the sum over subsets, the probability, and a copy of it while results are written; and 24
    per set of nodes: two scaled sums, the partial sums of the first, and the threads' own tables.
    The program itself takes 150 MB.
    """
    per_parent_set = 6 * 8 * n_nodes * 2 ** (n_nodes - 1)
    per_node_set = 24 * 8 * 2**n_nodes
    return per_parent_set + per_node_set + 150 * 2**20


def estimate_seconds(n_nodes: int, threads: int) -> float:
    """Seconds of an exact run by ``threads`` threads that have a processor each."""
    return float(SECONDS_PER_TERM * 3.0**n_nodes / min(threads, USED_THREADS))


def is_quick(
    n_nodes: int,
    memory_limit: float | None = None,
    seconds: float | None = None,
    threads: int = 1,
) -> bool:
    """Whether the exact posterior takes less than sampling, and fits into memory and ``seconds``.

    Where it takes more than 1 GB, it must also fit into what is free.
    """
    if n_nodes > MAX_AUTO_NODES:
        return False
    needed = estimate_memory(n_nodes)
    if memory_limit is None and needed > 2**30:
        memory_limit = available_memory()
    is_in_time = seconds is None or estimate_seconds(n_nodes, threads) <= seconds
    return is_in_time and _is_within(needed, memory_limit)


def describe_cost(n_nodes: int, threads: int) -> str:
    """What an exact run takes: ``"about 12 minutes and 7 GB"``."""
    seconds, gigabytes = estimate_seconds(n_nodes, threads), estimate_memory(n_nodes) / 2**30
    units = {"hours": 3600.0, "minutes": 60.0, "seconds": 1.0}
    unit = next((name for name, size in units.items() if seconds >= 2 * size), "seconds")
    count = max(1.0, seconds / units[unit])
    return f"about {count:.0f} {unit} and {gigabytes:.1f} GB of memory"


def require_feasible(n_nodes: int, memory_limit: float | None = None) -> None:
    """Refuse a problem that does not fit into ``memory_limit`` bytes (default: what is free)."""
    limit = available_memory() if memory_limit is None else memory_limit
    needed = estimate_memory(n_nodes) if n_nodes <= MAX_NODES else None
    if needed is not None and (limit is None or needed <= limit):
        return
    size = describe_cost(n_nodes, n_threads()) if needed else "far too much memory"
    room = ""
    if limit is not None and needed:
        what = "are free" if memory_limit is None else "are allowed"
        room = f", but {limit / 2**30:.1f} GB {what}"
    raise TooLargeError(
        f"the exact posterior of {n_nodes} variables needs {size}{room}: sample it with "
        f"{option('method', 'mcmc')}, or use fewer variables (it is practical up to about 22)."
    )


def require_in_time(n_nodes: int, seconds: float | None) -> None:
    """Refuse a problem that takes far longer than the ``seconds`` that it was given."""
    if seconds is None or estimate_seconds(n_nodes, n_threads()) <= 2 * seconds:
        return
    raise TooLargeError(
        f"the exact posterior of {n_nodes} variables takes {describe_cost(n_nodes, n_threads())} "
        f"here, but {named('time')} is {seconds:g} seconds: give more, or sample it with "
        f"{option('method', 'mcmc')}."
    )


def estimate_best_memory(n_nodes: int) -> int:
    """Bytes needed for the best DAG alone: three tables over parent sets, one over node sets."""
    return (3 * n_nodes + 2) * 8 * 2 ** (n_nodes - 1) + 150 * 2**20


def is_best_quick(n_nodes: int, memory_limit: float | None = None) -> bool:
    """Whether the best DAG is found by dynamic programming within seconds."""
    if n_nodes > MAX_AUTO_BEST_NODES:
        return False
    return _is_within(estimate_best_memory(n_nodes), memory_limit)


def _is_within(needed: int, memory_limit: float | None) -> bool:
    return memory_limit is None or needed <= memory_limit


def require_best_feasible(n_nodes: int, memory_limit: float | None = None) -> None:
    """Refuse to find the best DAG exactly where that does not fit into ``memory_limit`` bytes."""
    limit = available_memory() if memory_limit is None else memory_limit
    needed = estimate_best_memory(n_nodes) if n_nodes <= MAX_NODES else None
    if needed is None or (limit is not None and needed > limit):
        size = f"about {needed / 2**30:.1f} GB of memory" if needed else "far too much memory"
        raise TooLargeError(
            f"the best DAG of {n_nodes} variables needs {size} to be found exactly: "
            f"use {option('method', 'search')}, or fewer variables."
        )


def available_memory() -> int | None:
    """Bytes this process can still use: what is free, or what its control group leaves it."""
    rooms = [room for room in (_free_memory(), _control_group_room()) if room is not None]
    return min(rooms) if rooms else None


def _free_memory() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return None
    except OSError:
        try:
            return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (AttributeError, ValueError, OSError):
            return None


def _control_group_room() -> int | None:
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text().strip()
        return None if limit == "max" else int(limit) - int(used)
    except (OSError, ValueError):
        return None

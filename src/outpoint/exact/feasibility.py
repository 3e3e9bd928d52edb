"""Whether the exact engine fits: its memory and time as functions of the number of nodes."""

import os
from pathlib import Path

from outpoint.errors import TooLargeError
from outpoint.kernels import n_threads

MAX_NODES = 28
MAX_AUTO_BEST_NODES = 22
"""Up to so many nodes the best DAG is found exactly unless something else is asked for."""

AUTO_SECONDS = 30.0
"""``method="auto"`` is exact while it is expected to take at most this long."""


def estimate_memory(n_nodes: int) -> int:
    """Bytes needed at the peak: six tables over parent sets, sixteen over node sets."""
    per_parent_set = 6 * 8 * n_nodes * 2 ** (n_nodes - 1)
    per_node_set = 16 * 8 * 2**n_nodes
    return per_parent_set + per_node_set + 150 * 2**20


def estimate_seconds(n_nodes: int) -> float:
    """Rough time of the solution on this machine, from the count of inner operations."""
    return 9e-9 * 3.0**n_nodes / min(n_threads(), 8) + 0.05


def is_quick(n_nodes: int) -> bool:
    """Whether the exact posterior takes seconds and fits, so that nothing else is needed."""
    if n_nodes > MAX_NODES or estimate_seconds(n_nodes) > AUTO_SECONDS:
        return False
    available = available_memory()
    return available is None or estimate_memory(n_nodes) < available


def require_feasible(n_nodes: int, memory_limit: float | None = None) -> None:
    """Refuse a problem that does not fit into ``memory_limit`` bytes (default: what is free)."""
    limit = available_memory() if memory_limit is None else memory_limit
    needed = estimate_memory(n_nodes) if n_nodes <= MAX_NODES else None
    if needed is not None and (limit is None or needed <= limit):
        return
    size = f"about {needed / 2**30:.1f} GB of memory" if needed else "far too much memory"
    room = ""
    if limit is not None and needed:
        what = "are free" if memory_limit is None else "are allowed"
        room = f", and {limit / 2**30:.1f} GB {what}"
    raise TooLargeError(
        f"the exact posterior of {n_nodes} variables needs {size}{room}: sample it with "
        "method='mcmc' (--method mcmc), or use fewer variables (it is practical up to about 22)."
    )


def estimate_best_memory(n_nodes: int) -> int:
    """Bytes needed for the best DAG alone: three tables over parent sets, one over node sets."""
    return (3 * n_nodes + 2) * 8 * 2 ** (n_nodes - 1) + 150 * 2**20


def is_best_quick(n_nodes: int) -> bool:
    """Whether the best DAG is found by dynamic programming within seconds, and it fits."""
    if n_nodes > MAX_AUTO_BEST_NODES:
        return False
    available = available_memory()
    return available is None or estimate_best_memory(n_nodes) < available


def require_best_feasible(n_nodes: int, memory_limit: float | None = None) -> None:
    """Refuse to find the best DAG exactly where that does not fit into ``memory_limit`` bytes."""
    limit = available_memory() if memory_limit is None else memory_limit
    needed = estimate_best_memory(n_nodes) if n_nodes <= MAX_NODES else None
    if needed is None or (limit is not None and needed > limit):
        size = f"about {needed / 2**30:.1f} GB of memory" if needed else "far too much memory"
        raise TooLargeError(
            f"the best DAG of {n_nodes} variables needs {size} to be found exactly: "
            "use method='search' (--method search), or fewer variables."
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

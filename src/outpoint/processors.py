"""How many threads to use: what the user says, or what the machine has for this process.

If the user says nothing, it is the smallest of three numbers: the processors that the process may
run on, the share of them that its container is given, and what OMP_NUM_THREADS or NUMBA_NUM_THREADS
say, which clusters and other programs set. Results never depend on it.
"""

import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from outpoint.kinds import checked_count

VARIABLES = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
CONTROL_GROUPS = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")

_chosen: ContextVar[int | None] = ContextVar("threads", default=None)


def n_threads() -> int:
    """The number of threads to use."""
    chosen = _chosen.get()
    if chosen is not None:
        return chosen
    limits = [_processors(), *map(_from_environment, VARIABLES), _quota()]
    return min(limit for limit in limits if limit is not None)


@contextmanager
def limited_threads(threads: int | None) -> Iterator[None]:
    """Use at most ``threads`` threads while this is entered; None uses as many as there are."""
    n = n_threads() if threads is None else checked_count(threads, "threads", 1)
    token = _chosen.set(n)
    try:
        yield
    finally:
        _chosen.reset(token)


def thread_pool(threads: int) -> ThreadPoolExecutor:
    """A pool of threads, which use no further ones themselves."""
    return ThreadPoolExecutor(threads, initializer=_chosen.set, initargs=(1,))


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _from_environment(variable: str) -> int | None:
    """A whole number from 1; of a list, as OpenMP has them for nested threads, the first."""
    first = os.environ.get(variable, "").split(",")[0].strip()
    return int(first) if first.isascii() and first.isdigit() and int(first) > 0 else None


def _quota() -> int | None:
    """Whole processors that the control groups of this process allow, at least one."""
    shares = [share for share in map(_share, _group_directories()) if share is not None]
    return max(1, math.floor(min(shares))) if shares else None


def _group_directories() -> list[Path]:
    """Where limits of this process may be: its groups, version 1 and 2, and all above them."""
    found = [CONTROL_GROUPS, CONTROL_GROUPS / "cpu"]
    try:
        lines = OWN_GROUPS.read_text().splitlines()
    except OSError:
        return found
    for line in lines:
        _, controllers, path = [*line.split(":", 2), "", "", ""][:3]
        if controllers and "cpu" not in controllers.split(","):
            continue
        base = CONTROL_GROUPS / "cpu" if controllers else CONTROL_GROUPS
        group = base / path.lstrip("/")
        found += [group, *(above for above in group.parents if base in above.parents)]
    return found


def _share(group: Path) -> float | None:
    """Processors that a group may use, in parts of one; None if it has no limit."""
    try:
        if (group / "cpu.max").exists():
            quota, period = (group / "cpu.max").read_text().split()
        else:
            quota = (group / "cpu.cfs_quota_us").read_text()
            period = (group / "cpu.cfs_period_us").read_text()
        share = int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):  # no such group, "max", or nonsense
        return None
    return share if share > 0 else None

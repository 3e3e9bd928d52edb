"""Compiled kernels on disk, which processes share.

They are where the variable ``NUMBA_CACHE_DIR`` says, beside their source, in the user's cache
directory, or in a private temporary directory: the first of these that can be written; a cache that
fails costs the time to compile and nothing else. Only one process compiles a kernel at a time:
others wait for it, which is quicker, and take what it has made.
"""

import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.event import trigger_event

PATIENCE = 60.0
"""Seconds to wait for another process that compiles a kernel, which may have been stopped."""


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache of one kernel; if it fails, the kernel is compiled again and nothing else."""

    _lock: int | None = None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled before, or None if there is nothing or it cannot be read.

        If there is nothing, no other process compiles the kernel until :meth:`let_others`.
        """
        found = self._load(sig, target_context)
        if found is None and self._lock is None and self._keep_others():
            found = self._load(sig, target_context)
        return found

    def _load(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # cut short when a disk was full or a process was killed
            with suppress(Exception):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, if there is room."""
        with suppress(OSError):
            super().save_overload(sig, data)

    def has(self, sig: Any, target_context: Any) -> bool:
        """Whether something is kept for arguments of these types."""
        try:
            key = self._index_key(sig, target_context.codegen())
            return key in self._cache_file._load_index()
        except Exception:  # whatever is wrong with it is found out when it is loaded
            return False

    # Other processes

    @property
    def lock(self) -> Path:
        """A file that is locked while a process compiles the kernel."""
        return Path(f"{self._cache_file._index_path}.lock")

    @property
    def is_held(self) -> bool:
        """Whether a process compiles the kernel."""
        try:
            handle = os.open(self.lock, os.O_RDWR)
        except OSError:
            return False
        try:
            return not _can_lock(handle)
        finally:
            os.close(handle)

    def _keep_others(self) -> bool:
        """Lock the kernel, if that works here; return whether another process had locked it."""
        try:
            self._impl.locator.ensure_cache_path()
            handle = os.open(self.lock, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            return False
        self._lock = handle
        return not _can_lock(handle) and self._wait(handle)

    def _wait(self, handle: int) -> bool:
        """Wait for the lock, which counts as compiling for the clock of a run; return True."""
        ending = monotonic() + PATIENCE
        with trigger_event("numba:compile", data={"dispatcher": self}):
            while not _can_lock(handle) and monotonic() < ending:
                sleep(0.005)
        return True

    def let_others(self) -> None:
        """Let other processes compile the kernel."""
        if self._lock is not None:
            with suppress(OSError):
                self.lock.unlink()
            os.close(self._lock)
            self._lock = None


def _can_lock(handle: int) -> bool:
    """Lock a file; False if another process has locked it, True where files cannot be locked."""
    if os.name != "posix":
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def make_cache(function: Callable[..., Any]) -> KernelCache:
    """A cache for a kernel; raises a RuntimeError if there is no place for one."""
    try:
        return KernelCache(function)
    except RuntimeError:  # nowhere that Numba knows can be written
        place = _private_directory()
        if place is None:
            raise
        numba.config.CACHE_DIR = place
        return KernelCache(function)


@cache
def _private_directory() -> str | None:
    """A temporary directory that is this user's alone, since kernels in it are run unchecked."""
    try:
        own = os.getuid()
        place = Path(tempfile.gettempdir()) / f"outpoint-kernels-{own}"
        place.mkdir(mode=0o700, exist_ok=True)
        found = place.lstat()
    except (OSError, AttributeError):
        return None
    is_private = stat.S_ISDIR(found.st_mode) and found.st_uid == own and not found.st_mode & 0o077
    return str(place) if is_private else None


def are_cached() -> bool:
    """Whether kernels have been compiled here before, as far as their usual place tells."""
    place = Path(numba.config.CACHE_DIR or Path(__file__).parent)
    return next(place.rglob("*.nbi"), None) is not None

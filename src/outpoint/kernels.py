"""How outpoint compiles and runs its numerical kernels.

Kernels are module-level functions of arrays, compiled on first use and cached on disk. They release
the interpreter lock, so plain threads run them side by side: :func:`run_chunked` is the only
parallel construct they need.

Processes share the compiled kernels. They are where the variable ``NUMBA_CACHE_DIR`` says, beside
their source, in the user's directory of caches, or in a private temporary directory, whichever can
be written first; a cache that fails costs the time to compile and nothing else. Only one process
compiles a kernel at a time: others wait for it, which is quicker, and take what it has made.
"""

import gc
import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TypeVar, cast

import numba
from numba.core import types
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.event import trigger_event
from numba.core.registry import CPUDispatcher

from outpoint.borrowing import borrowed, lend
from outpoint.processors import n_threads, thread_pool
from outpoint.signals import heed_held_signals, held_signals

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
                heed_held_signals()
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


__all__ = ["borrowed", "inlined", "jitable", "kernel", "lend", "run_chunked"]

F = TypeVar("F", bound=Callable[..., Any])


class General(CPUDispatcher):  # type: ignore[misc]
    """A compiled function that kernels call without regard to which arguments are constants.

    Numba would compile it once more for every constant that it is called with.
    """

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """What the function is for arguments of these types."""
        general = [types.unliteral(kind) for kind in args]
        return super().get_call_template(general, kws)


class Kernel(General):
    """A compiled function to which Python lends named tuples."""

    def compile(self, sig: Any) -> Any:
        """Compile for arguments of these types, without interruption or looking for garbage.

        Compiling makes millions of objects, and hardly any of them can go before its end.
        """
        with held_signals(), global_compiler_lock:
            was_enabled = gc.isenabled()
            gc.disable()
            try:
                return super().compile(sig)
            finally:
                if isinstance(self._cache, KernelCache):
                    self._cache.let_others()
                if was_enabled:
                    gc.enable()

    def compile_ahead(self, kinds: Any) -> None:
        """Compile for the cache, unless it is there already or another process is compiling it."""
        if not self.is_cached(kinds) and not self._cache.is_held:
            self.compile(kinds)

    def is_cached(self, kinds: Any) -> bool:
        """Whether there is nothing to compile for arguments of these types, as far as is known."""
        cache = self._cache
        return not isinstance(cache, KernelCache) or cache.has(kinds, self.targetctx)

    def __call__(self, *args: Any) -> Any:
        return super().__call__(*map(lend, args))


def kernel(function: F) -> F:
    """Compile ``function`` without the interpreter lock, strict floating point, cached on disk."""
    compiled = numba.njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True)(function)
    if not numba.config.DISABLE_JIT:
        compiled.__class__ = Kernel
        with suppress(RuntimeError):  # there is no place for a cache
            compiled._cache = make_cache(function)
    return cast(F, compiled)


class OnlyInKernels(General):
    """A compiled function that only kernels can call."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{self.py_func.__name__} is compiled into kernels: call it from one.")


class InPythonToo(General):
    """A compiled function; from Python, the function itself is called without Numba."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.py_func(*args, **kwargs)


class Draft(JITCodeLibrary):  # type: ignore[misc]
    """Code that is only compiled into that of kernels, and optimised there."""

    def _optimize_final_module(self) -> None:
        """Only make it small, since it may end up in many places."""
        passes, builder = self._codegen._module_pass_manager(
            loop_vectorize=False,
            slp_vectorize=False,
            opt=self._codegen._opt_level,
            cost="cheap",
        )
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """No address: it cannot be called by itself."""
        return 0

    @property
    def codegen(self) -> Any:
        """What would make it executable; the draft stands in for it and does nothing."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing, since a draft is never executed."""


class DraftCompiler(Compiler):  # type: ignore[misc]
    """Leaves drafts."""

    def __init__(self, typing_context: Any, target: Any, library: Any, *rest: Any) -> None:
        super().__init__(typing_context, target, Draft(target.codegen(), "draft"), *rest)


def inlined(function: F) -> F:
    """Compile a small helper into every kernel that calls it; Python cannot call it.

    Passing a tuple of arrays costs more than what such helpers do with it, and the code that takes
    one apart for a call from Python takes long to compile.
    """
    return cast(F, _drafted(function, OnlyInKernels))


def jitable(function: F) -> F:
    """A function of Python that is compiled into every kernel that calls it.

    For what Python itself calls rarely: compiling it would take longer.
    """
    return cast(F, _drafted(function, InPythonToo))


def _drafted(function: Callable[..., Any], kind: type[General]) -> Any:
    if numba.config.DISABLE_JIT:
        return function
    compiled = numba.njit(
        nogil=True,
        error_model="numpy",
        forceinline=True,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        pipeline_class=DraftCompiler,
    )(function)
    compiled.__class__ = kind
    return compiled


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
    threads = 1 if n_items <= min_chunk else n_threads()
    chunk = max(min_chunk, -(-n_items // (threads * chunks_per_thread)))
    spans = [(start, min(start + chunk, n_items)) for start in range(0, n_items, chunk)]
    if threads == 1 or len(spans) <= 1:
        for start, stop in spans:
            work(start, stop)
            if done is not None:
                done(stop - start)
        return
    with thread_pool(threads) as pool:
        futures = [pool.submit(work, start, stop) for start, stop in spans]
        try:
            for future, (start, stop) in zip(futures, spans, strict=True):
                future.result()
                if done is not None:
                    done(stop - start)
        finally:  # after a failure or an interruption nothing new begins
            pool.shutdown(wait=False, cancel_futures=True)

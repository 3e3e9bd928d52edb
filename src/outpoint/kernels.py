"""How outpoint compiles and runs its numerical kernels.

Kernels are module-level functions of arrays, compiled on first use and cached on disk
(:mod:`outpoint.kernel_cache`). They release the interpreter lock, so plain threads run them side by
side: :func:`run_chunked` is the only parallel construct they need.
"""

import gc
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

import numba
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from outpoint.borrowing import borrowed, lend
from outpoint.kernel_cache import KernelCache, make_cache
from outpoint.processors import n_threads, thread_pool

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
        """Compile for arguments of these types, without looking for garbage meanwhile.

        Compiling makes millions of objects, and hardly any of them can go before its end.
        """
        with global_compiler_lock:
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

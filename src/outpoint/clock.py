"""The time that a run was given: how much of it is used, and how much is left.

Everything that a run does counts, except compiling, which happens once on a machine.
"""

from math import inf
from time import perf_counter
from typing import Any

from numba.core import event


class _CompileTimer(event.Listener):  # type: ignore[misc]
    """Adds up the time that Numba spends on compiling, which only one thread does at a time."""

    def __init__(self) -> None:
        self._total = 0.0
        self._begun: list[float] = []  # functions that are compiled one within the other

    @property
    def seconds(self) -> float:
        """Seconds so far, including those of what is being compiled now."""
        begun = self._begun[:1]
        return self._total + (perf_counter() - begun[0] if begun else 0.0)

    def on_start(self, event: Any) -> None:
        """A function begins to be compiled."""
        self._begun.append(perf_counter())

    def on_end(self, event: Any) -> None:
        """A function has been compiled."""
        begun = self._begun.pop()
        if not self._begun:
            self._total += perf_counter() - begun


_compile_timer = _CompileTimer()
event.register("numba:compile", _compile_timer)


def compile_seconds() -> float:
    """How long this process has been compiling; taking kernels from the cache does not count."""
    return _compile_timer.seconds


class Clock:
    """Counts seconds from when it was made, without those of the compiler, up to a ``limit``.

    Without a limit there is always time left.
    """

    def __init__(self, limit: float | None = None) -> None:
        self._limit = inf if limit is None else limit
        self._begun = perf_counter() - compile_seconds()

    @property
    def seconds(self) -> float:
        """Seconds since the clock was made."""
        return perf_counter() - compile_seconds() - self._begun

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit."""
        return self._limit < inf

    def left(self, share: float = 1.0) -> float:
        """Seconds until this share of the time is used up; negative when it is."""
        return share * self._limit - self.seconds

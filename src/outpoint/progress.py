"""What a long run reports while it works, and the time that it was given.

The time of a run is that of everything it does but for compiling, which happens once on a machine.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import Any

from numba.core import event

from outpoint.arrays import Floats


@dataclass(frozen=True)
class ChainStatus:
    """How far one chain is.

    ``step`` counts the warm-up too; ``log_scores`` are those of some hundred of its draws, evenly
    spaced, the last included.
    """

    step: int
    log_scores: Floats
    best_log_score: float


@dataclass(frozen=True)
class Progress:
    """One report: the stage, the fraction of it that is done, and the chains if some are running.

    ``steps_per_second`` counts all chains together; ``rhat`` is that of the log score so far.
    """

    stage: str
    fraction: float
    chains: tuple[ChainStatus, ...] = ()
    steps_per_second: float | None = None
    rhat: float | None = None


ProgressCallback = Callable[[Progress], None]
FractionCallback = Callable[[float], None]
Advance = Callable[[float], None]
"""A function that is told how much work has been done since its last call."""


def say_nothing(fraction: float) -> None:
    """Be told a fraction, and do nothing."""


def part_of(tell: FractionCallback, start: float, end: float) -> FractionCallback:
    """For a part of the work that takes its fraction from ``start`` to ``end``."""
    return lambda fraction: tell(start + (end - start) * fraction)


def tell_fractions(total: float, callback: FractionCallback | None) -> Advance:
    """A function that adds up the work done and gives ``callback`` its fraction of ``total``."""
    finished = 0.0

    def advance(work: float) -> None:
        nonlocal finished
        finished += work
        if callback is not None:
            callback(min(1.0, finished / total))

    return advance


class _CompileTimer(event.Listener):  # type: ignore[misc]
    """Adds up the time that Numba spends on compiling, which only one thread does at a time."""

    def __init__(self) -> None:
        self._total = 0.0
        self._begun: list[float] = []  # functions that are compiled one within the other

    @property
    def seconds(self) -> float:
        """Seconds so far, those of what is being compiled included."""
        begun = self._begun[:1]
        return self._total + (perf_counter() - begun[0] if begun else 0.0)

    def on_start(self, event: Any) -> None:
        """A function begins to be compiled."""
        self._begun.append(perf_counter())

    def on_end(self, event: Any) -> None:
        """It is done."""
        begun = self._begun.pop()
        if not self._begun:
            self._total += perf_counter() - begun


_compile_timer = _CompileTimer()
event.register("numba:compile", _compile_timer)


def compile_seconds() -> float:
    """How long this process has been compiling; taking kernels from the cache does not count."""
    return _compile_timer.seconds


class Clock:
    """Counts seconds from when it was made, without those of the compiler; ``limit`` is the end.

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
        """Whether the time ends."""
        return self._limit < inf

    def left(self, share: float = 1.0) -> float:
        """Seconds until this share of the time is used up; negative when it is."""
        return share * self._limit - self.seconds

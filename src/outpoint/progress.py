"""What a long run reports while it works."""

from collections.abc import Callable
from dataclasses import dataclass

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


def tell_fractions(total: float, callback: FractionCallback | None) -> Advance:
    """A function that adds up the work done and gives ``callback`` its fraction of ``total``."""
    finished = 0.0

    def advance(work: float) -> None:
        nonlocal finished
        finished += work
        if callback is not None:
            callback(min(1.0, finished / total))

    return advance

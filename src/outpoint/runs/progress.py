"""What a long run tells while it works."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ChainStatus:
    """How far one chain is.

    ``step`` counts the warm-up too; ``log_scores`` are those of some hundred of its draws, evenly
    spaced, the last included.
    """

    step: int
    log_scores: NDArray[np.float64]
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


Report = Callable[[Progress], None]

"""The temperatures of tempered replicas, spaced by themselves so that all swaps are as likely."""

import numpy as np
from numpy.typing import NDArray

LARGE_NETWORK = 20


def default_replicas(n_nodes: int) -> int:
    """More replicas for larger networks, whose posterior has more separate modes."""
    return 4 if n_nodes <= LARGE_NETWORK else 6


def make_ladder(n_replicas: int) -> NDArray[np.float64]:
    """Powers from 1 down, in a geometric sequence: to 0.3 with 4 replicas, 0.2 with 6."""
    lowest = 0.3 if n_replicas <= 4 else 0.2
    return np.geomspace(1.0, lowest, n_replicas) if n_replicas > 1 else np.ones(1)


def respace(
    power: NDArray[np.float64],
    attempts: NDArray[np.int64],
    accepted: NDArray[np.int64],
    gain: float,
) -> NDArray[np.float64]:
    """A ladder with the same ends whose gaps are wider where swaps were accepted more often.

    ``gain`` in (0, 1] says how far to go.
    """
    if len(power) < 3:
        return power
    rates = (accepted[: len(power) - 1] + 0.5) / (attempts[: len(power) - 1] + 1.0)
    gaps = -np.diff(np.log(power))
    wider = gaps * np.exp(gain * (rates - rates.mean()))
    wider *= gaps.sum() / wider.sum()
    out = np.exp(-np.concatenate([[0.0], np.cumsum(wider)]))
    out[0], out[-1] = 1.0, power[-1]
    return out

"""Runs that have converged, judged at many lengths: how often a longer one changes the verdict.

``python -m tests.posterior.steady N`` prints a table for N runs.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtr

from outpoint.posterior.assessment import HotEnd
from outpoint.posterior.convergence import Crossing, assess

FIRST, GROWTH, CHECKS = 1000, 1.25, 12
"""Sweeps at the first look, how much longer a run is at each further one, and their number."""

CHAINS = 4
TIMES = (5.0, 15.0, 40.0)
"""Autocorrelation times of edges, in sweeps."""


@dataclass(frozen=True)
class Kind:
    """A kind of run: its number of edges, and how slow its hottest replicas are, in sweeps."""

    n_edges: int
    hot_time: float


def series(rng: np.random.Generator, length: int, n: int, time: float) -> np.ndarray:
    """Standard normal series (chain, sweep, n) with this autocorrelation time, in equilibrium."""
    keep = np.exp(-1.0 / time)
    noise = rng.normal(size=(CHAINS, length, n)) * np.sqrt(1.0 - keep**2)
    noise[:, 0] /= np.sqrt(1.0 - keep**2)
    return lfilter([1.0], [1.0, -keep], noise, axis=1)


def batches(values: np.ndarray, most: int) -> np.ndarray:
    """Means over as few sweeps as give at most so many, without the first quarter."""
    size = 1
    while values.shape[1] > most * size:
        size *= 2
    n = values.shape[1] // size
    means = values[:, : n * size].reshape(CHAINS, n, size, -1).mean(axis=2)
    return means[:, n // 4 :] if values.shape[1] > FIRST else means


def lengths() -> list[int]:
    return [int(FIRST * GROWTH**i) for i in range(CHECKS)]


def verdicts(kind: Kind, seed: int, judge: Callable[..., bool]) -> list[bool]:
    """Whether a run is said to have converged, at every length."""
    rng = np.random.default_rng(seed)
    longest = lengths()[-1]
    latent = [series(rng, longest, kind.n_edges // len(TIMES), time) for time in TIMES]
    edges = ndtr(3.0 * np.concatenate(latent, axis=2) + rng.normal(0, 2, kind.n_edges))
    scores = series(rng, longest, 2, 10.0)
    hot = series(rng, longest, 1, kind.hot_time)
    found = []
    for length in lengths():
        thin = max(1, length // 1000)
        kept = scores[:, length // 4 : length : thin]
        names = [f"e{i}" for i in range(kind.n_edges)]
        end = HotEnd(batches(hot[:, :length], 64)[:, :, 0], 1.0)
        found.append(judge(batches(edges[:, :length], 512), names, kept, end))
    return found


def present(edges: np.ndarray, names: list[str], kept: np.ndarray, end: HotEnd) -> bool:
    """The rules as they are."""
    crossing = Crossing((100,) * CHAINS, *end.largest_gap)
    return assess(edges, names, kept[..., 0], kept[..., 1], crossing=crossing).converged


def former(edges: np.ndarray, names: list[str], kept: np.ndarray, end: HotEnd) -> bool:
    """No difference above 0.1, nor any gap above 0.5, is taken for chance."""
    crossing = Crossing((100,) * CHAINS, end.largest_gap[0])
    found = assess(edges, names, kept[..., 0], kept[..., 1], crossing=crossing)
    return found.converged and (found.largest_difference or 0.0) <= 0.1


def n_flips(found: list[bool]) -> int:
    """How often a longer run is no longer said to have converged."""
    return sum(before and not after for before, after in pairwise(found))


def main(n_runs: int) -> None:
    """Print how many runs change their minds, by the former and by the present rules."""
    for kind in (Kind(60, 10.0), Kind(60, 100.0), Kind(300, 30.0)):
        for judge in (former, present):
            runs = [verdicts(kind, seed, judge) for seed in range(n_runs)]
            flips = np.array([n_flips(found) for found in runs])
            n_converged = sum(map(sum, runs))
            print(
                f"{kind.n_edges} edges, hot time {kind.hot_time:g}, {judge.__name__}: "
                f"{(flips > 0).sum()} of {n_runs} runs, {flips.sum()} of {n_converged} verdicts",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]))

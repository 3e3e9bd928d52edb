"""Runs that have converged, judged at many lengths: how often a longer one changes the verdict.

``python -m tests.posterior.steady N`` prints a table for N runs.
"""

import sys
from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtr

from outpoint.posterior.assessment import HotEnd
from outpoint.posterior.convergence import Crossing, assess

FIRST, GROWTH, CHECKS = 1000, 1.25, 12
"""Sweeps at the first look, how much longer a run is at each further one, and their number."""

CHAINS = 4
TIMES = (2.0, 5.0, 12.0)
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


def verdicts(kind: Kind, seed: int) -> np.ndarray:
    """Whether a run has converged by the former and by the present rules, at every length.

    Formerly no difference above 0.1, nor any gap above 0.5, was taken for chance.
    """
    rng = np.random.default_rng(seed)
    longest = lengths()[-1]
    latent = [series(rng, longest, kind.n_edges // len(TIMES), time) for time in TIMES]
    edges = ndtr(2.0 * np.concatenate(latent, axis=2) + rng.normal(0, 2, kind.n_edges))
    scores = series(rng, longest, 2, 5.0)
    hot = series(rng, longest, 1, kind.hot_time)
    names = [f"e{i}" for i in range(kind.n_edges)]
    found = []
    for length in lengths():
        kept = scores[:, length // 4 : length : max(1, length // 1000)]
        gap, error = HotEnd(batches(hot[:, :length], 64)[:, :, 0], 1.0).largest_gap
        judged = assess(
            batches(edges[:, :length], 512),
            names,
            kept[..., 0],
            kept[..., 1],
            crossing=Crossing((100,) * CHAINS, gap, error),
        )
        is_close = (judged.largest_difference or 0.0) <= 0.1 and gap <= 0.5
        found.append((judged.converged and is_close, judged.converged))
    return np.array(found).T


def n_flips(found: np.ndarray) -> int:
    """How often a longer run is no longer said to have converged."""
    return int((found[:-1] & ~found[1:]).sum())


def main(n_runs: int) -> None:
    """Print how many runs change their minds, by the former and by the present rules."""
    for kind in (Kind(60, 5.0), Kind(60, 40.0)):
        runs = [verdicts(kind, seed) for seed in range(n_runs)]
        for i, rules in enumerate(("former", "present")):
            flips = np.array([n_flips(found[i]) for found in runs])
            n_converged = sum(int(found[i].sum()) for found in runs)
            print(
                f"{kind.n_edges} edges, hot time {kind.hot_time:g}, {rules} rules: flips in "
                f"{(flips > 0).sum()} of {n_runs} runs, {flips.sum()} of {n_converged} verdicts",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]))

"""Error against wall-clock: every sampler against the exact posterior, many seeds each.

For each data set and method: seconds of sampling (four chains on all cores), the median and the
worst over the seeds of the largest error of an edge probability, and the number of seeds with an
error above 0.1. ALARM has no exact answer; there, the largest difference between seeds counts.
"""

import time

import numpy as np

import outpoint as op
from benchmarks.problems import PAPER_PRIOR, PAPER_SCORE, alarm, solvable
from outpoint.mcmc import SAMPLERS
from outpoint.runs import Progress

STUCK = 0.1


def main(arguments: list[str]) -> None:
    """Arguments: number of seeds (default 5), then methods (default all)."""
    n_seeds = int(arguments[0]) if arguments else 5
    methods = arguments[1:] or list(SAMPLERS)
    print("data      method         seconds  median   worst  stuck")
    for label, data, max_parents in solvable():
        exact = op.learn(
            data,
            PAPER_SCORE,
            method="exact",
            max_parents=max_parents,
            seed=0,
            structure_prior=PAPER_PRIOR,
        )
        for method in methods:
            runs = [_run(data, max_parents, method, seed) for seed in range(n_seeds)]
            errors = [np.abs(edges - exact.edge_probabilities.values).max() for edges, _ in runs]
            _print_row(label, method, [seconds for _, seconds in runs], errors)
    for method in methods:
        runs = [_run(alarm(), 3, method, seed, "fair") for seed in range(min(4, n_seeds))]
        spread = np.ptp([edges for edges, _ in runs], axis=0).max()
        _print_row("ALARM", method, [seconds for _, seconds in runs], [spread])


def _run(
    data: op.Dataset, max_parents: int, method: str, seed: int, prior: str = PAPER_PRIOR
) -> tuple[np.ndarray, float]:
    """Edge probabilities, and the seconds from the first to the last step."""
    times: list[float] = []

    def note(progress: Progress) -> None:
        if progress.stage == "sampling":
            times.append(time.perf_counter())

    posterior = op.learn(
        data,
        PAPER_SCORE if data.is_continuous else "auto",
        method=method,
        max_parents=max_parents,
        seed=seed,
        structure_prior=prior,
        progress=note,
    )
    return posterior.edge_probabilities.values, times[-1] - times[0]


def _print_row(label: str, method: str, seconds: list[float], errors: list[float]) -> None:
    stuck = sum(error > STUCK for error in errors)
    print(
        f"{label:<9} {method:<14} {np.median(seconds):7.2f}  {np.median(errors):6.3f}"
        f"  {max(errors):6.3f}  {stuck:>5}",
        flush=True,
    )

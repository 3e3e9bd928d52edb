"""Finding the best DAG: how often, and in how many seconds, next to hill climbing.

The optimum is proven by dynamic programming. For each data set and method: in how many seeds the
whole search (all its runs, the scoring of families included) found it, the share of single runs
that did, the median and the largest number of seconds, the mean bound on having missed a better
DAG, and how far the worst seed was from the optimum.
"""

import numpy as np

import outpoint as op
from benchmarks.problems import alarm, gaussian

METHODS = {  # label: options, share of the seeds
    "orders": ({"method": "search"}, 1.0),
    "partitions": ({"method": "search", "space": "partition"}, 0.1),
    "hill climbing": ({"method": "hill_climb"}, 1.0),
}


def main(arguments: list[str]) -> None:
    """Arguments: number of seeds (default 100), then methods by label (default all)."""
    n_seeds = int(arguments[0]) if arguments else 100
    labels = arguments[1:] or list(METHODS)
    problems = [
        ("boston", op.datasets.boston(), 3),
        ("14 nodes", gaussian(14, 500, 6), 6),
        ("18 nodes", gaussian(18, 200, 5), 5),
        ("20 nodes", gaussian(20, 200, 5), 5),
    ]
    print("data      method         seeds  found  runs found  seconds   worst   bound     gap")
    for name, data, max_parents in problems:
        exact = op.find_map(data, method="exact", max_parents=max_parents)
        exact = op.find_map(data, method="exact", max_parents=max_parents)  # after compilation
        print(f"{name:<9} {'exact':<13} {1:>6}  {1:>5}  {'':10}  {exact.seconds:7.2f}", flush=True)
        for label in labels:
            options, share = METHODS[label]
            op.find_map(data, max_parents=max_parents, seed=0, **options)  # compiles
            seeds = range(1, 1 + max(1, int(n_seeds * share)))
            results = [
                op.find_map(data, max_parents=max_parents, seed=seed, **options) for seed in seeds
            ]
            _print_row(name, label, results, exact.log_score)
    results = [op.find_map(alarm(), method="search", seed=seed) for seed in range(1, 4)]
    best = max(result.log_score for result in results)
    _print_row("ALARM", "orders", results, best)


def _print_row(name: str, label: str, results: list[op.MapResult], optimum: float) -> None:
    gaps = np.array([optimum - result.log_score for result in results])
    seconds = [result.seconds for result in results]
    is_found = gaps < 1e-6
    hits = np.mean(
        [result.hits / result.runs * hit for result, hit in zip(results, is_found, strict=True)]
    )
    bounds = [result.miss_probability for result in results if result.miss_probability is not None]
    bound = f"{np.mean(bounds):7.2g}" if bounds else f"{'none':>7}"
    print(
        f"{name:<9} {label:<13} {len(results):>6}  {is_found.sum():>5}  {hits:>10.2f}"
        f"  {np.median(seconds):7.2f}  {max(seconds):6.2f}  {bound}  {gaps.max():6.1f}",
        flush=True,
    )

"""Finding the best DAG: how often, and in how many seconds, next to hill climbing.

``proven``: problems whose optimum is known by dynamic programming. For each data set and method: in
how many seeds the whole search (all its runs, the scoring of families included) found it, the share
of single runs that did, the median and the largest number of seconds, the mean bound on having
missed a better DAG, and how far the worst seed was from the optimum. ``networks``: the same for
larger problems, next to the best score of all seeds, and with the seconds of processor time.
"""

import time

import numpy as np

import outpoint as op
from benchmarks.large import sparse_gaussian
from benchmarks.problems import PAPER_PRIOR, PAPER_SCORE, alarm, solvable, with_observed_levels
from outpoint.data import load_dataset
from outpoint.experiments.problems import paper_file

PARTS = ("proven", "networks")
METHODS = {  # label: options, share of the seeds
    "orders": ({"method": "search"}, 1.0),
    "partitions": ({"method": "search", "space": "partition"}, 0.1),
    "hill climbing": ({"method": "hill_climb"}, 1.0),
}
NETWORK_SEEDS = 3
"""Most seeds for networks."""


def main(arguments: list[str]) -> None:
    """Arguments: number of seeds (default 100), then parts and methods by label (default all)."""
    n_seeds = int(arguments[0]) if arguments else 100
    labels = [label for label in arguments[1:] if label in METHODS] or list(METHODS)
    parts = [part for part in arguments[1:] if part in PARTS] or PARTS
    if "proven" in parts:
        _proven(n_seeds, labels)
    if "networks" in parts:
        _networks(min(n_seeds, NETWORK_SEEDS))


def _proven(n_seeds: int, labels: list[str]) -> None:
    print("data      method         seeds  found  runs found  seconds   worst   bound     gap")
    for name, data, max_parents in solvable():
        limits = {"max_parents": max_parents, "structure_prior": PAPER_PRIOR}
        for _ in range(2):  # the first compiles
            exact = op.find_map(data, PAPER_SCORE, method="exact", **limits)
        print(f"{name:<9} {'exact':<13} {1:>6}  {1:>5}  {'':10}  {exact.seconds:7.2f}", flush=True)
        for label in labels:
            options, share = METHODS[label]
            op.find_map(data, PAPER_SCORE, seed=0, **limits, **options)  # compiles
            seeds = range(1, 1 + max(1, int(n_seeds * share)))
            results = [
                op.find_map(data, PAPER_SCORE, seed=seed, **limits, **options) for seed in seeds
            ]
            _print_row(name, label, results, exact.log_score)


def _networks(n_seeds: int) -> None:
    """BDeu or BGe with the fair prior; categorical ones have at most 3 parents."""
    paths = {"Hailfinder": paper_file("hail1k.dat"), "Pathfinder": paper_file("path1k.dat")}
    problems = {"ALARM": alarm()} | {
        name: load_dataset(path) for name, path in paths.items() if path is not None
    }
    if "Pathfinder" in problems:
        problems["Pathfinder, observed levels"] = with_observed_levels(problems["Pathfinder"])
    problems["Gaussian 40"] = sparse_gaussian(40, 1)[0]
    options = {"method": "search", "structure_prior": "fair", "allow_degenerate": True}
    print("data                         seeds  best score    runs found  seconds  processor    gap")
    for name, data in problems.items():
        max_parents = 3 if data.is_categorical else None
        score = "auto" if data.is_categorical else PAPER_SCORE
        op.find_map(data, score, runs=1, steps=1000, max_parents=max_parents, **options)  # compiles
        begun = time.process_time()
        results = [
            op.find_map(data, score, max_parents=max_parents, seed=seed, **options)
            for seed in range(1, 1 + n_seeds)
        ]
        processor = (time.process_time() - begun) / n_seeds
        scores = np.array([result.log_score for result in results])
        share = np.mean([result.run_log_scores > scores.max() - 1e-6 for result in results])
        seconds = np.median([result.seconds for result in results])
        print(
            f"{name:<28} {n_seeds:>5}  {scores.max():>11.3f}  {share:>10.2f}  {seconds:>7.2f}"
            f"  {processor:>9.2f}  {np.ptp(scores):>5.1f}",
            flush=True,
        )


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

"""What the paper's own runs found: 100 seeds of its three best unbiased samplers on four data sets.

The best log score that a seed has kept is given relative to the best of all DAGs. The scores of all
100 seeds are compared with ours where ``OUTPOINT_PAPER_DATA`` names a directory that has them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from outpoint.arrays import Floats
from outpoint.experiments.problems import Problem, paper_file

FILE = "paper_max_scores.csv"

DIGITS = 2
"""Decimals of the scores that are compared: the same DAG must have the same score."""

N_PERMUTATIONS = 10_000


class Found(NamedTuple):
    """Share of seeds within 0.01 of the best score, and quartiles."""

    within: float
    lower: float
    median: float
    upper: float


PUBLISHED: dict[str, dict[str, Found]] = {
    "boston": {
        "structure+rev": Found(0.78, 0.0, 0.0, 0.0),
        "partition": Found(0.17, -7.90, -6.36, -0.84),
        "partition+rev": Found(0.48, -6.36, -0.84, 0.0),
    },
    "sim14": {
        "structure+rev": Found(0.35, -48.67, -0.18, 0.0),
        "partition": Found(0.28, -3.64, -0.60, 0.0),
        "partition+rev": Found(0.55, -0.37, 0.0, 0.0),
    },
    "sim18": {
        "structure+rev": Found(0.08, -60.71, -32.86, -0.38),
        "partition": Found(0.0, -46.76, -29.73, -12.59),
        "partition+rev": Found(0.13, -18.07, -0.79, -0.20),
    },
    "sim20": {
        "structure+rev": Found(0.04, -81.06, -41.88, -3.57),
        "partition": Found(0.0, -72.33, -44.92, -27.96),
        "partition+rev": Found(0.01, -18.80, -3.64, -0.53),
    },
}


def published_for(problem: Problem, method: str) -> Found | None:
    """What the paper's runs of this sampler found on these very data."""
    if not problem.is_published:
        return None
    return PUBLISHED.get(problem.name, {}).get(method)


def published_scores(problem: Problem, method: str, best_log_score: float) -> Floats | None:
    """The best score of each of the paper's seeds, relative to the best DAG; None if not here.

    In the file they are relative to the DAG that generated the data, where there is one.
    """
    import pandas as pd

    path = paper_file(FILE)
    if path is None or published_for(problem, method) is None:
        return None
    table = pd.read_csv(path)
    rows = table[(table["dataset"] == problem.name) & (table["method"] == method)]
    true_log_score = problem.true_log_score
    origin = 0.0 if true_log_score is None else true_log_score - best_log_score
    return rows["max_score_minus_reference"].to_numpy() + origin


def smirnov_test(first: Floats, second: Floats, seed: int = 0) -> float:
    """P value of the two-sample Kolmogorov-Smirnov test, by permutation.

    Many seeds share a score, and textbook p values assume that none do. Under permutation the test
    has its level whatever the ties.
    """
    pooled = np.round(np.concatenate([first, second]), DIGITS) + 0.0
    order = np.argsort(pooled, kind="stable")
    is_last = np.append(np.diff(pooled[order]) > 0, True)
    steps = np.where(order < len(first), 1 / len(first), -1 / len(second))

    def distance(rows: Floats) -> Floats:
        return np.asarray(np.abs(np.cumsum(rows, axis=-1)[..., is_last]).max(axis=-1))

    rng = np.random.default_rng(seed)
    shuffled = rng.permuted(np.tile(steps, (N_PERMUTATIONS, 1)), axis=1)
    as_far = distance(shuffled) >= distance(steps) - 1e-12
    return float((1 + as_far.sum()) / (1 + N_PERMUTATIONS))

"""The results in numbers: how often the best DAG was found, and how far chains are from exact.

They stand beside what the paper's own runs found: 100 seeds of its three best unbiased samplers on
four data sets. The best log score that a seed has kept is told relative to the best DAG there is.
The scores of all 100 seeds are compared with ours where ``OUTPOINT_PAPER_DATA`` names a directory
that has them.
"""

from __future__ import annotations

from math import e, nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Floats
from outpoint.experiments.problems import Problem, paper_file
from outpoint.experiments.runs import N_DRAWS, Results, second_half

if TYPE_CHECKING:
    import pandas as pd

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


Row = dict[str, Any]

NEAR = 0.01
"""A seed has found the best DAG if its best score is this close."""

IDEAL = f"{N_DRAWS:,} independent draws"

THREE_NODE_DAGS = (1, 6, 12, 6)
"""DAGs on three nodes by their number of edges."""

THREE_NODE_ORDERS = (6, 18, 18, 6)
"""These DAGs, each counted once per linear extension, which is what order MCMC does."""


def best_scores_table(results: Results) -> pd.DataFrame:
    """Best score kept by each seed, relative to the best possible: ours beside the paper's.

    ``p (KS)`` compares the two. Independent draws are the ceiling of any sampler: their share
    follows from the probability of the best DAG and its equivalents.
    """
    import pandas as pd

    rows: list[Row] = []
    for method, outcome in results.outcomes.items():
        found = outcome.best - results.best
        rows.append(
            {
                "sampler": method,
                "steps": f"{results.extent.steps_of(results.problem, method):,}",
                "within 0.01": (found > -NEAR).mean(),
                "quartiles": _quartiles(*np.percentile(found, [25, 50, 75])),
                **_published(results, method, found),
                "CPU s per seed": float(outcome.cpu_seconds) / len(found),
                "seconds, all seeds": float(outcome.seconds),
            }
        )
    ceiling = 1 - (1 - float(results.exact.best_share)) ** N_DRAWS
    rows.append({"sampler": IDEAL, "within 0.01": ceiling})
    dashes = dict.fromkeys(("steps", "quartiles", "paper quartiles"), "-")
    return pd.DataFrame(rows).fillna(dashes)


def _published(results: Results, method: str, found: NDArray[np.float64]) -> Row:
    """Columns of the paper's runs, if these are of the same length on data that it has runs for."""
    if not results.is_published:
        return {}
    paper = published_for(results.problem, method)
    scores = published_scores(results.problem, method, results.best)
    return {
        "paper within 0.01": nan if paper is None else paper.within,
        "paper quartiles": "-" if paper is None else _quartiles(*paper[1:]),
        "p (KS)": nan if scores is None else smirnov_test(found, scores),
    }


def _quartiles(*values: float) -> str:
    return ", ".join(f"{value:z.2f}" for value in values)


def errors_table(results: Results) -> pd.DataFrame:
    """Edge probabilities of the second half of each chain against the exact ones, and bias.

    ``error of a seed`` is the largest error of an edge, the median over seeds. ``error of all`` is
    that of the average over seeds, beside the standard error of that average: what remains of a
    sampler's error however many chains are run.
    """
    import pandas as pd

    exact = results.exact
    independent = np.abs(exact.half_edges - exact.edges).max(axis=(1, 2)).mean()
    averages = _averages(results, exact.n_edges, exact.log_scores)
    unknown = {"error of all": nan, "standard error": nan}
    rows: list[Row] = [{"sampler": IDEAL, "error of a seed": independent, **unknown, **averages}]
    for method, outcome in results.outcomes.items():
        of_seeds = np.abs(outcome.edges - exact.edges).max(axis=(1, 2))
        deviation = np.abs(outcome.edges.mean(axis=0) - exact.edges)
        worst = np.unravel_index(deviation.argmax(), deviation.shape)
        of_worst = outcome.edges[(slice(None), *worst)]
        n_edges, log_scores = second_half(outcome.n_edges), second_half(outcome.log_scores)
        rows.append(
            {
                "sampler": method,
                "error of a seed": np.median(of_seeds),
                "error of all": deviation[worst],
                "standard error": of_worst.std(ddof=1) / np.sqrt(len(of_worst)),
                **_averages(results, n_edges, log_scores),
            }
        )
    return pd.DataFrame(rows)


def _averages(results: Results, n_edges: NDArray[Any], log_scores: NDArray[Any]) -> Row:
    """Mean number of edges, and the share of the draws in the region of scores that is examined."""
    averages: Row = {"edges": n_edges.mean()}
    if results.problem.region is not None:
        low, high = results.problem.region
        relative = log_scores - results.best
        averages[f"scores {low:g} to {high:g}"] = ((relative >= low) & (relative <= high)).mean()
    return averages


def edge_law_table(results: Results) -> pd.DataFrame:
    """Three nodes: how often DAGs have 0, 1, 2 and 3 edges, in theory and in all draws."""
    import pandas as pd

    laws = {
        "posterior": np.array(THREE_NODE_DAGS) * e ** np.arange(4),
        "posterior, once per order": np.array(THREE_NODE_ORDERS) * e ** np.arange(4),
    }
    for method, outcome in results.outcomes.items():
        n_edges = second_half(outcome.n_edges).ravel()
        laws[method] = np.bincount(n_edges, minlength=4).astype(np.float64)
    rows = [
        {"sampler": name} | {f"{k} edges": law[k] / law.sum() for k in range(4)}
        for name, law in laws.items()
    ]
    return pd.DataFrame(rows)


def to_markdown(table: pd.DataFrame) -> str:
    """A table in Markdown, a dash where there is no number."""
    lines = [
        "| " + " | ".join(table.columns) + " |",
        "|" + "|".join("---:" if kind.kind == "f" else "---" for kind in table.dtypes) + "|",
    ]
    for row in table.to_numpy(dtype=object).tolist():
        lines.append("| " + " | ".join(map(_cell, row)) + " |")
    return "\n".join(lines) + "\n"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "-" if np.isnan(value) else f"{value:z.3f}"
    return str(value)

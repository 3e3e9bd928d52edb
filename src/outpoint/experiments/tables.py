"""The results in numbers: how often the best DAG was found, and how far chains are from exact."""

from __future__ import annotations

from math import e, nan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from outpoint.experiments.published import published_for, published_scores, smirnov_test
from outpoint.experiments.runs import N_DRAWS, Results, second_half

if TYPE_CHECKING:
    import pandas as pd

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

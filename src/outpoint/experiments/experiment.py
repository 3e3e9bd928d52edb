"""One experiment from its data to its tables and figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from outpoint.experiments.figures import draw_figures
from outpoint.experiments.problems import PROBLEMS
from outpoint.experiments.runs import FULL, Extent, Results, run_sampler, solve_exactly
from outpoint.experiments.tables import (
    best_scores_table,
    edge_law_table,
    errors_table,
    to_markdown,
)

if TYPE_CHECKING:
    import pandas as pd

RESULTS = "results.md"


def reproduce(
    name: str,
    directory: Path,
    extent: Extent = FULL,
    report: Callable[[str, float], None] = lambda stage, fraction: None,
) -> dict[str, pd.DataFrame]:
    """Run the experiment ``name``; returns its tables by title.

    Results, figures and tables are written to ``directory``; samplers whose results are there
    already are not run again. ``report`` is told what is going on, and how much of it is done.
    """
    problem = PROBLEMS[name]()
    directory.mkdir(parents=True, exist_ok=True)
    report(name, 0.0)
    exact = solve_exactly(problem, directory)
    outcomes = {}
    for number, method in enumerate(problem.steps):

        def follow(fraction: float, done: int = number) -> None:
            report(name, (done + fraction) / len(problem.steps))

        outcomes[method] = run_sampler(problem, method, extent, directory, follow)
    results = Results(problem, extent, exact, outcomes)
    for figure_name, figure in draw_figures(results):
        figure.savefig(directory / f"{figure_name}.png", dpi=100)
    tables = _tabulate(results)
    text = "\n".join(f"## {title}\n\n{to_markdown(table)}" for title, table in tables.items())
    (directory / RESULTS).write_text(text, encoding="utf-8")
    report(name, 1.0)
    return tables


def _tabulate(results: Results) -> dict[str, pd.DataFrame]:
    title = results.problem.title
    tables = {
        f"{title}: best scores": best_scores_table(results),
        f"{title}: against the exact posterior": errors_table(results),
    }
    if results.problem.name == "three-nodes":
        tables[f"{title}: numbers of edges"] = edge_law_table(results)
    return tables

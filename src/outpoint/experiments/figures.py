"""The paper's figures from our runs: traces of the chains, densities of the best scores found.

And two of our own: errors against the exact posterior, and averages over all seeds beside it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from outpoint.experiments.problems import OURS
from outpoint.experiments.runs import Results
from outpoint.report.plots import best_scores
from outpoint.report.plots.style import BLUE, GREEN, LINES, RED, add_legend, colour_of, finish

COMPARED = ("partition", "structure+rev", "partition+rev", OURS)
"""Samplers in the densities: the paper's three, in its colours and lines, and ours."""

AVERAGED = ("order", "partition+rev", OURS)
"""Samplers whose averages are compared with the exact posterior: a biased one and two others."""

N_PANELS = 4
"""Seeds whose traces are shown one by one, as in the paper."""

BURN_IN = 1.0
"""Percentage of the lowest scores that traces may leave out, so that the others can be seen."""

DEPTH = 60.0
"""Log units below the best score that traces of all seeds show; what is lower is cut."""

NEARBY = 6.0
NARROW = 0.15
"""Log units that the closer look at the densities shows, and its bandwidth."""


def draw_figures(results: Results) -> Iterator[tuple[str, Figure]]:
    """The figures of a problem, each with its name."""
    yield "traces", _traces(results)
    for method in results.outcomes:
        yield f"seeds-{method.replace(' ', '-')}", _all_traces(results, method)
    yield "densities", _densities(results)
    yield "errors", _errors(results)
    yield "averages", _averages(results)


def _figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _traces(results: Results) -> Figure:
    """A row for each sampler: scores of the kept DAGs of the first seeds, relative to the best."""
    best, true, outcomes = results.best, results.problem.true_log_score, results.outcomes
    figure = _figure(11, 1.5 * len(outcomes) + 0.4)
    n_panels = min(N_PANELS, *(len(outcome.best) for outcome in outcomes.values()))
    grid = figure.subplots(len(outcomes), n_panels, sharex=True, sharey="row", squeeze=False)
    for row, (method, outcome) in zip(grid, outcomes.items(), strict=True):
        relative = outcome.log_scores[:n_panels] - best
        for ax, scores in zip(row, relative, strict=True):
            ax.plot(scores, color=BLUE, linewidth=0.5)
            ax.axhline(scores.max(), color=GREEN, linewidth=1.0)
            if true is not None:
                ax.axhline(true - best, color=RED, linewidth=1.0, linestyle=":")
            finish(ax, "", "")
        depth = -np.percentile(relative, BURN_IN)
        row[0].set_ylim(-1.1 * depth, 0.1 * depth)
        row[0].set_title(method, loc="left", fontsize="small", fontweight="bold")
    figure.supxlabel("kept DAG", fontsize="small")
    figure.supylabel("log score, relative to the best DAG", fontsize="small")
    return figure


def _all_traces(results: Results, method: str) -> Figure:
    """One small panel for each seed; the upper edge of a panel is the best possible score."""
    log_scores = results.outcomes[method].log_scores
    relative = np.maximum(log_scores - results.best, -DEPTH) / DEPTH
    n_seeds, n_draws = relative.shape
    n_columns = int(np.ceil(np.sqrt(n_seeds)))
    seeds = np.arange(n_seeds)
    column, row = seeds % n_columns, -(seeds // n_columns)
    x = column[:, None] + 0.92 * np.linspace(0, 1, n_draws)
    y = row[:, None] + 0.85 * relative
    figure = _figure(11, 1 + 0.8 * (row[0] - row[-1] + 1))
    ax = figure.add_subplot()
    edges = [[(c, r), (c + 0.92, r)] for c, r in zip(column, row, strict=True)]
    ax.add_collection(LineCollection(edges, colors=GREEN, linewidths=0.6))
    lines = np.stack([x, y], axis=2)
    ax.add_collection(LineCollection(list(lines), colors=BLUE, linewidths=0.4))
    ax.set_xlim(-0.05, n_columns)
    ax.set_ylim(row[-1] - 0.95, 0.15)
    ax.set_axis_off()
    ax.set_title(
        f"{method}: {n_seeds} seeds, from the best log score (green) to {DEPTH:g} below",
        loc="left",
        fontsize="medium",
    )
    return figure


def _densities(results: Results) -> Figure:
    """Best scores of all seeds: the paper's samplers on the whole, and all close to the best DAG.

    On the whole our sampler would be one high peak, in whose scale the others cannot be seen.
    """
    compared = {method: results.outcomes[method].best for method in COMPARED}
    papers = {method: scores for method, scores in compared.items() if method != OURS}
    figure = _figure(11, 4)
    whole, near = figure.subplots(1, 2)
    best_scores(papers, reference=results.best, ax=whole)
    best_scores(compared, reference=results.best, bandwidth=NARROW, ax=near)
    near.set_xlim(-NEARBY, 4 * NARROW)
    for line in [line for line in near.lines if line.get_marker() == "|"]:
        line.remove()  # marks below the axis, also of runs that are not shown here
    near.tick_params(axis="x", pad=4)
    near.set_title("a closer look, with a narrower kernel", loc="left", fontsize="small")
    return figure


def _errors(results: Results) -> Figure:
    """Show the share of seeds whose largest error of an edge probability is at most each value."""
    figure = _figure(7, 4)
    ax, exact = figure.add_subplot(), results.exact
    for number, (method, outcome) in enumerate(results.outcomes.items()):
        errors = np.sort(np.abs(outcome.edges - exact.edges).max(axis=(1, 2)))
        ax.step(
            np.append(errors, 1.0),
            np.append(np.arange(1, len(errors) + 1) / len(errors), 1.0),
            where="post",
            color=colour_of(number),
            linestyle=LINES[number % len(LINES)],
            label=method,
        )
    independent = np.abs(exact.half_edges - exact.edges).max(axis=(1, 2)).mean()
    ax.axvline(independent, color="gray", linewidth=0.8, linestyle=":", label="independent draws")
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(0.0, 1.02)
    finish(ax, "largest error of an edge probability", "share of seeds")
    add_legend(ax, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _averages(results: Results) -> Figure:
    """Edge probabilities averaged over all seeds beside the exact ones, to show bias."""
    figure = _figure(10.2, 4.2)
    panels = figure.subplots(1, len(AVERAGED), sharex=True, sharey=True)
    exact = results.exact.edges
    is_edge = ~np.eye(len(exact), dtype=bool)
    for ax, method in zip(panels, AVERAGED, strict=True):
        ax.plot([0, 1], [0, 1], color="gray", linewidth=0.8)
        average = results.outcomes[method].edges.mean(axis=0)
        ax.plot(exact[is_edge], average[is_edge], "o", color=BLUE, markersize=4, alpha=0.6)
        ax.set_aspect("equal")
        finish(ax, "exact edge probability", "")
        ax.set_title(method, loc="left", fontsize="small", fontweight="bold")
    panels[0].set_ylabel("average over all seeds")
    return figure

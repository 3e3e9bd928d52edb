"""All edge probabilities at once, as a matrix of colours."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Literal

import numpy as np

from outpoint.arguments import takes
from outpoint.arrays import Booleans
from outpoint.kinds import choice
from outpoint.posterior import Posterior
from outpoint.posterior.comparison import POSTERIOR
from outpoint.report.layout import orient_pairs
from outpoint.report.plots.style import AXES, as_text, axes_for, probability_colours, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NUMBERS = 16
MOST_LABELS = 70


@takes(
    posterior=POSTERIOR,
    of=choice("edges", "ancestors"),
    order=choice("causes", "data"),
    ax=AXES,
)
def heatmap(
    posterior: Posterior,
    *,
    of: Literal["edges", "ancestors"] = "edges",
    order: Literal["causes", "data"] = "causes",
    ax: Axes | None = None,
) -> Axes:
    """Probabilities of edges, or of ancestor relations, from the row to the column variable.

    ``order="causes"`` sorts the variables so that probable edges point from the upper left to the
    lower right, where cycles allow it; ``order="data"`` keeps the columns of the data.
    """
    frame = posterior.edge_probabilities if of == "edges" else posterior.ancestor_probabilities
    values = frame.to_numpy()
    n = len(values)
    ranked = list(range(n))
    if order == "causes":
        ranked = _sort_causes_first(orient_pairs(posterior.edge_probabilities.to_numpy()))
    side = float(np.clip(0.42 * n, 3.2, 9.0))
    ax = axes_for(ax, side + 1.6, side + 0.6)
    cells = values[np.ix_(ranked, ranked)]
    image = ax.imshow(
        cells, cmap=probability_colours(), vmin=0.0, vmax=1.0, interpolation="nearest"
    )
    ax.set_xlabel("child" if of == "edges" else "descendant")
    ax.set_ylabel("parent" if of == "edges" else "ancestor")
    _label(ax, [shown(posterior.names[v]) for v in ranked])
    if n <= MOST_NUMBERS:
        _write_numbers(ax, cells)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.7, pad=0.02)
    bar.set_label("probability")
    bar.outline.set_visible(False)
    ax.spines[:].set_alpha(0.3)
    return ax


def _sort_causes_first(adjacency: Booleans) -> list[int]:
    """The nodes of a DAG, parents first, otherwise in the order of the data."""
    n_waiting = adjacency.sum(axis=0)
    free = np.flatnonzero(n_waiting == 0).tolist()
    ranked: list[int] = []
    while free:
        ranked.append(heappop(free))
        children = np.flatnonzero(adjacency[ranked[-1]])
        n_waiting[children] -= 1
        for child in children[n_waiting[children] == 0].tolist():
            heappush(free, child)
    return ranked


def _label(ax: Axes, names: list[str]) -> None:
    """Every variable by its name, as long as names can be read."""
    n = len(names)
    if n > MOST_LABELS:
        for axis in (ax.xaxis, ax.yaxis):
            axis.label.set_text(f"{axis.label.get_text()} ({n} variables)")
        ax.set_xticks([])
        ax.set_yticks([])
        return
    size = float(np.clip(450 / n, 4.5, 9.0))
    ax.set_xticks(range(n), names, rotation=90, fontsize=size)
    ax.set_yticks(range(n), names, fontsize=size)
    ax.tick_params(length=0)
    as_text([*ax.get_xticklabels(), *ax.get_yticklabels()])


def _write_numbers(ax: Axes, cells: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
    """Percentages in the cells; what rounds to nothing stays empty."""
    for (row, column), value in np.ndenumerate(cells):
        if value >= 0.005:
            number = ax.text(
                column, row, f"{100 * value:.0f}", ha="center", va="center", fontsize=7
            )
            if value > 0.6:
                number.set_color("white")

"""The network of a time series: times side by side, or rolled up into one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from outpoint.arguments import SHARE, takes
from outpoint.arrays import Floats
from outpoint.data.dataset import lagged_name
from outpoint.posterior import Posterior
from outpoint.posterior.comparison import POSTERIOR
from outpoint.report.plots.style import AXES, BLUE, ORANGE, as_text, axes_for, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAST = 0.1
"""Edges that are less probable are not drawn, unless asked for."""

WIDTH = 3.0
"""Distance from one time to the next, in units of the distance between two variables."""


@takes(posterior=POSTERIOR, at_least=SHARE, ax=AXES)
def slices(posterior: Posterior, *, at_least: float = LEAST, ax: Axes | None = None) -> Axes:
    """The times of a series side by side, the present on the right, static columns below.

    Edges from the past are blue, those within a time orange; the more probable, the darker.
    """
    edges = posterior.lagged_probabilities
    variables = list(edges.columns)
    n_lags = int(edges.index.get_level_values(0).max())
    lags = range(n_lags + 1)
    places = {
        lagged_name(name, lag): (-WIDTH * lag, -row)
        for lag in lags
        for row, name in enumerate(variables)
    }
    absent = set(places) - set(posterior.names)
    static = [name for name in posterior.names if name not in places]
    places |= {name: (-WIDTH, -len(variables) - row) for row, name in enumerate(static)}
    n_rows = len(variables) + len(static)
    ax = axes_for(ax, 2.2 + 2.2 * n_lags, float(np.clip(0.45 * n_rows, 2.4, 12.0)))
    for name, (x, y) in places.items():
        if name not in absent:
            _name(ax, x, y, shown(name))
    values = posterior.edge_probabilities.to_numpy()
    for u, v in np.argwhere(values >= at_least).tolist():
        parent, child = posterior.names[u], posterior.names[v]
        if child in variables and u != v:
            x, y = places[parent]
            bend = 0.45 if x == 0 else 0.0 if x >= -WIDTH else 0.12  # around names between
            ends = _ends(x, y, places[child][1])
            _arrow(ax, *ends, float(values[u, v]), BLUE if x else ORANGE, bend)
    ax.set_xlim(-WIDTH * n_lags - 0.9, 1.4)
    ax.set_ylim(-n_rows + 0.4, 0.6)
    ax.axis("off")
    return ax


@takes(posterior=POSTERIOR, at_least=SHARE, ax=AXES)
def rolled_up(posterior: Posterior, *, at_least: float = LEAST, ax: Axes | None = None) -> Axes:
    """The network of a series with one node per variable: an edge stands for any lag.

    Variables that depend on their own past have a ring: the more probable, the darker.
    """
    frame = posterior.rolled_up_probabilities
    variables, values = list(frame.columns), frame.to_numpy()
    side = float(np.clip(0.5 * len(variables), 3.4, 9.0))
    ax = axes_for(ax, side, side)
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(variables)) / len(variables)
    places = np.column_stack([np.cos(angles), np.sin(angles)])
    for v, name in enumerate(variables):
        _name(ax, float(places[v, 0]), float(places[v, 1]), shown(name))
        if values[v, v] >= at_least:
            ax.plot(
                *(1.22 * places[v][:, None]), "o", ms=9, mfc="none", mec=BLUE, alpha=values[v, v]
            )
    for u, v in np.argwhere(values >= at_least).tolist():
        if u != v:
            _arrow(ax, places[u], places[v], float(values[u, v]), BLUE, 0.15, room=12.0)
    ax.set_xlim(-1.5, 1.5)
    ax.set_ylim(-1.35, 1.35)
    ax.axis("off")
    return ax


def _ends(x: float, y: float, child: float) -> tuple[Floats, Floats]:
    """Where an edge begins and ends; those within a time bend around on the right."""
    if x:
        return np.array([x + 0.55, y]), np.array([-0.55, child])
    return np.array([0.5, y]), np.array([0.5, child])


def _name(ax: Axes, x: float, y: float, name: str) -> None:
    as_text([ax.text(x, y, name, ha="center", va="center", fontsize=9)])


def _arrow(
    ax: Axes,
    start: Floats,
    end: Floats,
    probability: float,
    colour: str,
    bend: float,
    room: float = 2.0,
) -> None:
    """An arrow that bends to the right of the drawing, whichever way it points."""
    side = bend if end[1] > start[1] else -bend
    arrow = {
        "arrowstyle": "-|>",
        "color": colour,
        "alpha": probability,
        "connectionstyle": f"arc3,rad={side}",
        "shrinkA": room,
        "shrinkB": room,
    }
    ax.annotate("", xy=(end[0], end[1]), xytext=(start[0], start[1]), arrowprops=arrow)

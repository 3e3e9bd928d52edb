"""The posterior as one graph: how probable each connection is, and how sure its direction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from outpoint.arguments import SHARE, takes
from outpoint.arrays import Floats
from outpoint.kinds import TRUTH
from outpoint.posterior import Posterior
from outpoint.posterior.comparison import POSTERIOR
from outpoint.report.layout import (
    NODE_HEIGHT,
    Layout,
    Router,
    compute_layout,
    node_labels,
    orient_pairs,
)
from outpoint.report.plots.style import AXES, BLUE, ORANGE, add_legend, as_text, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes


INCHES = 1 / 92
"""Inches per unit of the layout."""
LARGEST = 16.0
CERTAIN = 0.75
"""Least share of its connection, 3 to 1, at which a direction is drawn as the only one."""
HEAD = 9.0


@takes(posterior=POSTERIOR, threshold=SHARE, cpdag=TRUTH, ax=AXES)
def graph(
    posterior: Posterior,
    *,
    threshold: float = 0.5,
    cpdag: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Connections at least as probable as ``threshold``, in layers from causes to effects.

    The wider and darker a line, the more probable the connection in either direction. The arrow
    shows the more probable direction: filled and blue where that direction is at least three times
    as probable as the other, orange and open where it is not. With ``cpdag=True``
    lines have arrows only where the direction is compelled in most equivalence classes drawn.
    """
    edges = posterior.edge_probabilities.to_numpy()
    labels = node_labels(posterior.names)
    layout = compute_layout(orient_pairs(edges), labels)
    width, height = layout.size
    scale = min(INCHES, LARGEST / max(width, height))
    ax = axes_for(ax, max(3.0, width * scale), max(2.0, height * scale))
    forward = edges
    if cpdag:
        undirected = posterior.undirected_probabilities.to_numpy()
        forward = posterior.cpdag_probabilities.to_numpy() + undirected / 2
    connection = np.minimum(edges + edges.T, 1.0)  # rounding may exceed it
    _draw_connections(ax, layout, connection, forward, threshold, mark_doubt=not cpdag)
    _draw_nodes(ax, layout, labels)
    _explain(ax, cpdag=cpdag)
    ax.set_xlim(-12, width + 12)
    ax.set_ylim(height, 0)
    ax.set_axis_off()
    return ax


def _draw_connections(
    ax: Axes,
    layout: Layout,
    connection: Floats,
    forward: Floats,
    threshold: float,
    *,
    mark_doubt: bool,
) -> None:
    """One line per pair; ``forward`` / (``forward`` + its transpose) is a direction's share."""
    from matplotlib.patches import PathPatch, Polygon
    from matplotlib.path import Path

    router = Router(layout)
    pairs = np.argwhere(np.triu(connection, 1) >= max(threshold, 1e-9))
    for first, second in sorted(pairs.tolist(), key=lambda pair: connection[*pair]):
        (upper, lower), curve = router.route(first, second)
        probability = float(connection[upper, lower])
        share = forward[upper, lower] / max(forward[upper, lower] + forward[lower, upper], 1e-300)
        sure = max(share, 1 - share) >= CERTAIN
        colour = BLUE if sure else ORANGE
        curve = curve.copy()
        if sure or mark_doubt:
            end, back = (-1, -2) if share >= 0.5 else (0, 1)
            tip = curve[end].copy()
            down = float(np.sign(tip[1] - curve[back, 1]))
            curve[end, 1] -= down * HEAD * 0.8
            corners = tip + np.array([[0, 0], [-HEAD / 2, -down * HEAD], [HEAD / 2, -down * HEAD]])
            fill = colour if sure else "white"
            ax.add_patch(
                Polygon(corners, facecolor=fill, edgecolor=colour, linewidth=1.0, zorder=3)
            )
        codes = [Path.MOVETO, *[Path.CURVE4] * (len(curve) - 1)]
        line = PathPatch(
            Path(curve, codes),
            facecolor="none",
            edgecolor=colour,
            linewidth=0.6 + 2.2 * probability,
            alpha=0.25 + 0.75 * probability,
            capstyle="butt",
            zorder=2,
        )
        line.set_gid(f"{upper}-{lower}")
        ax.add_patch(line)


def _draw_nodes(ax: Axes, layout: Layout, labels: list[str]) -> None:
    """Boxes in data units, so that edges meet them at any size; text that fits into them."""
    from matplotlib.patches import FancyBboxPatch

    width, height = layout.size
    box = ax.get_window_extent()
    points = 72 / ax.figure.dpi * min(box.width / (width + 24), box.height / height)
    texts = []
    for (x, y), wide, label in zip(layout.positions, layout.widths, labels, strict=True):
        ax.add_patch(
            FancyBboxPatch(
                (x - wide / 2, y - NODE_HEIGHT / 2),
                wide,
                NODE_HEIGHT,
                boxstyle="round,pad=0,rounding_size=9",
                facecolor="#f4f6f8",
                edgecolor="#5b6770",
                linewidth=1.0,
                zorder=4,
            )
        )
        texts.append(
            ax.text(
                x,
                y,
                label,
                ha="center",
                va="center",
                fontsize=float(np.clip(points * 13, 2, 11)),
                zorder=5,
                color="#1c2329",
            )
        )
    as_text(texts)


def _explain(ax: Axes, *, cpdag: bool) -> None:
    from matplotlib.lines import Line2D

    known, doubtful = "one way at least 3 times as probable", "either way"
    if cpdag:
        known, doubtful = "mostly compelled", "mostly reversible"
    lines = [
        Line2D([], [], color=BLUE, linewidth=2.2, label=known),
        Line2D([], [], color=ORANGE, linewidth=2.2, label=doubtful),
    ]
    add_legend(ax, handles=lines, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2)

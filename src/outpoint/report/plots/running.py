"""Edge probabilities as they settle along the draws."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from outpoint.arguments import COUNT, EDGE_LIST, takes
from outpoint.errors import OptionError
from outpoint.posterior import Posterior
from outpoint.posterior.comparison import POSTERIOR
from outpoint.report.layout import clip_label
from outpoint.report.plots.style import AXES, add_legend, axes_for, colour_of, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@takes(posterior=POSTERIOR, edges=EDGE_LIST, n_edges=COUNT, ax=AXES)
def running_edges(
    posterior: Posterior,
    edges: Iterable[tuple[str, str]] | None = None,
    *,
    n_edges: int = 5,
    ax: Axes | None = None,
) -> Axes:
    """Share of the draws so far with each edge: one colour per edge, one line per chain.

    ``edges`` are (parent, child) pairs; by default the ``n_edges`` most uncertain ones. Lines of a
    colour that end together have settled; the dotted line is the posterior probability.
    """
    probability = posterior.edge_probabilities.to_numpy()
    chosen = _checked(edges, posterior) if edges is not None else _uncertain(posterior, n_edges)
    ax = axes_for(ax, 7.0, 3.8)
    draws = posterior.edge_draws(chosen)
    names = list(posterior.names)
    counts = np.arange(1, draws.shape[-1] + 1)
    for number, ((parent, child), present) in enumerate(zip(chosen, draws, strict=True)):
        edge = names.index(parent), names.index(child)
        colour = colour_of(number)
        label = f"{clip_label(parent, 18)} → {clip_label(child, 18)}"
        for chain, values in enumerate(present):
            ax.plot(
                counts,
                np.cumsum(values) / counts,
                color=colour,
                linewidth=1.1,
                alpha=0.9,
                label=label if chain == 0 else None,
            )
        ax.axhline(float(probability[edge]), color=colour, linewidth=1.0, linestyle=":")
    ax.set_ylim(-0.03, 1.03)
    ax.margins(x=0.01)
    finish(ax, "draw", "running edge probability")
    add_legend(ax, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def _uncertain(posterior: Posterior, n_edges: int) -> list[tuple[str, str]]:
    """The edges nearest to probability one half, each pair once."""
    values = posterior.edge_probabilities.to_numpy()
    first, second = np.triu_indices(len(values), 1)
    turned = values[second, first] > values[first, second]
    parents, children = np.where(turned, (second, first), (first, second))
    ranked = np.argsort(np.abs(values[parents, children] - 0.5), kind="stable")[:n_edges]
    names = posterior.names
    return [(names[parents[i]], names[children[i]]) for i in ranked]


def _checked(edges: Iterable[tuple[str, str]], posterior: Posterior) -> list[tuple[str, str]]:
    chosen = list(edges)
    for parent, child in chosen:
        for name in (parent, child):
            if name not in posterior.names:
                raise OptionError(f"{name!r} is not one of the variables.")
    if not chosen:
        raise OptionError("give at least one edge (parent, child).")
    return chosen

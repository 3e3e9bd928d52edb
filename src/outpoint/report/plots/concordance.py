"""Whether two runs, or the chains of one run, agree on every edge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from outpoint.arguments import SHARE, TEXT, ListOf, takes
from outpoint.arrays import Floats
from outpoint.errors import OptionError
from outpoint.posterior import Posterior, SampledPosterior
from outpoint.posterior.comparison import POSTERIOR
from outpoint.report.plots.style import AXES, BLUE, add_legend, axes_for, colour_of, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_VECTORS = 1000

TWO = ListOf("two names", item=TEXT, size=2)


@takes(first=POSTERIOR, second=POSTERIOR, tolerance=SHARE, names=TWO, ax=AXES)
def concordance(
    first: Posterior,
    second: Posterior | None = None,
    *,
    tolerance: float = 0.1,
    names: tuple[str, str] = ("first run", "second run"),
    ax: Axes | None = None,
) -> Axes:
    """Edge probabilities of one run against another, or of each chain against the other chains.

    Points on the diagonal agree; the band shows differences up to ``tolerance``. ``names`` label
    the axes where two runs are compared.
    """
    ax = axes_for(ax, 5.4 if second is None else 4.6, 4.4)
    ends = np.array([0.0, 1.0])
    ax.fill_between(ends, ends - tolerance, ends + tolerance, color="gray", alpha=0.15, lw=0)
    ax.plot(ends, ends, color="gray", linewidth=0.8)
    if second is not None:
        x, y = _of_two_runs(first, second)
        _scatter(ax, x, y, BLUE)
        labels = names
    else:
        edges = _chains_of(first)
        others = (edges.sum(axis=0) - edges) / (len(edges) - 1)
        for chain, (x, y) in enumerate(zip(others, edges, strict=True)):
            _scatter(ax, _off_diagonal(x), _off_diagonal(y), colour_of(chain), f"chain {chain}")
        labels = ("mean of the other chains", "chain")
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(-0.03, 1.03)
    ax.set_aspect("equal")
    finish(ax, f"edge probability, {labels[0]}", f"edge probability, {labels[1]}")
    if second is None:
        add_legend(ax, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def _scatter(ax: Axes, x: Floats, y: Floats, colour: str, label: str | None = None) -> None:
    many = len(x) > MOST_VECTORS  # beyond it, points in a vector file would be millions of bytes
    ax.scatter(x, y, s=14, alpha=0.55, color=colour, linewidths=0, label=label, rasterized=many)


def _of_two_runs(first: Posterior, second: Posterior) -> tuple[Floats, Floats]:
    if set(first.names) != set(second.names):
        raise OptionError("the two posteriors are about different variables.")
    names = list(first.names)
    matched = second.edge_probabilities.loc[names, names]
    return _off_diagonal(first.edge_probabilities.to_numpy()), _off_diagonal(matched.to_numpy())


def _chains_of(posterior: Posterior) -> Floats:
    if not isinstance(posterior, SampledPosterior) or len(posterior.chain_edges) < 2:
        raise OptionError("concordance needs two posteriors, or one sampled by several chains.")
    return posterior.chain_edges


def _off_diagonal(matrix: Floats) -> Floats:
    return matrix[~np.eye(len(matrix), dtype=np.bool_)]

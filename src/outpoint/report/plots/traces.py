"""Log scores along the chains, as in the figures of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from outpoint.arguments import takes
from outpoint.errors import OptionError
from outpoint.kinds import whole
from outpoint.posterior import Posterior
from outpoint.posterior.comparison import POSTERIOR
from outpoint.posterior.posterior import plain_log_scores
from outpoint.report.plots.style import (
    AXES,
    FINITE,
    GREEN,
    RED,
    add_legend,
    axes_for,
    colour_of,
    finish,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@takes(posterior=POSTERIOR, chain=whole(0), reference=FINITE, ax=AXES)
def traces(
    posterior: Posterior,
    *,
    chain: int | None = None,
    reference: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Log score of every draw, with the best score (solid) and a reference score (dotted).

    ``chain`` picks one of the chains, for panels like those of the paper; ``reference`` is a score
    to compare with, such as ``op.log_score(data, true_dag)`` or the best score of another run.
    """
    ax = axes_for(ax, 7.0, 3.6)
    scores = plain_log_scores(posterior)
    for number in _chosen(chain, len(scores)):
        ax.plot(
            np.arange(1, scores.shape[1] + 1),
            scores[number],
            color=colour_of(number),
            linewidth=0.7,
            alpha=0.85,
            label=f"chain {number}",
        )
    ax.axhline(posterior.map_log_score, color=GREEN, linewidth=1.4, label="best DAG")
    if reference is not None:
        ax.axhline(reference, color=RED, linewidth=1.4, linestyle=":", label="reference")
    ax.margins(x=0.01)
    ax.ticklabel_format(axis="y", useOffset=False)
    finish(ax, "draw", "log score")
    add_legend(ax, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def _chosen(chain: int | None, n_chains: int) -> range:
    if chain is None:
        return range(n_chains)
    if not 0 <= chain < n_chains:
        raise OptionError(f"chain is a number from 0 to {n_chains - 1}, not {chain!r}.")
    return range(chain, chain + 1)

"""How quickly the draws of a chain forget where they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from outpoint.arguments import COUNT, takes
from outpoint.arrays import Floats
from outpoint.posterior import Posterior
from outpoint.posterior.comparison import POSTERIOR
from outpoint.posterior.posterior import plain_log_scores
from outpoint.report.plots.style import AXES, add_legend, axes_for, colour_of, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@takes(posterior=POSTERIOR, max_lag=COUNT, ax=AXES)
def autocorrelation(posterior: Posterior, *, max_lag: int = 50, ax: Axes | None = None) -> Axes:
    """Autocorrelation of the log scores of the draws, by chain.

    Independent draws stay within the grey band at 95 % of the lags. A chain that never moved is
    shown at 1.
    """
    ax = axes_for(ax, 7.0, 3.2)
    scores = plain_log_scores(posterior)
    n_draws = scores.shape[1]
    lags = np.arange(min(max_lag, n_draws - 1) + 1)
    band = 1.96 / np.sqrt(n_draws)
    ax.axhspan(-band, band, color="gray", alpha=0.15, lw=0)
    ax.axhline(0.0, color="gray", linewidth=0.8)
    for chain, values in enumerate(scores):
        ax.plot(
            lags,
            autocorrelate(values)[: len(lags)],
            color=colour_of(chain),
            linewidth=1.4,
            marker="o",
            markersize=2.5,
            label=f"chain {chain}",
        )
    ax.set_ylim(min(-0.2, -1.3 * band), 1.05)
    ax.margins(x=0.01)
    finish(ax, "lag (draws)", "autocorrelation of the log score")
    add_legend(ax, loc="upper right")
    return ax


def autocorrelate(values: Floats) -> Floats:
    """Autocorrelations at all lags from 0; those of a constant are 1."""
    n = len(values)
    centred = values - values.mean()
    if np.ptp(values) == 0.0:
        return np.ones(n)
    power = np.abs(np.fft.rfft(centred, 2 * n)) ** 2
    covariance = np.fft.irfft(power)[:n]
    return covariance / covariance[0]

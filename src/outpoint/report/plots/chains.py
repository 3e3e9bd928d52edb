"""What chains did, and whether they agree.

Edge probabilities as they settle along the draws; log scores along the chains, as in the figures of
the paper; how quickly the draws of a chain forget where they were; and whether two runs, or the
chains of one run, agree on every edge.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from outpoint.arguments import COUNT, EDGE_LIST, SHARE, TEXT, ListOf, takes
from outpoint.arrays import Floats
from outpoint.errors import OptionError
from outpoint.kinds import whole
from outpoint.posterior import Posterior, SampledPosterior
from outpoint.posterior.comparison import POSTERIOR
from outpoint.posterior.posterior import plain_log_scores
from outpoint.report.layout import clip_label
from outpoint.report.plots.style import (
    AXES,
    BLUE,
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
        raise OptionError(f"chain must be a number from 0 to {n_chains - 1}, not {chain!r}.")
    return range(chain, chain + 1)


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

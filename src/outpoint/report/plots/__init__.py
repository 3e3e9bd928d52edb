"""Plots of a posterior: each takes posteriors and, if you like, axes, and returns the axes.

Without ``ax`` a figure of its own is made: ``ax.figure.savefig(path)`` writes it, and a notebook
that has imported pyplot shows ``ax.figure``. Pyplot's own state is left alone. Names of variables
are drawn as they are, never as formulas.
"""

from outpoint.report.plots.best_scores import best_scores
from outpoint.report.plots.chains import autocorrelation, concordance, running_edges, traces
from outpoint.report.plots.graph import graph
from outpoint.report.plots.heatmap import heatmap
from outpoint.report.plots.slices import rolled_up, slices

__all__ = [
    "autocorrelation",
    "best_scores",
    "concordance",
    "graph",
    "heatmap",
    "rolled_up",
    "running_edges",
    "slices",
    "traces",
]

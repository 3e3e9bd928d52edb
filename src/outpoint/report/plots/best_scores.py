"""How often do runs find the maximum? Densities of best scores, as in the paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from outpoint.arguments import takes
from outpoint.arrays import Floats
from outpoint.kinds import Kind, Number, demand, list_of
from outpoint.posterior import Posterior
from outpoint.report.layout import clip_label
from outpoint.report.plots.style import AXES, FINITE, LINES, add_legend, axes_for, colour_of, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Runs = Iterable[Posterior | float]

NARROWEST = 0.2
"""Least width of the kernel in log units, for runs that all find the same score."""

POINTS_PER_WIDTH = 8
"""Points at which a density is drawn, so that narrow kernels look smooth."""


MOST_RUNS = 10_000
WIDTHS = Number("a number of log units from 0.001 to a million", least=1e-3, most=1e6)
MOST_POINTS = 20_000_000
"""Points of a density times runs in it, which are kept in memory together."""


@dataclass(frozen=True)
class Groups(Kind):
    """Best scores of runs, in groups with names."""

    words: str = "a list of posteriors or finite log scores, or a dictionary of such lists by name"

    def read(self, value: Any) -> dict[str, Floats]:
        """The scores by group; a single group is called ``runs``."""
        groups = value if isinstance(value, Mapping) else {"runs": value}
        demand(len(groups) > 0)
        return {str(name): self._scores(group) for name, group in groups.items()}

    def _scores(self, group: Any) -> Floats:
        runs = list_of(group)
        demand(0 < len(runs) <= MOST_RUNS)
        return np.array([FINITE.read(_best(run)) for run in runs])


@takes(runs=Groups(), reference=FINITE, bandwidth=WIDTHS, ax=AXES)
def best_scores(
    runs: Mapping[str, Runs] | Runs,
    *,
    reference: float | None = None,
    bandwidth: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Density of the best score of each run, relative to ``reference`` or to the best of all.

    ``runs`` holds posteriors or best log scores: one group of them, or several by name. Each run is
    smoothed by a Gaussian of width ``bandwidth`` (Silverman's rule by default); ticks mark runs.
    """
    groups = cast(dict[str, Floats], runs)  # as it was read
    top = max(scores.max() for scores in groups.values()) if reference is None else reference
    ax = axes_for(ax)
    for number, (name, scores) in enumerate(groups.items()):
        width = bandwidth or _silverman(scores)
        low, high = scores.min() - top - 4 * width, scores.max() - top + 4 * width
        n_points = min(POINTS_PER_WIDTH * (high - low) / width, MOST_POINTS / len(scores))
        x = np.linspace(low, high, max(512, int(n_points)))
        colour = colour_of(number)
        ax.plot(
            x,
            smooth(x, scores - top, width),
            color=colour,
            linestyle=LINES[number % len(LINES)],
            linewidth=1.8,
            label=f"{clip_label(name, 40)} ({len(scores)})",
        )
        ax.plot(
            scores - top,
            np.full(len(scores), -0.02 * (1 + number)),
            "|",
            color=colour,
            markersize=7,
            alpha=0.7,
            transform=ax.get_xaxis_transform(),
            clip_on=False,
        )
    ax.axvline(0.0, color="gray", linewidth=0.8, linestyle=":")
    ax.set_ylim(bottom=0.0)
    ax.tick_params(axis="x", pad=6 + 5 * len(groups))
    finish(ax, "best log score, relative", "density")
    add_legend(ax)
    return ax


def smooth(x: Floats, values: Floats, width: float) -> Floats:
    """Mean of Gaussian densities of this width about the values, at the points ``x``."""
    z = (x[:, None] - values[None, :]) / width
    return np.exp(-0.5 * z**2).mean(axis=1) / (width * np.sqrt(2 * np.pi))


def _best(run: Posterior | float) -> float:
    return run.map_log_score if isinstance(run, Posterior) else run


def _silverman(scores: Floats) -> float:
    spread = scores.std(ddof=1) if len(scores) > 1 else 0.0
    return max(NARROWEST, float(0.9 * spread * len(scores) ** -0.2))

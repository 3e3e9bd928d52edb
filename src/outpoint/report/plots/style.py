"""What all plots share: colours that everyone can tell apart, axes, and names that stay text."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from outpoint.kinds import Number, Tested
from outpoint.report.layout import LONGEST_NAME, clip_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.text import Text

BLUE, ORANGE, GREEN, RED, PURPLE, SKY = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#d55e00",
    "#cc79a7",
    "#56b4e9",
)
COLOURS = (BLUE, ORANGE, PURPLE, SKY, GREEN, RED)
"""The palette of Okabe & Ito, which the colour-blind can tell apart. Green and red come last: in
traces they mark the best and the reference score."""
LINES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))


def _is_axes(given: Any) -> bool:
    """Whether these are axes, whose module was imported by whoever made them."""
    return isinstance(given, sys.modules["matplotlib.axes"].Axes)


LARGEST = sys.float_info.max
FINITE = Number("a finite number", least=-LARGEST, most=LARGEST)
AXES = Tested("the axes of a Matplotlib figure", test=_is_axes)


def colour_of(index: int) -> str:
    """The colour of the chain, run or edge with this number."""
    return COLOURS[index % len(COLOURS)]


def axes_for(ax: Axes | None, width: float = 7.0, height: float = 4.0) -> Axes:
    """The given axes, or those of a new figure; pyplot's current figure is left alone."""
    if ax is not None:
        return ax
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def finish(ax: Axes, x: str, y: str, title: str = "") -> Axes:
    """Label the axes and take away what carries no information."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    if title:
        ax.set_title(title, loc="left", fontsize="medium", fontweight="bold")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, axis="y", alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
    return ax


def shown(name: str) -> str:
    """A name from the data as a label of limited length."""
    return clip_label(name, LONGEST_NAME)


def as_text(labels: Iterable[Text]) -> None:
    """Show labels as they are: a name such as ``$x$`` is not a formula."""
    for label in labels:
        label.set_parse_math(False)


def add_legend(ax: Axes, **options: Any) -> None:
    """A legend whose labels are text."""
    legend = ax.legend(frameon=False, fontsize="small", **options)
    as_text(legend.get_texts())


def probability_colours() -> Colormap:
    """From nothing to blue: transparent at 0, so that more is stronger on any background."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    return LinearSegmentedColormap.from_list("probability", [to_rgba(BLUE, 0.0), to_rgba(BLUE)])

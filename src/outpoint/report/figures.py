"""The plots of a report as SVG that lives in a page: its text is text, its ink follows the theme.

Matplotlib writes a document of its own. Here it becomes an element of the page: the colour of
letters and axes turns into the page's text colour, styles become plain attributes (the page allows
no inline styles), and only those ids stay that something refers to.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from outpoint.posterior import Posterior, SampledPosterior
from outpoint.posterior.posterior import plain_log_scores
from outpoint.report import plots
from outpoint.report.plots.heatmap import MOST_NUMBERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = "#010203"
"""A colour that no plot uses; in the page it becomes the colour of text."""
MOST_PANELS = 8


@dataclass(frozen=True)
class Illustration:
    """A figure of the report: SVG, and what it shows in words."""

    key: str
    svg: str
    caption: str


def draw_heatmap(posterior: Posterior) -> Illustration:
    """The heat map of all edges."""
    with _page_style():
        figure = _figure_of(plots.heatmap(posterior))
        percent = ", in percent" if len(posterior.names) <= MOST_NUMBERS else ""
        caption = (
            f"Probability of every edge from the row to the column variable{percent}. "
            "Variables are sorted so that most edges point from causes above to effects below."
        )
        return Illustration("heatmap", _to_svg(figure, "heatmap", caption), caption)


def draw_series(posterior: Posterior) -> list[Illustration]:
    """The network of a time series, unrolled and rolled up; empty for other data."""
    if not posterior.is_series:
        return []
    wanted: list[tuple[str, Callable[[], object], str]] = [
        (
            "slices",
            lambda: plots.slices(posterior),
            "The times of the series side by side, the present on the right, static ones below. "
            "Edges from the past are blue, those within a time orange; the more probable, the "
            "darker.",
        ),
        (
            "rolled-up",
            lambda: plots.rolled_up(posterior),
            "The same with one node per variable: an edge stands for any lag, and a ring for a "
            "variable that depends on its own past.",
        ),
    ]
    return _illustrations(wanted)


def draw_traces(posterior: Posterior) -> Illustration:
    """Log scores of the draws, one panel per chain."""
    with _page_style():
        figure = _trace_panels(posterior)
        caption = "Log score of every draw; the line on top is the best DAG."
        return Illustration("traces", _to_svg(figure, "traces", caption), caption)


def draw_convergence(posterior: Posterior) -> list[Illustration]:
    """Figures that show whether chains have converged; empty for an exact posterior."""
    if not isinstance(posterior, SampledPosterior):
        return []
    wanted: list[tuple[str, Callable[[], object], str]] = [
        (
            "running",
            lambda: plots.running_edges(posterior),
            "Share of the draws so far with each of the most uncertain edges, one line per chain. "
            "Lines of a colour should end together, at the dotted posterior probability.",
        ),
        (
            "autocorrelation",
            lambda: plots.autocorrelation(posterior),
            "Autocorrelation of the log score. Independent draws stay within the grey band.",
        ),
    ]
    if len(posterior.chain_edges) > 1:
        wanted.insert(
            0,
            (
                "concordance",
                lambda: plots.concordance(posterior),
                "Edge probabilities of each chain against the mean of the others. "
                "Chains that agree lie on the diagonal.",
            ),
        )
    return _illustrations(wanted)


def _illustrations(wanted: list[tuple[str, Callable[[], object], str]]) -> list[Illustration]:
    """Figures by their keys, with captions."""
    drawn = []
    for key, draw, caption in wanted:
        with _page_style():
            drawn.append(Illustration(key, _to_svg(_figure_of(draw()), key, caption), caption))
    return drawn


def _trace_panels(posterior: Posterior) -> Figure:
    """Panels that share their axes; many chains go into one."""
    from matplotlib.figure import Figure

    n_chains = len(plain_log_scores(posterior))
    if n_chains == 1 or n_chains > MOST_PANELS:
        return _figure_of(plots.traces(posterior))
    n_rows = -(-n_chains // 2)
    figure = Figure(figsize=(8.0, 0.5 + 2.0 * n_rows), layout="constrained")
    panels = figure.subplots(n_rows, 2, sharex=True, sharey=True, squeeze=False).ravel()
    for chain, ax in enumerate(panels):
        if chain >= n_chains:
            ax.set_axis_off()
            continue
        plots.traces(posterior, chain=chain, ax=ax)
        ax.get_legend().remove()
        ax.set_title(f"chain {chain}", loc="left", fontsize="small")
        ax.label_outer()
    return figure


def _figure_of(ax: object) -> Figure:
    figure: Figure = ax.figure  # type: ignore[attr-defined]
    return figure


@contextmanager
def _page_style() -> Iterator[None]:
    import matplotlib as mpl

    inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    style: dict[Any, Any] = dict.fromkeys(inked, INK)
    style |= {"svg.fonttype": "none", "font.family": ["sans-serif"], "font.size": 9.5}
    with mpl.rc_context(style), warnings.catch_warnings():
        # Glyphs that matplotlib lacks for measuring are drawn by the browser.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def _to_svg(figure: Figure, key: str, caption: str) -> str:
    import matplotlib as mpl

    for ax in figure.axes:
        ax.set_facecolor("none")
    with io.StringIO() as file, mpl.rc_context({"svg.hashsalt": key}):
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
        text = file.getvalue()
    return _as_element(text, caption)


def _as_element(document: str, caption: str) -> str:
    """The ``svg`` element of a document written by matplotlib, fit to stand in the page."""
    from markupsafe import escape

    svg = document[document.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", svg, flags=re.S)
    svg = re.sub(r' style="([^"]*)"', lambda found: _attributes(found[1]), svg)
    svg = svg.replace(INK, "currentColor")
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', svg))
    svg = re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", svg)
    width = re.search(r'width="([\d.]+)pt"', svg)
    wide = float(width[1]) if width else 500.0
    svg = re.sub(r'<svg ([^>]*?)\bwidth="[^"]*"', r"<svg \1", svg, count=1)
    svg = re.sub(r'<svg ([^>]*?)\bheight="[^"]*"', r"<svg \1", svg, count=1)
    head = f'<svg role="img" aria-label="{escape(caption)}" width="{wide * 4 / 3:.0f}" '
    return svg.replace("<svg ", head, 1)


def _attributes(style: str) -> str:
    """Presentation attributes in place of an inline style."""
    written = []
    for declaration in style.split("; "):
        name, _, value = declaration.partition(": ")
        if name == "font":
            size = re.search(r"([\d.]+)px", value)
            written.append(f' font-size="{size[1] if size else 10}"')
            if "bold" in value.split() or "700" in value.split():
                written.append(' font-weight="700"')
        elif name:
            written.append(f' {name}="{value.strip(";")}"')
    return "".join(written)

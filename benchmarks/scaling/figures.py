"""What the scaling study found, as figures."""

import io
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from benchmarks.scaling.tables import (
    FEW,
    MANY,
    OPERATIONS,
    PEAK,
    SECONDS,
    Case,
    kind_of,
    machine_rate,
    sums_of,
)

COLOURS = ("#0072b2", "#d55e00", "#009e73")


def draw_nodes(cases: Sequence[Case]) -> Figure:
    """Time per step, where the seconds go, and memory, against the number of variables."""
    figure, axes = _panels(3)
    sizes = [case["n_nodes"] for case in cases]
    _plot(axes[0], sizes, [case["microseconds_per_step"] for case in cases], "", 0)
    axes[0].set_title("microseconds per step", loc="left", fontsize="medium")
    labels = ("scores", "candidates", "steps")
    for i, key in enumerate((*SECONDS, "sampling_seconds")):
        _plot(axes[1], sizes, [max(case[key], 1e-3) for case in cases], labels[i], i)
    axes[1].set_title("processor seconds", loc="left", fontsize="medium")
    axes[1].legend(frameon=False, fontsize="small")
    _plot(axes[2], sizes, [case[PEAK] for case in cases], "", 0)
    axes[2].set_title("peak memory, MB", loc="left", fontsize="medium")
    for ax in axes:
        ax.set_xlabel("variables")
    return figure


def draw_growth(cases: Sequence[Case], variable: str, label: str) -> Figure:
    """Seconds for the scores, time per step and memory."""
    figure, axes = _panels(3)
    panels = (
        ("scored", "table_seconds", "scores, processor seconds"),
        ("sampled", "microseconds_per_step", "microseconds per step"),
        ("sampled", PEAK, "peak memory, MB"),
    )
    for ax, (what, key, title) in zip(axes, panels, strict=True):
        for i, kind in enumerate(("gaussian", "categorical")):
            chosen = [case for case in cases if case["case"] == what and kind_of(case) == kind]
            if chosen:
                x = [case.get(variable, 3) for case in chosen]
                _plot(ax, x, [case[key] for case in chosen], kind, i)
        ax.set_title(title, loc="left", fontsize="medium")
        ax.set_xlabel(label)
        if variable == "max_parents":
            ax.set_xscale("linear")
    axes[0].legend(frameon=False, fontsize="small")
    return figure


def draw_exact(cases: Sequence[Case]) -> Figure:
    """Processor seconds next to what the machine could do, and memory."""
    figure, axes = _panels(2)
    for i, n_obs in enumerate((FEW, MANY)):
        sums = sums_of(cases, n_obs)
        sizes = [case["n_nodes"] for case in sums]
        _plot(axes[0], sizes, [case["processor_seconds"] for case in sums], f"{n_obs} rows", i)
    limit = [1e-9 * OPERATIONS * 3.0**n / machine_rate(cases) for n in sizes]
    axes[0].plot(sizes, limit, "--", color="grey", label="all terms at the machine's rate")
    axes[0].set_title("processor seconds", loc="left", fontsize="medium")
    axes[0].legend(frameon=False, fontsize="small")
    _plot(axes[1], sizes, [case[PEAK] for case in sums], "", 0)
    axes[1].set_title("peak memory, MB", loc="left", fontsize="medium")
    for ax in axes:
        ax.set_xscale("linear")
        ax.set_xlabel("variables")
    return figure


def _panels(number: int) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(3.6 * number, 3.2), layout="constrained")
    axes = list(figure.subplots(1, number))
    for ax in axes:
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.spines[["right", "top"]].set_visible(False)
    return figure, axes


def _plot(ax: Axes, x: Sequence[float], y: Sequence[float], label: str, colour: int) -> None:
    ax.plot(x, y, "o-", color=COLOURS[colour], label=label, markersize=4)


def save(figure: Figure, path: Path) -> None:
    """A small PNG."""
    file = io.BytesIO()
    figure.savefig(file, dpi=100, format="png")
    with Image.open(file) as image:
        image.convert("RGB").quantize(128).save(path, optimize=True)

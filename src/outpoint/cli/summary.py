"""What ``outpoint learn`` shows at the end: a summary that fits a screen."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from outpoint.cli.terminal import printable
from outpoint.data import Dataset
from outpoint.naming import count_of, write_number
from outpoint.posterior import Posterior, SampledPosterior
from outpoint.posterior.admissible import judge_certainty
from outpoint.posterior.info import describe_model
from outpoint.runs.directory import RUN_FILES

if TYPE_CHECKING:
    import pandas as pd

N_EDGES_SHOWN = 15
LEAST_SHOWN = 0.0005
"""Smaller probabilities are 0.000 on the screen; such edges are not listed."""

ROUNDING = 1e-12
"""Numbers that are smaller than this share of others in the same unit are rounding errors."""

N_KINDS_SHOWN = 60
LABEL_WIDTH = 10
PROBABILITIES_WIDTH = 28
FILE_WIDTH = 10_000
"""In a file or a pipe nothing is cut to the width of a screen."""


def make_console() -> Console:
    """A console on standard output; in a file or a pipe it is as wide as its lines."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = FILE_WIDTH
    return console


def print_summary(posterior: Posterior, data: Dataset, directory: Path, *, is_chosen: bool) -> None:
    """Print the data, the model, the evidence, the strongest edges, the verdict and the files.

    ``is_chosen`` says that the method was chosen by the number of variables.
    """
    console = make_console()
    info = posterior.info
    why = ""
    if is_chosen and data.is_complete:
        few = posterior.log_evidence is not None
        why = f" ({'few enough' if few else 'too many'} variables to sum over all DAGs)"
    print_data(console, data, info.notes)
    lines = {
        "Model": describe_model(info, len(posterior.names)),
        "Method": f"{posterior.method}{why}{_chains(posterior)}{_seconds(info.elapsed_seconds)}",
    }
    best = f"log score {posterior.map_log_score:.4f}"
    if posterior.log_evidence is not None:
        lines["Evidence"] = f"log evidence {posterior.log_evidence:.4f}"
        best += f", probability {posterior.map_probability:.3g}"
    lines["Best DAG"] = best
    lines["Settled"] = judge_certainty(posterior).counts
    for label, line in lines.items():
        print_line(console, label, line)
    console.print()
    console.print(_strongest_edges(posterior, console.width))
    console.print()
    print_line(console, "Verdict", posterior.verdict)
    print_line(console, "Files", f"{directory}/ ({', '.join(sorted(RUN_FILES))})")


def print_data(console: Console, data: Dataset, notes: Sequence[str]) -> None:
    """Print source and size, the kinds of columns, and a line for each decision that was made."""
    print_line(console, "Data", f"{data.source}: {data.describe()}")
    print_line(console, "Kinds", describe_kinds(data))
    label = "Note"
    for note in notes:
        print_line(console, label, note)
        label = ""


def describe_kinds(data: Dataset) -> str:
    """The columns of each kind with numbers of levels; of many columns, only the rarer kind."""
    parts = {
        "continuous": [name for name, one in _levels(data) if one is None],
        "categorical": [f"{name} ({len(one)} levels)" for name, one in _levels(data) if one],
    }
    found = {kind: columns for kind, columns in parts.items() if columns}
    if data.n_nodes <= N_KINDS_SHOWN:
        return "; ".join(f"{kind}: {', '.join(columns)}" for kind, columns in found.items())
    rarer = min(found, key=lambda kind: len(found[kind]))
    return "; ".join(
        f"{len(columns)} {kind}"
        + (f": {', '.join(columns[:N_KINDS_SHOWN])}" if kind == rarer and len(found) > 1 else "")
        for kind, columns in found.items()
    )


def _levels(data: Dataset) -> list[tuple[str, tuple[str, ...] | None]]:
    return list(zip(data.names, data.levels, strict=True))


def _chains(posterior: Posterior) -> str:
    if not isinstance(posterior, SampledPosterior):
        return ""
    chains = count_of(posterior.n_chains, "chain")
    draws = count_of(posterior.n_chains * posterior.n_draws, "draw")
    return f", {chains} of {count_of(posterior.steps_per_chain, posterior.step_noun)}, {draws}"


def _seconds(elapsed: float | None) -> str:
    return "" if elapsed is None else f", {elapsed:.2f} s"


def print_line(console: Console, label: str, line: str) -> None:
    """Print a label and its text in one line."""
    console.print(
        Text.assemble((f"{label:<{LABEL_WIDTH}}", "bold"), printable(line)), soft_wrap=True
    )


def print_table(
    console: Console, frame: "pd.DataFrame", title: str, *, significant: Sequence[str] = ()
) -> None:
    """Print a few rows of a table, with a dash where there is no number.

    Numbers have three decimals, or three significant digits in the columns that are
    ``significant``; there, a rounding error beside the other numbers of its row is shown as 0.
    """
    console.print(Text(printable(title), "bold"))
    sizes = frame[[name for name in frame.columns if str(name) in significant]].select_dtypes(
        "number"
    )
    least = (ROUNDING * sizes.abs().max(axis=1)).fillna(0.0).tolist()
    columns = {
        str(name): [
            _cell(value, limit if str(name) in significant else None)
            for value, limit in zip(frame[name].tolist(), least, strict=True)
        ]
        for name in frame.columns
    }
    words = [str(name) for name in frame.columns if frame[name].dtype.kind not in "fi"]
    taken = sum(_width(name, columns[name]) for name in columns if name not in words)
    table = Table(box=None, pad_edge=False)
    for name in columns:
        table.add_column(name, justify="left" if name in words else "right")
    for name, column in zip(words, _fit(words, columns, console.width - taken), strict=True):
        columns[name] = column
    for row in zip(*columns.values(), strict=True):
        table.add_row(*map(Text, row))
    console.print(table)
    console.print()


def _cell(value: object, least: float | None) -> str:
    """A cell as text; with ``least``, a number in significant digits, or 0 if it is smaller."""
    if not isinstance(value, float):
        return printable(str(value))
    if math.isnan(value):
        return "-"
    if least is None:
        return f"{value:z.3f}"
    return write_number(value if abs(value) >= least else 0.0)


def _width(name: str, column: list[str]) -> int:
    """Characters that a column takes, with the space beside it."""
    return max(map(len, [name, *column])) + 2


def _fit(words: list[str], columns: dict[str, list[str]], room: int) -> list[list[str]]:
    """Columns of names, cut only if all of them are too wide together."""
    if sum(_width(name, columns[name]) for name in words) <= room:
        return [columns[name] for name in words]
    most = room // max(len(words), 1) - 2
    return [[_clip(cell, most) for cell in columns[name]] for name in words]


def _strongest_edges(posterior: Posterior, width: int) -> Table:
    """A table of the most probable edges, each pair in its more probable direction."""
    table = Table(box=None, pad_edge=False, title_justify="left")
    table.add_column("strongest edges")
    table.add_column("P(edge)", justify="right")
    table.add_column("P(reversed)", justify="right")
    edges = posterior.diagnostics()
    probability = {
        (parent, child): value
        for parent, child, value in zip(
            edges["parent"], edges["child"], edges["probability"], strict=True
        )
    }
    ranked = list(probability)
    place = {edge: position for position, edge in enumerate(ranked)}
    excluded = posterior.admissible.excluded
    possible = {
        (posterior.names[u], posterior.names[v]) for u, v in np.argwhere(~excluded).tolist()
    }
    forward = [
        (u, v) for u, v in ranked if place[u, v] < place[v, u] and {(u, v), (v, u)} & possible
    ]
    shown = forward[:N_EDGES_SHOWN]
    largest = [max(probability[u, v], probability[v, u]) for u, v in shown]
    for parent, child in shown[: max(1, sum(value >= LEAST_SHOWN for value in largest))]:
        table.add_row(
            Text(_edge(parent, child, width), overflow="ellipsis", no_wrap=True),
            f"{probability[parent, child]:.3f}",
            f"{probability[child, parent]:.3f}",
        )
    return table


def _edge(parent: str, child: str, width: int) -> str:
    """An edge that fits beside its probabilities; names are cut only if they must be."""
    names = [printable(parent), printable(child)]
    room = width - PROBABILITIES_WIDTH
    if sum(map(len, names)) > room:
        names = [
            _clip(name, max(room // 2, room - len(other)))
            for name, other in zip(names, names[::-1], strict=True)
        ]
    return " -> ".join(names)


def _clip(text: str, room: int) -> str:
    room = max(8, room)
    return text if len(text) <= room else text[: room - 1] + "…"

"""What ``outpoint learn`` shows in the end: a summary that fits a screen."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from outpoint.cli.text import printable
from outpoint.data import Dataset
from outpoint.posterior import Posterior, SampledPosterior
from outpoint.posterior.info import describe_model
from outpoint.runs.directory import RUN_FILES
from outpoint.scores import note_units

if TYPE_CHECKING:
    import pandas as pd

N_EDGES_SHOWN = 15
LABEL_WIDTH = 10
PROBABILITIES_WIDTH = 28
FILE_WIDTH = 10_000
"""In a file or a pipe nothing is cut to the width of a screen."""


def make_console() -> Console:
    """Standard output; in a file or a pipe it is as wide as its lines."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = FILE_WIDTH
    return console


def print_summary(
    posterior: Posterior, data: Dataset, score: object, directory: Path, *, is_chosen: bool
) -> None:
    """Data, model, evidence, strongest edges, verdict, files.

    ``is_chosen`` says that the method was chosen by the number of variables.
    """
    console = make_console()
    info = posterior.info
    why = ""
    if is_chosen:
        few = posterior.log_evidence is not None
        why = f" ({'few enough' if few else 'too many'} variables to sum over all DAGs)"
    lines = {
        "Data": describe_data(data, score),
        "Model": describe_model(info, len(posterior.names)),
        "Method": f"{posterior.method}{why}{_chains(posterior)}{_seconds(info.elapsed_seconds)}",
    }
    best = f"log score {posterior.map_log_score:.4f}"
    if posterior.log_evidence is not None:
        lines["Evidence"] = f"log evidence {posterior.log_evidence:.4f}"
        best += f", probability {posterior.map_probability:.3g}"
    lines["Best DAG"] = best
    for label, line in lines.items():
        print_line(console, label, line)
    console.print()
    console.print(_strongest_edges(posterior, console.width))
    console.print()
    print_line(console, "Verdict", posterior.verdict)
    print_line(console, "Files", f"{directory}/ ({', '.join(sorted(RUN_FILES))})")


def describe_data(data: Dataset, score: object) -> str:
    """Source, size, kinds of columns, and what reading them or their raw units bring with them."""
    notes = (*data.notes, *note_units(score, data))
    return "; ".join([f"{data.source}: {data.describe()}", *notes])


def _chains(posterior: Posterior) -> str:
    if not isinstance(posterior, SampledPosterior):
        return ""
    return f", {posterior.n_chains} chains of {posterior.steps_per_chain:,} steps"


def _seconds(elapsed: float | None) -> str:
    return "" if elapsed is None else f", {elapsed:.2f} s"


def print_line(console: Console, label: str, line: str) -> None:
    """A label and what it says, in one line."""
    console.print(
        Text.assemble((f"{label:<{LABEL_WIDTH}}", "bold"), printable(line)), soft_wrap=True
    )


def print_table(console: Console, frame: "pd.DataFrame", title: str) -> None:
    """A few rows of a table, numbers to three decimals, a dash where there is none."""
    console.print(Text(printable(title), "bold"))
    table = Table(box=None, pad_edge=False)
    for name in frame.columns:
        table.add_column(
            str(name), justify="left" if frame[name].dtype.kind not in "fi" else "right"
        )
    for row in frame.to_numpy().tolist():
        table.add_row(*(_cell(cell, console.width) for cell in row))
    console.print(table)
    console.print()


def _cell(value: object, width: int) -> Text:
    if not isinstance(value, float):
        return Text(_clip(str(value), width))
    return Text("-" if math.isnan(value) else f"{value:z.3f}")


def _strongest_edges(posterior: Posterior, width: int) -> Table:
    """The most probable edges, each pair in its more probable direction."""
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
    forward = [(u, v) for u, v in ranked if place[u, v] < place[v, u]]
    for parent, child in forward[:N_EDGES_SHOWN]:
        table.add_row(
            Text(
                f"{_clip(parent, width)} -> {_clip(child, width)}",
                overflow="ellipsis",
                no_wrap=True,
            ),
            f"{probability[parent, child]:.3f}",
            f"{probability[child, parent]:.3f}",
        )
    return table


def _clip(name: str, width: int) -> str:
    """A name as shown; two of them and the probabilities fit into ``width``."""
    shown = printable(name)
    room = max(8, (width - PROBABILITIES_WIDTH) // 2)
    return shown if len(shown) <= room else shown[: room - 1] + "…"

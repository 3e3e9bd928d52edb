"""What ``outpoint learn`` shows: progress while it works, then a summary that fits a screen."""

from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from outpoint.cli.text import printable
from outpoint.data import Dataset
from outpoint.posterior import Posterior

N_EDGES_SHOWN = 15
LABEL_WIDTH = 10
PROBABILITIES_WIDTH = 28
FILE_WIDTH = 10_000
"""In a file or a pipe nothing is cut to the width of a screen."""
SCORE_NAMES = {"bge": "BGe", "bdeu": "BDeu"}


class StageProgress:
    """A progress bar per stage on standard error; without a terminal, one line per stage."""

    def __init__(self, *, shown: bool) -> None:
        self._console = Console(stderr=True)
        self._shown = shown
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=self._console,
            disable=not (shown and self._console.is_terminal),
            transient=True,
        )
        self._tasks: dict[str, object] = {}

    def __enter__(self) -> "StageProgress":
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def __call__(self, stage: str, fraction: float) -> None:
        """Show that ``fraction`` of ``stage`` is done."""
        if stage not in self._tasks:
            self._tasks[stage] = self._bar.add_task(stage, total=1.0)
            if self._shown and not self._console.is_terminal:
                self._console.print(f"{stage} ...", markup=False)
        self._bar.update(self._tasks[stage], completed=fraction)  # type: ignore[arg-type]


def print_summary(posterior: Posterior, data: Dataset, directory: Path, asked_method: str) -> None:
    """Data, model, evidence, strongest edges, verdict, files."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = FILE_WIDTH
    info = posterior.info
    kind = "continuous" if data.is_continuous else "categorical"
    score = SCORE_NAMES.get(info.score, info.score)
    why = ""
    if asked_method == "auto":
        few = posterior.log_evidence is not None
        why = f" ({'few enough' if few else 'too many'} variables to sum over all DAGs)"
    parents = "1 parent" if info.max_parents == 1 else f"{info.max_parents} parents"
    lines = {
        "Data": f"{info.source}: {data.n_obs} observations of {data.n_nodes} {kind} variables",
        "Model": f"{score} score, {info.structure_prior} prior, at most {parents}",
        "Method": f"{posterior.method}{why}, {info.elapsed_seconds:.2f} s",
    }
    best = f"log score {posterior.map_log_score:.4f}"
    if posterior.log_evidence is not None:
        lines["Evidence"] = f"log evidence {posterior.log_evidence:.4f}"
        best += f", probability {posterior.map_probability:.3g}"
    lines["Best DAG"] = best
    for label, line in lines.items():
        _print_line(console, label, line)
    console.print()
    console.print(_strongest_edges(posterior, console.width))
    console.print()
    _print_line(console, "Verdict", posterior.verdict)
    _print_line(console, "Files", f"{directory}/ (edges.csv, summary.json, map.dot)")


def _print_line(console: Console, label: str, line: str) -> None:
    console.print(
        Text.assemble((f"{label:<{LABEL_WIDTH}}", "bold"), printable(line)), soft_wrap=True
    )


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

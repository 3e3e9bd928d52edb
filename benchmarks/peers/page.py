"""The tables of ``docs/peers.md``, and the results they are made from."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.pages import DOCS, RESULTS, markdown, replace_blocks
from benchmarks.peers.comparison import Row
from benchmarks.peers.networks import NETWORKS
from benchmarks.peers.programs import PROGRAMS

ROWS = RESULTS / "peers.json"
PAGE = DOCS / "peers.md"
COLUMNS = {
    "exact": ("network", "program", "largest error", "mean error"),
    "long": ("network", "program", "largest error", "mean error", "between seeds"),
    "skeleton": ("network", "program", "area under the curve", "between seeds"),
}
"""The tables: networks with a known posterior, without, and of which the skeleton is judged."""

COSTS = ("seconds", "processor s", "memory MB", "work", "failed seeds")


def load(path: Path = ROWS) -> list[Row]:
    """The rows of earlier runs."""
    return [Row(**row) for row in json.loads(path.read_text())] if path.exists() else []


def save(rows: Iterable[Row], path: Path = ROWS) -> None:
    """Write rows where ``load`` finds them."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps([row.as_dict() for row in rows], indent=1) + "\n")


def merge(old: Sequence[Row], new: Row) -> list[Row]:
    """The rows with a new one, in the place of that of the same program and network."""
    key = (new.network, new.program)
    if key in [(row.network, row.program) for row in old]:
        return [new if (row.network, row.program) == key else row for row in old]
    return [*old, new]


def update_page(rows: Sequence[Row], path: Path = PAGE) -> None:
    """Write the tables into the page."""
    ordered = sorted(rows, key=_place)
    by_kind = {kind: [row for row in ordered if kind_of(row, rows) == kind] for kind in COLUMNS}
    replace_blocks(path, {kind: table(kind, chosen) for kind, chosen in by_kind.items() if chosen})


def kind_of(row: Row, rows: Sequence[Row]) -> str:
    """The table in which a row stands."""
    if row.network.startswith("gaussian"):
        return "skeleton"
    exact = {other.network for other in rows if other.program.endswith("exact") and other.largest}
    return "exact" if row.network in exact else "long"


def _place(row: Row) -> tuple[int, int]:
    """In the order of the lists of networks and programs, with those from elsewhere last."""
    names = ((row.network, NETWORKS), (row.program, tuple(PROGRAMS)))
    network, program = (known.index(name) if name in known else len(known) for name, known in names)
    return network, program


def table(kind: str, rows: Sequence[Row]) -> str:
    """Rows as a table in Markdown."""
    return markdown((*COLUMNS[kind], *COSTS), [_cells(kind, row) for row in rows])


def _cells(kind: str, row: Row) -> list[str]:
    errors = [_spread(row.largest), _spread(row.mean, digits=4)]
    between = f"{max(row.between):.3f}" if row.between else ""
    answers = {
        "exact": errors,
        "long": [*errors, between],
        "skeleton": [_spread(row.auc), between],
    }[kind]
    middle = row.work[len(row.work) // 2] if row.work else ""
    failed = "; ".join(f"{seed}: {why}" for seed, why in row.failures.items())
    return [
        row.network,
        row.program,
        *answers,
        _median(row.seconds, 1),
        _median(row.processor_seconds, 1),
        _median(row.peak_megabytes, 0),
        middle,
        failed or "none",
    ]


def _median(values: Sequence[float], digits: int) -> str:
    return f"{np.median(values):.{digits}f}" if values else ""


def _spread(values: Sequence[float], digits: int = 3) -> str:
    """The median, and the range where there are several values."""
    if not values:
        return ""
    middle = f"{np.median(values):.{digits}f}"
    if len(values) == 1:
        return middle
    return f"{middle} ({min(values):.{digits}f} to {max(values):.{digits}f})"

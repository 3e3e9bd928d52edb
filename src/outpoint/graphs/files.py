"""DAGs in files: the format follows from the name of the file.

``.dot`` and ``.gv`` hold DOT, ``.graphml`` and ``.xml`` GraphML. ``.csv`` holds either an adjacency
matrix (names in the first row, then a row of 0 and 1 per parent, as in Benchpress) or a list of
edges with columns ``parent,child`` or ``from,to``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from outpoint.errors import GraphError
from outpoint.graphs.dag import Dag

EDGE_HEADERS = (("parent", "child"), ("from", "to"), ("source", "target"))
FORMATS = ".dot, .gv, .graphml, .xml or .csv"


def read_dag(path: str | Path, names: Iterable[str] | None = None) -> Dag:
    """Read a DAG; ``names`` are all its nodes, for lists of edges that leave isolated ones out."""
    place = Path(path)
    try:
        text = place.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise GraphError(f"cannot read {place}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise GraphError(f"{place} is not a text file.") from None
    match place.suffix.lower():
        case ".dot" | ".gv":
            return Dag.from_dot(text)
        case ".graphml" | ".xml":
            return Dag.from_graphml(text)
        case ".csv":
            return _from_csv(text, place, None if names is None else list(names))
    raise GraphError(f"{place} has no known format: use {FORMATS}.")


def write_dag(dag: Dag, path: str | Path) -> None:
    """Write a DAG in the format that the name of the file asks for; CSV is an adjacency matrix."""
    place = Path(path)
    match place.suffix.lower():
        case ".dot" | ".gv":
            text = dag.to_dot()
        case ".graphml" | ".xml":
            text = dag.to_graphml()
        case ".csv":
            text = dag.to_frame().astype(int).to_csv(index=False, lineterminator="\n")
        case _:
            raise GraphError(f"{place} has no known format: use {FORMATS}.")
    try:
        place.write_text(text, encoding="utf-8")
    except OSError as error:
        raise GraphError(f"cannot write {place}: {error.strerror}.") from None


def _from_csv(text: str, place: Path, names: list[str] | None) -> Dag:
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    if not rows:
        raise GraphError(f"{place} is empty.")
    header = [name.strip() for name in rows[0]]
    if tuple(name.lower() for name in header[:2]) in EDGE_HEADERS:
        if any(len(row) < 2 for row in rows[1:]):
            raise GraphError(f"{place} has a row that is not an edge 'parent,child'.")
        edges = [(row[0].strip(), row[1].strip()) for row in rows[1:]]
        mentioned = dict.fromkeys(name for edge in edges for name in edge)
        return Dag.from_edges(names or list(mentioned), edges)
    return Dag.from_adjacency(_matrix(rows[1:], len(header), place), header)


def _matrix(rows: list[list[str]], n: int, place: Path) -> np.ndarray:
    cells = [[cell.strip() for cell in row] for row in rows]
    if len(cells) != n or any(len(row) != n for row in cells):
        raise GraphError(
            f"{place} is neither a list of edges 'parent,child' nor an adjacency matrix with as "
            "many rows as names."
        )
    if any(cell not in ("0", "1") for row in cells for cell in row):
        raise GraphError(f"{place} has a cell of its adjacency matrix that is not 0 or 1.")
    return np.array(cells) == "1"

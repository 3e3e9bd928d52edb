"""DAGs in files: the format follows from the name of the file.

``.dot`` and ``.gv`` hold DOT, ``.graphml`` and ``.xml`` GraphML. ``.csv`` holds either an adjacency
matrix (names in the first row, then a row of 0 and 1 per parent, as in Benchpress) or a list of
edges with columns ``parent,child``, ``from,to`` or ``source,target``. Spaces after a comma do not
count unless they are quoted. A file that can be read as a matrix is one, even if its nodes are
called ``from`` and ``to``: the same rows as edges would repeat themselves or close a cycle.
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
SUFFIXES = (".dot", ".gv", ".graphml", ".xml", ".csv")


def read_dag(path: str | Path, names: Iterable[str] | None = None) -> Dag:
    """Read a DAG; ``names`` are all its nodes, for lists of edges that leave isolated ones out."""
    place = Path(path)
    text = _read_text(place)
    known = None if names is None else list(names)
    try:
        match place.suffix.lower():
            case ".dot" | ".gv":
                return Dag.from_dot(text)
            case ".graphml" | ".xml":
                return Dag.from_graphml(text)
            case _:
                return _from_csv(text, known)
    except GraphError as error:
        raise GraphError(f"{place}: {error}") from None


def write_dag(dag: Dag, path: str | Path) -> None:
    """Write a DAG in the format that the name of the file asks for; CSV is an adjacency matrix."""
    place = Path(path)
    text = format_dag(dag, place)
    try:
        place.write_bytes(text.encode("utf-8"))
    except OSError as error:
        raise GraphError(f"cannot write {place}: {error.strerror}.") from None
    except UnicodeEncodeError:
        raise GraphError(f"cannot write {place}: a name is not valid Unicode.") from None


def format_dag(dag: Dag, path: str | Path) -> str:
    """The text that :func:`write_dag` writes."""
    place = Path(path)
    check_suffix(place)
    match place.suffix.lower():
        case ".dot" | ".gv":
            return dag.to_dot()
        case ".graphml" | ".xml":
            return dag.to_graphml()
    buffer = io.StringIO(newline="")
    plain = csv.writer(buffer, lineterminator="\n")
    quoted = csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_ALL)
    needs_quotes = any(name != name.strip("\ufeff").strip() or "\r" in name for name in dag.names)
    (quoted if needs_quotes else plain).writerow(dag.names)
    plain.writerows(dag.adjacency.astype(int).tolist())
    return buffer.getvalue()


def check_suffix(path: str | Path) -> None:
    """Refuse a file whose name tells no format of a graph."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise GraphError(f"{path} has no known format of a graph: use {FORMATS}.")


def _read_text(place: Path) -> str:
    """The text of the file, line ends as they are: a name may hold one."""
    try:
        content = place.read_bytes()
    except (OSError, ValueError) as error:
        raise GraphError(f"cannot read {place}: {getattr(error, 'strerror', error)}.") from None
    check_suffix(place)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise GraphError(f"{place} is not a text file in UTF-8.") from None
    if not text.strip():
        raise GraphError(f"{place} is empty.")
    return text


def _from_csv(text: str, names: list[str] | None) -> Dag:
    try:
        reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
        rows = [row for row in reader if row]
    except csv.Error as error:
        raise GraphError(f"this is not a readable CSV file ({error})") from None
    header = _known_names(rows[0], names)
    matrix = _matrix(rows[1:], len(header))
    if matrix is not None:
        return Dag.from_adjacency(matrix, header)
    columns = [name.strip().lower() for name in rows[0]]
    if tuple(columns[:2]) not in EDGE_HEADERS:
        raise GraphError(
            "this is neither a list of edges 'parent,child' nor an adjacency matrix with as many "
            "rows of 0 and 1 as names"
        )
    if "probability" in columns:
        raise GraphError("this is a table of edge probabilities and not one DAG; use a map.dot")
    if any(len(row) < 2 for row in rows[1:]):
        raise GraphError("a row is not an edge 'parent,child'")
    edges = [_known_names(row[:2], names) for row in rows[1:]]
    mentioned = list(dict.fromkeys(name for edge in edges for name in edge))
    return Dag.from_edges(
        mentioned if names is None else names, [(edge[0], edge[1]) for edge in edges]
    )


def _known_names(row: list[str], names: list[str] | None) -> list[str]:
    """The cells of a row; without the spaces around them where that gives a known name."""
    if names is None:
        return row
    return [cell if cell in names else cell.strip() for cell in row]


def _matrix(rows: list[list[str]], n: int) -> np.ndarray | None:
    """The adjacency matrix that the rows hold, if they hold one."""
    cells = [[cell.strip() for cell in row] for row in rows]
    if len(cells) != n or any(len(row) != n for row in cells):
        return None
    if any(cell not in ("0", "1") for row in cells for cell in row):
        return None
    return np.array(cells) == "1"

"""DAGs in files: the format follows from the name of the file.

``.dot`` and ``.gv`` hold DOT, ``.graphml`` and ``.xml`` GraphML, ``.bn`` a model string of bnlearn
and ``.dagitty`` the text of dagitty. ``.csv`` holds either an adjacency matrix (names in the first
row, then a row of 0 and 1 per parent, as in Benchpress; names of the rows may stand before them) or
a list of edges with columns ``parent,child``, ``from,to`` or ``source,target``. Spaces after a
comma do not count unless they are quoted. A file that can be read as a matrix is one, even if its
nodes are called ``from`` and ``to``: the same rows as edges would repeat themselves or close a
cycle. Names in CSV files are protected from spreadsheets, see :mod:`outpoint.graphs.formats`.

DOT and GraphML can hold probabilities of edges too, and a matrix of them fits a CSV file.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from outpoint.arguments import NAMES, PATH, takes
from outpoint.errors import GraphError
from outpoint.files import read_text, understood, write_text
from outpoint.graphs import formats
from outpoint.graphs.dag import Dag
from outpoint.graphs.formats import protect_cell, restore_cell
from outpoint.graphs.validation import DAG

EDGE_HEADERS = (("parent", "child"), ("from", "to"), ("source", "target"))
WEIGHTED: dict[str, Callable[..., str]] = {
    ".dot": formats.write_dot,
    ".gv": formats.write_dot,
    ".graphml": formats.write_graphml,
    ".xml": formats.write_graphml,
}
"""Formats that hold a number for every edge."""

SUFFIXES = (*WEIGHTED, ".csv", ".bn", ".dagitty")
FORMATS = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
WEIGHTED_FORMATS = f"{', '.join(WEIGHTED)} or .csv"


@takes(path=PATH, names=NAMES)
def read_dag(path: str | Path, names: Iterable[str] | None = None) -> Dag:
    """Read a DAG; ``names`` are all its nodes, for lists of edges that leave isolated ones out."""
    place = Path(path)
    text = _read_text(place)
    known = None if names is None else list(names)
    with understood(place, GraphError):
        try:
            match place.suffix.lower():
                case ".dot" | ".gv":
                    return Dag.from_dot(text)
                case ".graphml" | ".xml":
                    return Dag.from_graphml(text)
                case ".bn":
                    return Dag.from_model_string(text)
                case ".dagitty":
                    return Dag.from_dagitty(text)
                case _:
                    return _from_csv(text, known)
        except GraphError as error:
            raise GraphError(f"{place}: {error}") from None


@takes(dag=DAG, path=PATH)
def write_dag(dag: Dag, path: str | Path) -> None:
    """Write a DAG in the format that the file's name indicates; CSV is an adjacency matrix."""
    place = Path(path)
    write_text(place, format_dag(dag, place), GraphError)


def format_dag(
    dag: Dag, path: str | Path, probabilities: npt.NDArray[np.float64] | None = None
) -> str:
    """The text that :func:`write_dag` writes.

    ``probabilities`` [parent, child] are written beside the edges where the format has room for
    them, which is in DOT and GraphML.
    """
    place = Path(path)
    check_suffix(place)
    suffix = place.suffix.lower()
    if suffix in WEIGHTED:
        weights = None
        if probabilities is not None:
            weights = _weights(dag.names, dag.adjacency, probabilities)
        return WEIGHTED[suffix](dag.names, dag.edges, weights=weights)
    if suffix == ".bn":
        return dag.to_model_string()
    if suffix == ".dagitty":
        return dag.to_dagitty()
    return _format_matrix(dag.names, dag.adjacency.astype(int).tolist())


def format_probabilities(
    names: Sequence[str],
    probabilities: npt.NDArray[np.float64],
    path: str | Path,
    threshold: float = 0.0,
) -> str:
    """Edge probabilities [parent, child] as a weighted graph, which need not be acyclic.

    Edges below the threshold, and those of probability 0, are left out of a graph and are 0 in a
    matrix; all nodes are kept.
    """
    place = Path(path)
    check_suffix(place)
    suffix = place.suffix.lower()
    shown = (probabilities >= threshold) & (probabilities > 0)
    if suffix == ".csv":
        return _format_matrix(names, np.where(shown, probabilities, 0.0).tolist())
    if suffix not in WEIGHTED:
        raise GraphError(
            f"a {suffix} file holds one DAG, without probabilities: use {WEIGHTED_FORMATS}"
        )
    weights = _weights(names, shown, probabilities)
    return WEIGHTED[suffix](names, weights, weights=weights)


def _weights(
    names: Sequence[str], edges: npt.NDArray[np.bool_], probabilities: npt.NDArray[np.float64]
) -> dict[tuple[str, str], float]:
    return {(names[u], names[v]): float(probabilities[u, v]) for u, v in np.argwhere(edges)}


def _format_matrix(names: Sequence[str], rows: list[list[int]] | list[list[float]]) -> str:
    """Names in the first row, then one row of numbers for each parent."""
    buffer = io.StringIO(newline="")
    plain = csv.writer(buffer, lineterminator="\n")
    quoted = csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_ALL)
    needs_quotes = any(name != name.strip("\ufeff").strip() or "\r" in name for name in names)
    (quoted if needs_quotes else plain).writerow([protect_cell(name) for name in names])
    plain.writerows(rows)
    return buffer.getvalue()


def check_suffix(path: str | Path) -> None:
    """Refuse a file whose name does not say which format of a graph it holds."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise GraphError(f"{path} has no suffix of a known graph format: use {FORMATS}.")


def _read_text(place: Path) -> str:
    """The text of the file, which must have the suffix of a known format."""
    text = read_text(place, GraphError)
    check_suffix(place)
    if not text.strip():
        raise GraphError(f"{place} is empty.")
    return text


def _from_csv(text: str, names: list[str] | None) -> Dag:
    try:
        reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
        rows = [row for row in reader if row]
    except csv.Error as error:
        raise GraphError(f"this is not a readable CSV file ({error})") from None
    known = None if names is None else frozenset(names)
    header = _known_names(rows[0], known)
    matrix = _matrix(rows[1:], len(header))
    if matrix is not None:
        return Dag.from_adjacency(matrix, header)
    labelled = _labelled_matrix(header, rows[1:], known)
    if labelled is not None:
        return labelled
    columns = [name.strip().lower() for name in rows[0]]
    if _holds_probabilities(rows[1:], len(header)):
        raise GraphError("this is a matrix of edge probabilities, not one DAG; use a map.dot")
    if tuple(columns[:2]) not in EDGE_HEADERS:
        raise GraphError(
            "this is neither a list of edges 'parent,child' nor an adjacency matrix with as many "
            "rows of 0 and 1 as names"
        )
    if "probability" in columns:
        raise GraphError("this is a table of edge probabilities, not one DAG; use a map.dot")
    if any(len(row) < 2 for row in rows[1:]):
        raise GraphError("a row is not an edge 'parent,child'")
    edges = [_known_names(row[:2], known) for row in rows[1:]]
    mentioned = list(dict.fromkeys(name for edge in edges for name in edge))
    return Dag.from_edges(
        mentioned if names is None else names, [(edge[0], edge[1]) for edge in edges]
    )


def _known_names(row: list[str], names: frozenset[str] | None) -> list[str]:
    """The cells of a row as names; without the spaces around them where that gives a known one."""
    if names is None:
        return [restore_cell(cell) for cell in row]
    return [_known_name(cell, names) for cell in row]


def _known_name(cell: str, names: frozenset[str]) -> str:
    """A file by another hand may hold a name as it is, with an apostrophe of its own."""
    ways = (cell, restore_cell(cell), cell.strip())
    return next((way for way in ways if way in names), restore_cell(cell.strip()))


def _holds_probabilities(rows: list[list[str]], n: int) -> bool:
    """Whether this is a square of numbers from 0 to 1."""
    try:
        numbers = [[float(cell) for cell in row] for row in rows]
    except ValueError:
        return False
    square = len(numbers) == n and all(len(row) == n for row in numbers)
    return square and all(0 <= number <= 1 for row in numbers for number in row)


def _labelled_matrix(
    header: list[str], rows: list[list[str]], known: frozenset[str] | None
) -> Dag | None:
    """The DAG of a matrix with row names, as R and pandas write them unless told not to."""
    matrix = _matrix([row[1:] for row in rows], len(header) - 1)
    if header[0] or matrix is None:
        return None
    labels = _known_names([row[0] for row in rows], known)
    if sorted(labels) != sorted(header[1:]):
        raise GraphError("the names of the rows of this matrix are not those of its columns")
    order = [labels.index(name) for name in header[1:]]
    return Dag.from_adjacency(matrix[order], header[1:])


def _matrix(rows: list[list[str]], n: int) -> np.ndarray | None:
    """The adjacency matrix in the rows, or None if they are not one."""
    if len(rows) != n or any(len(row) != n for row in rows):
        return None
    cells = [[cell.strip() for cell in row] for row in rows]
    if any(cell not in ("0", "1") for row in cells for cell in row):
        return None
    return np.array(cells) == "1"

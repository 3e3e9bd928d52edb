"""What every graph value checks about its names and its adjacency matrix when it is made.

Functions that take a graph have the words for it here, too.

Interventions show more than observations: the direction of an edge between certain pairs of nodes.
Setting the nodes of a target set from outside cuts all edges into them. Two DAGs stay
equally good for observations and experiments if they are Markov equivalent and remain so after
every cut (Hauser & Bühlmann, JMLR 2012, theorem 10): the same edges are cut in both, which makes a
difference exactly where a target set holds one end of an edge and not the other. Such an edge has
the same direction in the whole class.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import numpy.typing as npt

from outpoint.arguments import NAMES
from outpoint.arrays import Booleans
from outpoint.errors import GraphError
from outpoint.graphs.layers import find_cycle
from outpoint.kinds import Items, Tested, in_brief, is_whole, list_of

if TYPE_CHECKING:
    import pandas as pd

Node = str | int
"""A node, by name or by its index in the names."""

MOST_NODES = 10_000
"""Beyond this number of nodes an adjacency matrix no longer fits the memory of a usual machine."""

MOST_CYCLE_NODES = 10
"""Nodes of a cycle that a message shows."""


def default_names(n_nodes: int) -> tuple[str, ...]:
    """The names of nodes nobody has named: x1, x2, ..."""
    return tuple(f"x{i + 1}" for i in range(n_nodes))


def quote_name(name: str) -> str:
    """A name as messages show it: in quotes when it is empty or holds unusual characters."""
    return name if name and name.isprintable() and name == name.strip() else repr(name)


def check_n_nodes(n_nodes: int) -> None:
    """Refuse a graph before memory for its adjacency matrix is asked for."""
    if n_nodes > MOST_NODES:
        raise GraphError(f"a graph has at most {MOST_NODES:,} nodes, but this one has more")


def validate_names(names: Iterable[str]) -> tuple[str, ...]:
    """The names as a tuple of distinct strings."""
    if isinstance(names, str):
        raise GraphError("the node names must be a list of strings, not one string")
    try:
        checked = list_of(names)
    except Exception:
        raise GraphError(f"node names must be a list of strings, not {in_brief(names)}") from None
    seen: set[str] = set()
    for name in checked:
        if not isinstance(name, str):
            raise GraphError(
                f"node names must be strings, but {in_brief(name)} is of type {type(name).__name__}"
            )
        name = str(name)
        if name in seen:
            raise GraphError(f"node names must be distinct, but {quote_name(name)} occurs twice")
        seen.add(name)
    return tuple(map(str, checked))


def validate_indices(nodes: Iterable[int]) -> tuple[int, ...]:
    """Python integers; the integers of NumPy have a width that exact counting would overflow."""
    try:
        return tuple(index(v) for v in list_of(nodes))
    except Exception:
        shown = in_brief(nodes)
        raise GraphError(f"nodes and layers must be numbered by integers, not by {shown}") from None


def read_matrix(table: npt.ArrayLike) -> npt.NDArray[Any]:
    """A table of numbers as an array."""
    try:
        values = np.asarray(table)
    except Exception:
        raise GraphError("an adjacency matrix needs rows of one length, of 0 and 1") from None
    if values.dtype.kind not in "biufO":
        raise GraphError("an adjacency matrix may only hold 0 and 1, or False and True")
    return values


def validate_adjacency(adjacency: npt.ArrayLike, names: Sequence[str]) -> Booleans:
    """A read-only boolean copy of a square 0/1 matrix without self loops."""
    values = read_matrix(adjacency)
    n_nodes = len(names)
    if values.size == 0 and n_nodes == 0:
        values = np.zeros((0, 0), dtype=np.bool_)
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise GraphError(f"an adjacency matrix must be square, but its shape is {values.shape}")
    if values.shape[0] != n_nodes:
        raise GraphError(f"the adjacency matrix has {values.shape[0]} rows for {n_nodes} names")
    checked = values.astype(np.bool_)
    if values.dtype != np.bool_ and not np.array_equal(values, checked):
        raise GraphError("an adjacency matrix may only hold 0 and 1, or False and True")
    loops = np.flatnonzero(np.diagonal(checked))
    if loops.size:
        raise GraphError(f"node {quote_name(names[loops[0]])} has an edge to itself")
    checked.setflags(write=False)
    return checked


def raise_if_cyclic(parent_masks: Sequence[int], names: Sequence[str]) -> None:
    """Refuse a graph with a directed cycle, and show one."""
    cycle = find_cycle(parent_masks)
    if cycle is not None:
        shown = [quote_name(names[v]) for v in cycle[:MOST_CYCLE_NODES]]
        more = ["..."] if len(cycle) > MOST_CYCLE_NODES else []
        path = " -> ".join([*shown, *more, shown[0]])
        raise GraphError(f"the graph has a directed cycle: {path}")


def find_node(node: Node, names: Sequence[str]) -> int:
    """The index of a node given by its name or its index."""
    if isinstance(node, str):
        try:
            return names.index(str(node))
        except ValueError:
            raise GraphError(f"there is no node named {quote_name(node)}") from None
    if is_whole(node):
        if not 0 <= node < len(names):
            shown = in_brief(node)
            raise GraphError(f"there is no node {shown}: the indices go from 0 to {len(names) - 1}")
        return int(node)
    raise GraphError(f"a node must be given by its name or its index, not by {in_brief(node)}")


def validate_pair(edge: tuple[Node, Node]) -> tuple[Node, Node]:
    """An edge as exactly two nodes."""
    if isinstance(edge, str):
        raise GraphError(f"an edge must be a pair (parent, child), not the text {in_brief(edge)}")
    try:
        parent, child = edge
    except Exception:
        raise GraphError(f"an edge must be a pair (parent, child), not {in_brief(edge)}") from None
    return parent, child


def align_names(names: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """For each wanted name its index in `names`; both must hold the same names."""
    if sorted(names) != sorted(wanted):
        different = sorted(set(names) ^ set(wanted))
        shown = ", ".join(map(quote_name, different[:3]))
        raise GraphError(f"both must have the same nodes, but only one of them has {shown}")
    position = {name: i for i, name in enumerate(names)}
    return [position[name] for name in wanted]


def is_frame(table: Any) -> TypeGuard[pd.DataFrame]:
    """Whether this is a pandas DataFrame, without importing pandas."""
    return all(hasattr(type(table), name) for name in ("columns", "index", "to_numpy"))


def read_frame(frame: pd.DataFrame) -> tuple[tuple[str, ...], npt.NDArray[Any]]:
    """Names and matrix of a labelled table, its rows put into the order of its columns."""
    names = validate_names(str(column) for column in frame.columns)
    rows = [str(row) for row in frame.index]
    if sorted(rows) != sorted(names):
        raise GraphError("the row labels of an adjacency table must be its column names")
    values = frame.to_numpy()
    return names, values[align_names(rows, names), :]


def count_pair_differences(first: Booleans, second: Booleans) -> int:
    """The number of pairs of nodes that two graphs connect differently: the SHD."""
    differs = first != second
    return int(np.count_nonzero(np.triu(differs | differs.T)))


Targets = Iterable[Iterable[str]]
"""Sets of nodes, each set together in some of the data; none are needed for observations."""


def find_separated(names: Sequence[str], targets: Targets) -> Booleans:
    """[a, b]: whether a target set holds one of the two nodes and not the other."""
    number = {name: v for v, name in enumerate(names)}
    separated = np.zeros((len(names), len(names)), dtype=np.bool_)
    for target in targets:
        if isinstance(target, str):
            shown = in_brief(target)
            raise GraphError(f"a target set must be a list of nodes, not the single text {shown}.")
        is_set = np.zeros(len(names), dtype=np.bool_)
        try:
            members = NAMES.read(target)
        except Exception:
            raise GraphError(
                f"a target set must be a list of nodes, not {in_brief(target)}."
            ) from None
        for name in members:
            if name not in number:
                raise GraphError(f"a target set holds {in_brief(name)}, which is not a node.")
            is_set[number[name]] = True
        separated |= is_set[:, None] != is_set[None, :]
    return separated


def is_dag(value: Any) -> bool:
    """Whether this is a :class:`outpoint.Dag`."""
    from outpoint.graphs.dag import Dag

    return isinstance(value, Dag)


DAG = Tested("a Dag", test=is_dag)
TARGETS = Items("a list of sets of nodes")

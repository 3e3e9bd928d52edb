"""Directed acyclic graphs as immutable values with named nodes.

A `Dag` is names and a read-only boolean matrix `adjacency[parent, child]`. Whatever it is made
from, it is checked once when it is made: an existing `Dag` has no cycle. Nodes are asked for by
name or by index and answered by name; `parent_sets`, `partition()` and the matrices speak in
indices, for the code that computes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from outpoint.arguments import TEXT, takes
from outpoint.arrays import Booleans
from outpoint.errors import GraphError
from outpoint.graphs import dagitty, formats
from outpoint.graphs.cpdag import Cpdag
from outpoint.graphs.layers import Layers, compute_parent_masks, peel_layers
from outpoint.graphs.partition import LabelledPartition
from outpoint.graphs.validation import (
    DAG,
    TARGETS,
    Node,
    Targets,
    align_names,
    check_n_nodes,
    count_pair_differences,
    default_names,
    find_node,
    is_frame,
    quote_name,
    raise_if_cyclic,
    read_frame,
    read_matrix,
    validate_adjacency,
    validate_names,
    validate_pair,
)
from outpoint.kinds import choice, in_brief, list_of
from outpoint.naming import count_of
from outpoint.notebook import as_html, first_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Dag:
    """A directed acyclic graph with named nodes.

    Examples
    --------
    >>> dag = Dag.from_edges(["rain", "sprinkler", "wet"], [("rain", "wet"), ("sprinkler", "wet")])
    >>> dag.parents("wet")
    ('rain', 'sprinkler')
    """

    names: tuple[str, ...]
    adjacency: Booleans
    _layers: Layers = field(init=False)

    def __post_init__(self) -> None:
        """Check the names and the matrix; peeling the outpoints checks that there is no cycle."""
        names = validate_names(self.names)
        adjacency = validate_adjacency(self.adjacency, names)
        parent_masks = compute_parent_masks(adjacency)
        layers = peel_layers(parent_masks)
        if sum(map(len, layers)) < len(names):
            raise_if_cyclic(parent_masks, names)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "adjacency", adjacency)
        object.__setattr__(self, "_layers", layers)

    # Making one

    @classmethod
    def from_edges(cls, names: Iterable[str], edges: Iterable[tuple[Node, Node]]) -> Dag:
        """From (parent, child) pairs of names, or of indices where the entries are integers."""
        checked = validate_names(names)
        check_n_nodes(len(checked))
        index = {name: i for i, name in enumerate(checked)}
        adjacency = np.zeros((len(checked), len(checked)), dtype=np.bool_)
        for edge in _listed(edges, "edges must be a list of pairs (parent, child)"):
            parent, child = (
                index[node] if isinstance(node, str) and node in index else find_node(node, checked)
                for node in validate_pair(edge)
            )
            adjacency[parent, child] = True
        return cls(checked, adjacency)

    @classmethod
    def from_adjacency(
        cls, adjacency: npt.ArrayLike | pd.DataFrame, names: Iterable[str] | None = None
    ) -> Dag:
        """From a 0/1 or boolean matrix [parent, child]; a DataFrame brings its names along."""
        if is_frame(adjacency):
            labels, values = read_frame(adjacency)
        else:
            values = read_matrix(adjacency)
            labels = default_names(len(values) if values.ndim else 0)
        return cls(labels if names is None else validate_names(names), values)

    @classmethod
    def from_parents(
        cls, parents: Sequence[Iterable[int]], names: Iterable[str] | None = None
    ) -> Dag:
        """From the indices of the parents of each node."""
        words = "parents must be a list that holds, for each node, the indices of its parents"
        sets = [_listed(members, words) for members in _listed(parents, words)]
        checked = default_names(len(sets)) if names is None else validate_names(names)
        if len(checked) != len(sets):
            raise GraphError(f"there are {len(sets)} parent sets for {len(checked)} names")
        edges = [(parent, child) for child, members in enumerate(sets) for parent in members]
        return cls.from_edges(checked, edges)

    @classmethod
    def empty(cls, names: Iterable[str]) -> Dag:
        """The graph without edges."""
        return cls.from_edges(names, ())

    @classmethod
    def from_networkx(cls, graph: Any) -> Dag:
        """From a networkx DiGraph; nodes that are not strings are named by their text."""
        if not hasattr(type(graph), "is_directed"):
            raise GraphError(f"expected a networkx DiGraph, not {in_brief(graph)}")
        if not graph.is_directed():
            raise GraphError("the networkx graph is undirected; a DAG needs a DiGraph")
        nodes = list(graph.nodes)
        index = {node: i for i, node in enumerate(nodes)}
        return cls.from_edges(map(str, nodes), [(index[a], index[b]) for a, b in graph.edges()])

    @classmethod
    @takes(text=TEXT)
    def from_dot(cls, text: str) -> Dag:
        """From the text of a DOT digraph; attributes are ignored."""
        return cls.from_edges(*formats.parse_dot(text))

    @classmethod
    @takes(text=TEXT)
    def from_graphml(cls, text: str) -> Dag:
        """From the text of a directed GraphML graph; the node ids become the names."""
        return cls.from_edges(*formats.parse_graphml(text))

    @classmethod
    @takes(text=TEXT)
    def from_model_string(cls, text: str) -> Dag:
        """From a model string of bnlearn, such as ``[A][B|A][C|A:B]``."""
        return cls.from_edges(*formats.parse_model_string(text))

    @classmethod
    @takes(text=TEXT)
    def from_dagitty(cls, text: str) -> Dag:
        """From the text of a dagitty graph, such as ``dag { A -> B }``; attributes are ignored."""
        return cls.from_edges(*dagitty.parse_dagitty(text))

    # Nodes and edges

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return len(self.names)

    @property
    def n_edges(self) -> int:
        """The number of edges."""
        return int(np.count_nonzero(self.adjacency))

    @cached_property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """The edges as (parent, child), sorted by index."""
        return tuple((self.names[a], self.names[b]) for a, b in np.argwhere(self.adjacency))

    @cached_property
    def parent_sets(self) -> tuple[tuple[int, ...], ...]:
        """For each node the sorted indices of its parents."""
        return tuple(tuple(np.flatnonzero(column).tolist()) for column in self.adjacency.T)

    def index(self, node: Node) -> int:
        """The index of a node given by name or index."""
        return find_node(node, self.names)

    def has_edge(self, parent: Node, child: Node) -> bool:
        """Whether there is an edge parent -> child."""
        return bool(self.adjacency[self.index(parent), self.index(child)])

    def parents(self, node: Node) -> tuple[str, ...]:
        """The nodes with an edge to this one."""
        return self._select(self.adjacency[:, self.index(node)])

    def children(self, node: Node) -> tuple[str, ...]:
        """The nodes this one has an edge to."""
        return self._select(self.adjacency[self.index(node)])

    def ancestors(self, node: Node) -> tuple[str, ...]:
        """The nodes with a directed path to this one, itself left out."""
        return self._select(self.ancestor_matrix[:, self.index(node)])

    def descendants(self, node: Node) -> tuple[str, ...]:
        """The nodes this one has a directed path to, itself left out."""
        return self._select(self.ancestor_matrix[self.index(node)])

    def markov_blanket(self, node: Node) -> tuple[str, ...]:
        """Parents, children and the other parents of the children."""
        v = self.index(node)
        children = self.adjacency[v]
        blanket = self.adjacency[:, v] | children | self.adjacency[:, children].any(axis=1)
        blanket[v] = False
        return self._select(blanket)

    def with_edge(self, parent: Node, child: Node) -> Dag:
        """The graph with this edge added; a GraphError if that makes a cycle."""
        return self._replace_edge(parent, child, True)

    def without_edge(self, parent: Node, child: Node) -> Dag:
        """The graph with this edge left out."""
        return self._replace_edge(parent, child, False)

    def reorder(self, names: Iterable[str]) -> Dag:
        """The same graph with its nodes in another order."""
        wanted = validate_names(names)
        index = align_names(self.names, wanted)
        return Dag(wanted, self.adjacency[np.ix_(index, index)])

    # Structure

    @cached_property
    def ancestor_matrix(self) -> Booleans:
        """Boolean [ancestor, descendant], False on the diagonal."""
        closure = self.adjacency.copy()
        for layer in self._layers[1:]:
            for v in layer:
                closure[:, v] |= closure[:, self.adjacency[:, v]].any(axis=1)
        closure.setflags(write=False)
        return closure

    @property
    def topological_order(self) -> tuple[str, ...]:
        """The names with parents first: layer by layer, by index inside a layer."""
        return tuple(self.names[v] for layer in self._layers for v in layer)

    @property
    def skeleton(self) -> tuple[tuple[str, str], ...]:
        """The connected pairs (a, b), with a before b among the names."""
        pairs = np.argwhere(np.triu(self.adjacency | self.adjacency.T))
        return tuple((self.names[a], self.names[b]) for a, b in pairs)

    @property
    def v_structures(self) -> tuple[tuple[str, str, str], ...]:
        """The triples (a, collider, b), a -> collider <- b with a and b not connected, a before b.

        They are sorted by collider, then a, then b.
        """
        connected = self.adjacency | self.adjacency.T
        return tuple(
            (self.names[a], self.names[collider], self.names[b])
            for collider, parents in enumerate(self.parent_sets)
            for a, b in combinations(parents, 2)
            if not connected[a, b]
        )

    def partition(self) -> LabelledPartition:
        """The labelled partition of the graph: its layers of outpoints."""
        return LabelledPartition(self._layers)

    @takes(targets=TARGETS)
    def cpdag(self, targets: Targets = ()) -> Cpdag:
        """The CPDAG of the Markov equivalence class of the graph.

        With `targets`, the sets of nodes that were set from outside in experiments, it is that of
        the DAGs which these and observations together cannot tell from this one.
        """
        return Cpdag.from_dag(self, targets)

    @takes(other=DAG, targets=TARGETS)
    def is_equivalent(self, other: Dag, targets: Targets = ()) -> bool:
        """Whether both graphs are in one Markov equivalence class, nodes matched by name.

        With `targets`, whether experiments on these sets of nodes cannot tell them apart either.
        """
        return self.cpdag(targets) == other.reorder(self.names).cpdag(targets)

    @takes(other=DAG, on=choice("cpdag", "dag"))
    def shd(self, other: Dag, *, on: Literal["cpdag", "dag"] = "cpdag") -> int:
        """Structural Hamming distance, nodes matched by name.

        It counts the pairs of nodes connected differently: in the CPDAGs by default, as in the
        paper, so that equivalent graphs are at distance 0; or in the DAGs themselves.
        """
        if on == "cpdag":
            return self.cpdag().shd(other.cpdag())
        return count_pair_differences(self.adjacency, other.reorder(self.names).adjacency)

    # Conversions

    def to_networkx(self) -> Any:
        """A networkx DiGraph with all nodes, isolated ones included."""
        import networkx as nx

        graph = nx.DiGraph()
        graph.add_nodes_from(self.names)
        graph.add_edges_from(self.edges)
        return graph

    def to_dot(self) -> str:
        """DOT text, for Graphviz."""
        return formats.write_dot(self.names, self.edges)

    def to_graphml(self) -> str:
        """GraphML text, for Cytoscape, yEd, igraph and others."""
        return formats.write_graphml(self.names, self.edges)

    def to_model_string(self) -> str:
        """A model string for bnlearn in R: ``[A][B|A][C|A:B]``."""
        return formats.write_model_string(self.names, self.edges)

    def to_dagitty(self) -> str:
        """Text for dagitty, in R or on its page: ``dag { A -> B }``."""
        return dagitty.write_dagitty(self.names, self.edges)

    def to_frame(self) -> pd.DataFrame:
        """A DataFrame of 0 and 1, rows are parents and columns children."""
        import pandas as pd

        return pd.DataFrame(self.adjacency.astype(int), index=self.names, columns=self.names)

    # A value

    def _select(self, mask: Booleans) -> tuple[str, ...]:
        return tuple(self.names[v] for v in np.flatnonzero(mask))

    def _replace_edge(self, parent: Node, child: Node, present: bool) -> Dag:
        adjacency = self.adjacency.copy()
        adjacency[self.index(parent), self.index(child)] = present
        return Dag(self.names, adjacency)

    def __eq__(self, other: object) -> bool:
        """Same names in the same order, and the same edges."""
        if not isinstance(other, Dag):
            return NotImplemented
        return self.names == other.names and np.array_equal(self.adjacency, other.adjacency)

    def __hash__(self) -> int:
        """Equal graphs have equal hashes."""
        return hash((self.names, self.adjacency.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and unpickled values go through the constructor, and so stay read-only."""
        return Dag, (self.names, self.adjacency)

    def __repr__(self) -> str:
        """The size and the first edges."""
        shown = [f"{quote_name(a)} -> {quote_name(b)}" for a, b in self.edges[:4]]
        more = ", ..." if self.n_edges > len(shown) else ""
        edges = f": {', '.join(shown)}{more}" if shown else ""
        return f"Dag({count_of(self.n_nodes, 'node')}, {count_of(self.n_edges, 'edge')}{edges})"

    def _repr_html_(self) -> str:
        """In a notebook: the nodes with their parents, those without at the end."""
        families = [
            (name, ", ".join(self.names[u] for u in parents))
            for name, parents in zip(self.names, self.parent_sets, strict=True)
        ]
        families.sort(key=lambda family: not family[1])
        title = f"Dag: {count_of(self.n_nodes, 'node')}, {count_of(self.n_edges, 'edge')}"
        return as_html(title, ("node", "parents"), families, first_of(self.n_nodes, "nodes"))


def _listed(items: Any, words: str) -> list[Any]:
    try:
        return list_of(items)
    except Exception:
        raise GraphError(f"{words}, not {in_brief(items)}") from None

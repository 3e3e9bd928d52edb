"""CPDAGs: what data can tell about the direction of edges.

DAGs with the same skeleton and the same v-structures fit any data equally well; they form a Markov
equivalence class. Its CPDAG keeps the skeleton and directs exactly the *compelled* edges, those
that point the same way in all members. They are found by Chickering's labelling (UAI 1995): going
through the nodes parents first, the edges into a node `y` are all decided by its last parent `x`.
If some compelled `w -> x` has no edge `w -> y`, all edges into `y` are compelled (else reversing
one would make or break a v-structure). Otherwise those `w -> y` are compelled, and the others are
compelled if `y` has a parent that is neither `x` nor a parent of `x`, and reversible otherwise.

Experiments show more: an edge between nodes that a target set separates has one direction in the
whole class (see `validation`). Think of two further nodes for each target set, not connected to
each other, with edges to all members of the set. They add no more to the class than that, and all
that they change in the labelling is that the edges into `y` are compelled if `x` and `y` are
separated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from outpoint.arguments import takes
from outpoint.arrays import Booleans
from outpoint.graphs.formats import Edge, write_dot
from outpoint.graphs.layers import compute_parent_masks, iterate_bits
from outpoint.graphs.validation import (
    DAG,
    TARGETS,
    Targets,
    align_names,
    count_pair_differences,
    find_separated,
    raise_if_cyclic,
    validate_adjacency,
    validate_names,
)
from outpoint.kinds import Tested
from outpoint.naming import count_of
from outpoint.notebook import as_html, first_of

if TYPE_CHECKING:
    from outpoint.graphs.dag import Dag


CPDAG = Tested("a Cpdag", test=lambda given: isinstance(given, Cpdag))


@dataclass(frozen=True, eq=False, repr=False)
class Cpdag:
    """A partially directed graph: `adjacency[a, b]` for a -> b, both ways for an undirected a - b.

    Made from a DAG with `Cpdag.from_dag` or `dag.cpdag()`. The constructor takes any partially
    directed graph without a directed cycle, such as the result of another program to compare
    with; it does not check that some DAG has it as its CPDAG.
    """

    names: tuple[str, ...]
    adjacency: Booleans

    def __post_init__(self) -> None:
        """Check names and matrix, and that the directed edges have no cycle."""
        names = validate_names(self.names)
        adjacency = validate_adjacency(self.adjacency, names)
        raise_if_cyclic(compute_parent_masks(adjacency & ~adjacency.T), names)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "adjacency", adjacency)

    @classmethod
    @takes(dag=DAG, targets=TARGETS)
    def from_dag(cls, dag: Dag, targets: Targets = ()) -> Cpdag:
        """The CPDAG of the class of DAGs that data cannot tell from this one.

        That is its Markov equivalence class or, with `targets`, the sets of nodes that were set
        from outside in experiments, the part of it that these leave (the interventional essential
        graph).
        """
        order = np.array([v for layer in dag.partition().layers for v in layer], dtype=np.intp)
        places = np.ix_(order, order)
        sorted_masks = compute_parent_masks(dag.adjacency[places])
        separated = compute_parent_masks(find_separated(dag.names, targets)[places])
        directed = np.zeros_like(dag.adjacency)
        for y, compelled in enumerate(label_compelled(sorted_masks, separated)):
            if compelled:
                directed[order[list(iterate_bits(compelled))], order[y]] = True
        reversible = dag.adjacency & ~directed
        return cls(dag.names, dag.adjacency | reversible.T)

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return len(self.names)

    @property
    def n_edges(self) -> int:
        """The number of edges, directed and undirected."""
        return len(self.directed) + len(self.undirected)

    @cached_property
    def directed(self) -> tuple[Edge, ...]:
        """The directed edges as (from, to), sorted by index."""
        return self._name_pairs(self.adjacency & ~self.adjacency.T)

    @cached_property
    def undirected(self) -> tuple[Edge, ...]:
        """The undirected edges as (a, b) with a before b among the names."""
        return self._name_pairs(np.triu(self.adjacency & self.adjacency.T))

    @takes(other=CPDAG)
    def shd(self, other: Cpdag) -> int:
        """Structural Hamming distance: the pairs of nodes that the two graphs connect differently.

        Each such pair takes one operation: adding or deleting an edge, directed or not, reversing
        a directed one, or giving or taking a direction (Tsamardinos et al. 2006). The nodes are
        matched by name.
        """
        index = align_names(other.names, self.names)
        return count_pair_differences(self.adjacency, other.adjacency[np.ix_(index, index)])

    def to_networkx(self) -> Any:
        """A networkx DiGraph with an undirected edge as two, each edge with its `directed` flag."""
        import networkx as nx

        graph = nx.DiGraph()
        graph.add_nodes_from(self.names)
        graph.add_edges_from(self.directed, directed=True)
        graph.add_edges_from(self.undirected, directed=False)
        graph.add_edges_from(((b, a) for a, b in self.undirected), directed=False)
        return graph

    def to_dot(self) -> str:
        """DOT text; undirected edges are drawn without arrow heads."""
        return write_dot(self.names, self.directed, self.undirected)

    def _name_pairs(self, matrix: Booleans) -> tuple[Edge, ...]:
        return tuple((self.names[a], self.names[b]) for a, b in np.argwhere(matrix))

    def __eq__(self, other: object) -> bool:
        """Same names in the same order, and the same edges."""
        if not isinstance(other, Cpdag):
            return NotImplemented
        return self.names == other.names and np.array_equal(self.adjacency, other.adjacency)

    def __hash__(self) -> int:
        """Equal graphs have equal hashes."""
        return hash((self.names, self.adjacency.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and unpickled values go through the constructor, and so stay read-only."""
        return Cpdag, (self.names, self.adjacency)

    def __repr__(self) -> str:
        """The numbers of nodes and edges."""
        return (
            f"Cpdag({count_of(self.n_nodes, 'node')}, {len(self.directed)} directed and "
            f"{count_of(len(self.undirected), 'undirected edge')})"
        )

    def _repr_html_(self) -> str:
        """In a notebook: the edges, directed ones first."""
        edges = [(a, "\u2192", b) for a, b in self.directed]
        edges += [(a, "\u2014", b) for a, b in self.undirected]
        title = (
            f"Cpdag: {self.n_nodes} nodes, {len(self.directed)} directed and "
            f"{len(self.undirected)} undirected edges"
        )
        return as_html(title, ("", "edge", ""), edges, first_of(len(edges), "edges"))


def label_compelled(sorted_masks: Sequence[int], separated: Sequence[int]) -> list[int]:
    """For each node the parents whose edge to it is compelled; nodes come parents first.

    `separated` are, for each node, those that target sets tell from it.
    """
    compelled: list[int] = []
    for y, parents in enumerate(sorted_masks):
        if not parents:
            compelled.append(0)
            continue
        last = parents.bit_length() - 1
        others = parents & ~(1 << last)
        known = separated[y] >> last & 1
        if known or compelled[last] & ~parents or others & ~sorted_masks[last]:
            compelled.append(parents)
        else:
            compelled.append(compelled[last])
    return compelled

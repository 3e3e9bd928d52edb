"""Plain oracles and strategies shared by the tests of graphs."""

from functools import lru_cache
from itertools import permutations

import hypothesis.strategies as st
import numpy as np

from outpoint.graphs import Dag, LabelledPartition
from tests import reference

HOSTILE_NAMES = (
    "plain",
    "",
    " ",
    'say "hi"',
    "back\\slash",
    "ends with \\",
    '\\"',
    "two\nlines",
    "\\\n",
    "\\n",
    "tab\tand\rreturn",
    "<script>alert('x')</script>",
    "<b>",
    "a -> b",
    "a; b [label=c] // d /* e */ # f",
    "digraph",
    "node",
    "}",
    "über Größe",
    "日本語",
    "\u2028\u0085",
    "&amp;",
    "0",
    "-1.5",
    "😀",
)


@lru_cache
def all_dags(n_nodes: int) -> tuple[Dag, ...]:
    return tuple(Dag.from_adjacency(adjacency) for adjacency in reference.all_dags(n_nodes))


def all_partitions(n_nodes: int) -> list[LabelledPartition]:
    return [LabelledPartition(layers) for layers in reference.labelled_partitions(range(n_nodes))]


def compatible_orders(dag: Dag) -> int:
    """Linear extensions by trying every permutation."""
    edges = np.argwhere(dag.adjacency).tolist()
    return sum(
        all(order.index(a) < order.index(b) for a, b in edges)
        for order in permutations(range(dag.n_nodes))
    )


@st.composite
def dags(draw: st.DrawFn, max_nodes: int = 7) -> Dag:
    """Any DAG: a triangular matrix and a permutation."""
    n = draw(st.integers(0, max_nodes))
    order = draw(st.permutations(range(n)))
    pairs = [(order[i], order[j]) for i in range(n) for j in range(i + 1, n)]
    keep = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    edges = [pair for pair, kept in zip(pairs, keep, strict=True) if kept]
    return Dag.from_edges([f"v{i}" for i in range(n)], edges)

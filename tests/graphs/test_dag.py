import copy
import pickle
import subprocess
import sys
from itertools import pairwise

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from outpoint.errors import GraphError, OptionError
from outpoint.graphs import Dag, Order, count_linear_extensions

from .helpers import all_dags, dags

# The five-node example of the paper (its figure 2): partition {1,3,5}, {4}, {2}.
PAPER_NAMES = ["x1", "x2", "x3", "x4", "x5"]
PAPER_EDGES = [
    ("x1", "x2"),
    ("x3", "x2"),
    ("x3", "x4"),
    ("x4", "x2"),
    ("x5", "x2"),
    ("x5", "x4"),
]


@pytest.fixture
def paper_dag() -> Dag:
    return Dag.from_edges(PAPER_NAMES, PAPER_EDGES)


def test_paper_example(paper_dag: Dag) -> None:
    assert paper_dag.edges == tuple(PAPER_EDGES)
    assert paper_dag.n_nodes == 5
    assert paper_dag.n_edges == 6
    assert paper_dag.partition().layers == ((0, 2, 4), (3,), (1,))
    assert count_linear_extensions(paper_dag) == 8
    assert paper_dag.topological_order == ("x1", "x3", "x5", "x4", "x2")
    assert paper_dag.parents("x2") == ("x1", "x3", "x4", "x5")
    assert paper_dag.children("x3") == ("x2", "x4")
    assert paper_dag.ancestors("x4") == ("x3", "x5")
    assert paper_dag.descendants("x5") == ("x2", "x4")
    assert paper_dag.markov_blanket("x4") == ("x1", "x2", "x3", "x5")
    assert paper_dag.v_structures == (
        ("x1", "x2", "x3"),
        ("x1", "x2", "x4"),
        ("x1", "x2", "x5"),
        ("x3", "x2", "x5"),
        ("x3", "x4", "x5"),
    )
    assert paper_dag.skeleton == (
        ("x1", "x2"),
        ("x2", "x3"),
        ("x2", "x4"),
        ("x2", "x5"),
        ("x3", "x4"),
        ("x4", "x5"),
    )
    assert repr(paper_dag) == "Dag(5 nodes, 6 edges: x1 -> x2, x3 -> x2, x3 -> x4, x4 -> x2, ...)"


def test_constructors_agree(paper_dag: Dag) -> None:
    by_index = [(int(a[1]) - 1, int(b[1]) - 1) for a, b in PAPER_EDGES]
    assert Dag.from_edges(PAPER_NAMES, by_index) == paper_dag
    assert Dag.from_edges(PAPER_NAMES, [(np.int64(a), b) for a, b in by_index]) == paper_dag
    assert Dag.from_edges(PAPER_NAMES, [*PAPER_EDGES, PAPER_EDGES[0]]) == paper_dag
    assert Dag.from_parents([[], [0, 2, 3, 4], [], [2, 4], []]) == paper_dag
    assert Dag.from_parents(paper_dag.parent_sets) == paper_dag
    for kind in (bool, int, float, object):
        assert Dag.from_adjacency(paper_dag.adjacency.astype(kind)) == paper_dag
    assert Dag.from_adjacency(paper_dag.adjacency.tolist()) == paper_dag
    built = Dag.empty(PAPER_NAMES)
    for parent, child in PAPER_EDGES:
        built = built.with_edge(parent, child)
    assert built == paper_dag
    assert built.without_edge(0, "x2").edges == tuple(PAPER_EDGES[1:])


def test_frames_are_read_by_label(paper_dag: Dag) -> None:
    frame = paper_dag.to_frame()
    assert frame.loc["x1", "x2"] == 1
    assert frame.loc["x2", "x1"] == 0
    assert Dag.from_adjacency(frame) == paper_dag
    shuffled = frame.loc[["x5", "x2", "x1", "x4", "x3"]]
    assert Dag.from_adjacency(shuffled) == paper_dag
    assert Dag.from_adjacency(frame, names=list("abcde")).edges[0] == ("a", "b")
    with pytest.raises(GraphError, match="row labels"):
        Dag.from_adjacency(frame.reset_index(drop=True))
    assert Dag.from_adjacency(pd.DataFrame([[0, 1], [0, 0]])).edges == (("0", "1"),)


def test_a_cycle_is_shown_by_names() -> None:
    edges = [("root", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "leaf")]
    with pytest.raises(GraphError) as caught:
        Dag.from_edges(["root", "a", "b", "c", "leaf"], edges)
    cycle = str(caught.value).split(": ")[1].split(" -> ")
    assert cycle[0] == cycle[-1]
    assert sorted(cycle[1:]) == ["a", "b", "c"]
    assert all(step in edges for step in pairwise(cycle))
    with pytest.raises(GraphError, match=r"x1 -> x2 -> x1|x2 -> x1 -> x2"):
        Dag.from_edges(["x1", "x2"], [(0, 1)]).with_edge(1, 0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Dag.from_edges(["a", "a"], []), "a occurs twice"),
        (lambda: Dag.from_edges("ab", []), "not one string"),
        (lambda: Dag.from_edges([1, 2], [(1, 2)]), "must be strings"),
        (lambda: Dag.from_edges(["a", "b"], [("a", "c")]), "no node named c"),
        (lambda: Dag.from_edges(["a", "b"], [(0, 2)]), "no node 2"),
        (lambda: Dag.from_edges(["a", "b"], [(-1, 0)]), "no node -1"),
        (lambda: Dag.from_edges(["a", "b"], [(True, 0)]), "name or its index"),
        (lambda: Dag.from_edges(["a", "b"], ["ab"]), "a pair"),
        (lambda: Dag.from_edges(["a", "b"], [("a", "b", "a")]), "a pair"),
        (lambda: Dag.from_edges(["a", "b"], [3]), "a pair"),
        (lambda: Dag.from_edges(["a", "b"], [("a", ["b"])]), "name or its index"),
        (lambda: Dag.from_edges(["a"], [("a", "a")]), "edge to itself"),
        (lambda: Dag.from_adjacency([[0, 1]]), "square"),
        (lambda: Dag.from_adjacency([0, 1]), "square"),
        (lambda: Dag.from_adjacency(3), "square"),
        (lambda: Dag.from_adjacency([[0, 1], [0]]), "rows of one length"),
        (lambda: Dag.from_adjacency([[0, 0.5], [0, 0]]), "only hold 0 and 1"),
        (lambda: Dag.from_adjacency([[0, np.nan], [0, 0]]), "only hold 0 and 1"),
        (lambda: Dag.from_adjacency([["", "1"], ["", ""]]), "only hold 0 and 1"),
        (lambda: Dag.from_adjacency(np.zeros((2, 2)), ["a"]), "2 rows for 1 names"),
        (lambda: Dag.from_parents([[], [0]], ["a"]), "2 parent sets for 1 names"),
        (lambda: Dag.from_networkx(nx.Graph([("a", "b")])), "undirected"),
        (lambda: Dag.from_networkx(nx.DiGraph([(1, "1")])), "1 occurs twice"),
        (lambda: Dag.empty(["a"]).parents("b"), "no node named b"),
        (lambda: Dag.empty(["a"]).reorder(["b"]), "only one of them has a, b"),
        (lambda: Dag.empty(["a"]).reorder(["a", "a"]), "occurs twice"),
        (lambda: Dag.empty(["a"]).shd(Dag.empty(["a", "b"])), "only one of them has b"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, message: str) -> None:
    with pytest.raises(GraphError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_a_dag_cannot_be_changed(paper_dag: Dag) -> None:
    with pytest.raises(ValueError, match="read-only"):
        paper_dag.adjacency[0, 1] = False
    with pytest.raises(ValueError, match="read-only"):
        paper_dag.ancestor_matrix[0, 1] = False
    with pytest.raises(AttributeError):
        paper_dag.names = ()
    source = np.zeros((2, 2), dtype=bool)
    dag = Dag.from_adjacency(source)
    source[0, 1] = True
    assert dag.n_edges == 0
    for twin in (pickle.loads(pickle.dumps(paper_dag)), copy.deepcopy(paper_dag)):
        assert twin == paper_dag
        assert not twin.adjacency.flags.writeable


def test_equality_and_hash(paper_dag: Dag) -> None:
    twin = Dag.from_edges(PAPER_NAMES, reversed(PAPER_EDGES))
    assert {paper_dag: "found"}[twin] == "found"
    assert paper_dag != paper_dag.without_edge("x1", "x2")
    assert paper_dag != Dag.from_adjacency(paper_dag.adjacency, list("abcde"))
    assert paper_dag != "paper_dag"
    assert len(set(all_dags(4))) == 543


def test_reorder_keeps_the_edges(paper_dag: Dag) -> None:
    names = ("x3", "x5", "x2", "x1", "x4")
    moved = paper_dag.reorder(names)
    assert moved.names == names
    assert set(moved.edges) == set(paper_dag.edges)
    assert moved != paper_dag
    assert moved.reorder(PAPER_NAMES) == paper_dag
    assert moved.is_equivalent(paper_dag)
    assert moved.shd(paper_dag) == moved.shd(paper_dag, on="dag") == 0
    with pytest.raises(OptionError, match="cpdag"):
        paper_dag.shd(paper_dag, on="skeleton")  # type: ignore[arg-type]


@given(dags())
def test_relations_agree_with_networkx(dag: Dag) -> None:
    graph = dag.to_networkx()
    assert list(graph.nodes) == list(dag.names)
    for i, name in enumerate(dag.names):
        assert dag.index(name) == dag.index(i) == i
        assert set(dag.parents(i)) == set(graph.predecessors(name))
        assert set(dag.children(name)) == set(graph.successors(name))
        assert set(dag.ancestors(name)) == nx.ancestors(graph, name)
        assert set(dag.descendants(name)) == nx.descendants(graph, name)
        blanket = {*dag.parents(i), *dag.children(i)}
        blanket.update(*(dag.parents(child) for child in dag.children(i)))
        assert set(dag.markov_blanket(name)) == blanket - {name}
    assert {tuple(sorted(t)) for t in dag.skeleton} == {tuple(sorted(e)) for e in dag.edges}
    assert set(dag.v_structures) == set(nx.dag.v_structures(graph))
    assert Order(tuple(map(dag.index, dag.topological_order))).contains(dag)
    for parent, child in dag.edges:
        assert dag.has_edge(parent, child)
        assert not dag.has_edge(child, parent)


def test_importing_graphs_stays_light() -> None:
    code = (
        "import sys, outpoint.graphs\n"
        "print([m for m in ('pandas', 'networkx', 'numba', 'scipy') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_edges_of_a_networkx_graph() -> None:
    """Its edges are a set and a mapping at once."""
    graph = nx.DiGraph([("a", "b"), ("b", "c")])
    dag = Dag.from_edges(["a", "b", "c"], graph.edges())
    assert dag.edges == (("a", "b"), ("b", "c"))
    assert Dag.from_edges(["a", "b", "c"], graph.edges) == dag

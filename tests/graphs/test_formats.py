import networkx as nx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from outpoint.errors import GraphError
from outpoint.graphs import Cpdag, Dag

from .helpers import HOSTILE_NAMES, dags

ROUND_TRIPS = {
    "dot": lambda dag: Dag.from_dot(dag.to_dot()),
    "graphml": lambda dag: Dag.from_graphml(dag.to_graphml()),
    "networkx": lambda dag: Dag.from_networkx(dag.to_networkx()),
    "frame": lambda dag: Dag.from_adjacency(dag.to_frame()),
    "adjacency": lambda dag: Dag.from_adjacency(dag.adjacency, dag.names),
    "edges": lambda dag: Dag.from_edges(dag.names, dag.edges),
    "parents": lambda dag: Dag.from_parents(dag.parent_sets, dag.names),
}
each_round_trip = pytest.mark.parametrize("name", ROUND_TRIPS)


@each_round_trip
def test_hostile_names_come_back(name: str) -> None:
    n = len(HOSTILE_NAMES)
    edges = [(i, j) for i in range(n) for j in range(i) if (i + j) % 3 == 0 and i != 7]
    dag = Dag.from_edges(HOSTILE_NAMES, edges)
    assert dag.n_edges > n
    assert ROUND_TRIPS[name](dag) == dag


@each_round_trip
def test_isolated_nodes_and_no_nodes_come_back(name: str) -> None:
    for dag in (Dag.empty(["a", "b"]), Dag.from_edges(["a", "b", "c"], [(2, 0)]), Dag.empty([])):
        assert ROUND_TRIPS[name](dag) == dag


@each_round_trip
@settings(max_examples=30)
@given(data=st.data())
def test_any_graph_comes_back(name: str, data: st.DataObject) -> None:
    dag = data.draw(dags(max_nodes=5))
    assert ROUND_TRIPS[name](dag) == dag


@given(st.lists(st.text(max_size=8), min_size=2, max_size=3, unique=True))
@example(["\\", "\\\\"])
@example(["\x00", "\x7f"])
def test_dot_holds_any_text(names: list[str]) -> None:
    dag = Dag.from_edges(names, [(1, 0)])
    assert Dag.from_dot(dag.to_dot()) == dag


@pytest.mark.parametrize("name", ["\x00", "\x1b[31m", "\ud800", "\uffff"])
def test_graphml_refuses_what_xml_cannot_hold(name: str) -> None:
    with pytest.raises(GraphError, match="GraphML cannot hold"):
        Dag.empty([name]).to_graphml()


def test_dot_text_is_what_graphviz_reads() -> None:
    dag = Dag.from_edges(["a", 'b"'], [(0, 1)])
    assert dag.to_dot() == 'digraph {\n  "a";\n  "b\\"";\n  "a" -> "b\\"";\n}\n'


def test_dot_reads_the_usual_ways_of_writing() -> None:
    text = r"""
    # written by hand
    strict DiGraph "my graph" {
        graph [rankdir=LR; label="x -> y"] node [shape=box, color="red"];
        bgcolor = white; EDGE [dir=forward]
        a -> b -> "c d" [weight=-1.5] [label=<<b>bold</b> // text>];  // a chain
        /* c -> a
        */ lonely
        3:port:nw -> b;;
        "node" -> "long\
 name"
    }
    """
    dag = Dag.from_dot(text)
    assert dag.names == ("a", "b", "c d", "lonely", "3", "node", "long name")
    assert set(dag.edges) == {("a", "b"), ("b", "c d"), ("3", "b"), ("node", "long name")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected digraph"),
        ("graph { a -- b }", "undirected graph"),
        ("digraph { a -- b }", "undirected edge"),
        ("digraph { a -> b [dir=none] }", "dir=none"),
        ("digraph { edge [dir=back] a -> b }", "dir=back"),
        ("digraph { subgraph s { a } }", "subgraphs"),
        ("digraph { a -> { b c } }", "subgraphs"),
        ("digraph { a -> }", "a node name, found }"),
        ("digraph { a -> b", "found end of text"),
        ("digraph { a [label=x }", "an attribute, found }"),
        ("digraph { a [label=] }", "a value, found ]"),
        ("digraph { a [label=<x }", "never ends"),
        ('digraph {\n\n "a }', "line 3 .* cannot read"),
        ("digraph { a } digraph { b }", "one text holds one graph"),
        ("digraph { a -> b -> a }", "directed cycle"),
        ("digraph { a -> a }", "edge to itself"),
        ("digraph { a ? b }", "cannot read"),
    ],
)
def test_dot_that_is_no_dag_is_refused(text: str, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        Dag.from_dot(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a readable GraphML"),
        ("<graphml>", "not a readable GraphML"),
        ("<html></html>", "not a readable GraphML"),
        ("\n".join(nx.generate_graphml(nx.Graph([("a", "b")]))), "undirected"),
        ("\n".join(nx.generate_graphml(nx.DiGraph([("a", "b"), ("b", "a")]))), "cycle"),
    ],
)
def test_graphml_that_is_no_dag_is_refused(text: str, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        Dag.from_graphml(text)


def test_a_cpdag_in_dot_and_networkx() -> None:
    cpdag = Dag.from_edges(list("abcd"), [("a", "c"), ("b", "c"), ("d", "a")]).cpdag()
    assert cpdag.directed == (("a", "c"), ("b", "c"))
    assert cpdag.undirected == (("a", "d"),)
    assert '"a" -> "d" [dir=none];' in cpdag.to_dot()
    with pytest.raises(GraphError, match="dir=none"):
        Dag.from_dot(cpdag.to_dot())
    graph = cpdag.to_networkx()
    assert list(graph.nodes) == list("abcd")
    flags = {(a, b): flag for a, b, flag in graph.edges(data="directed")}
    assert flags == {("a", "c"): True, ("b", "c"): True, ("a", "d"): False, ("d", "a"): False}
    assert Cpdag(tuple(graph.nodes), nx.to_numpy_array(graph)) == cpdag

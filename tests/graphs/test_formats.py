from collections.abc import Callable

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
    "model string": lambda dag: Dag.from_model_string(dag.to_model_string()),
    "dagitty": lambda dag: Dag.from_dagitty(dag.to_dagitty()),
    "networkx": lambda dag: Dag.from_networkx(dag.to_networkx()),
    "frame": lambda dag: Dag.from_adjacency(dag.to_frame()),
    "adjacency": lambda dag: Dag.from_adjacency(dag.adjacency, dag.names),
    "edges": lambda dag: Dag.from_edges(dag.names, dag.edges),
    "parents": lambda dag: Dag.from_parents(dag.parent_sets, dag.names),
}
CANNOT_HOLD = {
    "model string": {"", "two\nlines", "\\\n", "tab\tand\rreturn", "\u2028\u0085"}
    | {"a; b [label=c] // d /* e */ # f"},
    "dagitty": {"", "ends with \\", "two\nlines", "\\\n", "tab\tand\rreturn", "node"},
}
each_round_trip = pytest.mark.parametrize("name", ROUND_TRIPS)


@each_round_trip
def test_hostile_names_come_back(name: str) -> None:
    names = [held for held in HOSTILE_NAMES if held not in CANNOT_HOLD.get(name, ())]
    n = len(names)
    edges = [(i, j) for i in range(n) for j in range(i) if (i + j) % 3 == 0 and i != 7]
    dag = Dag.from_edges(names, edges)
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


@pytest.mark.parametrize(
    ("write", "name"),
    [
        *((Dag.to_model_string, name) for name in sorted(CANNOT_HOLD["model string"])),
        *((Dag.to_model_string, f"a{mark}b") for mark in "[]|:"),
        *((Dag.to_dagitty, name) for name in sorted(CANNOT_HOLD["dagitty"])),
        (Dag.to_dagitty, "graph"),
    ],
)
def test_names_that_a_format_cannot_hold_are_refused(
    write: Callable[[Dag], str], name: str
) -> None:
    with pytest.raises(GraphError, match="cannot hold the name") as caught:
        write(Dag.from_edges(["a", name], [("a", name)]))
    assert repr(name) in str(caught.value)


WRITERS = {"model string": Dag.to_model_string, "dagitty": Dag.to_dagitty}
MARKS = st.text(st.sampled_from('ab \\"|:[]{}<->@=;,.éß'), max_size=5)


def can_hold(write: Callable[[Dag], str], name: str) -> bool:
    try:
        return bool(write(Dag.empty([name])))
    except GraphError:
        return False


@settings(max_examples=200)
@given(names=st.lists(MARKS, min_size=2, unique=True))
@pytest.mark.parametrize("name", WRITERS)
def test_what_is_written_is_read_again(name: str, names: list[str]) -> None:
    held = [one for one in names if can_hold(WRITERS[name], one)]
    dag = Dag.from_edges(held, [(i, j) for i in range(len(held)) for j in range(i)])
    assert ROUND_TRIPS[name](dag) == dag


def test_model_string_is_that_of_bnlearn() -> None:
    dag = Dag.from_edges(["C", "A", "B", "alone"], [("A", "B"), ("A", "C"), ("B", "C")])
    assert dag.to_model_string() == "[C|A:B][A][B|A][alone]\n"
    text = " [A][C|A:B]\r\n  [B|A]\n[alone]\n"
    assert Dag.from_model_string(text).reorder(dag.names) == dag


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A", "character 1 .* found A"),
        ("[A][B|A", r"character 4 .* found \[B\|A"),
        ("[A][]", r"character 4"),
        ("[A][B|]", "character 4"),
        ("[A][B|A:]", "character 4"),
        ("[A][B|A:A|A]", "character 4"),
        ("[A] x [B]", "character 5"),
        ("[A][A]", "A occurs twice"),
        ("[A|B]", "no node named B"),
        ("[A|B][B|A]", "directed cycle"),
        ("[A|A]", "edge to itself"),
    ],
)
def test_bad_model_strings_are_refused(text: str, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        Dag.from_model_string(text)


def test_dagitty_text() -> None:
    dag = Dag.from_edges(["x", "my y", 'q"', "alone"], [("x", "my y"), ('q"', "my y")])
    assert dag.to_dagitty() == (
        'dag {\nx\n"my y"\n"q\\""\nalone\nx -> "my y"\n"q\\"" -> "my y"\n}\n'
    )


def test_dagitty_reads_the_usual_ways_of_writing() -> None:
    text = """DAG g { bb="-0.5,-0.5,1.5,1.5"
    U [latent, pos="-1.2,0.500"]
    "my x" [exposure,pos="0,0"]; node [shape=circle]
    "my x" <- U -> {Y Z.1 "W"} [beta=0.3] ; Y <- Z.1
    -1 {alone other}
    {A B} -> C <- {D}
    }"""
    dag = Dag.from_dagitty(text)
    assert dag.names == (
        *("U", "my x", "Y", "Z.1", "W", "-1", "alone", "other", "A", "B", "C", "D"),
    )
    assert set(dag.edges) == {
        *(("U", "my x"), ("U", "Y"), ("U", "Z.1"), ("U", "W"), ("Z.1", "Y")),
        *(("A", "C"), ("B", "C"), ("D", "C")),
    }
    assert Dag.from_dagitty("pdag{ a\nb\na -> b }").edges == (("a", "b"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected dag {, found end of text"),
        ("mag { a -> b }", "not a dag but begins with mag"),
        ("dag { a <-> b }", "an edge <->"),
        ("pdag {\n a -- b }", "line 2 .* an edge --"),
        ("pag { a @-> b }", "not a dag"),
        ("dag { a -> b", "found end of text"),
        ("dag { a -> }", "a node, found }"),
        ("dag { a -> {b [latent] } }", r"a node or }, found \["),
        ("dag { a [x=] }", r"a value, found \]"),
        ('dag { "a }', "cannot read"),
        ('dag { "a\\" -> b\n }', "cannot read"),
        ("dag { a } dag { b }", "one text holds one graph"),
        ("dag { a -> b -> a }", "directed cycle"),
        ("a -> b", "not a dag but begins with a"),
        (
            f"dag {{ {'{' + 'a ' * 3000 + '} -> ' + '{' + 'b ' * 3000 + '}'} }}",
            "than 5,000,000 edges",
        ),
    ],
)
def test_dagitty_that_is_no_dag_is_refused(text: str, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        Dag.from_dagitty(text)


def test_a_long_cycle_is_shown_in_part() -> None:
    with pytest.raises(GraphError, match=r"x1 -> .* -> x10 -> \.\.\. -> x1$"):
        Dag.from_edges([f"x{i}" for i in range(40)], [(i, (i + 1) % 40) for i in range(40)])


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

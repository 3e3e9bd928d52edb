"""DAGs in files: every format gives back what was written, and refuses what is no DAG."""

import csv
import io
import re
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from outpoint.errors import GraphError
from outpoint.files import MOST_BYTES
from outpoint.graphs import Dag, read_dag, write_dag
from outpoint.graphs.files import SUFFIXES, format_dag, format_probabilities
from outpoint.graphs.formats import protect_cell, restore_cell

from .helpers import HOSTILE_NAMES

DAG = Dag.from_edges(["b", "a", "lonely", "c"], [("a", "b"), ("c", "a"), ("c", "b")])
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
IN_PLACE = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def read_csv(tmp_path: Path, text: str | bytes, names: list[str] | None = None) -> Dag:
    content = text if isinstance(text, bytes) else text.encode()
    (tmp_path / "g.csv").write_bytes(content)
    return read_dag(tmp_path / "g.csv", names)


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".DOT", ".Csv"])
def test_round_trip(tmp_path: Path, suffix: str) -> None:
    write_dag(DAG, tmp_path / f"g{suffix}")
    assert read_dag(tmp_path / f"g{suffix}") == DAG
    assert read_dag(str(tmp_path / f"g{suffix}"), DAG.names).names == DAG.names


@pytest.mark.attack("hostile names of variables")
@pytest.mark.parametrize("suffix", [".dot", ".gv", ".graphml", ".xml", ".csv"])
def test_hostile_names_come_back(tmp_path: Path, suffix: str) -> None:
    names = list(HOSTILE_NAMES)
    dag = Dag.from_edges(names, [(names[i], names[i + 1]) for i in range(0, len(names) - 1, 2)])
    write_dag(dag, tmp_path / f"g{suffix}")
    assert read_dag(tmp_path / f"g{suffix}") == dag


@IN_PLACE
@given(names=st.lists(NAMES, min_size=2, max_size=5, unique=True), data=st.data())
@pytest.mark.parametrize("suffix", [".dot", ".csv"])
def test_any_name_comes_back(
    tmp_path: Path, suffix: str, names: list[str], data: st.DataObject
) -> None:
    pairs = [(u, v) for i, u in enumerate(names) for v in names[i + 1 :]]
    dag = Dag.from_edges(names, data.draw(st.lists(st.sampled_from(pairs), unique=True)))
    write_dag(dag, tmp_path / f"g{suffix}")
    assert read_dag(tmp_path / f"g{suffix}") == dag


@pytest.mark.parametrize("names", [["from", "to"], ["parent", "child"], ["source", "target", "x"]])
def test_matrix_of_nodes_called_like_a_header(tmp_path: Path, names: list[str]) -> None:
    dag = Dag.from_edges(names, [(names[0], names[1])])
    write_dag(dag, tmp_path / "g.csv")
    assert read_dag(tmp_path / "g.csv") == dag


def test_csv_is_the_matrix_of_benchpress(tmp_path: Path) -> None:
    write_dag(DAG, tmp_path / "g.csv")
    text = (tmp_path / "g.csv").read_text()
    assert text == "b,a,lonely,c\n0,0,0,0\n1,0,0,0\n0,0,0,0\n1,1,0,0\n"


@pytest.mark.parametrize(
    "text",
    [
        "parent,child\na,b\nc,a\nc,b\n",
        "From, To\na, b\nc, a\n\nc, b",
        "SOURCE,TARGET,weight\na,b,1\nc,a,2\nc,b,3\n",
        b"\xef\xbb\xbffrom,to\r\na,b\r\nc,a\r\nc,b\r\n",
        'from,to\n"a","b"\nc,a\nc,b\n',
        "from , to\na ,b \nc , a\nc,b\n",
    ],
    ids=["plain", "spaces", "weights", "windows", "quoted", "more spaces"],
)
def test_list_of_edges(tmp_path: Path, text: str | bytes) -> None:
    dag = read_csv(tmp_path, text, list(DAG.names))
    assert dag == DAG
    assert dag.names == DAG.names, "isolated nodes are those of the names"


def test_list_of_edges_alone(tmp_path: Path) -> None:
    dag = read_csv(tmp_path, 'from,to\n"one, two",b\nb," c "\n')
    assert dag.names == ("one, two", "b", " c ")
    assert set(dag.edges) == {("one, two", "b"), ("b", " c ")}
    assert read_csv(tmp_path, "from,to\n", ["a", "b"]) == Dag.empty(["a", "b"])


def test_matrix_with_spaces_and_a_byte_order_mark(tmp_path: Path) -> None:
    dag = read_csv(tmp_path, b"\xef\xbb\xbfa, b\r\n0, 1\r\n0, 0\r\n")
    assert dag == Dag.from_edges(["a", "b"], [("a", "b")])


@pytest.mark.parametrize(
    "text",
    [
        '"","a","b","c"\n"a",0,1,0\n"b",0,0,0\n"c",1,0,0\n',
        ",a,b,c\nc,1,0,0\na,0,1,0\nb,0,0,0\n",
    ],
    ids=["R", "rows in another order"],
)
def test_matrix_with_row_names(tmp_path: Path, text: str) -> None:
    dag = read_csv(tmp_path, text)
    assert dag == Dag.from_edges(["a", "b", "c"], [("a", "b"), ("c", "a")])
    assert read_csv(tmp_path, text, ["c", "b", "a"]) == dag


BAD = {
    "row names": (",a,b\na,0,1\nc,0,0\n", "names of the rows"),
    "matrix of probabilities": ("a,b\n0,0.5\n0.25,0\n", "matrix of edge probabilities"),
    "rows": ("a,b\n0,1\n", "neither a list of edges"),
    "columns": ("a,b\n0,1,0\n0,0,0\n", "neither a list of edges"),
    "cells": ("a,b\n0,2\n0,0\n", "rows of 0 and 1"),
    "cycle": ("a,b\n0,1\n1,0\n", "directed cycle"),
    "loop": ("a,b\n1,0\n0,0\n", "g.csv: "),
    "twice": ("a,a\n0,1\n0,0\n", "distinct"),
    "short edge": ("from,to\na\n", "not an edge"),
    "cyclic edges": ("from,to\na,b\nb,a\n", "directed cycle"),
    "probabilities": ("parent,child,probability\na,b,1\n", "table of edge probabilities"),
    "empty": (" \n\n", "g.csv is empty"),
    "binary": (b"\xff\xfe\x00", "not a text file"),
    "endless field": ("from,to\n" + "x" * 200_000 + ",b\n", "not a readable CSV"),
}


@pytest.mark.attack("graphs that cannot be read")
@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD.keys())
def test_refused(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(GraphError, match=message) as caught:
        read_csv(tmp_path, text)
    assert "g.csv" in str(caught.value), "the message names the file"


def test_unknown_node(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match="zz"):
        read_csv(tmp_path, "from,to\na,zz\n", ["a", "b"])


def test_places(tmp_path: Path) -> None:
    for name in ("g.txt", "g", "g.png"):
        with pytest.raises(GraphError, match="no suffix of a known graph format"):
            write_dag(DAG, tmp_path / name)
    with pytest.raises(GraphError, match="No such file"):
        write_dag(DAG, tmp_path / "no" / "g.dot")
    with pytest.raises(GraphError, match="No such file"):
        read_dag(tmp_path / "no.dot")
    with pytest.raises(GraphError, match="Is a directory"):
        read_dag(tmp_path)
    with pytest.raises(GraphError, match="not valid Unicode"):
        write_dag(Dag.empty(["\ud800", "b"]), tmp_path / "g.dot")
    assert list(tmp_path.iterdir()) == []


# Probabilities beside the edges

PROBABILITIES = np.array([[0.0, 1e-7, 0.25], [0.75, 0.0, 0.0], [2 / 3, 0.125, 0.0]])
WEIGHTED_DAG = Dag.from_edges(["a", "b c", "d"], [("d", "a"), ("b c", "a")])


def edges_of_dot(text: str) -> dict[tuple[str, str], tuple[float, str]]:
    edge = re.compile(r'^  "(.*)" -> "(.*)" \[probability="(.*)", label="(.*)"\];$', re.M)
    return {(a, b): (float(p), label) for a, b, p, label in edge.findall(text)}


def test_a_dag_with_probabilities(tmp_path: Path) -> None:
    expected = {("d", "a"): 2 / 3, ("b c", "a"): 0.75}
    dot = format_dag(WEIGHTED_DAG, "g.dot", PROBABILITIES)
    assert edges_of_dot(dot) == {("d", "a"): (2 / 3, "0.67"), ("b c", "a"): (0.75, "0.75")}
    assert Dag.from_dot(dot) == WEIGHTED_DAG
    text = format_dag(WEIGHTED_DAG, "g.graphml", PROBABILITIES)
    graph = nx.parse_graphml(text)
    assert {(a, b): p for a, b, p in graph.edges(data="probability")} == expected
    assert dict(graph.nodes(data="name")) == {"a": "a", "b c": "b c", "d": "d"}
    assert Dag.from_graphml(text) == WEIGHTED_DAG
    for suffix in ("csv", "bn", "dagitty"):
        assert format_dag(WEIGHTED_DAG, f"g.{suffix}", PROBABILITIES) == format_dag(
            WEIGHTED_DAG, f"g.{suffix}"
        )


def test_all_probabilities() -> None:
    names = WEIGHTED_DAG.names
    expected = {
        (names[u], names[v]): PROBABILITIES[u, v]
        for u in range(3)
        for v in range(3)
        if PROBABILITIES[u, v]
    }
    dot = edges_of_dot(format_probabilities(names, PROBABILITIES, "p.gv"))
    assert {edge: p for edge, (p, _) in dot.items()} == expected
    graph = nx.parse_graphml(format_probabilities(names, PROBABILITIES, "p.graphml"))
    assert {(a, b): p for a, b, p in graph.edges(data="probability")} == expected
    matrix = pd.read_csv(io.StringIO(format_probabilities(names, PROBABILITIES, "p.csv")))
    assert tuple(matrix.columns) == names
    np.testing.assert_array_equal(matrix.to_numpy(), PROBABILITIES)


def test_a_threshold_leaves_edges_out_and_keeps_nodes() -> None:
    names = [*WEIGHTED_DAG.names, "lonely"]
    wide = np.pad(PROBABILITIES, (0, 1))
    graph = nx.parse_graphml(format_probabilities(names, wide, "p.xml", threshold=0.25))
    assert set(graph.edges) == {("a", "d"), ("b c", "a"), ("d", "a")}
    assert list(graph.nodes) == names
    text = format_probabilities(names, wide, "p.csv", threshold=0.25)
    np.testing.assert_array_equal(
        pd.read_csv(io.StringIO(text)).to_numpy(), np.where(wide >= 0.25, wide, 0)
    )


def test_probabilities_are_no_dag(tmp_path: Path) -> None:
    for suffix in (".bn", ".dagitty"):
        with pytest.raises(GraphError, match="one DAG, without probabilities"):
            format_probabilities(WEIGHTED_DAG.names, PROBABILITIES, f"p{suffix}")
    with pytest.raises(GraphError, match="matrix of edge probabilities"):
        read_csv(tmp_path, format_probabilities(WEIGHTED_DAG.names, PROBABILITIES, "p.csv"))
    with pytest.raises(GraphError, match="directed cycle"):
        Dag.from_dot(format_probabilities(WEIGHTED_DAG.names, PROBABILITIES, "p.dot"))


# Spreadsheets

FORMULAS = {
    "=cmd|' /C calc'!A0": "'=cmd|' /C calc'!A0",
    "+1": "'+1",
    "-x": "'-x",
    "@SUM(A1)": "'@SUM(A1)",
    "  =1": "  '=1",
    "\t=1": "\t'=1",
    "'=1": "''=1",
    "a;=1": "a;'=1",
    "a,\n-b": "a,\n'-b",
    'say "=1"': 'say "\'=1"',
    "\uff1d1": "'\uff1d1",
}
HARMLESS = ["plain", "a=b", "'quoted'", "it's", "a-b", "x -> y", "1-2", "", "é", "a ; b"]


@pytest.mark.attack("hostile names of variables")
@pytest.mark.parametrize(("name", "cell"), FORMULAS.items())
def test_formulas_become_text(name: str, cell: str) -> None:
    assert protect_cell(name) == cell
    assert restore_cell(cell) == name


@pytest.mark.parametrize("name", HARMLESS)
def test_other_names_stay_as_they_are(name: str) -> None:
    assert protect_cell(name) == name == restore_cell(name)


@given(st.text(st.sampled_from("='+-@ \t\n\r,;\"a＝"), max_size=12))
def test_protection_is_undone(name: str) -> None:
    cell = protect_cell(name)
    assert restore_cell(cell) == name
    for part in re.split(r'[,;\t\r\n"]', cell):
        assert not part.lstrip().startswith(("=", "+", "-", "@", "＝"))


def test_no_formula_in_a_csv_file(tmp_path: Path) -> None:
    names = list(FORMULAS)
    dag = Dag.from_edges(names, [(names[0], names[1])])
    write_dag(dag, tmp_path / "g.csv")
    header = next(csv.reader(io.StringIO((tmp_path / "g.csv").read_text(), newline="")))
    assert header == list(FORMULAS.values())
    assert read_dag(tmp_path / "g.csv") == dag
    assert read_dag(tmp_path / "g.csv", names) == dag


def test_a_name_that_stands_there_as_it_is_wins(tmp_path: Path) -> None:
    text = "from,to\n'=1,b\n"
    assert read_csv(tmp_path, text, ["'=1", "b"]).edges == (("'=1", "b"),)
    assert read_csv(tmp_path, text, ["=1", "b"]).edges == (("=1", "b"),)
    assert read_csv(tmp_path, text).edges == (("=1", "b"),)


# Limits


def test_too_many_nodes_are_refused_before_memory_is_asked_for(tmp_path: Path) -> None:
    nodes = [f"n{i}" for i in range(50_000)]
    texts = {
        "g.dot": "digraph {" + "".join(f"{node}; " for node in nodes) + "}",
        "g.bn": "".join(f"[{node}]" for node in nodes),
        "g.dagitty": "dag {" + " ".join(nodes) + "}",
        "g.csv": "from,to\n" + "".join(f"{a},{b}\n" for a, b in pairwise(nodes)),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(GraphError, match=f"{name}: a graph has at most 10,000 nodes"):
            read_dag(tmp_path / name)


def test_too_large_a_file_is_not_read(tmp_path: Path) -> None:
    with open(tmp_path / "g.dot", "wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(GraphError, match="larger than 8,000,000 bytes"):
        read_dag(tmp_path / "g.dot")

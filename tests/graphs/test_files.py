"""DAGs in files: every format gives back what was written, and refuses what is no DAG."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from outpoint.errors import GraphError
from outpoint.graphs import Dag, read_dag, write_dag
from outpoint.graphs.files import SUFFIXES

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


@pytest.mark.parametrize("suffix", SUFFIXES)
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


BAD = {
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
        with pytest.raises(GraphError, match="no known format"):
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

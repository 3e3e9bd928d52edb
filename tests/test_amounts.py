"""Counts with their nouns; numbers are tested with the report, which shows most of them."""

import outpoint as op
from outpoint.naming import count_of


def test_one_is_singular() -> None:
    assert [count_of(n, "edge") for n in (0, 1, 2, 1200)] == [
        "0 edges",
        "1 edge",
        "2 edges",
        "1,200 edges",
    ]
    dag = op.Dag.from_edges(["a", "b"], [("a", "b")])
    assert repr(dag) == "Dag(2 nodes, 1 edge: a -> b)"
    assert repr(dag.cpdag()) == "Cpdag(2 nodes, 0 directed and 1 undirected edge)"

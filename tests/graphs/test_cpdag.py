import pickle
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from outpoint.errors import GraphError
from outpoint.graphs import Cpdag, Dag
from tests.grids import first

from .helpers import all_dags, dags


def equivalence_classes(n_nodes: int) -> dict[tuple, list[Dag]]:
    """Markov equivalence by its definition: the same skeleton and the same v-structures."""
    classes = defaultdict(list)
    for dag in all_dags(n_nodes):
        classes[dag.skeleton, dag.v_structures].append(dag)
    return classes


@pytest.mark.parametrize(
    ("n_nodes", "n_classes"), first([(1, 1), (2, 2), (3, 11), (4, 185), (5, 8782)], 4)
)
def test_cpdags_stand_for_equivalence_classes(n_nodes: int, n_classes: int) -> None:
    classes = equivalence_classes(n_nodes)
    assert len(classes) == n_classes
    seen = set()
    for members in classes.values():
        cpdags = {dag.cpdag() for dag in members}
        assert len(cpdags) == 1
        cpdag = cpdags.pop()
        # A direction is in the CPDAG exactly when some member has it: both ways if they differ.
        union = np.logical_or.reduce([dag.adjacency for dag in members])
        np.testing.assert_array_equal(cpdag.adjacency, union)
        seen.add(cpdag)
    assert len(seen) == n_classes


def test_is_equivalent() -> None:
    chain = Dag.from_edges(["a", "b", "c"], [("a", "b"), ("b", "c")])
    fork = Dag.from_edges(["c", "b", "a"], [("b", "a"), ("b", "c")])
    collider = Dag.from_edges(["a", "b", "c"], [("a", "b"), ("c", "b")])
    assert chain.is_equivalent(fork)
    assert fork.is_equivalent(chain)
    assert not chain.is_equivalent(collider)
    assert chain.shd(fork) == 0
    assert chain.shd(fork, on="dag") == 1
    assert chain.shd(collider) == 2


def test_meek_rule_three_and_four_shapes() -> None:
    # b -> d <- c is a v-structure, so a - d must become a -> d although a is undecided.
    kite = Dag.from_edges(
        list("abcd"), [("a", "b"), ("a", "c"), ("a", "d"), ("b", "d"), ("c", "d")]
    )
    assert kite.cpdag().directed == (("a", "d"), ("b", "d"), ("c", "d"))
    assert kite.cpdag().undirected == (("a", "b"), ("a", "c"))
    # Complete graphs have no v-structure: all is reversible, whatever the size.
    complete = Dag.from_adjacency(np.triu(np.ones((70, 70)), k=1))
    assert complete.cpdag().directed == ()
    assert complete.cpdag().n_edges == complete.n_edges == 70 * 69 // 2


@given(st.data())
def test_shd_is_a_metric(data: st.DataObject) -> None:
    n = data.draw(st.integers(0, 4))
    a, b, c = (data.draw(st.sampled_from(all_dags(n))) for _ in range(3))
    for on in ("cpdag", "dag"):
        assert a.shd(a, on=on) == 0
        assert a.shd(b, on=on) == b.shd(a, on=on)
        assert a.shd(c, on=on) <= a.shd(b, on=on) + b.shd(c, on=on)
        assert 0 <= a.shd(b, on=on) <= n * (n - 1) // 2
    assert (a.shd(b) == 0) == a.is_equivalent(b)
    assert (a.shd(b, on="dag") == 0) == (a == b)


@given(dags(), st.randoms())
def test_shd_matches_nodes_by_name(dag: Dag, random) -> None:
    names = list(dag.names)
    random.shuffle(names)
    other = dag.reorder(names)
    assert dag.cpdag().shd(other.cpdag()) == 0
    assert dag.shd(other, on="dag") == 0


def test_each_operation_costs_one() -> None:
    names = tuple("abc")

    def make(*pairs: tuple[int, int]) -> Cpdag:
        matrix = np.zeros((3, 3), dtype=bool)
        for a, b in pairs:
            matrix[a, b] = True
        return Cpdag(names, matrix)

    relations = [make(), make((0, 1)), make((1, 0)), make((0, 1), (1, 0))]
    for i, one in enumerate(relations):
        for j, other in enumerate(relations):
            assert one.shd(other) == (i != j)
    assert make((0, 1), (1, 2)).shd(make((1, 0), (2, 0))) == 3


def test_cpdag_is_a_checked_value() -> None:
    cpdag = Dag.from_edges(["a", "b"], [(0, 1)]).cpdag()
    assert repr(cpdag) == "Cpdag(2 nodes, 0 directed and 1 undirected edge)"
    assert pickle.loads(pickle.dumps(cpdag)) == cpdag
    assert cpdag != Dag.empty(["a", "b"]).cpdag()
    assert cpdag != cpdag.adjacency.tolist()
    with pytest.raises(ValueError, match="read-only"):
        cpdag.adjacency[0, 1] = False
    with pytest.raises(GraphError, match="directed cycle"):
        Cpdag(("a", "b", "c"), np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]))
    with pytest.raises(GraphError, match="only one of them has c"):
        cpdag.shd(Dag.empty(["a", "b", "c"]).cpdag())

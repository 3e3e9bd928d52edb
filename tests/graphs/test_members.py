"""Sizes of Markov equivalence classes against listing their members."""

from collections import Counter
from math import factorial

import numpy as np
import pytest

from outpoint.errors import GraphError
from outpoint.graphs import Cpdag, Dag, count_dags, count_members, random_dag
from outpoint.graphs.blocks import compute_cpdags
from tests.reference import all_dags


def reversals(adjacency: np.ndarray) -> set[bytes]:
    """The class of a DAG by turning covered edges, those whose ends have the same other parents.

    Any two members are connected by such turns (Chickering, UAI 1995).
    """
    members = {adjacency.tobytes()}
    frontier = [adjacency]
    while frontier:
        dag = frontier.pop()
        for a, b in np.argwhere(dag):
            others = dag[:, b].copy()
            others[a] = False
            if np.array_equal(others, dag[:, a]):
                turned = dag.copy()
                turned[a, b], turned[b, a] = False, True
                if turned.tobytes() not in members:
                    members.add(turned.tobytes())
                    frontier.append(turned)
    return members


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_all_classes(n):
    sizes = Counter(cpdag.tobytes() for cpdag in compute_cpdags(all_dags(n)))
    for dag in all_dags(n):
        cpdag = Dag.from_adjacency(dag).cpdag()
        assert count_members(cpdag) == sizes[cpdag.adjacency.tobytes()]


def test_classes_of_five_nodes():
    """One in nine classes, and the sizes of all classes add up to the number of DAGs."""
    dags = all_dags(5)
    keys = [cpdag.tobytes() for cpdag in compute_cpdags(dags)]
    sizes = Counter(keys)
    assert sum(sizes.values()) == count_dags(5)
    first = {key: number for number, key in reversed(list(enumerate(keys)))}
    for key, number in list(first.items())[::9]:
        assert count_members(Dag.from_adjacency(dags[number])) == sizes[key]


@pytest.mark.parametrize("seed", range(12))
def test_chordal_graphs_against_turning_edges(seed):
    """Connected chordal graphs on eight nodes, in which every edge is undecided."""
    rng = np.random.default_rng(seed)
    adjacency = np.zeros((8, 8), dtype=bool)
    cliques = [[0]]
    for v in range(1, 8):
        clique = cliques[rng.integers(len(cliques))]
        parents = rng.choice(clique, rng.integers(1, min(len(clique), 3) + 1), replace=False)
        adjacency[parents, v] = True
        cliques.append([*parents, v])
    dag = Dag.from_adjacency(adjacency)
    assert not dag.cpdag().directed
    assert count_members(dag) == len(reversals(adjacency))


@pytest.mark.parametrize("seed", range(10))
def test_random_dags_against_turning_edges(seed):
    dag = random_dag(9, np.random.default_rng(seed), max_parents=2)
    assert count_members(dag) == len(reversals(dag.adjacency.copy()))


def test_known_counts():
    def undirected(n: int, pairs: list[tuple[int, int]]) -> Cpdag:
        matrix = np.zeros((n, n), dtype=bool)
        for a, b in pairs:
            matrix[a, b] = matrix[b, a] = True
        return Cpdag(tuple(map(str, range(n))), matrix)

    n = 30
    everything = [(a, b) for a in range(n) for b in range(a)]
    assert count_members(undirected(n, [])) == 1
    assert count_members(undirected(n, everything)) == factorial(n)
    assert count_members(undirected(n, [(a, a + 1) for a in range(n - 1)])) == n
    assert count_members(undirected(n, [(0, a) for a in range(1, n)])) == n
    # All edges but one (He, Jia & Yu 2015).
    expected = 2 * factorial(n - 1) - factorial(n - 2)
    assert count_members(undirected(n, everything[1:])) == expected
    two = [(a, b) for a, b in everything if (a < 10) == (b < 10)]
    assert count_members(undirected(n, two)) == factorial(10) * factorial(20)


def test_large_graph_at_once():
    path = Dag.from_edges([str(i) for i in range(200)], [(i, i + 1) for i in range(199)])
    assert count_members(path) == 200
    band = np.triu(np.ones((150, 150)), 1) - np.triu(np.ones((150, 150)), 4)
    assert count_members(Dag.from_adjacency(band)) > 1000


@pytest.mark.parametrize(
    "edges",
    [
        [(0, 1), (1, 2), (2, 3), (3, 0), (1, 0), (2, 1), (3, 2), (0, 3)],  # a square: not chordal
        [(0, 1), (1, 2), (2, 1)],  # 0 -> 1 - 2 would be 1 -> 2
        [(0, 1)],  # a single edge is never compelled
        [(0, 1), (1, 2), (2, 1), (2, 0)],  # 1 -> 2 closes a cycle, and 2 -> 1 a v-structure
    ],
)
def test_not_a_cpdag(edges):
    matrix = np.zeros((4, 4), dtype=bool)
    for a, b in edges:
        matrix[a, b] = True
    with pytest.raises(GraphError, match="not the CPDAG of any DAG"):
        count_members(Cpdag(tuple("abcd"), matrix))


def test_not_a_graph():
    with pytest.raises(GraphError, match="a Cpdag or a Dag, not for str"):
        count_members("a -> b")

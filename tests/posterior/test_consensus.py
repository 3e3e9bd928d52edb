"""One graph for a posterior: which edges it has, which it leaves out and how it says so."""

import numpy as np
import pytest

import outpoint as op
from outpoint.errors import OptionError
from outpoint.posterior.consensus import build_consensus_cpdag, build_consensus_dag
from tests.posterior.problems import random_problem

NAMES = ("a", "b", "c")


def matrix(**edges: float) -> np.ndarray:
    out = np.zeros((3, 3))
    for edge, probability in edges.items():
        out["abc".index(edge[0]), "abc".index(edge[1])] = probability
    return out


def test_edges_at_or_above_the_threshold():
    edges = matrix(ab=0.9, bc=0.5, ac=0.49)
    assert build_consensus_dag(edges, NAMES, 0.5).edges == (("a", "b"), ("b", "c"))
    assert build_consensus_dag(edges, NAMES, 0.9).edges == (("a", "b"),)
    assert build_consensus_dag(edges, NAMES, 0.1).n_edges == 3
    assert build_consensus_dag(edges, NAMES, 1).n_edges == 0


def test_the_least_probable_edge_of_a_cycle_is_left_out():
    """Three DAGs of two edges each, a third of the posterior each: every edge has 2/3."""
    edges = matrix(ab=0.7, bc=0.66, ca=0.64)
    with pytest.warns(op.ConsensusWarning, match="^c -> a was left out: it would close a cycle"):
        dag = build_consensus_dag(edges, NAMES, 0.5)
    assert dag.edges == (("a", "b"), ("b", "c"))
    with pytest.warns(op.ConsensusWarning, match="b -> a, c -> a were left out: each"):
        build_consensus_dag(matrix(ab=0.5, ba=0.5, bc=0.6, ca=0.5), NAMES, 0.5)


def test_consensus_of_a_posterior():
    posterior = random_problem(4, spread=3.0).learn(seed=1)
    edges = posterior.edge_probabilities.to_numpy()
    dag = posterior.median_probability_dag
    np.testing.assert_array_equal(dag.adjacency, edges >= 0.5)
    assert dag == posterior.consensus_dag() == posterior.consensus_dag(0.5)
    assert 0 < dag.n_edges < 6
    np.testing.assert_array_equal(posterior.consensus_dag(0.9).adjacency, edges >= 0.9)


def test_cpdag_consensus():
    compelled = matrix(ab=0.6, ba=0.1, bc=0.3)
    undirected = matrix(ab=0.2, ba=0.2, bc=0.3, cb=0.3, ac=0.4, ca=0.4)
    graph = build_consensus_cpdag(compelled, undirected, NAMES, 0.5)
    assert graph.directed == (("a", "b"),)
    assert graph.undirected == (("b", "c"),)
    strict = build_consensus_cpdag(compelled, undirected, NAMES, 0.7)
    assert strict.directed == ()
    assert strict.undirected == (("a", "b"),)


def test_cpdag_consensus_without_a_cycle():
    with pytest.warns(op.ConsensusWarning, match="c -> a was left undirected"):
        graph = build_consensus_cpdag(
            matrix(ab=0.7, bc=0.66, ca=0.64), np.zeros((3, 3)), NAMES, 0.5
        )
    assert graph.directed == (("a", "b"), ("b", "c"))
    assert graph.undirected == (("a", "c"),)


def test_cpdag_consensus_of_a_posterior():
    posterior = random_problem(4, spread=3.0).learn(seed=1)
    graph = posterior.consensus_cpdag(0.4)
    compelled = posterior.cpdag_probabilities.to_numpy()
    adjacent = compelled + compelled.T + posterior.undirected_probabilities.to_numpy()
    np.testing.assert_array_equal(graph.adjacency | graph.adjacency.T, adjacent >= 0.4)
    for a, b in graph.directed:
        assert posterior.cpdag_probabilities.loc[a, b] >= 0.4


@pytest.mark.parametrize("threshold", [0, -0.1, 1.01, "high", None, np.nan])
def test_thresholds(threshold):
    posterior = random_problem(3).learn(seed=1)
    for ask in (posterior.consensus_dag, posterior.consensus_cpdag):
        with pytest.raises(OptionError, match="above 0 and up to 1"):
            ask(threshold)

"""Answers for blocks of DAGs against the same questions asked of one Dag at a time."""

import numpy as np
import pytest

from outpoint.graphs import Dag, random_dag
from outpoint.graphs.blocks import (
    add_ancestors,
    add_blankets,
    add_matrices,
    compute_cpdags,
    find_paths,
)
from tests.reference import all_dags, ancestor_matrices

RNG = np.random.default_rng(4)
LARGE = np.stack([random_dag(70, RNG, max_parents=3).adjacency for _ in range(20)])


@pytest.mark.parametrize("dags", [all_dags(3), all_dags(4), LARGE], ids=["3", "4", "70"])
def test_cpdags(dags):
    expected = [Dag.from_adjacency(dag).cpdag().adjacency for dag in dags]
    np.testing.assert_array_equal(compute_cpdags(dags), expected)


def test_cpdags_of_five_nodes_are_unions_of_their_classes():
    """A direction is in the CPDAG exactly when some DAG with this CPDAG has it."""
    dags = all_dags(5)
    cpdags = compute_cpdags(dags)
    which = np.unique(cpdags.reshape(len(dags), -1), axis=0, return_inverse=True)[1]
    assert which.max() + 1 == 8782  # the number of classes on five nodes
    unions = np.zeros((8782, 5, 5), dtype=bool)
    np.logical_or.at(unions, which, dags)
    np.testing.assert_array_equal(unions[which], cpdags)


def test_paths():
    reach = ancestor_matrices(4)
    for u in range(4):
        for v in range(4):
            if u != v:
                np.testing.assert_array_equal(find_paths(all_dags(4), u, v), reach[:, u, v])
    expected = [Dag.from_adjacency(dag).ancestor_matrix[3, 60] for dag in LARGE]
    np.testing.assert_array_equal(find_paths(LARGE, 3, 60), expected)


@pytest.mark.parametrize("dags", [all_dags(4), LARGE], ids=["4", "70"])
def test_weighted_sums(dags):
    weights = RNG.random(len(dags))
    edges, ancestors = np.zeros(dags.shape[1:]), np.zeros(dags.shape[1:])
    add_matrices(dags, weights, edges)
    add_ancestors(dags, weights, ancestors)
    closures = np.stack([Dag.from_adjacency(dag).ancestor_matrix for dag in dags])
    np.testing.assert_allclose(edges, np.tensordot(weights, dags, axes=1))
    np.testing.assert_allclose(ancestors, np.tensordot(weights, closures, axes=1))
    add_matrices(dags, weights, edges)  # adds to what is there
    np.testing.assert_allclose(edges, 2 * np.tensordot(weights, dags, axes=1))


@pytest.mark.parametrize("dags", [all_dags(4), LARGE], ids=["4", "70"])
def test_blankets(dags):
    weights = RNG.random(len(dags))
    total, expected = np.zeros(dags.shape[1:]), np.zeros(dags.shape[1:])
    add_blankets(dags, weights, total)
    for matrix, weight in zip(dags, weights, strict=True):
        dag = Dag.from_adjacency(matrix)
        for v, name in enumerate(dag.names):
            members = dag.markov_blanket(name)
            expected[[other in members for other in dag.names], v] += weight
    np.testing.assert_allclose(total, expected)


def test_slices_that_are_not_contiguous():
    np.testing.assert_array_equal(
        compute_cpdags(all_dags(4)[::3]), compute_cpdags(all_dags(4))[::3]
    )

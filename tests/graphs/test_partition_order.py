from collections import Counter
from itertools import permutations
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from outpoint.errors import GraphError, TooLargeError
from outpoint.graphs import (
    Dag,
    LabelledPartition,
    Order,
    count_linear_extensions,
)
from outpoint.graphs.order import random_order

from .helpers import all_dags, all_partitions, compatible_orders, dags


@pytest.mark.parametrize(("n_nodes", "expected"), [(0, 1), (1, 1), (2, 3), (3, 13), (4, 75)])
def test_every_dag_is_in_one_partition_and_counted_there(n_nodes: int, expected: int) -> None:
    partitions = list(all_partitions(n_nodes))
    assert len(set(partitions)) == len(partitions) == expected
    found = Counter(dag.partition() for dag in all_dags(n_nodes))
    assert found == {partition: partition.n_dags() for partition in partitions}


def test_membership_follows_the_three_rules_of_the_paper() -> None:
    for dag in all_dags(3):
        for partition in all_partitions(3):
            layer = partition.layer_of
            forward = all(layer[a] < layer[b] for a, b in np.argwhere(dag.adjacency))
            anchored = all(
                layer[v] == 0 or any(layer[p] == layer[v] - 1 for p in parents)
                for v, parents in enumerate(dag.parent_sets)
            )
            assert partition.contains(dag) == (forward and anchored)


def test_partition_values() -> None:
    partition = LabelledPartition(((4, 0, 2), (np.int64(3),), (1,)))
    assert partition.layers == ((0, 2, 4), (3,), (1,))
    assert partition.sizes == (3, 1, 1)
    assert partition.n_nodes == 5
    assert len(partition) == 3
    assert partition.layer_of.tolist() == [0, 2, 0, 1, 0]
    assert partition == LabelledPartition.from_layer_of(partition.layer_of)
    assert partition.n_dags() == (2**3 - 1) * 2**3
    with pytest.raises(ValueError, match="read-only"):
        partition.layer_of[0] = 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LabelledPartition(((0,), ())), "empty"),
        (lambda: LabelledPartition(((0, 1), (1,))), "exactly once"),
        (lambda: LabelledPartition(((0, 2),)), "exactly once"),
        (lambda: LabelledPartition(((0.5,),)), "integers"),
        (lambda: LabelledPartition.from_layer_of([0, 2]), "empty"),
        (lambda: LabelledPartition.from_layer_of([0, -1]), "numbered from 0"),
        (lambda: Order((0, 0)), "exactly once"),
        (lambda: Order((1, 2)), "exactly once"),
        (lambda: Order(("a",)), "integers"),
    ],
)
def test_bad_layers_and_orders_are_refused(make, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        make()


@given(dags())
def test_partition_of_a_dag_contains_it(dag: Dag) -> None:
    partition = LabelledPartition.from_dag(dag)
    assert partition == dag.partition()
    assert partition.contains(dag)
    assert partition.n_dags() >= 1
    assert Order.from_dag(dag).contains(dag)


def test_order_contains_what_points_forward() -> None:
    order = Order((2, 0, 1))
    assert order.position.tolist() == [1, 2, 0]
    assert order.n_nodes == 3
    # Of the DAGs on three nodes 2^3 are compatible with an order.
    assert sum(order.contains(dag) for dag in all_dags(3)) == 8
    assert not order.contains(Dag.empty(["a", "b"]))


def test_linear_extensions_of_all_small_dags() -> None:
    for dag in all_dags(4):
        assert count_linear_extensions(dag) == compatible_orders(dag)
    # Every order holds 2^6 DAGs, so the extensions add up to 4! 2^6.
    assert sum(map(count_linear_extensions, all_dags(4))) == factorial(4) * 2**6
    for dag in all_dags(3):
        orders = [Order(nodes) for nodes in permutations(range(3))]
        assert count_linear_extensions(dag) == sum(order.contains(dag) for order in orders)


def test_linear_extensions_of_known_shapes() -> None:
    names = [f"v{i}" for i in range(40)]
    path = [(i, i + 1) for i in range(39)]
    assert count_linear_extensions(Dag.from_edges(names, path)) == 1
    assert count_linear_extensions(Dag.empty(names)) == factorial(40)
    # A binary tree of 15 nodes: the hook length formula, 15! over the sizes of the subtrees.
    tree = Dag.from_edges(names[:15], [((i - 1) // 2, i) for i in range(1, 15)])
    assert count_linear_extensions(tree) == factorial(15) // (15 * 7**2 * 3**4)
    assert count_linear_extensions(Dag.empty([])) == 1
    star = Dag.from_edges(names, [(0, i) for i in range(1, 40)])
    with pytest.raises(TooLargeError, match="max_states"):
        count_linear_extensions(star, max_states=1000)


def test_random_orders_respect_required_edges_and_reach_all_others() -> None:
    required = Dag.from_edges(["a", "b", "c", "d"], [(0, 2), (1, 2)]).adjacency
    rng = np.random.default_rng(1)
    found = {tuple(random_order(required, rng).tolist()) for _ in range(2000)}
    allowed = set()
    for order in permutations(range(4)):
        position = np.argsort(order)
        if all(position[u] < position[v] for u, v in np.argwhere(required)):
            allowed.add(order)
    assert found == allowed
    assert 1 < len(allowed) < 24


def test_random_orders_without_required_edges_are_uniform() -> None:
    """Chi-square on 24 orders; correct code fails with probability 1e-6, with another seed."""
    rng = np.random.default_rng(2)
    free = np.zeros((4, 4), dtype=bool)
    found = Counter(tuple(random_order(free, rng).tolist()) for _ in range(12_000))
    assert len(found) == 24
    assert stats.chisquare(list(found.values())).pvalue > 1e-6


def test_a_path_of_required_edges_leaves_one_order() -> None:
    path = np.eye(6, k=1, dtype=bool)
    rng = np.random.default_rng(3)
    assert random_order(path, rng).tolist() == [0, 1, 2, 3, 4, 5]
    assert random_order(path.T, rng).tolist() == [5, 4, 3, 2, 1, 0]

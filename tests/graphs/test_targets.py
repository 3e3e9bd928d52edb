"""Classes of DAGs that observations and experiments cannot tell apart, by their definition."""

from collections import defaultdict
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from outpoint.errors import GraphError
from outpoint.graphs import Cpdag, Dag, count_members, random_dag
from outpoint.graphs.blocks import compute_cpdags
from outpoint.graphs.validation import find_separated

from .helpers import all_dags

NODES = ("a", "b", "c", "d")
SETS = [subset for size in range(5) for subset in combinations(NODES, size)]
CONSERVATIVE = [
    family
    for size in (1, 2, 3)
    for family in combinations(SETS, size)
    if all(any(node not in target for target in family) for node in NODES)
]
"""Families in which every node is left alone at least once, as the theory supposes."""


def cut(dag: Dag, target: tuple[str, ...]) -> Dag:
    """The DAG without the edges into the target."""
    return Dag.from_edges(NODES, [(a, b) for a, b in dag.edges if b not in target])


def look(dag: Dag) -> tuple:
    return dag.skeleton, dag.v_structures


def named_dags() -> list[Dag]:
    return [Dag(NODES, dag.adjacency) for dag in all_dags(4)]


@cache
def all_looks() -> dict[Dag, dict[tuple[str, ...], tuple]]:
    """What is seen of every DAG when one of the sets is a target."""
    return {dag: {target: look(cut(dag, target)) for target in SETS} for dag in named_dags()}


def classes_by_definition(family: tuple[tuple[str, ...], ...]) -> list[list[Dag]]:
    """DAGs that are Markov equivalent after the cuts of every target set in the family."""
    classes = defaultdict(list)
    for dag, looks in all_looks().items():
        classes[tuple(looks[target] for target in family)].append(dag)
    return list(classes.values())


def check(family: tuple[tuple[str, ...], ...], cpdags: dict[Dag, Cpdag]) -> None:
    """Each class has one graph of its own, which has exactly the edges that some member has."""
    classes = classes_by_definition(family)
    seen = set()
    for members in classes:
        own = {cpdags[dag] for dag in members}
        assert len(own) == 1
        union = np.logical_or.reduce([dag.adjacency for dag in members])
        np.testing.assert_array_equal(next(iter(own)).adjacency, union)
        seen |= own
    assert len(seen) == len(classes)


def compute(family: tuple[tuple[str, ...], ...]) -> dict[Dag, Cpdag]:
    """The graphs of all DAGs by the compiled loop."""
    dags = list(all_looks())
    separated = find_separated(NODES, family)
    matrices = compute_cpdags(np.array([dag.adjacency for dag in dags]), separated)
    return {dag: Cpdag(NODES, matrix) for dag, matrix in zip(dags, matrices, strict=True)}


def test_all_families_of_up_to_two_sets():
    for family in CONSERVATIVE:
        if len(family) <= 2:
            check(family, compute(family))


@pytest.mark.long
def test_all_families_of_three_sets():
    for family in CONSERVATIVE:
        if len(family) == 3:
            check(family, compute(family))


def test_without_targets_nothing_changes():
    dags = np.array([dag.adjacency for dag in all_looks()])
    for targets in [(), ((),), ((), NODES)]:
        same = compute_cpdags(dags, find_separated(NODES, targets))
        assert np.array_equal(same, compute_cpdags(dags))


@pytest.mark.parametrize("family", [((), ("b",)), ((), ("a", "b"), ("c",)), (("a",), ("d",))])
def test_single_dags_and_numbers_of_members(family):
    compiled = compute(family)
    for members in classes_by_definition(family):
        graph = members[0].cpdag(family)
        assert graph == compiled[members[0]]
        assert count_members(graph, family) == count_members(members[-1], family) == len(members)
        assert members[0].is_equivalent(members[-1], family)


def test_forgetting_that_directions_spread_is_caught():
    """Directing the separated edges alone, without what follows from them, is not enough."""
    family = ((), ("a",))
    separated = find_separated(NODES, family)
    lazy = {}
    for dag in all_looks():
        adjacency = dag.cpdag().adjacency.copy()
        adjacency &= ~(separated & dag.adjacency.T)
        lazy[dag] = Cpdag(NODES, adjacency)
    with pytest.raises(AssertionError):
        check(family, lazy)


def test_looking_at_either_end_is_caught():
    """Sets that hold both ends tell nothing about an edge."""
    family = ((), ("a", "b"))
    touched = np.zeros((4, 4), dtype=bool)
    touched[:2] = touched[:, :2] = True
    dags = list(all_looks())
    matrices = compute_cpdags(np.array([dag.adjacency for dag in dags]), touched)
    wrong = {dag: Cpdag(NODES, matrix) for dag, matrix in zip(dags, matrices, strict=True)}
    with pytest.raises(AssertionError):
        check(family, wrong)


@pytest.mark.parametrize("seed", range(10))
def test_larger_graphs_against_further_nodes(seed):
    """Two nodes that point to all of a target set, and are not connected, say the same."""
    rng = np.random.default_rng(seed)
    dag = random_dag(9, rng, law="erdos_renyi", edge_probability=0.5)
    targets = [rng.choice(dag.names, size=rng.integers(1, 4), replace=False) for _ in range(3)]
    further = [f"f{i}{end}" for i in range(3) for end in "xy"]
    edges = [(f"f{i}{end}", name) for i in range(3) for end in "xy" for name in targets[i]]
    larger = Dag.from_edges([*dag.names, *further], [*dag.edges, *edges]).cpdag()
    np.testing.assert_array_equal(dag.cpdag(targets).adjacency, larger.adjacency[:9, :9])


def test_refusals():
    dag = Dag.from_edges(NODES, [("a", "b")])
    with pytest.raises(GraphError, match="'e', which is not a node"):
        dag.cpdag([["a", "e"]])
    with pytest.raises(GraphError, match="single text 'ab'"):
        dag.cpdag(["ab"])
    chain = Dag.from_edges(NODES, [("a", "b"), ("b", "c")])
    with pytest.raises(GraphError, match="has no members"):
        count_members(chain.cpdag(), [["a"]])

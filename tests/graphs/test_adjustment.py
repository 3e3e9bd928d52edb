"""Adjustment sets of all DAGs on four nodes: by listing paths, and by what they are meant to do."""

from collections.abc import Iterator
from itertools import combinations, pairwise

import numpy as np
import pytest

from outpoint.graphs.adjustment import (
    FEWER_OPTIMAL,
    FEWER_PARENTS,
    OPTIMAL,
    PARENTS,
    find_adjusted,
    propose_adjustments,
)
from tests.reference import all_dags

X, Y = 0, 3
DAGS = all_dags(4)
SETS = [(), (1,), (2,), (1, 2)]


def paths(dag: np.ndarray, start: int, end: int) -> Iterator[tuple[int, ...]]:
    """All paths between two nodes that visit none twice, whatever their directions."""

    def extend(path: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if path[-1] == end:
            yield path
            return
        for v in np.flatnonzero(dag[path[-1]] | dag[:, path[-1]]).tolist():
            if v not in path:
                yield from extend((*path, v))

    yield from extend((start,))


def descendants(dag: np.ndarray, nodes: set[int]) -> set[int]:
    found = set(nodes)
    while True:
        more = found | {v for u in found for v in np.flatnonzero(dag[u]).tolist()}
        if more == found:
            return found
        found = more


def is_blocked(dag: np.ndarray, path: tuple[int, ...], given: set[int]) -> bool:
    for a, v, b in zip(path, path[1:], path[2:], strict=False):
        if dag[a, v] and dag[b, v]:
            if not descendants(dag, {v}) & given:
                return True
        elif v in given:
            return True
    return False


def adjusts(dag: np.ndarray, given: set[int], *, forbids: bool = True) -> bool:
    """The criterion word for word; a wrong variant forgets what must not be adjusted for."""
    listed = list(paths(dag, X, Y))
    causal = [p for p in listed if all(dag[a, b] for a, b in pairwise(p))]
    on_causal = {v for path in causal for v in path[1:]}
    if forbids and descendants(dag, on_causal) & given:
        return False
    return all(is_blocked(dag, path, given) for path in listed if path not in causal)


def coefficient_is_effect(dag: np.ndarray, given: set[int]) -> bool:
    """Whether regressing y on x and the set gives the total effect, with coefficients at random."""
    rng = np.random.default_rng(11)
    coefficients = np.where(
        dag, rng.uniform(0.5, 2.0, dag.shape) * rng.choice([-1, 1], dag.shape), 0
    )
    total = np.linalg.inv(np.eye(len(dag)) - coefficients)
    covariance = total.T @ np.diag(rng.uniform(0.5, 2.0, len(dag))) @ total
    columns = [X, *sorted(given)]
    slopes = np.linalg.solve(covariance[np.ix_(columns, columns)], covariance[columns, Y])
    return bool(abs(slopes[0] - total[X, Y]) < 1e-9)


def found_for(given: tuple[int, ...]) -> np.ndarray:
    members = np.zeros(4, dtype=np.bool_)
    members[list(given)] = True
    return find_adjusted(DAGS, X, Y, members)


@pytest.mark.parametrize("given", SETS)
def test_criterion_by_paths(given):
    expected = [adjusts(dag, set(given)) for dag in DAGS]
    assert 0 < sum(expected) < len(DAGS)
    np.testing.assert_array_equal(found_for(given), expected)


@pytest.mark.parametrize("given", SETS)
def test_valid_sets_are_those_that_give_the_effect(given):
    expected = [coefficient_is_effect(dag, set(given)) for dag in DAGS]
    np.testing.assert_array_equal(found_for(given), expected)


def test_without_forbidden_nodes_the_criterion_is_caught():
    """Adjusting for a node on the path x -> z -> y, or for its descendant, is no adjustment."""
    wrong = [[adjusts(dag, set(given), forbids=False) for dag in DAGS] for given in SETS]
    effect = [[coefficient_is_effect(dag, set(given)) for dag in DAGS] for given in SETS]
    assert (np.array(wrong) != np.array(effect)).sum() > 20


def test_proposals_are_valid_and_minimal():
    proposals = propose_adjustments(DAGS, X, Y)
    has_path = [Y in descendants(dag, {X}) for dag in DAGS]
    np.testing.assert_array_equal(proposals.exist[:, PARENTS], ~DAGS[:, Y, X])
    np.testing.assert_array_equal(proposals.exist[:, OPTIMAL], has_path)
    for dag, members, exist in zip(DAGS, *proposals, strict=True):
        for kind in np.flatnonzero(exist):
            given = set(np.flatnonzero(members[kind]).tolist())
            assert adjusts(dag, given)
            if kind in (FEWER_PARENTS, FEWER_OPTIMAL):
                smaller = [
                    set(part) for size in range(len(given)) for part in combinations(given, size)
                ]
                assert not any(adjusts(dag, part) for part in smaller)


def test_where_nothing_is_proposed_nothing_is_valid():
    exist = propose_adjustments(DAGS, X, Y).exist.any(axis=1)
    possible = [any(adjusts(dag, set(given)) for given in SETS) for dag in DAGS]
    np.testing.assert_array_equal(exist, possible)


def test_optimal_sets_have_the_smallest_variance():
    """The variance of an estimate: what is left of y given x and the set, over that of x."""
    proposals = propose_adjustments(DAGS, X, Y)
    rng = np.random.default_rng(3)
    checked = 0
    for dag, members, exist in zip(DAGS, *proposals, strict=True):
        if not exist[OPTIMAL]:
            continue
        coefficients = np.where(dag, rng.uniform(0.5, 2.0, dag.shape), 0)
        total = np.linalg.inv(np.eye(4) - coefficients)
        covariance = total.T @ total
        variances = {
            given: _left(covariance, Y, (X, *given)) / _left(covariance, X, given)
            for given in SETS
            if adjusts(dag, set(given))
        }
        optimal = tuple(np.flatnonzero(members[OPTIMAL]).tolist())
        assert variances[optimal] <= min(variances.values()) * (1 + 1e-9)
        checked += len(variances) > 1
    assert checked > 50


def _left(covariance: np.ndarray, of: int, given: tuple[int, ...]) -> float:
    """The variance of a node that is left given others."""
    index = list(given)
    if not index:
        return float(covariance[of, of])
    slopes = np.linalg.solve(covariance[np.ix_(index, index)], covariance[index, of])
    return float(covariance[of, of] - slopes @ covariance[index, of])

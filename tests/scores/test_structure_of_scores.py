"""What holds for whole scores: equivalence, the layout of all families, the order of columns."""

from collections import defaultdict
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from outpoint.scores import BDeu, BGe, CustomScore, FamilyScorer
from outpoint.scores.base import count_subsets, size_offsets
from tests.reference import Score, all_dags, bdeu_family_score

from .helpers import (
    all_families,
    categorical,
    continuous,
    dependent_codes,
    dependent_values,
    family,
)

CARDINALITIES = (2, 3, 4, 2, 5, 3)


def bge_scorer(n: int) -> FamilyScorer:
    return BGe(alpha_mu=0.5).bind(continuous(dependent_values(np.random.default_rng(n), 50, n)))


def bdeu_scorer(n: int) -> FamilyScorer:
    codes = dependent_codes(np.random.default_rng(n), 50, CARDINALITIES[:n])
    return BDeu(equivalent_sample_size=2.0).bind(categorical(codes, CARDINALITIES[:n]))


def custom_scorer(n: int) -> FamilyScorer:
    def function(child: int, parents: tuple[int, ...]) -> float:
        return float(np.sin(child + 1.0) + sum(np.cos(7.0 * u + child) for u in parents))

    return CustomScore(function).bind(continuous(np.zeros((1, n))))


# Score equivalence


def equivalence_class(adjacency: np.ndarray) -> tuple[bytes, frozenset[tuple[int, int, int]]]:
    """Skeleton and v-structures, which say to which Markov equivalence class a DAG belongs."""
    n = len(adjacency)
    adjacent = adjacency | adjacency.T
    v_structures = {
        (a, child, b)
        for child in range(n)
        for a, b in combinations(range(n), 2)
        if adjacency[a, child] and adjacency[b, child] and not adjacent[a, b]
    }
    return adjacent.tobytes(), frozenset(v_structures)


def scores_by_class(score: Score) -> list[list[float]]:
    """Total scores of the 543 DAGs on four nodes, grouped by equivalence class."""
    known = {(v, s): score(v, s) for v, s in all_families(4)}
    classes = defaultdict(list)
    for adjacency in all_dags(4):
        total = sum(known[v, tuple(np.flatnonzero(adjacency[:, v]).tolist())] for v in range(4))
        classes[equivalence_class(adjacency)].append(total)
    assert len(classes) == 185
    return list(classes.values())


@pytest.mark.parametrize("scorer", [bge_scorer(4), bdeu_scorer(4)], ids=["bge", "bdeu"])
def test_equivalent_dags_score_the_same_and_others_do_not(scorer: FamilyScorer) -> None:
    classes = scores_by_class(lambda child, parents: family(scorer, child, parents))
    assert max(max(totals) - min(totals) for totals in classes) < 1e-9
    assert np.diff(np.sort([totals[0] for totals in classes])).min() > 1e-6


def test_the_check_of_equivalence_can_fail() -> None:
    """K2, a Dirichlet score with the same prior count in every cell, is not score equivalent."""
    codes = dependent_codes(np.random.default_rng(4), 50, CARDINALITIES[:4])

    def k2(child: int, parents: tuple[int, ...]) -> float:
        n_cells = int(np.prod([CARDINALITIES[u] for u in (child, *parents)]))
        return bdeu_family_score(codes, CARDINALITIES, child, parents, float(n_cells))

    assert max(max(totals) - min(totals) for totals in scores_by_class(k2)) > 0.1


# The layout of every_family


@pytest.mark.parametrize("max_parents", [0, 1, 3, 5])
@pytest.mark.parametrize(
    "make", [bge_scorer, bdeu_scorer, custom_scorer], ids=["bge", "bdeu", "custom"]
)
def test_every_family_is_where_the_layout_says(
    make: Callable[[int], FamilyScorer], max_parents: int
) -> None:
    n = 6
    scorer = make(n)
    table = scorer.every_family(max_parents)
    assert table.shape == (n, count_subsets(n - 1, max_parents))
    offsets = size_offsets(n - 1, max_parents)
    for child in range(n):
        others = [u for u in range(n) if u != child]
        for size in range(max_parents + 1):
            rows = sorted(combinations(others, size), key=lambda parents: parents[::-1])
            one_by_one = [family(scorer, child, parents) for parents in rows]
            members = np.array(rows, dtype=np.int16).reshape(len(rows), size)
            together = scorer.families(child, members)
            stored = table[child, offsets[size] : offsets[size + 1]]
            np.testing.assert_allclose(together, one_by_one, rtol=0, atol=1e-10)
            np.testing.assert_allclose(stored, one_by_one, rtol=0, atol=1e-10)


@pytest.mark.parametrize("make", [bge_scorer, bdeu_scorer], ids=["bge", "bdeu"])
def test_many_families_at_once_are_the_same_in_any_order(
    make: Callable[[int], FamilyScorer],
) -> None:
    """Scoring shares work between neighbours and splits rows over threads; neither may show."""
    scorer = make(6)
    rng = np.random.default_rng(1)
    rows = np.array([np.sort(rng.permutation(5)[:3]) for _ in range(2000)], dtype=np.int16)
    scores = scorer.families(5, rows)
    for parents in combinations(range(5), 3):
        same = (rows == parents).all(axis=1)
        np.testing.assert_allclose(scores[same], family(scorer, 5, parents), rtol=0, atol=1e-10)


# The order of columns


@pytest.mark.parametrize("kind", ["bge", "bdeu"])
def test_scores_do_not_depend_on_the_order_of_columns(kind: str) -> None:
    rng = np.random.default_rng(2)
    n = 6
    order = rng.permutation(n)  # new column i is old column order[i]
    if kind == "bge":
        values = dependent_values(rng, 30, n)
        old = BGe().bind(continuous(values))
        new = BGe().bind(continuous(values[:, order]))
    else:
        codes = dependent_codes(rng, 30, CARDINALITIES)
        shuffled = [CARDINALITIES[i] for i in order]
        old = BDeu().bind(categorical(codes, CARDINALITIES))
        new = BDeu().bind(categorical(codes[:, order], shuffled))
    for child, parents in all_families(n):
        there = sorted(int(order[u]) for u in parents)
        expected = family(old, int(order[child]), there)
        assert family(new, child, parents) == pytest.approx(expected, abs=1e-9)


def test_two_columns_are_enough() -> None:
    for scorer in (bge_scorer(2), bdeu_scorer(2), custom_scorer(2)):
        table = scorer.every_family(1)
        expected = [[family(scorer, v, ()), family(scorer, v, (1 - v,))] for v in range(2)]
        np.testing.assert_allclose(table, expected, rtol=0, atol=1e-12)

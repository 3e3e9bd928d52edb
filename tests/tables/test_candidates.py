"""Choosing candidates: what is required, preferred, needed, and then what adds most."""

import numpy as np
import pytest

import outpoint as op
from outpoint.scores import build_prior
from outpoint.scores.base import subsets_of_size
from outpoint.tables.build import Families, score_families, table_bytes
from outpoint.tables.dense import subset_maxima
from outpoint.tables.pruning import choose_candidates, rank_needed
from outpoint.tables.view import view_table
from tests.reference import log_sum_exp, subsets

from .helpers import random_table


def simulated(n: int, n_obs: int, seed: int, max_parents: int = 3) -> tuple[np.ndarray, Families]:
    """A sparse network with strong edges, and the scores of its families."""
    rng = np.random.default_rng(seed)
    dag = np.zeros((n, n), dtype=bool)
    for v in range(1, n):
        dag[rng.choice(v, size=min(v, int(rng.integers(1, 3))), replace=False), v] = True
    values = rng.normal(size=(n_obs, n))
    for v in range(n):
        parents = np.flatnonzero(dag[:, v])
        values[:, v] += values[:, parents] @ rng.choice([-1.0, 1.0], len(parents))
    data = op.Dataset(tuple(f"v{i}" for i in range(n)), values)
    prior = build_prior(data.names, max_parents=max_parents)
    scorer = op.BGe().bind(data)
    return dag, score_families(scorer, prior, max_parents=max_parents, is_complete=False)


NOTHING = np.zeros((12, 12), dtype=bool)


def by_sums(families: Families, n_candidates: int) -> np.ndarray:
    """The ranking that fails: by the sum of exp s(v, S) over the sets S with u."""
    n = len(families.scores)
    sizes = range(families.scored_parents + 1)
    sets = [tuple(s) for size in sizes for s in subsets_of_size(n - 1, size).tolist()]
    out = np.empty((n, n_candidates), dtype=np.int32)
    for child in range(n):
        weight = [
            log_sum_exp(
                score for s, score in zip(sets, families.scores[child], strict=True) if i in s
            )
            for i in range(n - 1)
        ]
        best = np.argsort(weight)[-n_candidates:]
        out[child] = np.sort(np.where(best >= child, best + 1, best))
    return out


def with_a_costly_parent(seed: int) -> Families:
    """Node 0 has the parents 1 and 2, of four levels each; all other nodes are coins.

    To the best set, {1}, a coin costs less than 2 does, although 2 is a strong parent by itself.
    """
    rng = np.random.default_rng(seed)
    codes = rng.integers(2, size=(500, 10))
    codes[:, 1:3] = rng.integers(4, size=(500, 2))
    log_odds = 1.5 * (codes[:, 1] - 1.5) + 0.8 * (codes[:, 2] - 1.5)
    codes[:, 0] = rng.random(500) < 1.0 / (1.0 + np.exp(-log_odds))
    levels = tuple(tuple("abcd") if v in (1, 2) else tuple("ab") for v in range(10))
    data = op.Dataset(tuple(f"v{i}" for i in range(10)), codes.astype(np.float64), levels)
    prior = build_prior(data.names, max_parents=3)
    return score_families(op.BDeu().bind(data), prior, max_parents=3, is_complete=False)


def test_strong_neighbours_are_found_where_sums_of_weights_fail():
    failed = 0
    for seed in range(8):
        families = with_a_costly_parent(seed)
        found = choose_candidates(*families, 3, NOTHING[:10, :10])
        assert {1, 2} <= set(found[0].tolist())
        failed += 2 not in by_sums(families, 3)[0]
    assert failed >= 4


@pytest.mark.parametrize("n_candidates", [1, 3, 6, 10, 11])
def test_candidates_are_as_many_others_in_order(n_candidates):
    _, families = simulated(12, 100, 1)
    candidates = choose_candidates(*families, n_candidates, NOTHING)
    assert candidates.shape == (12, n_candidates)
    assert candidates.dtype == np.int32
    for child, own in enumerate(candidates.tolist()):
        assert child not in own
        assert own == sorted(set(own))


def test_required_parents_come_first_then_the_preferred():
    _, families = simulated(12, 100, 2)
    required, preferred = NOTHING.copy(), np.zeros((12, 12))
    free = [set(own) for own in choose_candidates(*families, 4, NOTHING).tolist()]
    unlikely = [u for u in range(1, 12) if u not in free[0]]
    required[unlikely[:2], 0] = True
    preferred[unlikely[2:5], 0] = [0.1, 0.9, 0.5]
    chosen = choose_candidates(*families, 4, required, preferred)[0].tolist()
    assert chosen == sorted([unlikely[0], unlikely[1], unlikely[3], unlikely[4]])
    only = choose_candidates(*families, 2, required, preferred)[0].tolist()
    assert only == unlikely[:2]
    more = choose_candidates(*families, 6, required, preferred)[0].tolist()
    assert set(more) > set(unlikely[:5])


def test_a_preference_for_oneself_means_nothing():
    _, families = simulated(12, 100, 2)
    candidates = choose_candidates(*families, 4, NOTHING, np.eye(12))
    assert np.array_equal(candidates, choose_candidates(*families, 4, NOTHING))


def test_choices_are_mutual_where_there_is_room():
    """A chain of strong edges: with two candidates everybody has both neighbours."""
    n, rng = 12, np.random.default_rng(3)
    values = rng.normal(size=(300, n))
    for v in range(1, n):
        values[:, v] += values[:, v - 1]
    data = op.Dataset(tuple(f"v{i}" for i in range(n)), values)
    prior = build_prior(data.names, max_parents=3)
    families = score_families(op.BGe().bind(data), prior, max_parents=3, is_complete=False)
    candidates = choose_candidates(*families, 2, NOTHING)
    for v in range(1, n - 1):
        assert candidates[v].tolist() == [v - 1, v + 1]
    wide = choose_candidates(*families, 5, NOTHING)
    pairs = {(child, u) for child, own in enumerate(wide.tolist()) for u in own}
    assert sum((u, child) in pairs for child, u in pairs) >= 0.8 * len(pairs)


def family_sets(n: int, size: int, child: int) -> list[tuple[int, ...]]:
    """The parent sets of ``child`` in the order of their scores."""
    numbers = [s for k in range(size + 1) for s in subsets_of_size(n - 1, k).tolist()]
    return [tuple(u + (u >= child) for u in s) for s in numbers]


def slowly_needed(scores: np.ndarray, size: int) -> np.ndarray:
    n = len(scores)
    needed = np.full((n, n), -np.inf)
    for v in range(n):
        score = dict(zip(family_sets(n, size, v), scores[v].tolist(), strict=True))
        for s in score:
            if all(score[s] > score[t] for t in subsets(s) if len(t) < len(s)):
                for u in s:
                    needed[u, v] = max(needed[u, v], score[s])
    return needed


@pytest.mark.parametrize("max_parents", [1, 2, 3])
@pytest.mark.parametrize("penalty", [0.0, 2.0])
def test_needed_parents(max_parents, penalty):
    """Random scores of 6 nodes; 4 must and 5 must not be a parent of 0."""
    rng = np.random.default_rng(max_parents)
    sets = [family_sets(6, max_parents, v) for v in range(6)]
    scores = np.array([[rng.normal() - penalty * len(s) for s in own] for own in sets])
    scores[0, [4 not in s or 5 in s for s in sets[0]]] = -np.inf
    expected = slowly_needed(scores, max_parents)
    np.testing.assert_array_equal(rank_needed(scores, max_parents), expected)
    assert expected[4, 0] > -np.inf == expected[5, 0]
    n_needed = (expected > -np.inf).sum()
    assert n_needed < 20 if penalty else n_needed > 10


def test_a_parent_that_adds_nothing_is_not_needed():
    """Up to rounding."""
    sets = family_sets(4, 2, 0)
    scores = np.array([[1e-12 * len(s) for s in sets]] * 4)
    assert (rank_needed(scores, 2) == -np.inf).all()


def test_needed_parents_come_before_larger_gains():
    """Of 0, 2 and 4 each is needed beside another for the third, and alone is the worst choice."""
    triple = {0, 2, 4}
    scores = np.array(
        [
            [
                1.0 if {v, *s} == triple else -2.0 * len(s) + (len(s) == 1 and s[0] not in triple)
                for s in family_sets(6, 2, v)
            ]
            for v in range(6)
        ]
    )
    needed, nothing = rank_needed(scores, 2), NOTHING[:6, :6]
    found = choose_candidates(scores, 2, needed, 2, nothing)
    assert found.tolist() == [[2, 4], [3, 5], [0, 4], [1, 5], [0, 2], [1, 3]]
    by_gains = choose_candidates(scores, 2, np.full((6, 6), -np.inf), 2, nothing)
    assert not any(set(by_gains[v].tolist()) <= triple for v in triple)


@pytest.mark.parametrize("max_parents", [1, 2, 3])
def test_gains_are_only_asked_of_sets_that_were_scored(max_parents):
    """The choice depends on nothing that stands behind the scores in memory."""
    _, families = simulated(12, 100, 4, max_parents)
    wanted = choose_candidates(*families, 4, NOTHING)
    n_sets = families.scores.shape[1]
    for filler in (-1e6, 1e6):
        around = np.full((12, n_sets + 2000), filler)
        around[:, :n_sets] = families.scores
        found = choose_candidates(around, families.scored_parents, families.needed, 4, NOTHING)
        assert np.array_equal(found, wanted)


@pytest.mark.parametrize("max_parents", [2, 9])
@pytest.mark.parametrize("n_candidates", [7, 9])
def test_all_arrays_are_counted(n_candidates, max_parents):
    table = random_table(10, max_parents, n_candidates, seed=1).table
    view = view_table(table)
    n_bytes = subset_maxima(table.dense).values.nbytes
    for name, part in view._asdict().items():
        if name not in ("outside", "near"):
            n_bytes += part.nbytes if isinstance(part, np.ndarray) else sum(a.nbytes for a in part)
    assert table_bytes(10, n_candidates, max_parents) == pytest.approx(n_bytes, rel=0.05)

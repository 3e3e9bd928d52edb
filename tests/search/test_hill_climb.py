"""Hill climbing: ends in local optima, finds small global ones, keeps every constraint."""

import numpy as np
import pytest

from outpoint.errors import GraphError
from outpoint.exact import find_best
from outpoint.graphs import Dag
from outpoint.search.hill_climb import climb_hill, climb_hills
from outpoint.tables.lookup import family_log_score, index_families
from tests.search.helpers import TABLES, best_score
from tests.tables.helpers import KnownTable, random_table

NONE = np.zeros((7, 7), dtype=np.bool_)


def log_score(known: KnownTable, adjacency: np.ndarray) -> float:
    parents = [tuple(np.flatnonzero(adjacency[:, v]).tolist()) for v in range(len(adjacency))]
    return sum(map(known.score, range(len(adjacency)), parents))


def neighbours(adjacency: np.ndarray) -> list[np.ndarray]:
    """All DAGs with one edge added, deleted or turned, by trying."""
    found = []
    names = [f"v{i}" for i in range(len(adjacency))]
    for u, v in np.argwhere(~np.eye(len(adjacency), dtype=np.bool_)):
        changes = [(not adjacency[u, v], adjacency[v, u])]
        if adjacency[u, v]:
            changes.append((False, True))
        for forward, backward in changes:
            changed = adjacency.copy()
            changed[u, v], changed[v, u] = forward, backward
            try:
                Dag(tuple(names), changed)
            except GraphError:
                continue
            found.append(changed)
    return found


@pytest.mark.parametrize("n_candidates", [6, 2])
def test_climbs_end_where_no_single_edge_helps(n_candidates: int) -> None:
    known = random_table(7, 3, n_candidates, seed=1, spread=2.0)
    climbs = climb_hills(known.table, NONE, n_runs=12, seed=1)
    for adjacency, score in zip(climbs.adjacencies, climbs.log_scores, strict=True):
        assert score == pytest.approx(log_score(known, adjacency))
        assert max(log_score(known, other) for other in neighbours(adjacency)) <= score + 1e-9
    assert len({adjacency.tobytes() for adjacency in climbs.adjacencies}) > 1


@pytest.mark.parametrize("name", TABLES)
def test_small_optima_are_found(name: str) -> None:
    known = TABLES[name](5)
    required = np.zeros((5, 5), dtype=np.bool_)
    if name == "constrained":
        required[[0, 2], 1] = True
    climbs = climb_hills(known.table, required, n_runs=30, seed=2)
    assert climbs.log_scores.max() == pytest.approx(best_score(known, 5))
    for adjacency in climbs.adjacencies:
        assert adjacency[required].all()
        assert adjacency.sum(axis=0).max() <= known.table.max_parents
        if name == "constrained":
            assert not adjacency[3, 0]


def test_the_tabu_list_helps() -> None:
    scores = {}
    for tabu, patience in ((0, 1), (10, 15)):
        scores[tabu] = []
        for seed in range(6):
            table = random_table(7, 3, seed=seed, spread=2.0).table
            climbs = climb_hills(table, NONE, n_runs=6, seed=1, tabu=tabu, patience=patience)
            scores[tabu].append(climbs.log_scores)
            assert climbs.log_scores.max() <= find_best(table)[1] + 1e-9
    gains = np.array(scores[10]) - np.array(scores[0])
    assert gains.min() >= -1e-9, "the first local optimum is on the way"
    assert gains.max() > 0.1


def test_the_first_climb_starts_from_the_required_edges() -> None:
    known = random_table(7, 3, seed=4)
    lookup = index_families(known.table)
    dag = NONE.copy()
    climb_hill(lookup, dag, 10, 15)
    for seed in (1, 2):
        climbs = climb_hills(known.table, NONE, n_runs=3, seed=seed)
        np.testing.assert_array_equal(climbs.adjacencies[0], dag)


@pytest.mark.parametrize("n_candidates", [6, 3, 0])
def test_lookup_of_single_families(n_candidates: int) -> None:
    known = random_table(7, 3, n_candidates, seed=5, forbidden=[("v1", "v2")])
    lookup = index_families(known.table)
    for (child, parents), score in known.scores.items():
        members = np.array([*parents, 0, 0, 0, 0], dtype=np.int64)
        assert family_log_score(lookup, child, members, len(parents)) == score
    four = np.array([0, 1, 3, 4], dtype=np.int64)
    assert family_log_score(lookup, 6, four, 4) == -np.inf

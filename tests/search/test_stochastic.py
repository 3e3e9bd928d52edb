"""Whole searches: the exact optimum, constraints, seeds and threads."""

import numpy as np
import pytest

import outpoint as op
from outpoint import kernels
from outpoint.exact import find_best
from outpoint.scores import build_prior
from outpoint.search import climb_hills, default_steps, search_dags, stochastic
from outpoint.search.annealing import find_schedule
from outpoint.tables import build_table
from tests.tables.helpers import random_table

NONE = np.zeros((8, 8), dtype=np.bool_)


@pytest.mark.parametrize("space", ["order", "partition"])
@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_of_dynamic_programming_is_found(space: str, seed: int) -> None:
    known = random_table(8, 3, seed=seed, spread=2.0)
    _, optimum = find_best(known.table)
    runs = search_dags(known.table, NONE, space=space, n_runs=10, n_steps=4000, seed=seed)
    assert runs.log_scores.max() == pytest.approx(optimum)
    assert runs.log_scores.max() <= optimum + 1e-9
    for adjacency, log_score in zip(runs.adjacencies, runs.log_scores, strict=True):
        parents = [tuple(np.flatnonzero(adjacency[:, v]).tolist()) for v in range(8)]
        assert sum(map(known.score, range(8), parents)) == pytest.approx(log_score)


@pytest.mark.parametrize("space", ["order", "partition"])
def test_sets_outside_the_candidates_are_found(space: str) -> None:
    """The optimum needs parents that are no candidates; a search among candidates misses it."""
    known = random_table(8, 2, 2, seed=11, spread=3.0)
    _, optimum = find_best(random_table(8, 2, 7, seed=11, spread=3.0).table)
    runs = search_dags(known.table, NONE, space=space, n_runs=20, n_steps=4000, seed=1)
    best = int(runs.log_scores.argmax())
    assert runs.log_scores[best] == pytest.approx(optimum)
    inside = np.zeros((8, 8), dtype=np.bool_)
    for child in range(8):
        inside[known.table.candidates[child], child] = True
    assert (runs.adjacencies[best] & ~inside).any()


@pytest.mark.parametrize("space", ["order", "partition"])
def test_the_same_seed_gives_the_same_result_on_any_number_of_threads(
    space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = random_table(8, 3, seed=5, spread=0.5).table

    def outcome(seed: int, n_threads: int) -> list[bytes]:
        monkeypatch.setattr(kernels, "n_threads", lambda: n_threads)
        runs = search_dags(table, NONE, space=space, n_runs=6, n_steps=50, seed=seed)
        climbs = climb_hills(table, NONE, n_runs=6, seed=seed)
        return [dag.tobytes() for dag in runs.adjacencies + climbs.adjacencies]

    assert outcome(1, 1) == outcome(1, 3)
    assert outcome(1, 2) != outcome(2, 2)


@pytest.mark.parametrize("space", ["order", "partition"])
def test_required_edges_are_kept(space: str) -> None:
    edges = [("v0", "v1"), ("v1", "v2"), ("v4", "v2"), ("v5", "v0")]
    known = random_table(8, 4, seed=6, spread=3.0, required=edges, forbidden=[("v3", "v7")])
    required = NONE.copy()
    for parent, child in edges:
        required[int(parent[1]), int(child[1])] = True
    _, optimum = find_best(known.table)
    runs = search_dags(known.table, required, space=space, n_runs=20, n_steps=4000, seed=2)
    assert runs.log_scores.max() == pytest.approx(optimum)
    for adjacency in runs.adjacencies:
        assert adjacency[required].all()
        assert not adjacency[3, 7]


def test_annealing_does_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a kernel that never moves, greedy climbs from random orders are left."""
    data = op.datasets.boston()
    table = build_table(
        data.names, op.BGe(standardize=False).bind(data), build_prior(data.names), max_parents=3
    )
    _, optimum = find_best(table)
    required = np.zeros((14, 14), dtype=np.bool_)

    def share_found() -> float:
        runs = search_dags(table, required, space="order", n_runs=40, n_steps=5000, seed=1)
        return float(np.mean(runs.log_scores > optimum - 1e-6))

    assert share_found() > 0.3
    space = stochastic._SPACES["order"]

    def stay(view, state, powers, steps_per_power, rng):
        return np.zeros(len(powers)), np.zeros(len(powers))

    monkeypatch.setitem(stochastic._SPACES, "order", space._replace(anneal=stay))
    assert share_found() < 0.15


def test_a_search_without_admissible_dag_says_so() -> None:
    known = random_table(4, 3, seed=1)
    nothing = known.table.dense.matrix.copy()
    nothing[2] = -np.inf
    table = type(known.table)(
        known.table.names, 3, known.table.candidates, nothing, known.table.outside, 3
    )
    for space in ("order", "partition"):
        runs = search_dags(table, NONE[:4, :4], space=space, n_runs=2, n_steps=100, seed=1)
        assert (runs.log_scores == -np.inf).all()
    assert (climb_hills(table, NONE[:4, :4], n_runs=2, seed=1).log_scores == -np.inf).all()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_the_schedule_follows_the_scale_of_the_scores(scale: float) -> None:
    table = random_table(6, 3, seed=2, spread=scale).table
    runs = search_dags(table, NONE[:6, :6], space="order", n_runs=1, n_steps=100, seed=1)
    assert (np.diff(runs.powers) >= 0).all()
    # The scores of two orders differ by about ``scale``: powers around 1 / scale matter.
    assert 0.05 < runs.powers[0] * scale < 5
    assert 1 < runs.powers[-1] * scale < 100


def test_a_flat_score_needs_no_schedule() -> None:
    powers = find_schedule(lambda powers, steps: (np.zeros(1), np.zeros(1)), 10)
    assert (powers == 1).all()


def test_default_steps_grow_with_the_nodes_up_to_a_limit() -> None:
    steps = [default_steps(n) for n in (2, 10, 20, 50, 500)]
    assert steps == sorted(steps)
    assert steps[0] == 1000
    assert steps[-1] == 100_000

"""What a table lacks, estimated from draws: against a listing of all DAGs."""

from functools import lru_cache

import numpy as np
import pytest
from numpy.typing import NDArray

from outpoint.data import Dataset
from outpoint.scores import CustomScore, build_prior
from outpoint.tables import ScoreTable, build
from outpoint.tables.build import assemble_table, score_families
from outpoint.tables.missing import Missing, _Surroundings, estimate_missing
from tests.reference import all_dags

N = 5
NAMES = tuple("abcde")
CANDIDATES = np.array([[1, 2], [0, -1], [0, 3], [2, 4], [3, -1]], dtype=np.int32)
"""One or two for each, so that most sets leave them."""

N_DRAWS = 2000


@lru_cache
def log_scores() -> dict[tuple[int, tuple[int, ...]], float]:
    """Any score of a family, drawn once."""
    rng = np.random.default_rng(5)
    masks = [(v, s) for v in range(N) for s in range(1 << N) if not s >> v & 1]
    return {
        (v, tuple(u for u in range(N) if s >> u & 1)): float(rng.normal(0.0, 1.2)) for v, s in masks
    }


def score(child: int, parents: tuple[int, ...]) -> float:
    return log_scores()[child, tuple(parents)]


SCORER = CustomScore(score).bind(Dataset(NAMES, np.zeros((1, N))))
PRIOR = build_prior(NAMES)


@lru_cache
def make_table() -> ScoreTable:
    """All sets of one node, and larger ones with at most one member outside."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "MAX_FAMILIES", N * N)
        families = score_families(SCORER, PRIOR, max_parents=N - 1, is_complete=False)
    assert families.scored_parents == 1
    return assemble_table(NAMES, families, SCORER, PRIOR, CANDIDATES, N - 1, is_pruned=False)


def is_admitted(child: int, parents: NDArray[np.intp]) -> bool:
    return len(parents) <= 1 or np.isin(parents, CANDIDATES[child], invert=True).sum() <= 1


@lru_cache
def listed() -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The weight of every DAG, and which of its nodes have sets that the table has."""
    weights, admitted = [], []
    for dag in all_dags(N):
        sets = [np.flatnonzero(dag[:, v]) for v in range(N)]
        weights.append(sum(score(v, tuple(own.tolist())) for v, own in enumerate(sets)))
        admitted.append([is_admitted(v, own) for v, own in enumerate(sets)])
    return np.exp(weights), np.array(admitted)


@lru_cache
def truth(child: int) -> tuple[float, NDArray[np.float64]]:
    """The share of DAGs in which only ``child`` has a set that the table lacks, and its edges."""
    weights, admitted = listed()
    others = np.delete(admitted, child, axis=1).all(axis=1)
    lacking = others & ~admitted[:, child]
    # Three or more members outside: out of reach, but for sets of two.
    outer = [
        np.isin(np.flatnonzero(dag[:, child]), CANDIDATES[child], invert=True).sum()
        for dag in all_dags(N)
    ]
    lacking &= np.array(outer) == 2
    total = weights[lacking].sum() + weights[admitted.all(axis=1)].sum()
    edges = (weights[lacking, None] * all_dags(N)[lacking, :, child]).sum(axis=0)
    return weights[lacking].sum() / total, edges / total


@lru_cache
def draws(seed: int) -> NDArray[np.int32]:
    """Independent DAGs from the posterior over what the table has."""
    weights, admitted = listed()
    weights = weights * admitted.all(axis=1)
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(weights), N_DRAWS, p=weights / weights.sum())
    return np.array([make_table().codes_of(all_dags(N)[dag]) for dag in chosen], dtype=np.int32)


def estimate(seed: int) -> Missing:
    return estimate_missing(make_table(), 1, SCORER, PRIOR, draws(seed))


def errors() -> NDArray[np.float64]:
    """Of the estimated mass of each node, in standard errors over eight sets of draws."""
    found = np.array([estimate(seed).mass for seed in range(8)])
    expected = np.array([truth(child)[0] for child in range(N)])
    assert expected.min() > 0.02, "there is something to see"
    standard = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    return np.abs(found.mean(axis=0) - expected) / standard


@pytest.fixture(autouse=True)
def more_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outpoint.tables.missing.MOST_LOOKS", 200)


def test_the_mass_of_what_is_missing() -> None:
    """With 7 degrees of freedom an error of 8 happens to one of 5 nodes with probability 5e-4."""
    assert errors().max() < 8.0
    edges = np.mean([estimate(seed).edges for seed in range(4)], axis=0)
    for child in range(N):
        np.testing.assert_allclose(edges[:, child], truth(child)[1], atol=0.04)


@pytest.mark.parametrize("name", ["MOST_INNER", "MOST_PAIRS"])
def test_the_mass_without_pairs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pairs are not looked at, what they would be next to is no neighbour either."""
    monkeypatch.setattr(f"outpoint.tables.missing.{name}", 0)
    assert errors().max() < 8.0


def test_pairs_that_are_counted_twice_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at from a set of candidates, and not held against it."""
    right = _Surroundings.inner_masks

    def forgotten(self, codes):
        found = right(self, codes)
        self._looked_at[:] = False
        return found

    monkeypatch.setattr(_Surroundings, "inner_masks", forgotten)
    assert errors().max() > 8.0


def test_what_they_would_change() -> None:
    """The change of edges when the sets that one node lacks are added to the table's."""
    weights, admitted = listed()
    weights = weights * admitted.all(axis=1)
    before = np.einsum("d,duv->uv", weights / weights.sum(), all_dags(N))
    for child in range(N):
        share, edges = truth(child)
        missing = Missing.none(N)
        missing.mass[child], missing.edges[:, child] = share, edges
        within = edges + (1.0 - share) * before[:, child]
        expected = np.abs(within - before[:, child]).max()
        assert expected > 0.005, "there is something to see"
        assert missing.changes(before)[child] == pytest.approx(expected)


def test_a_wrong_ratio_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets that are reached by an exchange, too, would be counted several times."""
    right = _Surroundings._weigh_neighbours

    def smaller_alone(self, sets):
        log_smaller, log_exchanged = right(self, sets)
        return log_smaller, np.full_like(log_exchanged, -np.inf)

    monkeypatch.setattr(_Surroundings, "_weigh_neighbours", smaller_alone)
    assert errors().max() > 16.0


def test_cycles_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "outpoint.tables.missing.descendants",
        lambda codes, parent_sets, child: np.tile(np.arange(N) == child, (len(codes), 1)),
    )
    assert errors().max() > 16.0


def test_nothing_is_missing_where_all_sets_are_scored() -> None:
    found = estimate_missing(make_table(), N - 1, SCORER, PRIOR, draws(1)[:50])
    assert not found.mass.any()
    assert not found.edges.any()


@pytest.mark.filterwarnings("error")
def test_sets_that_are_far_better_than_all_of_the_table() -> None:
    """As with a million rows: they have all of the posterior, and no number overflows."""
    better = CustomScore(lambda child, parents: 1e4 * (len(parents) > 1))
    scorer = better.bind(Dataset(NAMES, np.zeros((1, N))))
    found = estimate_missing(make_table(), 1, scorer, PRIOR, draws(1)[:50])
    assert found.mass.max() == pytest.approx(1.0)
    assert found.edges.max() <= 1.0 + 1e-9

"""Building tables: limits, candidates, large networks, and that nothing can be changed."""

from functools import cache
from math import comb, inf

import numpy as np
import pytest

from outpoint.data import Dataset
from outpoint.errors import OptionError, TooLargeError
from outpoint.scores import BGe, Knowledge, build_prior
from outpoint.scores.gaussian import GaussianScorer
from outpoint.tables import ScoreTable, build, build_table, check_max_parents, default_max_parents
from outpoint.tables.build import default_candidates, scored_parents, table_bytes
from tests.reference import bge_family_score, log_sum_exp, log_tau, subsets

from .helpers import Sums, node_names, random_table
from .test_table import KNOWLEDGE, assert_sums

# The limit on parents


@pytest.mark.parametrize(("n", "limit"), [(2, 1), (14, 13), (20, 19), (21, 10), (40, 10)])
def test_default_limit_of_few_nodes(n: int, limit: int) -> None:
    """All others up to 20 nodes; beyond, at most as many as there are candidates."""
    assert default_max_parents(n) == limit
    assert check_max_parents(n, None) == limit


@pytest.mark.parametrize(
    ("n", "scored", "limit"), [(50, 3, 6), (100, 3, 4), (109, 3, 4), (200, 2, 3), (500, 1, 3)]
)
def test_default_limit_of_many_nodes(n: int, scored: int, limit: int) -> None:
    """1.5 million sets of more than 3 with one member outside 10 candidates, and at least 3."""
    for size in (limit, limit + 1):
        n_larger = n * (n - 11) * sum(comb(10, k - 1) for k in range(4, size + 1))
        assert (n_larger <= 1_500_000) == (size == limit)
    assert scored_parents(n, limit) == scored
    assert default_max_parents(n) == limit
    assert check_max_parents(n, None) == limit


@pytest.mark.parametrize(("n", "limit"), [(20, 19), (80, 10), (100, 6), (200, 4), (441, 3)])
def test_default_limit_where_scores_take_no_time(n: int, limit: int) -> None:
    """6 million sets instead of 1.5."""
    affordable = GaussianScorer.affordable
    assert default_max_parents(n, affordable) == check_max_parents(n, None, affordable) == limit
    if n > 80:
        for size in (limit, limit + 1):
            n_larger = n * (n - 11) * sum(comb(10, k - 1) for k in range(4, size + 1))
            assert (n_larger <= 6_000_000) == (size == limit)


def test_default_limit_with_more_candidates() -> None:
    """60 nodes of 15 candidates: 60 * 44 * (455 + 1365) sets of up to 5 with one outside."""
    assert check_max_parents(60, None, 6_000_000, 15) == 5
    assert check_max_parents(60, None, 6_000_000, 4) == check_max_parents(60, None, 6_000_000) == 10
    assert check_max_parents(25, None, 6_000_000, 24) == 10
    assert check_max_parents(60, None, 6_000_000, "many") == 10, "refused elsewhere"


@pytest.mark.parametrize(
    ("n", "max_parents", "scored"),
    [
        (9, 8, 8),
        (21, 10, 6),
        (21, 5, 5),
        (30, 10, 4),
        (37, 10, 3),
        (100, 4, 3),
        (100, 2, 2),
        (200, 3, 2),
        (500, 3, 1),
        (500, 1, 1),
    ],
)
def test_sizes_of_which_all_sets_are_scored(n: int, max_parents: int, scored: int) -> None:
    """50 million families of up to 3 parents, and 1.5 million of more."""
    for size in range(2, max_parents + 1):
        n_families = n * sum(comb(n - 1, k) for k in range(size + 1))
        assert (n_families <= (1_500_000 if size > 3 else 50_000_000)) == (size <= scored)
    assert scored_parents(n, max_parents) == scored


@pytest.mark.parametrize("limit", [1, 4, np.int64(3)])
def test_good_limits(limit: int) -> None:
    checked = check_max_parents(5, limit)
    assert checked == limit
    assert type(checked) is int


@pytest.mark.parametrize("limit", [0, -1, 5, 100])
def test_limits_out_of_range(limit: int) -> None:
    with pytest.raises(OptionError, match=f"from 1 to 4 for 5 variables, not {limit}"):
        check_max_parents(5, limit)


@pytest.mark.parametrize("limit", [1.5, True, "3"])
def test_limits_that_are_no_whole_number(limit: object) -> None:
    with pytest.raises(OptionError, match="max_parents must be a whole number"):
        check_max_parents(5, limit)  # type: ignore[arg-type]


# Candidates


def test_default_candidates_are_all_nodes_or_what_fits() -> None:
    assert [default_candidates(n, n - 1) for n in (2, 10, 17, 20)] == [1, 9, 16, 19]
    assert [default_candidates(n, 3) for n in (21, 100, 500)] == [build.USUAL_CANDIDATES] * 3
    for n, max_parents in ((100_000, 3), (100_000, 10), (20_000_000, 3)):
        chosen = default_candidates(n, max_parents)
        assert 1 <= chosen < build.USUAL_CANDIDATES
        fits = table_bytes(n, chosen, max_parents) <= build.MAX_TABLE_BYTES
        assert fits or chosen == 1
        assert table_bytes(n, chosen + 1, max_parents) > build.MAX_TABLE_BYTES


def test_required_parents_come_first_among_the_candidates() -> None:
    """Even those that every score speaks against."""
    required = [("v7", "v0"), ("v3", "v0"), ("v8", "v1")]
    prior_against = np.full((9, 9), 0.5)
    for parent, child in required:
        u, v = int(parent[1]), int(child[1])
        prior_against[[u, v], [v, u]] = 1e-30
    it = random_table(9, 3, 2, seed=3, required=required, edge_prior=prior_against)
    assert it.table.candidates[0].tolist() == [3, 7]
    assert 8 in it.table.candidates[1]
    free = random_table(9, 3, 2, seed=3, edge_prior=prior_against)
    assert not {3, 7} & set(free.table.candidates[0].tolist())


def test_more_required_parents_than_candidates_are_refused() -> None:
    required = [("v1", "v0"), ("v2", "v0"), ("v3", "v0")]
    with pytest.raises(OptionError, match="3 required parents, more than the 2 candidates"):
        random_table(6, 4, 2, required=required)
    random_table(6, 4, 3, required=required)


def test_a_dense_table_that_cannot_fit_is_refused() -> None:
    names = node_names(40)
    scorer = BGe().bind(Dataset(names, np.random.default_rng(4).normal(size=(50, 40))))
    with pytest.raises(TooLargeError, match="over 29 candidate parents does not fit"):
        build_table(names, scorer, build_prior(names), max_parents=1, n_candidates=29)


def test_more_candidates_than_nodes_are_all_nodes() -> None:
    table = random_table(5, 2, 17).table
    assert table.is_complete
    assert table.candidates.tolist() == [[u for u in range(5) if u != v] for v in range(5)]
    assert len(table.outside.score) == 0


# Sets that leave the candidates, limited


def limit_families(monkeypatch: pytest.MonkeyPatch, up_to_three: int, more: int) -> None:
    monkeypatch.setattr(build, "MAX_FAMILIES", up_to_three)
    monkeypatch.setattr(build, "USUAL_FAMILIES", more)


@pytest.mark.parametrize(
    ("max_families", "usual_families", "scored"),
    [
        (10**6, 10**6, 4),
        (10**6, 9 * 163, 4),
        (10**6, 9 * 162, 3),
        (9 * 93, 1, 3),
        (9 * 92, 1, 2),
    ],
)
@pytest.mark.parametrize(
    "knowledge",
    [{}, KNOWLEDGE, {"structure_prior": "fair", "edge_prior": 0.2}],
    ids=["free", "knowledge", "prior"],
)
def test_large_sets_have_at_most_one_member_outside_the_candidates(
    monkeypatch: pytest.MonkeyPatch,
    knowledge: dict,
    max_families: int,
    usual_families: int,
    scored: int,
) -> None:
    """93 sets of up to 3 out of 8, 163 of up to 4; candidate subsets go on to max_parents."""
    limit_families(monkeypatch, max_families, usual_families)
    n, max_parents = 9, 4
    it = random_table(n, max_parents, 5, seed=5, **knowledge)
    table = it.table
    assert table.max_parents == max_parents
    for child in range(n):
        candidates = set(table.candidates[child].tolist())
        for parents in subsets(set(range(n)) - {child}, max_parents + 1):
            stored = len(parents) <= scored or (
                len(parents) <= max_parents and len(set(parents) - candidates) <= 1
            )
            if not stored:
                it.scores[child, parents] = -inf
            expected = it.score(child, parents)
            assert table.log_score(child, parents) == pytest.approx(expected, abs=1e-11)
    rng = np.random.default_rng(6)
    for _ in range(40):
        child = int(rng.integers(n))
        allowed = {u for u in range(n) if u != child and rng.random() < 0.7}
        assert_sums(it, child, allowed, {u for u in allowed if rng.random() < 0.3})


def test_draws_respect_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    limit_families(monkeypatch, 9 * 9, 9 * 9)
    it = random_table(9, 5, 4, seed=6)
    rng = np.random.default_rng(7)
    candidates = set(it.table.candidates[0].tolist())
    drawn = {it.sums.draw(0, range(1, 9), rng) for _ in range(30_000)}
    assert all(len(set(s) - candidates) <= 1 for s in drawn)
    assert len(drawn) == 16 + 4 * 16


def test_required_parents_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """No set that was scored one by one holds both required parents: only larger ones do."""
    monkeypatch.setattr(build, "MAX_FAMILIES", 9 * 9)
    it = random_table(9, 3, 4, seed=7, required=[("v7", "v0"), ("v8", "v0")])
    candidates = set(it.table.candidates[0].tolist())
    assert candidates >= {7, 8}
    sets = [s for s in subsets(range(1, 9), 3) if {7, 8} <= set(s)]
    assert len(sets) == 1 + 6
    expected = log_sum_exp(it.score(0, s) for s in sets)
    assert it.sums.log_sum(0, range(1, 9)) == pytest.approx(expected, abs=1e-9)
    assert it.sums.log_sum(0, range(1, 8)) == -inf


def test_a_limit_below_single_parents_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "MAX_FAMILIES", 9 * 7)
    with pytest.raises(TooLargeError, match="9 variables are too many"):
        random_table(9, 3, 4)


def test_complete_tables_are_not_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    limit_families(monkeypatch, 10, 10)
    it = random_table(6, 4)
    assert len(it.table.outside.score) == 0
    for s in subsets(range(1, 6), 4):
        assert it.table.log_score(0, s) == pytest.approx(it.score(0, s), abs=1e-12)


# A large network


@pytest.fixture(scope="module")
def large() -> tuple[np.ndarray, ScoreTable]:
    """A hundred variables, each depending on the two before it."""
    rng = np.random.default_rng(8)
    values = rng.normal(size=(150, 100))
    for v in range(2, 100):
        values[:, v] += 0.8 * values[:, v - 1] - 0.5 * values[:, v - 2]
    names = node_names(100)
    scorer = BGe(standardize=False).bind(Dataset(names, values))
    known = Knowledge(required=[("v90", "v10"), ("v70", "v10")], forbidden=[("v51", "v50")])
    prior = build_prior(names, knowledge=known, max_parents=2)
    table = build_table(names, scorer, prior, max_parents=2, n_candidates=6, is_pruned=False)
    return values, table


def test_a_hundred_nodes(large: tuple[np.ndarray, ScoreTable]) -> None:
    values, table = large
    assert table.n_nodes == 100
    assert "100 nodes" in repr(table)

    @cache
    def score(child: int, parents: tuple[int, ...]) -> float:
        if len(parents) > 2 or (child == 50 and 51 in parents):
            return -inf
        if child == 10 and not {70, 90} <= set(parents):
            return -inf
        return bge_family_score(values, child, parents)

    rng = np.random.default_rng(9)
    sums = Sums(table)
    for child in (0, 10, 50, 99):
        near = {u for u in range(child - 3, child + 4) if 0 <= u < 100 and u != child}
        far = set(rng.choice(100, 6, replace=False).tolist()) - {child}
        allowed = near | far | {70, 90}
        for required in (near, far, {min(near)}, {70}):
            expected = log_tau(score, child, allowed, required)
            got = sums.log_tau(child, allowed, required)
            assert got == pytest.approx(expected, rel=0, abs=1e-9)
        best = max(subsets(allowed, 2), key=lambda s, child=child: score(child, s))
        assert table.log_score(child, best) == pytest.approx(score(child, best), abs=1e-9)
        drawn = sums.draw_tabulated(child, 70, allowed, rng)
        assert 70 in drawn
        assert set(drawn) <= allowed


def test_a_hundred_nodes_all_allowed(large: tuple[np.ndarray, ScoreTable]) -> None:
    """All 4,951 parent sets of one node."""
    _, table = large
    everyone = range(100)
    sets = list(subsets(set(everyone) - {42}, 2))
    scores = {s: table.log_score(42, s) for s in sets}
    assert len(scores) == 4951
    sums = Sums(table)
    assert sums.log_sum(42, everyone) == pytest.approx(log_sum_exp(scores.values()), abs=1e-9)
    needed = log_sum_exp(score for s, score in scores.items() if {5, 99} & set(s))
    assert sums.log_tau(42, everyone, {5, 99}) == pytest.approx(needed, abs=1e-9)
    assert table.log_score(42, (1, 2, 3)) == -inf
    assert set(table.candidates[10].tolist()) >= {70, 90}


# Read-only


@pytest.mark.parametrize("n_candidates", [None, 3])
def test_nothing_in_a_table_can_be_changed(n_candidates: int | None) -> None:
    table = random_table(6, 3, n_candidates).table
    arrays = {
        "candidates": table.candidates,
        "dense": table.dense.values,
        "log_sums": table.log_sums.values,
        "maxima": table.maxima.values,
        "omega": table.omega.values,
        **{f"ranked.{k}": v for k, v in table.ranked._asdict().items()},
        **{f"outside.{k}": v for k, v in table.outside._asdict().items()},
    }
    for name, array in arrays.items():
        assert not array.flags.writeable, name
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    assert table.omega is table.omega


def test_dags_are_fitted_to_the_table(monkeypatch):
    """Sets that are not in it lose their members outside the candidates; all others stay."""
    monkeypatch.setattr("outpoint.tables.build.MAX_FAMILIES", 200)
    monkeypatch.setattr("outpoint.tables.build.USUAL_FAMILIES", 200)
    table = random_table(9, 3, 2, seed=3).table
    dag = np.zeros((9, 9), dtype=bool)
    own = table.candidates[8].tolist()
    outer = [u for u in range(8) if u not in own]
    dag[[own[0], *outer[:2]], 8] = True
    dag[outer[0], outer[1]] = True
    with pytest.raises(OptionError, match="not in the table"):
        table.codes_of(dag)
    fitted = table.fitted(dag)
    assert np.flatnonzero(fitted[:, 8]).tolist() == [own[0]]
    assert fitted[outer[0], outer[1]]
    table.codes_of(fitted)

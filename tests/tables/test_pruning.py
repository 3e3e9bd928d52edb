"""Leaving out parent sets: what is lost is never more than what the certificate says."""

from threading import get_ident

import numpy as np
import pytest
from numpy.typing import NDArray

from outpoint.scores import FamilyScorer
from outpoint.tables import pruning as pruning_module
from outpoint.tables.build import assemble_table, build_table, score_families
from outpoint.tables.outside import OwnSets, _inside_masks, score_larger
from outpoint.tables.pruning import MOST_LOST, SetsByRank, log_ratios, prune
from tests.exact.problems import gaussian
from tests.grids import first
from tests.reference import enumerate_posterior, subsets

from .helpers import KnownTable, random_table


def mass_left_out(it: KnownTable) -> float:
    """Posterior mass, by listing all DAGs, of those with a set that is not in the table."""
    n = it.table.n_nodes
    posterior = enumerate_posterior(n, it.score)
    is_lost = np.zeros(len(posterior.log_weights), dtype=bool)
    for child in range(n):
        for s in subsets(set(range(n)) - {child}):
            if it.score(child, s) > -np.inf and it.table.log_score(child, s) == -np.inf:
                own = np.zeros(n, dtype=bool)
                own[list(s)] = True
                is_lost |= (posterior.adjacencies[:, :, child] == own).all(axis=1)
    return float(posterior.probabilities[is_lost].sum())


CASES = [
    (n, k, spread, seed)
    for n, k in ((4, 1), (4, 2), (5, 1), (5, 2), (5, 3))
    for spread in (2.0, 5.0)
    for seed in (1, 2)
]


def lenient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let much be lost, so that there is something to compare."""
    monkeypatch.setattr("outpoint.tables.outside.MOST_LOST", 0.9)
    monkeypatch.setattr(pruning_module, "THRESHOLDS", (0.3, 0.1, 0.03, 0.01, 1e-3))


@pytest.mark.parametrize(("n", "k", "spread", "seed"), CASES)
def test_the_certificate_holds(monkeypatch, n, k, spread, seed):
    lenient(monkeypatch)
    it = random_table(n, n - 1, k, spread=spread, seed=seed, is_pruned=True)
    assert mass_left_out(it) <= it.table.lost_mass <= 0.9


def test_much_is_left_out_where_much_may_be_lost(monkeypatch):
    """Or the certificate would hold for want of trying."""
    lenient(monkeypatch)
    lost = []
    for n, k, spread, seed in CASES:
        it = random_table(n, n - 1, k, spread=spread, seed=seed, is_pruned=True)
        lost.append((mass_left_out(it), it.table.lost_mass))
    assert sum(mass > 0.001 for mass, _ in lost) >= 5
    assert all(mass <= bound for mass, bound in lost)


def smallest_sum(values: np.ndarray, groups: np.ndarray) -> float:
    """Wrong: the subset that loses least instead of the one that loses most."""
    if not len(values):
        return 0.0
    used = np.unique(groups)
    return float(np.bincount(groups, weights=values)[used].min())


def own_ratios(scores: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Wrong: subsets are thought to score much better than they do."""
    return np.where(best > -np.inf, scores - best - 5.0, np.inf)


@pytest.mark.parametrize("mistake", ["min for max", "another ratio"])
def test_wrong_certificates_are_caught(monkeypatch, mistake):
    lenient(monkeypatch)
    if mistake == "min for max":
        monkeypatch.setattr(pruning_module, "_largest_sum", smallest_sum)
    else:
        monkeypatch.setattr("outpoint.tables.outside.log_ratios", own_ratios)
    caught = 0
    for n, k, spread, seed in CASES:
        it = random_table(n, n - 1, k, spread=spread, seed=seed, is_pruned=True)
        caught += mass_left_out(it) > it.table.lost_mass
    assert caught


@pytest.mark.parametrize(("n", "k", "spread", "seed"), CASES[::3])
def test_by_default_little_is_lost(n, k, spread, seed):
    it = random_table(n, n - 1, k, spread=spread, seed=seed, is_pruned=True)
    assert mass_left_out(it) <= it.table.lost_mass <= MOST_LOST


@pytest.mark.parametrize("spread", [1.0, 30.0, 1000.0])
def test_nothing_is_left_out_on_request(spread):
    it = random_table(6, 4, 2, spread=spread, seed=4, is_pruned=False)
    assert it.table.lost_mass == 0.0
    for (child, s), score in it.scores.items():
        assert it.table.log_score(child, s) == pytest.approx(score, abs=1e-10)


def best_subset(it: KnownTable, child: int, s: tuple[int, ...]) -> float:
    return max(it.score(child, t) for t in subsets(s) if len(t) < len(s))


@pytest.mark.parametrize("child", [0, 2, 5])
@pytest.mark.parametrize("size", [1, 3, 5])
def test_best_subsets_of_all_sets(child, size):
    sets = SetsByRank.up_to(5, size)
    parents = sets.members_for(child)
    scores = np.random.default_rng(child).normal(size=len(parents))
    scores[1::4] = -np.inf
    listed = [tuple(u for u in row if u >= 0) for row in parents.tolist()]
    assert sorted(listed) == sorted(subsets(set(range(6)) - {child}, size))
    place = {s: i for i, s in enumerate(listed)}
    best, which = sets.best_subsets(child, scores, parents)
    assert (best[place[()]], which[place[()]]) == (-np.inf, -1)
    for s in listed[1:]:
        found = which[place[s]]
        assert best[place[s]] == max(scores[place[t]] for t in subsets(s, len(s) - 1))
        assert set(listed[found]) < set(s)
        assert scores[found] == best[place[s]]


def test_sets_are_compared_with_their_best_proper_subset(monkeypatch):
    """Scores far from each other: what is left out is what a subset beats by the threshold."""
    monkeypatch.setattr(pruning_module, "THRESHOLDS", (1e-4,))
    it = random_table(6, 4, 2, spread=6.0, seed=5, is_pruned=True)
    n_kept = n_lost = 0
    for child in range(6):
        inside = set(it.table.candidates[child].tolist())
        sets = [s for v, s in it.scores if v == child and not set(s) <= inside]
        kept = {s for s in sets if it.table.log_score(child, s) > -np.inf}
        close = {s for s in sets if it.score(child, s) - best_subset(it, child, s) > np.log(1e-4)}
        assert kept in (close, set(sets)), "all that are beaten are left out, or nothing is"
        n_kept += len(kept)
        n_lost += len(sets) - len(kept)
    assert n_kept > 20
    assert n_lost > 20


def test_required_edges_leave_no_subset_to_compare_with():
    """The smallest admissible sets are kept whatever they score."""
    it = random_table(
        5, 3, 1, spread=20.0, seed=6, is_pruned=True, required=[("v4", "v0")], edge_prior=0.3
    )
    assert it.table.log_score(0, (4,)) == pytest.approx(it.score(0, (4,)), abs=1e-10)
    for (child, s), score in it.scores.items():
        stored = it.table.log_score(child, s)
        assert stored == -np.inf or stored == pytest.approx(score, abs=1e-10)


def test_pruning_takes_the_largest_threshold_that_loses_little_enough():
    log_ratio = np.log([0.5, 9e-5, 8e-5, 5e-6, 1e-13])
    together = prune(log_ratio, np.array([0, 1, 1, 2, 2]), most_lost=1.8e-4)
    assert together.keep.tolist() == [True, False, False, False, False]
    assert together.lost == pytest.approx(1.7e-4)
    apart = prune(log_ratio, np.array([0, 1, 2, 1, 2]), most_lost=1e-4)
    assert apart.keep.tolist() == [True, False, False, False, False]
    assert apart.lost == pytest.approx(9.5e-5)
    less = prune(log_ratio, np.array([0, 1, 1, 2, 2]), most_lost=1.6e-4)
    assert less.keep.tolist() == [True, True, True, False, False]
    assert less.lost == pytest.approx(5e-6, rel=1e-6)
    nothing = prune(log_ratio[:3], np.array([0, 1, 1]), most_lost=0.0)
    assert nothing.keep.all()
    assert nothing.lost == 0.0


def test_sets_without_an_admissible_subset_are_kept():
    found = log_ratios(np.array([-3.0, 5.0]), np.array([-np.inf, 6.0]))
    assert found.tolist() == [np.inf, -1.0]


def larger_sets_pruned(
    monkeypatch: pytest.MonkeyPatch, n: int, spread: float, edge_prior: float, seed: int
) -> KnownTable:
    """A table whose sets of two and more are scored only with one member outside the candidates.

    The certificate is about those; the others are taken from what is known.
    """
    monkeypatch.setattr("outpoint.tables.outside.MOST_LOST", 0.9)
    monkeypatch.setattr(pruning_module, "THRESHOLDS", (0.1, 0.05))
    for name in ("MAX_FAMILIES", "USUAL_FAMILIES"):
        monkeypatch.setattr(f"outpoint.tables.build.{name}", n * n)
    it = random_table(
        n, n - 1, n - 2, spread=spread, seed=seed, is_pruned=True, edge_prior=edge_prior
    )
    for child in range(n):
        candidates = set(it.table.candidates[child].tolist())
        for s in subsets(set(range(n)) - {child}):
            if len(s) > 1 and len(set(s) - candidates) > 1:
                it.scores.pop((child, s))
                assert it.table.log_score(child, s) == -np.inf
    return it


LARGER = [
    (n, spread, edge_prior, seed)
    for seed in range(10)
    for n in (4, 5)
    for spread, edge_prior in (
        (0.1, 0.12), (0.1, 0.15), (0.1, 0.18), (0.3, 0.12), (0.3, 0.15),
        (0.5, 0.2), (1.0, 0.1), (1.0, 0.3), (3.0, 0.1), (3.0, 0.5),
    )
]  # fmt: skip
"""Two hundred problems; where the spread is 0.1 scores are hardly more than the prior."""


@pytest.mark.parametrize(("n", "spread", "edge_prior", "seed"), first(LARGER, 40))
def test_the_certificate_of_larger_sets(monkeypatch, n, spread, edge_prior, seed):
    """Sets beyond the size that is scored one by one are pruned by their inside subsets."""
    it = larger_sets_pruned(monkeypatch, n, spread, edge_prior, seed)
    assert mass_left_out(it) <= it.table.lost_mass


def by_members(child, candidates, *rest):
    """Wrong: what is left out is added up by all members inside, not by their best subset."""
    sets = score_larger(child, candidates, *rest)
    return sets._replace(subset=_inside_masks(candidates, sets.members).astype(np.int64))


def test_sums_by_all_members_inside_are_caught(monkeypatch):
    """In noise nearly all sets are beaten by the empty one, whose losses add up."""
    monkeypatch.setattr("outpoint.tables.build.score_larger", by_members)
    tables = [larger_sets_pruned(monkeypatch, 5, 0.1, 0.15, seed) for seed in range(4)]
    assert all(mass_left_out(it) > it.table.lost_mass for it in tables)


@pytest.mark.parametrize("n_candidates", [0, 2])
def test_only_winners(n_candidates: int) -> None:
    """Of the sets outside, exactly those that score better than all their subsets."""
    it = random_table(6, 3, n_candidates, spread=3.0, seed=2, only_winners=True)
    outside = it.table.outside
    for child in range(6):
        inside = set(it.table.candidates[child].tolist())
        expected = {
            s
            for s in subsets(set(range(6)) - {child}, 3)
            if not inside.issuperset(s)
            and all(it.score(child, t) < it.score(child, s) for t in subsets(s) if t != s)
        }
        rows = outside.members[outside.start[child] : outside.start[child + 1]]
        assert {tuple(int(u) for u in row if u >= 0) for row in rows} == expected
    assert it.table.lost_mass == 1.0, "nothing is said about what samplers would miss"


def test_lists_of_nodes_whose_candidates_stay_are_used_again(monkeypatch):
    """Table after table with the same memory, against tables made from nothing."""
    for name in ("MAX_FAMILIES", "USUAL_FAMILIES"):
        monkeypatch.setattr(f"outpoint.tables.build.{name}", 6 * 6)
    it = gaussian(6)
    families = score_families(it.scorer, it.prior, max_parents=4, is_complete=False)
    assert families.scored_parents < 4
    rng = np.random.default_rng(1)
    known: dict[int, OwnSets] = {}
    chosen = np.array([np.delete(np.arange(6), v)[:3] for v in range(6)], dtype=np.int32)
    for only_winners in (True, False, False, False):
        for v in rng.choice(6, 2, replace=False):
            chosen[v] = np.sort(rng.choice(np.delete(np.arange(6), v), 3, replace=False))
        arguments = (it.names, families, it.scorer, it.prior, chosen.copy(), 4)
        before = dict(known)
        found = assemble_table(*arguments, only_winners=only_winners, known=known)
        fresh = assemble_table(*arguments, only_winners=only_winners)
        for one, other in zip(found.outside, fresh.outside, strict=True):
            assert np.array_equal(one, other)
        assert found.lost_mass == fresh.lost_mass
        assert len(found.outside.score) > 0
        n_kept = sum(known[v] is before[v] for v in before)
    assert n_kept >= 4, "two nodes at most had other candidates"


@pytest.mark.parametrize("n_candidates", [1, 3])
def test_masks_of_members_inside(n_candidates):
    it = random_table(6, 3, n_candidates, seed=3)
    outside, candidates = it.table.outside, it.table.candidates
    for child in range(6):
        for place in range(outside.start[child], outside.start[child + 1]):
            expected = sum(
                1 << i for i, u in enumerate(candidates[child]) if u in outside.members[place]
            )
            assert outside.inside[place] == expected
    assert len(outside.inside) == len(outside.score) > 0


def test_only_scores_of_our_own_are_asked_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is the same; a function of the user's is called by the thread that asks for it."""
    monkeypatch.setattr("outpoint.tables.build.USUAL_FAMILIES", 10)
    monkeypatch.setattr("outpoint.kernels.n_threads", lambda: 3)
    it = gaussian(9)
    own = it.scorer
    callers: set[int] = set()

    class Called(FamilyScorer):
        n_nodes = 9

        def families(self, child: int, parents: NDArray[np.integer]) -> NDArray[np.float64]:
            callers.add(get_ident())
            return own.families(child, parents)

    tables = [
        build_table(it.names, scorer, it.prior, max_parents=5, n_candidates=4)
        for scorer in (own, Called())
    ]
    assert own.is_for_threads
    assert callers == {get_ident()}
    assert tables[0].outside.members.shape[1] == 5
    for one, other in zip(*(table.outside for table in tables), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other)

"""What a score table holds, and the samplers' sums over it against direct summation.

Sums must be right to a relative 1e-9, that is to 1e-9 in their logs.
"""

from functools import cache, partial
from math import inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outpoint.data import Dataset
from outpoint.scores import CustomScore, build_prior
from outpoint.tables import build_table
from tests.reference import admissible_sets, log_sum_exp, log_tau, subsets

from .helpers import KnownTable, Sums, node_names, random_table

ACCURACY = 1e-9

KNOWLEDGE = {
    "forbidden": [("v0", "v1"), ("v2", "v0"), ("v3", "v4")],
    "required": [("v1", "v2"), ("v4", "v2"), ("v0", "v5")],
    "tiers": [["v0"], ["v1", "v4"], ["v2", "v5"]],
}

TABLES = {
    # name: n, max_parents, n_candidates (None: all), spread, background knowledge
    "complete, 2 nodes": (2, 1, None, 1.0, {}),
    "complete, 5 nodes": (5, 4, None, 1.0, {}),
    "complete, 8 nodes": (8, 7, None, 100.0, {}),
    "complete, 8 nodes, wide": (8, 7, None, 3000.0, {}),
    "complete, few parents": (7, 2, None, 100.0, {}),
    "complete, knowledge": (7, 4, None, 1.0, KNOWLEDGE),
    "complete, wide, knowledge": (6, 5, None, 4000.0, KNOWLEDGE),
    "outside, single parents": (12, 1, 3, 1.0, {}),
    "outside, 2 parents": (11, 2, 4, 1.0, {}),
    "outside, 3 parents": (10, 3, 3, 1.0, {}),
    "outside, 4 parents": (9, 4, 3, 1.0, {}),
    "outside, spread 100": (10, 3, 4, 100.0, {}),
    "outside, wide": (9, 4, 4, 4000.0, {}),
    "outside, knowledge": (10, 3, 3, 1.0, KNOWLEDGE),
    "outside, wide, knowledge": (9, 4, 3, 4000.0, KNOWLEDGE),
    "outside, fair prior": (9, 3, 4, 1.0, {"structure_prior": "fair", "edge_prior": 0.1}),
    "no candidates": (7, 2, 0, 1.0, {}),
    "one candidate": (7, 3, 1, 100.0, {"roots": ["v6"]}),
}


@cache
def known(name: str) -> KnownTable:
    n, max_parents, n_candidates, spread, knowledge = TABLES[name]
    return random_table(
        n, max_parents, n_candidates, spread=spread, seed=len(name) + n, **knowledge
    )


every_table = pytest.mark.parametrize("name", TABLES)
fixed = settings(derandomize=True, deadline=None, max_examples=40)


@st.composite
def questions(draw: st.DrawFn, n: int) -> tuple[int, set[int], set[int]]:
    """A child, allowed nodes and required ones among them; many or few, T sometimes empty."""
    child = draw(st.integers(0, n - 1))
    others = [u for u in range(n) if u != child]
    allowed = {u for u in others if draw(st.booleans())}
    required = {u for u in sorted(allowed) if draw(st.booleans())}
    return child, allowed, required


def assert_sums(it: KnownTable, child: int, allowed: set[int], required: set[int]) -> None:
    """All sums that samplers take, for one child and one (U, T)."""
    near = partial(pytest.approx, rel=0, abs=ACCURACY)
    assert it.sums.log_tau(child, allowed, required) == near(
        log_tau(it.score, child, allowed, required)
    )
    assert it.sums.log_sum(child, allowed) == near(log_tau(it.score, child, allowed))
    for member in sorted(allowed)[:2]:
        assert_tabulated(it, child, member, allowed)
    assert_tabulated(it, child, -1, allowed)


def assert_tabulated(it: KnownTable, child: int, member: int, allowed: set[int]) -> None:
    """The sum over inside and near sets with a member, or over all of them (-1)."""
    sets = [s for s in admissible_sets(child, allowed) if it.sums.is_tabulated(child, s)]
    total = log_sum_exp(it.score(child, s) for s in sets if member < 0 or member in s)
    found = it.sums.log_tabulated(child, member, allowed)
    assert found == pytest.approx(total, rel=0, abs=ACCURACY)


@every_table
def test_random_questions(name: str) -> None:
    it = known(name)

    @fixed
    @given(questions(it.table.n_nodes))
    def check(question: tuple[int, set[int], set[int]]) -> None:
        assert_sums(it, *question)

    check()


@pytest.mark.parametrize("name", ["complete, knowledge", "outside, knowledge"])
def test_all_allowed_sets_of_one_node(name: str) -> None:
    it = known(name)
    for allowed in map(set, subsets(range(7))):
        assert_sums(it, 2, allowed, {max(allowed, default=0)})
        assert_sums(it, 2, allowed, {u for u in allowed if u % 2})


@every_table
def test_questions_at_the_edges(name: str) -> None:
    it = known(name)
    n = it.table.n_nodes
    for child in range(n):
        others = set(range(n)) - {child}
        candidates = set(it.table.candidates[child].tolist())
        strangers = others - candidates
        for allowed, required in [
            (set(), set()),
            (others, set()),
            (others, others),
            (others, strangers),
            (others, candidates),
            (strangers, strangers),
            (candidates, candidates),
            (strangers, set(sorted(strangers)[:1])),
            (candidates, set(sorted(candidates)[-1:])),
        ]:
            assert_sums(it, child, allowed, required)


@every_table
def test_the_score_of_every_family(name: str) -> None:
    it = known(name)
    n = it.table.n_nodes
    for child in range(n):
        for parents in subsets(set(range(n)) - {child}, it.table.max_parents + 1):
            expected = it.score(child, parents)
            assert it.table.log_score(child, parents) == pytest.approx(expected, rel=0, abs=1e-11)


def test_the_score_does_not_depend_on_how_parents_are_given() -> None:
    it = known("outside, 3 parents")
    for parents in ((0, 4, 7), [7, 0, 4], {4, 7, 0}, iter((7, 4, 4, 0))):
        assert it.table.log_score(2, parents) == it.score(2, (0, 4, 7))


@pytest.mark.parametrize("name", ["complete, 5 nodes", "outside, 3 parents"])
def test_no_node_is_its_own_parent(name: str) -> None:
    it = known(name)
    assert it.table.log_score(1, (1,)) == -inf
    assert it.table.log_score(1, (0, 1)) == -inf
    everyone = set(range(it.table.n_nodes))
    assert it.sums.log_sum(1, everyone) == it.sums.log_sum(1, everyone - {1})
    assert it.sums.log_tau(1, everyone, {1}) == -inf


@pytest.mark.parametrize("name", ["complete, 5 nodes", "outside, 3 parents"])
def test_required_nodes_that_are_not_allowed_do_not_count(name: str) -> None:
    it = known(name)
    assert it.sums.log_tau(0, {1, 2}, {2, 3}) == it.sums.log_tau(0, {1, 2}, {2})
    assert it.sums.log_tau(0, {1, 2}, {3}) == -inf


@every_table
def test_every_set_is_stored_once(name: str) -> None:
    """What the sums run over: dense and outside sets together are the admissible families."""
    it = known(name)
    table = it.table
    for child in range(table.n_nodes):
        candidates = table.candidates[child].tolist()
        stored = [
            tuple(u for i, u in enumerate(candidates) if mask >> i & 1)
            for mask, score in enumerate(table.dense[child])
            if score > -inf
        ]
        start, stop = table.outside.start[child : child + 2]
        outside = [tuple(u for u in row if u >= 0) for row in table.outside.members[start:stop]]
        assert all(set(s) - set(candidates) for s in outside)
        admissible = {s for (v, s), score in it.scores.items() if v == child and score > -inf}
        assert len(stored) + len(outside) == len(admissible)
        assert {*stored, *outside} == admissible


@every_table
def test_masks_are_ranked_by_their_scores(name: str) -> None:
    table = known(name).table
    ranked = table.ranked
    assert ranked.start[0] == 0
    assert ranked.start[-1] == len(ranked.mask)
    for child in range(table.n_nodes):
        masks = ranked.mask[slice(*ranked.start[child : child + 2])]
        assert set(masks.tolist()) == set(np.flatnonzero(table.dense[child] > -inf).tolist())
        scores = table.dense[child, masks].tolist()
        assert scores == sorted(scores, reverse=True)


@every_table
def test_outside_sets_descend_and_their_tails_add_up(name: str) -> None:
    table = known(name).table
    outside = table.outside
    assert outside.start[0] == 0
    assert outside.start[-1] == len(outside.score) == len(outside.log_tail)
    for child in range(table.n_nodes):
        start, stop = outside.start[child : child + 2]
        scores = outside.score[start:stop].tolist()
        assert scores == sorted(scores, reverse=True)
        for i in range(0, len(scores), 7):
            tail = log_sum_exp(scores[i:])
            assert outside.log_tail[start + i] == pytest.approx(tail, rel=0, abs=1e-10)


def test_the_derived_tables() -> None:
    """log_sums, maxima and omega, entry by entry."""
    table = known("outside, knowledge").table
    n, n_candidates = table.candidates.shape
    masks = range(1 << n_candidates)
    assert table.omega.values.size == n * n_candidates << (n_candidates - 1)
    for child in range(n):
        dense = table.dense[child]
        for mask in masks:
            below = [s for s in masks if s & ~mask == 0]
            expected = log_sum_exp(dense[s] for s in below)
            assert table.log_sums[child, mask] == pytest.approx(expected, abs=1e-10)
            assert table.maxima[child, mask] == max(dense[s] for s in below)
        for j in range(n_candidates):
            for rest in range(1 << (n_candidates - 1)):
                within = rest & ((1 << j) - 1) | rest >> j << (j + 1) | 1 << j
                sets = [s for s in masks if s & ~within == 0 and s >> j & 1]
                expected = log_sum_exp(dense[s] for s in sets)
                found = table.omega[child, j * len(dense) // 2 + rest]
                assert found == pytest.approx(expected, abs=1e-10)


def test_many_sets_that_are_negligible_one_by_one() -> None:
    """A scan may stop only when all that is left is negligible together."""
    n, max_parents = 15, 4
    names = node_names(n)

    def score(child: int, parents: tuple[int, ...]) -> float:
        if len(parents) > max_parents:
            return -inf
        return 0.0 if set(parents) <= {0, 1, 2} else log(9e-12)

    scorer = CustomScore(score).bind(Dataset(names, np.zeros((1, n))))
    table = build_table(
        names,
        scorer,
        build_prior(names),
        max_parents=max_parents,
        n_candidates=3,
        is_pruned=False,
    )
    everyone = set(range(n))
    total = log_tau(score, 14, everyone)
    assert total - log(8) > 1e-9
    assert table.candidates[14].tolist() == [0, 1, 2]
    assert Sums(table).log_sum(14, everyone) == pytest.approx(total, rel=0, abs=1e-10)
    tau = log_tau(score, 14, everyone, {0, 9})
    assert Sums(table).log_tau(14, everyone, {0, 9}) == pytest.approx(tau, rel=0, abs=1e-10)


def test_sums_keep_small_terms_next_to_large_ones() -> None:
    """tau(U, T) = log(Z(U) - Z(U minus T)) would lose everything here."""
    it = random_table(9, 3, 4, spread=1.0, seed=5)
    biased = random_table(9, 3, 4, spread=1.0, seed=5, edge_prior=1e-12)
    for table in (it, biased):
        for child in range(9):
            others = set(range(9)) - {child}
            for u in others:
                expected = log_tau(table.score, child, others, {u})
                got = table.sums.log_tau(child, others, {u})
                assert got == pytest.approx(expected, rel=0, abs=ACCURACY)

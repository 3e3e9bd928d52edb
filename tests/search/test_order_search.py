"""Annealing over orders: its scores against listings, its law against Q to the power."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from outpoint.data import Dataset
from outpoint.kernels import kernel
from outpoint.scores import CustomScore, Knowledge, build_prior
from outpoint.search.annealing import DRIFT_FACTOR, best_index, draw_index
from outpoint.search.order_search import (
    OrderSearch,
    anneal_orders,
    climb_orders,
    draw_place,
    make_order_search,
    put_node,
    set_order,
    weigh_places,
)
from outpoint.search.winners import Winners, best_dag, list_winners
from outpoint.tables import build_table
from outpoint.tables.outside import no_outside
from tests.search.helpers import TABLES, all_orders, best_of_order, best_score, floor
from tests.tables.helpers import random_table

FALSE_ALARM = 1e-4


@kernel
def weigh(winners, state, node):
    return weigh_places(winners, state, node)


@kernel
def put(winners, state, node, place):
    n_stretches = weigh_places(winners, state, node)
    for k in range(n_stretches):
        if state.first[k] <= place < state.first[k + 1]:
            put_node(winners, state, node, k, place)
            break


def weigh_each_place(winners: Winners, state: OrderSearch, node: int) -> list[float]:
    """What the move thinks of each place, stretches written out."""
    n_stretches = weigh(winners, state, node)
    assert state.first[0] == 0
    sizes = np.diff(state.first[: n_stretches + 1])
    assert (sizes > 0).all()
    assert sizes.sum() == len(state.order)
    return np.repeat(state.log_weight[:n_stretches], sizes).tolist()


@pytest.mark.parametrize("name", TABLES)
def test_an_order_scores_as_its_best_dag(name: str) -> None:
    known = TABLES[name](5)
    winners = list_winners(known.table)
    state = make_order_search(winners)
    for order in all_orders(5):
        expected = best_of_order(known.score, order)
        assert floor(set_order(winners, state, np.array(order))) == pytest.approx(expected)
        adjacency, log_score = best_dag(known.table, winners, np.array(order))
        assert log_score == pytest.approx(expected)
        if log_score > -np.inf:
            parents = [tuple(np.flatnonzero(adjacency[:, v]).tolist()) for v in range(5)]
            assert sum(map(known.score, range(5), parents)) == pytest.approx(expected)
            position = np.argsort(order)
            assert all(position[u] < position[v] for u, v in np.argwhere(adjacency))


def test_the_comparison_notices_forgotten_sets() -> None:
    """Lists that lack what lies outside the candidates."""
    known = TABLES["candidates"](5)
    table = known.table
    blind = type(table)(table.names, 3, table.candidates, table.dense, no_outside(5))
    winners = list_winners(blind)
    state = make_order_search(winners)
    wrong = [
        set_order(winners, state, np.array(order))
        != pytest.approx(best_of_order(known.score, order))
        for order in all_orders(5)
    ]
    assert np.mean(wrong) > 0.5


@pytest.mark.parametrize("name", TABLES)
def test_every_place_is_weighed_as_the_order_it_makes(name: str) -> None:
    known = TABLES[name](6)
    winners = list_winners(known.table)
    state = make_order_search(winners)
    rng = np.random.default_rng(1)
    for _ in range(20):
        order = rng.permutation(6)
        set_order(winners, state, order)
        node = int(rng.integers(6))
        weights = weigh_each_place(winners, state, node)
        rest = [u for u in order.tolist() if u != node]
        for place in range(6):
            moved = [*rest[:place], node, *rest[place:]]
            expected = best_of_order(known.score, moved)
            assert floor(weights[place]) == pytest.approx(expected)
        place = int(rng.integers(6))
        put(winners, state, node, place)
        moved = [*rest[:place], node, *rest[place:]]
        assert state.order.tolist() == moved
        assert_as_from_scratch(winners, state)


def assert_as_from_scratch(winners: Winners, state: OrderSearch) -> None:
    fresh = make_order_search(winners)
    set_order(winners, fresh, state.order)
    for name in ("order", "place"):
        np.testing.assert_array_equal(getattr(state, name), getattr(fresh, name))
    for name in ("inside", "allowed", "best"):  # the last row is scratch space
        np.testing.assert_array_equal(getattr(state, name)[:-1], getattr(fresh, name)[:-1])
    np.testing.assert_allclose(state.total, fresh.total)


def test_long_chains_of_moves_end_as_if_scored_from_scratch() -> None:
    """More nodes than a word has bits, and knowledge that makes some places impossible."""
    rng = np.random.default_rng(4)
    n = 70
    names = tuple(f"v{i}" for i in range(n))
    data = Dataset(names, rng.normal(size=(30, n)))
    prior = build_prior(names, knowledge=Knowledge(required=[("v1", "v0")]), max_parents=2)
    scorer = CustomScore(lambda child, parents: float(rng.normal() + len(parents))).bind(data)
    table = build_table(names, scorer, prior, max_parents=2, n_candidates=3)
    winners = list_winners(table)
    assert winners.mask.shape[1] == 2
    state = make_order_search(winners)
    set_order(winners, state, rng.permutation(n))
    for power in (0.01, 1.0):
        for _ in range(20):
            anneal_orders(winners, state, np.array([power]), 50, rng)
            assert_as_from_scratch(winners, state)


@kernel
def visit(winners, state, power, thin, rng, move, codes):
    """Relocate nodes and write down the order every ``thin`` steps; ``move`` False never moves."""
    n = state.order.size
    for draw in range(codes.size):
        for _ in range(thin):
            node = int(rng.random() * n)
            n_stretches = weigh_places(winners, state, node)
            best = best_index(state.log_weight, n_stretches)
            chosen, place = draw_place(state, n_stretches, best, power, rng)
            if move:
                put_node(winners, state, node, chosen, place)
        code = 0
        for i in range(n):
            code = code * n + state.order[i]
        codes[draw] = code


def law_p_value(power: float, *, move: bool = True, claimed: float | None = None) -> float:
    """Chi-square of visited orders against Q to the power; samples are 12 steps apart."""
    known = random_table(4, 3, seed=7, spread=1.5)
    winners = list_winners(known.table)
    state = make_order_search(winners)
    set_order(winners, state, np.arange(4))
    codes = np.empty(6000, dtype=np.int64)
    visit(winners, state, power, 12, np.random.default_rng(3), move, codes)
    orders = all_orders(4)
    weights = np.exp(
        (power if claimed is None else claimed)
        * np.array([best_of_order(known.score, order) for order in orders])
    )
    found = Counter(codes.tolist())
    counts = [found[sum(u * 4 ** (3 - i) for i, u in enumerate(order))] for order in orders]
    return chisquare(counts, len(codes) * weights / weights.sum()).pvalue


@pytest.mark.parametrize("power", [0.0, 0.3, 1.0])
def test_orders_are_visited_as_often_as_their_best_score_says(power: float) -> None:
    assert law_p_value(power) > FALSE_ALARM


def test_the_law_notices_wrong_kernels() -> None:
    assert law_p_value(1.0, move=False) < 1e-12, "a kernel that never accepts"
    assert law_p_value(1.0, claimed=0.8) < 1e-12, "another power"


@pytest.mark.parametrize("name", TABLES)
def test_the_optimum_is_found(name: str) -> None:
    known = TABLES[name](5)
    winners = list_winners(known.table)
    optimum = best_score(known, 5)
    for seed in range(5):
        state = make_order_search(winners)
        rng = np.random.default_rng(seed)
        set_order(winners, state, rng.permutation(5))
        anneal_orders(winners, state, np.geomspace(0.3, 3.0, 20), 20, rng)
        climb_orders(winners, state)
        assert state.best_score[0] == pytest.approx(optimum)
        assert best_of_order(known.score, state.best_order.tolist()) == pytest.approx(optimum)


def test_a_climb_ends_where_no_relocation_helps() -> None:
    known = random_table(7, 3, seed=8, spread=4.0)
    winners = list_winners(known.table)
    for seed in range(10):
        state = make_order_search(winners)
        order = np.random.default_rng(seed).permutation(7)
        state.best_score[0] = start = set_order(winners, state, order)
        state.best_order[:] = order
        climb_orders(winners, state)
        best = state.best_score[0]
        assert best >= start
        for node in range(7):
            assert max(weigh_each_place(winners, state, node)) <= best + 1e-9


def test_a_drift_goes_to_other_orders_but_never_down() -> None:
    known = random_table(9, 2, seed=8, spread=4.0)
    winners = list_winners(known.table)
    rng = np.random.default_rng(1)
    state = make_order_search(winners)
    order = rng.permutation(9)
    state.best_score[0] = set_order(winners, state, order)
    state.best_order[:] = order
    climb_orders(winners, state)
    seen = {tuple(state.order.tolist())}
    score = state.best_score[0]
    for _ in range(100):
        anneal_orders(winners, state, np.array([1.0 * DRIFT_FACTOR]), 1, rng)
        assert state.total[0] >= score - 1e-9
        score = state.total[0]
        seen.add(tuple(state.order.tolist()))
    assert len(seen) > 10


def test_drawing_and_choosing() -> None:
    log_weight = np.log([0.1, 0.4, 0.0001, 0.4])
    rng = np.random.default_rng(1)
    assert best_index(log_weight, 4) == 1
    found = np.bincount([draw_index(log_weight, 4, 0.5, rng) for _ in range(5000)], minlength=4)
    expected = np.sqrt([0.1, 0.4, 0.0001, 0.4])
    assert chisquare(found, 5000 * expected / expected.sum()).pvalue > FALSE_ALARM
    assert {draw_index(log_weight, 4, 1e9, rng) for _ in range(100)} == {1, 3}

"""Annealing over orders: its scores against listings, its law against Q to the power."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from outpoint.kernels import kernel
from outpoint.search.annealing import best_index, draw_index
from outpoint.search.best_dag import best_dag
from outpoint.search.order_search import (
    anneal_orders,
    climb_orders,
    make_order_state,
    put_node,
    set_order,
    weigh_places,
)
from outpoint.search.view import view_maxima
from tests.search.helpers import TABLES, all_orders, best_of_order, best_score, floor
from tests.tables.helpers import random_table

FALSE_ALARM = 1e-4


@kernel
def weigh(view, state, node):
    weigh_places(view, state, node)


@kernel
def put(view, state, node, place):
    weigh_places(view, state, node)
    put_node(view, state, node, place)


@pytest.mark.parametrize("name", TABLES)
def test_an_order_scores_as_its_best_dag(name: str) -> None:
    known = TABLES[name](5)
    view = view_maxima(known.table)
    state = make_order_state(5)
    for order in all_orders(5):
        expected = best_of_order(known.score, order)
        assert floor(set_order(view, state, np.array(order))) == pytest.approx(expected)
        adjacency, log_score = best_dag(known.table, view, np.array(order))
        assert log_score == pytest.approx(expected)
        if log_score > -np.inf:
            parents = [tuple(np.flatnonzero(adjacency[:, v]).tolist()) for v in range(5)]
            assert sum(map(known.score, range(5), parents)) == pytest.approx(expected)
            position = np.argsort(order)
            assert all(position[u] < position[v] for u, v in np.argwhere(adjacency))


def test_the_comparison_notices_forgotten_outside_sets() -> None:
    known = TABLES["candidates"](5)
    view = view_maxima(known.table)
    assert len(view.score) > 0
    blind = view._replace(start=np.zeros_like(view.start))
    state = make_order_state(5)
    wrong = [
        set_order(blind, state, np.array(order)) != pytest.approx(best_of_order(known.score, order))
        for order in all_orders(5)
    ]
    assert np.mean(wrong) > 0.5


def test_the_comparison_notices_a_wrong_lookup() -> None:
    """Reading the score of the whole set in place of the best score of its subsets."""
    known = TABLES["complete"](5)
    wrong = view_maxima(known.table)._replace(maxima=known.table.dense)
    state = make_order_state(5)
    assert all(
        set_order(wrong, state, np.array(order)) < best_of_order(known.score, order) - 1e-3
        for order in all_orders(5)
    )


@pytest.mark.parametrize("name", TABLES)
def test_every_place_is_weighed_as_the_order_it_makes(name: str) -> None:
    known = TABLES[name](6)
    view = view_maxima(known.table)
    state, fresh = make_order_state(6), make_order_state(6)
    rng = np.random.default_rng(1)
    for _ in range(20):
        order = rng.permutation(6)
        set_order(view, state, order)
        node = int(rng.integers(6))
        weigh(view, state, node)
        rest = [u for u in order.tolist() if u != node]
        for place in range(6):
            moved = [*rest[:place], node, *rest[place:]]
            expected = best_of_order(known.score, moved)
            assert floor(state.log_weight[place]) == pytest.approx(expected)
        place = int(rng.integers(6))
        put(view, state, node, place)
        moved = [*rest[:place], node, *rest[place:]]
        set_order(view, fresh, np.array(moved))
        for name_ in ("order", "place", "allowed", "best"):
            np.testing.assert_allclose(getattr(state, name_), getattr(fresh, name_))


@kernel
def visit(view, state, power, thin, rng, move, codes):
    """Relocate nodes and write down the order every ``thin`` steps; ``move`` False never moves."""
    n = state.order.size
    for draw in range(codes.size):
        for _ in range(thin):
            node = int(rng.random() * n)
            weigh_places(view, state, node)
            place = draw_index(state.log_weight, n, power, rng) if move else state.place[node]
            put_node(view, state, node, place)
        code = 0
        for i in range(n):
            code = code * n + state.order[i]
        codes[draw] = code


def law_p_value(power: float, *, move: bool = True, claimed: float | None = None) -> float:
    """Chi-square of visited orders against Q to the power; samples are 12 steps apart."""
    known = random_table(4, 3, seed=7, spread=1.5)
    view = view_maxima(known.table)
    state = make_order_state(4)
    set_order(view, state, np.arange(4))
    codes = np.empty(6000, dtype=np.int64)
    visit(view, state, power, 12, np.random.default_rng(3), move, codes)
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
    view = view_maxima(known.table)
    optimum = best_score(known, 5)
    for seed in range(5):
        state = make_order_state(5)
        rng = np.random.default_rng(seed)
        set_order(view, state, rng.permutation(5))
        anneal_orders(view, state, np.geomspace(0.3, 3.0, 20), 20, rng)
        climb_orders(view, state)
        assert state.best_score[0] == pytest.approx(optimum)
        assert best_of_order(known.score, state.best_order.tolist()) == pytest.approx(optimum)


def test_a_climb_ends_where_no_relocation_helps() -> None:
    known = random_table(7, 3, seed=8, spread=4.0)
    view = view_maxima(known.table)
    for seed in range(10):
        state = make_order_state(7)
        order = np.random.default_rng(seed).permutation(7)
        state.best_score[0] = start = set_order(view, state, order)
        state.best_order[:] = order
        climb_orders(view, state)
        best = state.best_score[0]
        assert best >= start
        for node in range(7):
            weigh(view, state, node)
            assert state.log_weight.max() <= best + 1e-9


def test_drawing_and_choosing() -> None:
    log_weight = np.log([0.1, 0.4, 0.0001, 0.4])
    rng = np.random.default_rng(1)
    assert best_index(log_weight, 4) == 1
    found = np.bincount([draw_index(log_weight, 4, 0.5, rng) for _ in range(5000)], minlength=4)
    expected = np.sqrt([0.1, 0.4, 0.0001, 0.4])
    assert chisquare(found, 5000 * expected / expected.sum()).pvalue > FALSE_ALARM
    assert {draw_index(log_weight, 4, 1e9, rng) for _ in range(100)} == {1, 3}

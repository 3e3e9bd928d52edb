"""Each move proposes what it declares: which neighbours, how many, how often, what to rescore.

Chi-square tests have fixed seeds; each test function states the probability ``FALSE_ALARM`` that
correct code with other seeds fails it, shared among all its comparisons.
"""

from itertools import combinations, pairwise
from math import log

import numpy as np
import pytest
from scipy import stats

from outpoint.mcmc.moves.split_join import MAX_BITS
from tests.grids import first
from tests.mcmc.laws import MOVE_NAMES, Layers, check_counts, neighbours, partitions
from tests.mcmc.loops import (
    MOVE_NUMBER,
    code_table,
    count_neighbours,
    draw_proposals,
    draw_splits,
    make_state,
    scored_state,
)
from tests.mcmc.targets import target

FALSE_ALARM = 1e-6


def starts(n: int) -> list[int]:
    """All partitions; of five nodes those with a layer of three or more."""
    chosen = range(len(partitions(n)))
    return [x for x in chosen if n < 5 or max(map(len, partitions(n)[x])) >= 3]


@pytest.mark.parametrize("n", [3, 4, 5])
def test_neighbour_counts(n):
    rng = np.random.default_rng(n)
    for x, layers in enumerate(partitions(n)):
        state = make_state(layers, rng)
        for move in ("split_join", "node_move"):
            assert count_neighbours(state, MOVE_NUMBER[move]) == len(neighbours(n, move)[x])
        sizes = [len(layer) for layer in layers]
        pairs = sum(a * b for a, b in combinations(sizes, 2))
        assert len(neighbours(n, "swap_any")[x]) == pairs
        adjacent = sum(a * b for a, b in pairwise(sizes))
        assert len(neighbours(n, "swap_adjacent")[x]) == adjacent


@pytest.mark.parametrize("move", MOVE_NAMES)
@pytest.mark.parametrize("n", [3, 4, 5])
def test_neighbourhoods_are_mutual_and_swaps_keep_their_count(n, move):
    everything = partitions(n)
    reached = dict(zip(everything, neighbours(n, move), strict=True))
    for x in everything:
        assert all(x in reached[y] for y in reached[x])
        if move.startswith("swap"):
            assert all(len(reached[x]) == len(reached[y]) for y in reached[x])


@pytest.mark.parametrize("name", ["random", "required"])
@pytest.mark.parametrize("move", MOVE_NAMES)
@pytest.mark.parametrize("n", first([3, 4, 5], 2))
def test_proposals(n, move, name):
    problem = target(name, n)
    table, reached = code_table(n), neighbours(n, move)
    chosen = [x for x in starts(n) if problem.possible[x]]
    rng = np.random.default_rng([n, MOVE_NUMBER[move]])
    if name != "random":
        rng.shuffle(chosen)
        chosen = chosen[:20]
    for x in chosen:
        layers = partitions(n)[x]
        state = scored_state(problem.view, layers, rng)
        n_draws = 150 * max(len(reached[x]), 1)
        codes, flaws = np.empty((2, n_draws), dtype=np.int64)
        log_ratios, changes = np.empty((2, n_draws))
        draw_proposals(
            problem.view, state, MOVE_NUMBER[move], rng, codes, log_ratios, changes, flaws
        )
        assert not flaws.any()
        if not reached[x]:
            assert np.all(codes == -1)
            continue
        ends = table[codes]
        assert np.all(codes >= 0)
        assert np.all(ends >= 0)
        law = np.array([float(y in reached[x]) for y in partitions(n)])
        counts = np.bincount(ends, minlength=len(law))
        check_counts(counts, law / law.sum(), FALSE_ALARM / len(chosen))
        sizes = np.array([len(around) for around in reached])
        np.testing.assert_allclose(
            log_ratios, np.log(sizes[x] / sizes[ends]), rtol=1e-13, atol=1e-13
        )
        with np.errstate(invalid="ignore"):
            expected = problem.log_weight[ends] - problem.log_weight[x]
        np.testing.assert_allclose(changes, expected, rtol=1e-12, atol=1e-12)


def test_moves_reach_partitions_without_weight():
    """Otherwise nothing above has shown what happens at -inf."""
    problem = target("required", 4)
    around = neighbours(4, "split_join")
    possible = dict(zip(partitions(4), problem.possible, strict=True))
    pairs = [(x, y) for x, ys in zip(partitions(4), around, strict=True) for y in ys]
    assert any(possible[x] and not possible[y] for x, y in pairs)


@pytest.mark.parametrize(
    "sizes", [(60,), (55, 3, 2), (MAX_BITS, 10), (MAX_BITS + 1, 1, 8), (52, 8)]
)
def test_splits_of_large_layers(sizes):
    n = sum(sizes)
    bounds = np.cumsum([0, *sizes])
    rng = np.random.default_rng(sizes[0])
    nodes = rng.permutation(n)
    layers: Layers = tuple(tuple(sorted(nodes[a:b].tolist())) for a, b in pairwise(bounds))
    state = make_state(layers, rng)
    n_draws = 20_000
    counts, drawn = np.zeros(n, dtype=np.int64), np.zeros(n_draws, dtype=np.int64)
    log_ratios = np.empty(n_draws)
    assert draw_splits(state, rng, counts, drawn, log_ratios)
    k = sizes[0]
    # The other splits and the joins together have less than 2^-39 of the neighbours.
    assert np.all(drawn >= 1)
    z = (counts[list(layers[0])] - n_draws / 2) / np.sqrt(n_draws / 4)
    assert stats.chi2.sf(float(z @ z), k) > FALSE_ALARM
    check_counts(
        np.bincount(drawn, minlength=k + 1), stats.binom.pmf(np.arange(k + 1), k, 0.5), FALSE_ALARM
    )
    others = sum(2**s - 2 for s in sizes[1:]) + len(sizes) - 1
    for c, log_ratio in zip(drawn[:200].tolist(), log_ratios, strict=False):
        after = 2**c + 2 ** (k - c) - 4 + others + 1
        assert log_ratio == pytest.approx(log(2**k - 2 + others) - log(after), rel=1e-12)

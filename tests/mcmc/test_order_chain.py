"""Order MCMC: its sums, its steps, and the biased law that its draws are known to follow.

The law of a DAG is its posterior times the number of its linear extensions, both by listing.
Frequencies are compared by chi-square with the false-alarm rate ``FALSE_ALARM`` per test.
"""

from functools import lru_cache
from itertools import combinations, permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from outpoint.kernels import kernel
from outpoint.mcmc import Settings, make_chain
from outpoint.mcmc.mixes import cumulative, paper_order_mix
from outpoint.mcmc.moves import MOVES
from outpoint.mcmc.order_chain import OrderChain, make_order_chain, run_order_chain, score_order
from outpoint.mcmc.trace import make_trace
from tests.mcmc.chains import advance_taking_draws, summed_edges
from tests.mcmc.laws import (
    Floats,
    Target,
    check_balanced,
    check_counts,
    check_invariant,
    metropolis,
    relaxation,
)
from tests.mcmc.targets import target
from tests.reference import all_dags, log_sum_exp

FALSE_ALARM = 1e-6
NAMES = ("uniform", "random", "bge", "bdeu", "forbidden", "required", "candidates")


# Oracles


@lru_cache
def orders(n: int) -> tuple[tuple[int, ...], ...]:
    return tuple(permutations(range(n)))


@lru_cache
def belongs(n: int) -> NDArray[np.bool_]:
    """Whether [order, dag] the order is a linear extension of the DAG."""
    out = []
    for order in orders(n):
        place = np.argsort(order)
        forward = place[:, None] < place[None, :]
        out.append([bool((dag <= forward).all()) for dag in all_dags(n)])
    return np.array(out)


def log_order_weights(problem: Target) -> Floats:
    """Log weight of each order, by listing its DAGs."""
    return np.array([log_sum_exp(problem.log_dag[row]) for row in belongs(problem.n)])


def biased_law(problem: Target) -> Floats:
    law = problem.dags * belongs(problem.n).sum(axis=0)
    return law / law.sum()


def swap_matrix(problem: Target, share_any: float, still: float = 0.01) -> Floats:
    """Swap two places chosen uniformly, any or adjacent, or stay."""
    n = problem.n
    index = {order: i for i, order in enumerate(orders(n))}
    proposal = np.zeros((len(index), len(index)))
    pairs = list(combinations(range(n), 2))
    for x, order in enumerate(orders(n)):
        for a, b in pairs:
            swapped = list(order)
            swapped[a], swapped[b] = swapped[b], swapped[a]
            share = share_any / len(pairs) + (1 - share_any) / (n - 1) * (b == a + 1)
            proposal[x, index[tuple(swapped)]] += (1 - still) * share
    return metropolis(proposal, np.zeros_like(proposal), log_order_weights(problem))


def drawn_dags(problem: Target, masks: NDArray[np.int32]) -> NDArray[np.int64]:
    """Drawn masks as indices into ``all_dags``."""
    width, n = problem.view.candidates.shape[1], problem.n
    shift = width * np.arange(n)
    table = np.full(1 << (width * n), -1)
    for x in np.flatnonzero(problem.log_dag > -np.inf):
        own = [
            sum(1 << int(problem.view.position[v, u]) for u in np.flatnonzero(all_dags(n)[x][:, v]))
            for v in range(n)
        ]
        table[int((np.array(own) << shift).sum())] = x
    found = table[(masks.astype(np.int64) << shift).sum(axis=1)]
    assert (found >= 0).all(), "a cycle, or a set that must not occur"
    return found


def sampler(problem: Target, n_draws: int, thin: int, seed: int, n_warmup: int = 0) -> OrderChain:
    possible = np.flatnonzero(problem.log_dag > -np.inf)[0]
    dag = all_dags(problem.n)[possible]
    start = [
        sum(1 << int(problem.view.position[v, u]) for u in np.flatnonzero(dag[:, v]))
        for v in range(problem.n)
    ]
    settings = Settings(
        method="order",
        start=np.array(start, dtype=np.int32),
        max_parents=problem.n - 1,
        seed=seed,
        n_warmup=n_warmup,
        n_draws=n_draws,
        thin=thin,
    )
    chain = make_chain(problem.view, settings)
    assert isinstance(chain, OrderChain)
    return chain


# Sums and laws


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [3, 4])
def test_sums_of_all_orders(n, name):
    problem = target(name, n)
    for order, log_weight in zip(orders(n), log_order_weights(problem), strict=True):
        chain = make_order_chain(np.array(order), problem.view.candidates.shape[1])
        total = score_order(problem.view, chain)
        assert total == pytest.approx(log_weight, abs=1e-10)
        place = np.argsort(order)
        assert np.array_equal(chain.position, place)
        for v in range(n):
            sets = [s for u, s in problem.family if u == v and all(place[w] < place[v] for w in s)]
            own = log_sum_exp(problem.family[v, s] for s in sets)
            assert chain.log_sum[v] == pytest.approx(own, abs=1e-10)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [3, 4])
def test_declared_law_keeps_the_law_of_orders(n, name):
    problem = target(name, n)
    log_weight = log_order_weights(problem)
    law = np.exp(log_weight - log_sum_exp(log_weight))
    matrix = swap_matrix(problem, 0.75)
    check_invariant(law, matrix)
    check_balanced(law, matrix)
    assert relaxation(law, matrix) < 1 - 1e-6


def test_biased_law_of_three_nodes():
    problem = target("edges", 3)
    n_edges = all_dags(3).sum(axis=(1, 2))
    unbiased = np.bincount(n_edges, weights=problem.dags)
    biased = np.bincount(n_edges, weights=biased_law(problem))
    assert unbiased == pytest.approx([0.0044, 0.0720, 0.3915, 0.5321], abs=5e-5)
    assert biased == pytest.approx([0.0195, 0.1586, 0.4312, 0.3907], abs=5e-5)


# The compiled chain


@kernel
def follow(view, chain, moves, trace, n_steps, rng, places):
    """Single steps; keeps the order after each, returns whether sums and places stayed right."""
    n = chain.order.size
    fine = True
    fresh = chain.log_sum.copy()
    for step in range(n_steps):
        run_order_chain(view, chain, moves, 1, 1, trace, step, 1, False, rng)
        places[step] = chain.order
        for place in range(n):
            fine &= chain.position[chain.order[place]] == place
        fresh[:] = chain.log_sum
        score_order(view, chain)
        for v in range(n):
            fine &= abs(fresh[v] - chain.log_sum[v]) < 1e-9
    return fine


def order_moves(n: int) -> Floats:
    return cumulative(paper_order_mix(n), still=0.01)


@pytest.mark.parametrize(
    ("name", "n"), [("random", 3), ("uniform", 4), ("bge", 4), ("required", 4), ("candidates", 4)]
)
def test_compiled_steps_follow_the_law(name, n):
    problem = target(name, n)
    possible = int(np.argmax(log_order_weights(problem)))
    chain = make_order_chain(np.array(orders(n)[possible]), problem.view.candidates.shape[1])
    score_order(problem.view, chain)
    n_steps = 200_000
    places = np.empty((n_steps, n), dtype=np.int64)
    trace = make_trace(n, 0)
    rng = np.random.default_rng(7)
    assert follow(problem.view, chain, order_moves(n), trace, n_steps, rng, places)
    index = {order: i for i, order in enumerate(orders(n))}
    code = places @ (n ** np.arange(n))
    by_code = {int(np.array(order) @ (n ** np.arange(n))): i for order, i in index.items()}
    states = np.array([by_code[c] for c in code.tolist()])
    matrix = swap_matrix(problem, 0.75)
    counts = np.zeros(matrix.shape, dtype=np.int64)
    np.add.at(counts, (states[:-1], states[1:]), 1)
    rows = np.flatnonzero(counts.sum(axis=1) > 100)
    assert len(rows) >= len(orders(n)) / 4
    for row in rows:
        check_counts(counts[row], np.maximum(matrix[row], 0.0), FALSE_ALARM / len(rows))
    share = [0.01, 0.99 * 0.75, 0.99 * 0.25]
    tried = trace.attempts[[MOVES.index(m) for m in ("still", "swap_any", "swap_adjacent")]]
    check_counts(tried, np.array(share), FALSE_ALARM)
    assert trace.attempts.sum() == n_steps
    assert trace.accepted.sum() == (np.diff(states) != 0).sum() + (possible != states[0])


@pytest.mark.parametrize("name", ["edges", "random", "required", "candidates"])
@pytest.mark.parametrize("n", [3, 4])
def test_draws_follow_the_biased_law(n, name):
    problem = target(name, n)
    log_weight = log_order_weights(problem)
    law = np.exp(log_weight - log_sum_exp(log_weight))
    slow = relaxation(law, swap_matrix(problem, 0.75))
    thin = int(np.ceil(np.log(1e-4) / np.log(slow)))  # draws are then as good as independent
    assert thin < 1000
    n_draws = 5000
    chain = sampler(problem, n_draws, thin, seed=n, n_warmup=10 * thin)
    drawn = advance_taking_draws(chain, (10 + n_draws) * thin)
    assert len(drawn.codes) == n_draws
    found = drawn_dags(problem, drawn.codes)
    counts = np.bincount(found, minlength=len(problem.dags))
    check_counts(counts, biased_law(problem), FALSE_ALARM)
    np.testing.assert_allclose(drawn.log_score, problem.log_dag[found], atol=1e-9)
    if name in ("edges", "random"):
        with pytest.raises(AssertionError):
            check_counts(counts, problem.dags, FALSE_ALARM)


@pytest.mark.parametrize("name", NAMES)
def test_summed_edges_follow_the_biased_law(name):
    """Averages over 40 chains, within 5 standard errors that come from the spread of the chains."""
    problem = target(name, 4)
    found = []
    for seed in range(40):
        chain = sampler(problem, 1, 1, seed, n_warmup=500)
        chain.advance(2500)
        assert chain.trace.n_edge_sums[0] == 2000
        found.append(summed_edges(problem.view, chain.trace) / 2000)
    exact = np.tensordot(biased_law(problem), all_dags(4), axes=1)
    error = np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
    assert (np.abs(np.mean(found, axis=0) - exact) <= 5 * error + 1e-9).all()
    assert np.max(np.abs(exact - problem.edges)) > 5 * error.max(), "too little to see the bias"


def test_edges_given_one_order():
    """Without steps the summed edges are the probabilities given the order, to rounding."""
    problem = target("random", 4)
    still, rng = np.ones(len(MOVES)), np.random.default_rng(0)
    for x, order in enumerate(orders(4)):
        chain = make_order_chain(np.array(order), 3)
        score_order(problem.view, chain)
        trace = make_trace(4, 1, n_candidates=problem.view.candidates.shape[1])
        run_order_chain(problem.view, chain, still, 1, 1, trace, 0, 1, True, rng)
        law = problem.dags * belongs(4)[x]
        exact = np.tensordot(law / law.sum(), all_dags(4), axes=1)
        np.testing.assert_allclose(summed_edges(problem.view, trace), exact, atol=1e-12)
        assert trace.log_weight[0] == pytest.approx(log_order_weights(problem)[x], abs=1e-10)
        assert chain.order.tolist() == list(order)

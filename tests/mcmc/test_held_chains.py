"""Whole chains on tables with few candidates, against a listing of all DAGs of four nodes.

Draws lie so far apart that they count as independent; the stated false-alarm rate is that of the
chi-square of one case. Edge probabilities are compared with the spread of batches.
"""

from functools import lru_cache
from itertools import permutations

import numpy as np
import pytest

from outpoint.mcmc import Settings, make_chain
from outpoint.mcmc.trace import spread_edges
from tests.exact.problems import random_scores
from tests.grids import covering
from tests.mcmc.chains import advance_taking_draws
from tests.mcmc.held import HeldTarget, held_target
from tests.mcmc.laws import Floats, check_counts
from tests.reference import all_dags

FALSE_ALARM = 1e-6
BOUND, FLOOR, N_BATCHES = 5.0, 1e-4, 40

THIN = {
    "mcmc": 300,
    "partition": 600,
    "partition+rev": 500,
    "order": 100,
    "structure": 200,
    "structure+rev": 200,
}
EDGE_THIN = 20


@lru_cache
def order_law(problem: HeldTarget) -> Floats:
    """DAGs by weight times the number of orders they are compatible with."""
    n = problem.n
    n_orders = np.zeros(len(problem.target.dags))
    for order in permutations(range(n)):
        place = np.argsort(order)
        backwards = place[:, None] >= place[None, :]
        n_orders += ~(all_dags(n) & backwards).any(axis=(1, 2))
    law = problem.target.dags * n_orders
    return law / law.sum()


def law_of(problem: HeldTarget, method: str) -> Floats:
    return order_law(problem) if method == "order" else problem.target.dags


def check_chain(problem: HeldTarget, method: str, n_draws: int, seed: int, factor: int = 1) -> None:
    n, thin = problem.n, factor * THIN[method]
    settings = Settings(
        method=method,
        start=np.zeros(n, dtype=np.int32),
        max_parents=problem.table.max_parents,
        hottest=0.1,
        seed=seed,
        n_warmup=2_000,
        n_draws=n_draws,
        thin=thin,
        edge_thin=EDGE_THIN,
    )
    chain = make_chain(problem.target.view, settings)
    law = law_of(problem, method)
    dag_of = {dag.tobytes(): i for i, dag in enumerate(all_dags(n))}
    chain.advance(2_000)
    codes, batches = [], []
    for _ in range(N_BATCHES):
        chain.trace.edge_sum[:] = 0.0
        chain.trace.outside_sum[:] = 0.0
        chain.trace.n_edge_sums[0] = 0
        chain.trace.batch_size[0] = 1
        drawn = advance_taking_draws(chain, n_draws // N_BATCHES * thin)
        codes.append(drawn.codes)
        inside = spread_edges(chain.trace.edge_sum.sum(axis=0), problem.table.candidates)
        edges = inside + chain.trace.outside_sum.sum(axis=0)
        batches.append(edges / chain.trace.n_edge_sums[0])
        dags = problem.table.parent_sets.adjacencies(drawn.codes)
        found = [dag_of[dag.tobytes()] for dag in dags]
        np.testing.assert_allclose(drawn.log_score, problem.target.log_dag[found], atol=1e-10)
    dags = problem.table.parent_sets.adjacencies(np.concatenate(codes))
    counts = np.zeros(len(law), dtype=np.int64)
    np.add.at(counts, [dag_of[dag.tobytes()] for dag in dags], 1)
    check_counts(counts, law, FALSE_ALARM)
    error = np.mean(batches, axis=0) - np.tensordot(law, all_dags(n), axes=1)
    spread = np.std(batches, axis=0, ddof=1) / np.sqrt(N_BATCHES)
    assert np.all(np.abs(error) <= BOUND * spread + FLOOR), error
    assert spread.max() < 0.02
    assert chain.trace.best_log_score[0] == pytest.approx(problem.target.log_dag.max())
    best = problem.table.parent_sets.adjacencies(chain.trace.best_code[None])[0]
    assert problem.target.log_dag[dag_of[best.tobytes()]] == chain.trace.best_log_score[0]


@pytest.mark.parametrize(("name", "method"), covering(["four, one", "four, limited"], list(THIN)))
def test_chains_draw_from_the_posterior_over_all_sets(name, method):
    check_chain(held_target(name), method, 2_000, seed=1)


@lru_cache
def required_target() -> HeldTarget:
    """A node that must have a parent, so that parents are drawn anew, too."""
    problem = random_scores(4, spread=1.0, seed=11, required=[("b", "a")])
    return HeldTarget.of(problem, [[1], [2], [3], [0]])


@pytest.mark.parametrize("method", ["mcmc", "partition+rev"])
def test_chains_with_required_edges(method):
    check_chain(required_target(), method, 2_000, seed=2)


def test_the_order_law_is_biased_enough_to_be_seen():
    problem = held_target("four, one")
    counts = np.random.default_rng(1).multinomial(4_000, order_law(problem))
    with pytest.raises(AssertionError):
        check_counts(counts, problem.target.dags, FALSE_ALARM)


def test_posteriors_without_the_outside_sets_would_be_seen():
    """Even the table with two candidates of each node has much of its posterior outside."""
    for name in ("four, one", "four, limited"):
        problem = held_target(name)
        is_inside = np.array(
            [problem.n_held[i] == 0 if i >= 0 else False for i in problem.state_of_dags]
        )
        inside = np.where(is_inside, problem.target.dags, 0.0)
        assert inside.sum() < 0.8
        counts = np.random.default_rng(1).multinomial(4_000, inside / inside.sum())
        with pytest.raises(AssertionError):
            check_counts(counts, problem.target.dags, FALSE_ALARM)


@pytest.mark.long
@pytest.mark.parametrize("method", THIN)
@pytest.mark.parametrize("name", ["four, one", "four, two", "four, limited"])
def test_chains_at_length(name, method):
    check_chain(held_target(name), method, 10_000, seed=3, factor=5)

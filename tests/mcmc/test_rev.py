"""Edge reversal keeps the posterior, on DAGs and inside partitions, and the compiled move is it.

The matrices come from listing all parent sets and looking for cycles; frequencies are compared by
chi-square with the stated false-alarm rate per test function (seeds are fixed).
"""

from functools import lru_cache

import numpy as np
import pytest

from outpoint.kernels import kernel
from outpoint.mcmc.dag import make_dag
from outpoint.mcmc.moves.blocks import make_dag_block
from outpoint.mcmc.moves.rev import reverse_edges
from outpoint.mcmc.partition import copy_partition, make_partition
from outpoint.mcmc.trace import make_trace
from outpoint.tables.view import empty_scores
from tests.mcmc.laws import (
    Floats,
    Target,
    check_balanced,
    check_counts,
    check_invariant,
    levels,
    list_reversals,
    partition_of_dags,
    partitions,
    reversal_matrix,
    through_dags,
)
from tests.mcmc.loops import (
    block_below,
    code_table,
    dag_codes,
    differs,
    draw_dags,
    draw_reversals,
    is_valid,
    layer_code,
    layers_of,
    make_dag_state,
    score,
    scored_state,
)
from tests.mcmc.targets import NAMES, target
from tests.reference import all_dags, ancestor_matrices

FALSE_ALARM = 1e-6


@lru_cache
def reversals(name: str, n: int) -> Floats:
    problem = target(name, n)
    return reversal_matrix(problem, list_reversals(problem))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [3, 4])
def test_declared_reversals_keep_the_posterior(n, name):
    problem, matrix = target(name, n), reversals(name, n)
    check_invariant(problem.dags, matrix)
    check_balanced(problem.dags, matrix)
    assert np.any(matrix - np.diag(np.diag(matrix)) > 1e-9)
    for block in (1, 2, 5):
        inside = through_dags(problem, np.linalg.matrix_power(matrix, block))
        check_invariant(problem.law(), inside)
        check_balanced(problem.law(), inside)


def count_dags(problem: Target, codes) -> np.ndarray:
    """How often each DAG occurs; a cycle, or a set that must not occur, is not in the table."""
    table = dag_codes(problem.view, problem.log_dag > -np.inf)
    values, times = np.unique(codes, return_counts=True)
    counts = np.zeros(len(problem.log_dag), dtype=np.int64)
    for code, count in zip(values.tolist(), times.tolist(), strict=True):
        counts[table[code]] += count
    return counts


@pytest.mark.parametrize(
    ("name", "n", "n_starts"),
    [
        ("random", 3, 25),
        ("required", 3, 25),
        ("bge", 3, 25),
        ("random", 4, 40),
        ("forbidden", 4, 40),
        ("candidates", 4, 40),
        ("bdeu", 4, 40),
        ("random", 5, 0),
    ],
)
def test_compiled_reversals(name, n, n_starts):
    problem = target(name, n)
    starts = np.flatnonzero(problem.log_dag > -np.inf)
    rng = np.random.default_rng(n)
    if not n_starts:  # too many for a matrix: only that the states stay right
        for start in rng.choice(starts, 40, replace=False):
            codes = np.empty(500, dtype=np.int64)
            assert draw_reversals(problem.view, make_dag_state(problem.view, start), rng, codes)
        return
    if len(starts) > n_starts:
        starts = rng.choice(starts, n_starts, replace=False)
    matrix = reversals(name, n)
    for start in starts:
        codes = np.empty(20_000, dtype=np.int64)
        assert draw_reversals(problem.view, make_dag_state(problem.view, start), rng, codes)
        check_counts(count_dags(problem, codes), matrix[start], FALSE_ALARM / len(starts))


@pytest.mark.parametrize(("name", "n"), [("random", 3), ("required", 4), ("candidates", 4)])
def test_dags_from_partitions(name, n):
    problem = target(name, n)
    rng = np.random.default_rng(n)
    chosen = np.flatnonzero(problem.possible)
    for x in chosen:
        codes = np.empty(5_000, dtype=np.int64)
        assert draw_dags(
            problem.view, scored_state(problem.view, partitions(n)[x], rng), rng, codes
        )
        law = problem.dags_given_partition[x]
        check_counts(count_dags(problem, codes), law, FALSE_ALARM / len(chosen))


@kernel
def count_blocks(view, start, block, power, n_draws, work, trace, rng, table, counts):
    n = start.order.size
    state, full = make_partition(n), make_partition(n)
    fine = True
    for _ in range(n_draws):
        copy_partition(start, state)
        reverse_edges(view, state, work, block, power, power == 1.0, trace, rng)
        copy_partition(state, full)
        score(view, full)
        fine &= is_valid(state) and not differs(full, state)
        counts[table[layer_code(state)]] += 1
    return fine


@pytest.mark.parametrize(("name", "n", "block"), [("random", 3, 1), ("required", 3, 3)])
def test_compiled_blocks(name, n, block):
    problem, table = target(name, n), code_table(n)
    matrix = through_dags(problem, np.linalg.matrix_power(reversals(name, n), block))
    rng = np.random.default_rng(block)
    work, trace = make_dag_block(problem.view), make_trace(n, 0)
    for x in np.flatnonzero(problem.possible):
        start = scored_state(problem.view, partitions(n)[x], rng)
        counts = np.zeros(len(table), dtype=np.int64)
        assert count_blocks(
            problem.view, start, block, 1.0, 20_000, work, trace, rng, table, counts
        )
        check_counts(counts[: len(matrix)], matrix[x], FALSE_ALARM / problem.possible.sum())
    best = problem.log_dag.max()
    assert trace.best_log_score[0] == pytest.approx(best, rel=1e-13)


@pytest.mark.parametrize("n", [3, 4])
def test_layers_and_descendants_of_all_dags(n):
    view = target("random", n).view
    reach = ancestor_matrices(n)
    for dag in range(len(all_dags(n))):
        state = make_dag_state(view, dag)
        layer = np.empty(n, dtype=np.int64)
        layers = partitions(n)[partition_of_dags(n)[dag]]
        assert layers_of(state, np.arange(n), layer) == len(layers)
        assert layer.tolist() == levels(layers)
        for root in range(n):
            blocked = np.zeros(n, dtype=np.int64)
            block_below(state, root, blocked)
            expected = reach[dag, root].copy()
            expected[root] = True
            assert blocked.tolist() == expected.astype(int).tolist()


def test_nothing_to_reverse():
    view = target("random", 3).view
    dag, codes = make_dag(3, 2), np.empty(10, dtype=np.int64)
    dag.log_score[:] = empty_scores(view)
    assert draw_reversals(view, dag, np.random.default_rng(1), codes)
    assert not codes.any()

"""Drawing one node's parents anew keeps the posterior, and the compiled step does just that."""

import numpy as np
import pytest

from outpoint.kernels import kernel
from outpoint.mcmc.dag import copy_dag, make_dag
from outpoint.mcmc.edges import list_edges, make_listed_edges
from outpoint.mcmc.moves.parents import resample_parents
from tests.mcmc.laws import (
    Floats,
    Target,
    check_balanced,
    check_counts,
    check_invariant,
    dag_index,
    parent_sets,
    through_dags,
)
from tests.mcmc.loops import dag_code, dag_codes, is_consistent, make_dag_state
from tests.mcmc.targets import NAMES, target

FALSE_ALARM = 1e-6


def parents_matrix(problem: Target, n: int, node: int) -> Floats:
    """From each DAG to all that differ in the parents of ``node`` only, by their weights."""
    matrix = np.zeros((len(problem.dags), len(problem.dags)))
    for x, sets in enumerate(parent_sets(n)):
        others = [
            y
            for y, other in enumerate(parent_sets(n))
            if all(other[v] == sets[v] for v in range(n) if v != node)
        ]
        weights = problem.dags[others]
        if problem.dags[x] > 0:
            matrix[x, others] = weights / weights.sum()
        else:
            matrix[x, x] = 1.0
    assert len(dag_index(n)) == len(matrix)
    return matrix


@pytest.mark.parametrize("name", NAMES)
def test_declared_law_keeps_the_posterior(name):
    problem = target(name, 3)
    for node in range(3):
        matrix = parents_matrix(problem, 3, node)
        check_invariant(problem.dags, matrix)
        check_balanced(problem.dags, matrix)
        check_invariant(problem.law(), through_dags(problem, matrix))


@kernel
def draw_parents(view, start, node, rng, codes):
    n = start.n_parents.size
    dag, listed = make_dag(n, start.parents.shape[1] - 1), make_listed_edges(n, n)
    fine = True
    for i in range(codes.size):
        copy_dag(start, dag)
        list_edges(dag, listed)
        is_new = resample_parents(view, dag, listed, node, rng)
        fine &= is_consistent(view, dag)
        codes[i] = dag_code(view, dag)
        fine &= is_new == (codes[i] != dag_code(view, start))
    return fine


@pytest.mark.parametrize("name", ["random", "required"])
def test_compiled_step(name):
    problem = target(name, 3)
    rng = np.random.default_rng(4)
    possible = problem.dags > 0
    index = dag_codes(problem.view, possible)
    for node in range(3):
        matrix = parents_matrix(problem, 3, node)
        for start in np.flatnonzero(possible):
            codes = np.empty(10_000, dtype=np.int64)
            assert draw_parents(problem.view, make_dag_state(problem.view, start), node, rng, codes)
            counts = np.bincount([index[code] for code in codes], minlength=len(possible))
            check_counts(counts, matrix[start], FALSE_ALARM / possible.sum() / 3)
            wrong = problem.dags  # forgets the rest of the DAG
            with pytest.raises(AssertionError):
                check_counts(counts, wrong, FALSE_ALARM)

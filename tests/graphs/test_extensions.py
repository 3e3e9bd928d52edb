"""Compiled logs of linear extensions against exact integers and against trying all orders."""

from math import factorial, log

import numpy as np
import pytest

from outpoint.errors import TooLargeError
from outpoint.graphs import Dag, count_linear_extensions
from outpoint.graphs.extensions import log_linear_extensions
from tests.graphs.helpers import all_dags, compatible_orders


def test_all_dags_of_four_nodes():
    for dag in all_dags(4):
        assert log_linear_extensions(dag) == pytest.approx(log(compatible_orders(dag)), abs=1e-12)


@pytest.mark.parametrize("n", [6, 12, 25])
def test_random_dags(n):
    rng = np.random.default_rng(n)
    for _ in range(10):
        dag = Dag.from_adjacency(np.triu(rng.random((n, n)) < 2 / n, 1))
        assert log_linear_extensions(dag) == pytest.approx(
            log(count_linear_extensions(dag)), rel=1e-12, abs=1e-12
        )


def test_many_down_sets():
    """One parent with 18 children: tables grow to half a million sets and back to one."""
    star = Dag.from_edges([str(i) for i in range(19)], [(0, i) for i in range(1, 19)])
    assert log_linear_extensions(star) == pytest.approx(log(factorial(18)), rel=1e-12)
    with pytest.raises(TooLargeError, match="method='mcmc'"):
        log_linear_extensions(star, max_sets=10_000)


def test_long_paths_and_many_components():
    names = [str(i) for i in range(100)]
    assert log_linear_extensions(Dag.from_edges(names, [(i, i + 1) for i in range(99)])) == 0
    assert log_linear_extensions(Dag.empty(names)) == pytest.approx(log(factorial(100)))
    pairs = Dag.from_edges(names, [(i, i + 1) for i in range(0, 100, 2)])
    assert log_linear_extensions(pairs) == pytest.approx(log(factorial(100)) - 50 * log(2))

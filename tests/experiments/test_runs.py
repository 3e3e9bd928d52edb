"""Results are kept, read again, and computed anew where something differs."""

import numpy as np
import pytest

from outpoint.errors import CheckpointError
from outpoint.experiments import PROBLEMS, Extent
from outpoint.experiments.runs import run_sampler, solve_exactly

EXTENT = Extent(n_seeds=2, share=0.1)


def test_a_result_is_read_again(tmp_path):
    problem = PROBLEMS["three-nodes"]()
    first = run_sampler(problem, "order", EXTENT, tmp_path)
    assert first.log_scores.shape == first.n_edges.shape == (2, 1000)
    np.testing.assert_array_equal(first.log_scores, first.n_edges)
    again = run_sampler(problem, "order", EXTENT, tmp_path)
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)
    more = run_sampler(problem, "order", EXTENT._replace(n_seeds=3), tmp_path)
    assert more.edges.shape == (3, 3, 3)


def test_seeds_are_independent_chains_from_the_empty_dag(tmp_path):
    problem = PROBLEMS["five-nodes"]()
    outcome = run_sampler(problem, "structure", Extent(n_seeds=3, share=0.02), tmp_path)
    assert len(np.unique(outcome.log_scores[:, -200:].sum(axis=1))) == 3
    assert (outcome.n_edges[:, 0] <= 1).all()
    assert (outcome.best <= outcome.best_met).all()


def test_without_reversals_edges_are_not_turned(tmp_path):
    problem = PROBLEMS["five-nodes"]()
    extent = Extent(n_seeds=2, share=0.02)
    free = run_sampler(problem, "structure", extent, tmp_path)
    bound = run_sampler(problem, "structure without reversals", extent, tmp_path)
    assert not np.array_equal(free.log_scores, bound.log_scores)


def test_exact_results(tmp_path):
    problem = PROBLEMS["three-nodes"]()
    exact = solve_exactly(problem, tmp_path)
    assert exact.best_log_score == 3
    weight = np.exp(3.0 - exact.log_evidence)
    assert exact.best_share == pytest.approx(6 * weight)  # the 6 complete DAGs are equivalent
    again = solve_exactly(problem, tmp_path)
    np.testing.assert_array_equal(again.half_edges, exact.half_edges)


def test_damaged_results_are_refused(tmp_path):
    problem = PROBLEMS["three-nodes"]()
    solve_exactly(problem, tmp_path)
    path = tmp_path / "exact.result"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(CheckpointError, match="damaged"):
        solve_exactly(problem, tmp_path)

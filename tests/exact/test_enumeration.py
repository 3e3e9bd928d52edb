"""The exact engine against a listing of all DAGs: evidence, edges, ancestors, parent sets, MAP."""

import numpy as np
import pytest

from outpoint.errors import OptionError
from outpoint.exact.engine import log_scores_of
from tests.exact import problems

EDGE_PRIOR = np.random.default_rng(8).uniform(0.05, 0.95, (5, 5))

PROBLEMS = {
    "bge": lambda: problems.gaussian(),
    "bge, 2 parents": lambda: problems.gaussian(seed=4, max_parents=2),
    "bdeu": lambda: problems.categorical(),
    "bdeu, 1 parent": lambda: problems.categorical(seed=5, max_parents=1),
    "random": lambda: problems.random_scores(),
    "spread 100": lambda: problems.random_scores(spread=100.0),
    "spread 3000": lambda: problems.random_scores(spread=3000.0),
    "nearly empty": lambda: problems.custom(5, lambda v, parents: -30.0 * len(parents)),
    "nearly full": lambda: problems.custom(5, lambda v, parents: 30.0 * len(parents)),
    "constant": lambda: problems.custom(5, lambda v, parents: 0.0),
    "fair prior": lambda: problems.gaussian(structure_prior="fair"),
    "edge penalty": lambda: problems.gaussian(edge_prior=0.1),
    "edge table": lambda: problems.categorical(edge_prior=EDGE_PRIOR),
    "forbidden": lambda: problems.gaussian(forbidden=[("a", "b"), ("c", "e"), ("e", "a")]),
    "required": lambda: problems.random_scores(required=[("a", "b"), ("c", "b"), ("b", "d")]),
    "tiers": lambda: problems.categorical(tiers=[["d", "a"], ["b"], ["c"]]),
    "roots": lambda: problems.random_scores(spread=20.0, roots=["c", "e"]),
    "everything": lambda: problems.gaussian(
        max_parents=3,
        structure_prior="fair",
        edge_prior=0.3,
        forbidden=[("a", "b")],
        required=[("b", "c")],
        roots=["e"],
    ),
    "two nodes": lambda: problems.random_scores(2),
    "three nodes": lambda: problems.gaussian(3),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_equals_enumeration(name):
    problem = PROBLEMS[name]()
    exact = problem.solve()
    reference = problem.enumerate()
    assert exact.log_evidence == pytest.approx(reference.log_evidence, rel=1e-13, abs=1e-10)
    assert exact.best_log_score == pytest.approx(reference.best_log_score, rel=1e-13, abs=1e-10)
    np.testing.assert_allclose(exact.edges, reference.edges, rtol=0, atol=1e-10)
    np.testing.assert_allclose(exact.ancestors, reference.ancestors, rtol=0, atol=1e-10)
    for child, expected in enumerate(reference.parent_sets):
        candidates = exact.candidates[child]
        for parents, probability in expected.items():
            mask = sum(1 << int(np.searchsorted(candidates, u)) for u in parents)
            found = np.exp(exact.log_parent_sets[child, mask])
            assert found == pytest.approx(probability, abs=1e-10)
    assert exact.discrepancy < 1e-10


@pytest.mark.parametrize("name", PROBLEMS)
def test_best_dag_is_a_dag_with_the_best_score(name):
    problem = PROBLEMS[name]()
    exact = problem.solve()
    reference = problem.enumerate()
    is_best = (reference.adjacencies == exact.best_adjacency).all(axis=(1, 2))
    assert is_best.sum() == 1
    assert reference.log_weights[is_best][0] == pytest.approx(reference.best_log_score, rel=1e-13)
    scored = log_scores_of(exact.table, exact.best_adjacency[None])[0]
    assert scored == pytest.approx(exact.best_log_score, rel=1e-13)


def test_constraints_hold_with_certainty():
    exact = PROBLEMS["everything"]().solve()
    assert exact.edges[0, 1] == 0.0
    assert exact.edges[1, 2] == pytest.approx(1.0, abs=1e-12)
    assert (exact.edges[:, 4] == 0.0).all()
    dags = exact.sample(500, np.random.default_rng(0))
    assert not dags[:, 0, 1].any()
    assert dags[:, 1, 2].all()
    assert not dags[:, :, 4].any()
    assert dags.sum(axis=1).max() <= 3


def test_the_three_node_example():
    """Log score = number of edges: the answer stated in the literature of the method."""
    exact = problems.custom(3, lambda v, parents: float(len(parents))).solve()
    reference = problems.custom(3, lambda v, parents: float(len(parents))).enumerate()
    n_edges = reference.adjacencies.sum(axis=(1, 2))
    by_edges = [reference.probabilities[n_edges == k].sum() for k in range(4)]
    assert by_edges == pytest.approx([0.0044, 0.0720, 0.3915, 0.5321], abs=5e-5)
    assert exact.edges.sum() == pytest.approx(sum(k * p for k, p in enumerate(by_edges)))


def test_no_admissible_dag():
    # Each of two nodes insists on the other as its parent.
    problem = problems.custom(2, lambda v, parents: 0.0 if parents else -np.inf)
    with pytest.raises(OptionError, match="no DAG is admissible"):
        problem.solve()


def test_incomplete_table_is_refused():
    from outpoint.exact import solve
    from outpoint.tables import build_table

    problem = problems.random_scores(5)
    table = build_table(problem.names, problem.scorer, problem.prior, max_parents=2, n_candidates=2)
    with pytest.raises(OptionError, match="all nodes are candidates"):
        solve(table)

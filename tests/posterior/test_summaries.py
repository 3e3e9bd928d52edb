"""CPDAG probabilities and lists of graphs against listing all DAGs."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

import outpoint as op
from outpoint.errors import OptionError
from outpoint.graphs import Cpdag, Dag
from outpoint.graphs.blocks import add_matrices
from outpoint.posterior import draws as draws_module
from outpoint.posterior.draws import (
    Draws,
    WeightedGraphs,
    average_cpdags,
    tabulate_cpdags,
    tabulate_dags,
)
from tests.posterior.problems import all_graphs, random_problem


def listed_cpdags(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of compelled and undirected edges, graph by graph."""
    problem = random_problem(n)
    compelled, undirected = np.zeros((n, n)), np.zeros((n, n))
    for dag, probability in zip(problem.dags, problem.truth.probabilities, strict=True):
        matrix = dag.cpdag().adjacency
        compelled += probability * (matrix & ~matrix.T)
        undirected += probability * (matrix & matrix.T)
    return compelled, undirected


@pytest.mark.parametrize("n", [3, 4])
def test_cpdags_of_all_dags(n):
    found = average_cpdags(all_graphs(random_problem(n)))
    np.testing.assert_allclose(found, listed_cpdags(n), atol=1e-12)


@pytest.mark.parametrize("block_bytes", [1, 100, 1 << 24])
def test_blocks_change_nothing(block_bytes, monkeypatch):
    monkeypatch.setattr(draws_module, "BLOCK_BYTES", block_bytes)
    found = average_cpdags(all_graphs(random_problem(4)))
    np.testing.assert_allclose(found, listed_cpdags(4), atol=1e-12)


@pytest.mark.parametrize("method", ["exact", "mcmc"])
def test_cpdag_probabilities(method):
    """6 pairs in 2 tables at 5 standard errors, with at least 2,000 effective draws."""
    posterior = random_problem(4).learn(method, seed=3)
    compelled = posterior.cpdag_probabilities
    undirected = posterior.undirected_probabilities
    for found, truth in zip((compelled, undirected), listed_cpdags(4), strict=True):
        assert list(found.index) == list(found.columns) == list("abcd")
        error = np.sqrt(truth * (1 - truth) / 2000)
        assert (np.abs(found.to_numpy() - truth) <= 5 * error).all()
    turned = listed_cpdags(4)[0].T
    assert (np.abs(compelled.to_numpy() - turned) > 5 * np.sqrt(turned / 2000)).any()
    np.testing.assert_array_equal(undirected, undirected.T)
    adjacent = posterior.probability(lambda dag: dag.has_edge("a", "b") or dag.has_edge("b", "a"))
    total = compelled.loc["a", "b"] + compelled.loc["b", "a"] + undirected.loc["a", "b"]
    assert total == pytest.approx(adjacent, abs=0 if method == "mcmc" else 0.08, rel=1e-12)


def test_top_dags_are_exact():
    problem = random_problem(3)
    table = problem.learn(seed=1).top_dags(7)
    ranked = np.sort(problem.truth.probabilities)[::-1][:7]
    assert list(table.columns) == ["graph", "probability", "cumulative", "log_score"]
    np.testing.assert_allclose(table["probability"], ranked, rtol=1e-10)
    np.testing.assert_allclose(table["cumulative"], np.cumsum(ranked), rtol=1e-10)
    by_dag = dict(zip(problem.dags, problem.truth.log_weights, strict=True))
    for row in table.itertuples():
        assert isinstance(row.graph, Dag)
        assert row.log_score == pytest.approx(by_dag[row.graph])
    assert len(problem.learn(seed=1).top_dags(1000)) <= 25


def test_the_best_dag_is_listed_though_never_drawn():
    """A posterior so flat that 10,000 draws hardly hit any DAG twice."""
    table = 1e-3 * np.random.default_rng(1).standard_normal((7, 1 << 7))
    score = op.CustomScore(lambda v, parents: table[v, sum(1 << u for u in parents)])
    posterior = op.learn(op.Dataset(tuple("abcdefg"), np.zeros((1, 7))), score, seed=1)
    first = posterior.top_dags(3).iloc[0]
    assert first["graph"] == posterior.map_dag
    assert first["probability"] == pytest.approx(posterior.map_probability)


def test_top_dags_of_all_dags():
    problem = random_problem(4)
    table = tabulate_dags(all_graphs(problem), problem.names, 20)
    ranked = np.argsort(-problem.truth.probabilities)[:20]
    np.testing.assert_allclose(table["probability"], problem.truth.probabilities[ranked])
    assert [problem.dags[i] for i in ranked] == list(table["graph"])


def test_top_cpdags_of_all_dags():
    problem = random_problem(4)
    classes: dict[Cpdag, float] = defaultdict(float)
    best: dict[Cpdag, float] = defaultdict(lambda: -np.inf)
    for dag, probability, log_score in zip(
        problem.dags, problem.truth.probabilities, problem.truth.log_weights, strict=True
    ):
        classes[dag.cpdag()] += probability
        best[dag.cpdag()] = max(best[dag.cpdag()], log_score)
    table = tabulate_cpdags(all_graphs(problem), problem.names, 200)
    assert len(table) == len(classes) == 185
    assert table["cumulative"].iloc[-1] == pytest.approx(1)
    assert table["probability"].is_monotonic_decreasing
    for row in table.itertuples():
        assert row.probability == pytest.approx(classes[row.graph])
        assert row.log_score == pytest.approx(best[row.graph])


def test_top_graphs_of_a_sample():
    posterior = random_problem(3).learn("mcmc", steps=5000, seed=1)
    matrices = posterior.dags().to_numpy().reshape(-1, 3, 3)
    for row in posterior.top_dags(5).itertuples():
        share = (matrices == row.graph.adjacency).all(axis=(1, 2)).mean()
        assert row.probability == pytest.approx(share)
    table = posterior.top_cpdags()
    assert table["cumulative"].iloc[-1] <= 1
    assert isinstance(table["graph"][0], Cpdag)


@pytest.mark.parametrize("n", [0, -1, 1.5, "3", True, None])
def test_number_of_graphs(n):
    posterior = random_problem(3).learn(seed=1)
    for ask in (posterior.top_dags, posterior.top_cpdags):
        with pytest.raises(OptionError, match="whole number from 1"):
            ask(n)


# Distinct DAGs


def test_equal_draws_are_found():
    rng = np.random.default_rng(2)
    problem = random_problem(3)
    numbers = rng.integers(0, 25, (2, 60))
    matrices = problem.truth.adjacencies[numbers]
    graphs = WeightedGraphs.from_draws(
        Draws.from_arrays(matrices, problem.truth.log_weights[numbers])
    )
    kinds = np.unique(numbers)
    assert len(graphs) == len(kinds)
    back = graphs.adjacencies(np.arange(len(graphs)))
    np.testing.assert_array_equal(back[graphs.which], matrices)
    np.testing.assert_allclose(graphs.log_scores[graphs.which], problem.truth.log_weights[numbers])
    assert graphs.counts.sum() == 120
    assert graphs.weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(graphs.draw_weights, 1 / 120)
    chains = graphs.chain_weights()
    np.testing.assert_allclose(chains.sum(axis=1), 1)
    np.testing.assert_allclose(chains.mean(axis=0), graphs.weights)


def test_some_graphs_in_any_order():
    graphs = all_graphs(random_problem(3))
    wanted = np.array([7, 2, 24, 0])
    np.testing.assert_array_equal(
        graphs.adjacencies(wanted), random_problem(3).truth.adjacencies[wanted]
    )


def test_weighted_means_stay_within_what_they_average() -> None:
    """Weights that do not add up in floating point give no probability beyond 1."""
    rng = np.random.default_rng(3)
    dags = np.zeros((1, 300, 2, 2), dtype=np.bool_)
    dags[..., 0, 1] = True  # every draw has the edge
    for _ in range(50):
        one = WeightedGraphs.from_draws(Draws.from_arrays(dags, np.zeros((1, 300))))
        graphs = replace(
            one,
            first=np.arange(300),
            which=np.arange(300)[None],
            log_scores=np.zeros(300),
            log_weights=rng.normal(size=300),
        )
        assert graphs.mean(np.ones(300)) == 1.0
        assert graphs.mean_matrix(add_matrices)[0, 1] <= 1
        assert all(matrix.max() <= 1 for matrix in average_cpdags(graphs))
        assert tabulate_dags(graphs, ("a", "b"), 300)["cumulative"].max() <= 1

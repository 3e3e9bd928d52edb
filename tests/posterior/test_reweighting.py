"""Importance weights against listing all DAGs: corrections, priors, and weights that fail."""

import math

import numpy as np
import pytest

import outpoint as op
from outpoint.errors import OptionError
from outpoint.graphs import Dag, count_linear_extensions, count_members
from outpoint.posterior import WeightedPosterior
from outpoint.posterior.draws import Draws, WeightedGraphs
from outpoint.posterior.reweighting import reweight
from tests.grids import first
from tests.posterior.problems import Listed, all_graphs, edges_problem, random_problem


def listed_mean(problem: Listed, log_weight, function) -> float:
    """Posterior mean under extra log weights, graph by graph."""
    log_weights = [
        w + log_weight(dag) for w, dag in zip(problem.truth.log_weights, problem.dags, strict=True)
    ]
    weights = np.exp(np.array(log_weights) - max(log_weights))
    values = np.array([float(function(dag)) for dag in problem.dags])
    return float(weights @ values / weights.sum())


def with_all_dags(problem: Listed, by) -> WeightedPosterior:
    """No sampling error: all DAGs are there, with the weights of their posterior."""
    graphs = all_graphs(problem)
    return reweight(problem.learn(seed=1), graphs, by)


def prefers_one_root(dag: Dag) -> float:
    """A prior that is no product over nodes."""
    n_roots = sum(not parents for parents in dag.parent_sets)
    return -1.5 * (n_roots - 1) ** 2


def by_classes(dag: Dag) -> float:
    return -math.log(count_members(dag))


# Order MCMC


@pytest.fixture(scope="module")
def order_on_three() -> op.Posterior:
    return edges_problem(3).learn("order", steps=40_000, draws=10_000, seed=1)


def test_known_law_of_three_nodes(order_on_three):
    """Log score = number of edges; 4 numbers at 5 standard errors of 20,000 draws."""
    biased, right = [0.0195, 0.1586, 0.4312, 0.3907], [0.0044, 0.0720, 0.3915, 0.5321]
    weighted = order_on_three.reweighted("linear_extensions")
    for k in range(4):
        plain = order_on_three.probability(lambda dag, k=k: dag.n_edges == k)
        found = weighted.estimate(lambda dag, k=k: dag.n_edges == k)
        assert plain == pytest.approx(biased[k], abs=5 * math.sqrt(biased[k] / 20_000))
        assert abs(found.value - right[k]) < 5 * found.mcse + 5e-5
        assert abs(plain - right[k]) > 5 * found.mcse + 5e-5, "unweighted, it would be noticed"
        assert found.mcse < 0.01


def test_corrected_order_chains_may_have_converged(order_on_three):
    weighted = order_on_three.reweighted("linear_extensions")
    assert order_on_three.converged is False
    assert weighted.converged is True
    assert weighted.verdict.startswith("reweighted by linear_extensions: 40,000 draws are worth")
    assert weighted.method == "order, reweighted by linear_extensions"
    assert weighted.map_log_score == order_on_three.map_log_score
    assert "reweighted by linear_extensions, 3 nodes, 40,000 draws worth" in repr(weighted)


@pytest.mark.parametrize("seed", [1, 2])
def test_random_scores_on_four_nodes(seed):
    """12 edges, 12 ancestor relations and a v-structure at 5 standard errors."""
    problem = random_problem(4, seed=seed)
    order = problem.learn("order", steps=40_000, draws=10_000, seed=seed)
    weighted = order.reweighted("linear_extensions")
    table = weighted.diagnostics()
    assert set(table["status"]) == {"reweighted"}
    error = 5 * np.sqrt(0.25 / weighted.effective_sample_size)
    edges = weighted.edge_probabilities.to_numpy()
    assert np.abs(edges - problem.truth.edges).max() < error
    assert np.abs(order.edge_probabilities.to_numpy() - problem.truth.edges).max() > error
    ancestors = weighted.ancestor_probabilities.to_numpy()
    assert np.abs(ancestors - problem.truth.ancestors).max() < error
    collider = weighted.estimate("a -> c <- b")
    truth = problem.mean(lambda dag: ("a", "c", "b") in dag.v_structures)
    assert abs(collider.value - truth) < 5 * collider.mcse


def test_only_order_chains_are_corrected(order_on_three):
    problem = edges_problem(3)
    for posterior in (problem.learn(seed=1), order_on_three.reweighted("linear_extensions")):
        with pytest.raises(OptionError, match="corrects what method='order' returns"):
            posterior.reweighted("linear_extensions")


def test_correction_and_prior_together(order_on_three):
    both = order_on_three.reweighted("linear_extensions").reweighted(prefers_one_root)
    truth = listed_mean(edges_problem(3), prefers_one_root, lambda dag: dag.n_edges)
    found = both.estimate(lambda dag: dag.n_edges)
    assert abs(found.value - truth) < 5 * found.mcse
    assert both.converged is True
    biased = order_on_three.reweighted(prefers_one_root)
    assert biased.converged is False
    assert "biased" in biased.verdict


# Priors and classes, without sampling error


@pytest.mark.parametrize(
    ("by", "log_weight"),
    [("equivalence_classes", by_classes), (prefers_one_root, prefers_one_root)],
    ids=["classes", "prior"],
)
@pytest.mark.parametrize("n", first([3, 4]))
@pytest.mark.filterwarnings("ignore::outpoint.WeightWarning")  # few draws, as chains go
def test_all_answers_with_all_dags(n, by, log_weight):
    problem = random_problem(n)
    posterior = with_all_dags(problem, by)
    names = problem.names
    for a in names:
        for b in set(names) - {a}:
            for found, function in (
                (posterior.edge_probabilities.loc[a, b], lambda d, a=a, b=b: d.has_edge(a, b)),
                (
                    posterior.ancestor_probabilities.loc[a, b],
                    lambda d, a=a, b=b: a in d.ancestors(b),
                ),
                (
                    posterior.cpdag_probabilities.loc[a, b],
                    lambda d, a=a, b=b: (a, b) in d.cpdag().directed,
                ),
                (posterior.probability(f"{a} -> {b}"), lambda d, a=a, b=b: d.has_edge(a, b)),
            ):
                assert found == pytest.approx(listed_mean(problem, log_weight, function), abs=1e-12)
    for parents, probability in posterior.parent_set_probabilities("b", at_least=0):
        truth = listed_mean(problem, log_weight, lambda d, p=parents: d.parents("b") == p)
        assert probability == pytest.approx(truth, abs=1e-12)
    first = posterior.top_dags(1).iloc[0]
    truth = listed_mean(problem, log_weight, lambda d: d == first["graph"])
    assert first["probability"] == pytest.approx(truth)
    scores = [
        w + log_weight(dag) for w, dag in zip(problem.truth.log_weights, problem.dags, strict=True)
    ]
    assert posterior.map_log_score == pytest.approx(max(scores))
    assert posterior.map_dag == problem.dags[int(np.argmax(scores))] == first["graph"]
    assert first["log_score"] == pytest.approx(max(scores))


@pytest.mark.filterwarnings("ignore::outpoint.WeightWarning")
def test_each_class_once():
    """With all scores equal, every class is as probable as every other."""
    problem = Listed(tuple("abcd"), lambda v, parents: 0.0, random_problem(4).truth)
    exact = problem.learn(seed=2)
    draws = problem.truth.adjacencies[None]
    graphs = WeightedGraphs.from_draws(Draws.from_arrays(draws, np.zeros((1, 543))))
    table = reweight(exact, graphs, "equivalence_classes").top_cpdags(200)
    assert len(table) == 185
    np.testing.assert_allclose(table["probability"], 1 / 185)


def test_prior_from_draws():
    """The non-modular prior on exact and on sampled draws, at 5 standard errors."""
    problem = random_problem(4)
    features = (
        lambda dag: dag.n_edges,
        lambda dag: dag.has_edge("a", "b"),
        lambda dag: sum(not parents for parents in dag.parent_sets) == 1,
    )
    for posterior in (problem.learn(seed=1), problem.learn("mcmc", steps=20_000, seed=1)):
        weighted = posterior.reweighted(prefers_one_root)
        assert weighted.converged is True
        assert weighted.effective_sample_size > 300
        for feature in features:
            truth = listed_mean(problem, prefers_one_root, feature)
            found = weighted.estimate(feature)
            assert abs(found.value - truth) < 5 * found.mcse
    moved = abs(problem.mean(features[2]) - listed_mean(problem, prefers_one_root, features[2]))
    assert moved > 0.1, "the prior matters"


def test_standard_errors_are_right():
    """Over 60 independent samples z-scores have mean square 1, within 5 of its standard errors.

    That error is sqrt(2/60): another seed fails with probability below 1e-5.
    """

    def sparse(dag: Dag) -> float:
        return -1.5 * dag.n_edges

    problem = random_problem(3)
    truth = listed_mean(problem, sparse, lambda dag: dag.has_edge("a", "b"))
    squares = []
    for seed in range(60):
        weighted = problem.learn(seed=seed).reweighted(sparse, n_draws=2000)
        found = weighted.estimate("a -> b")
        row = weighted.diagnostics().query("parent == 'a' and child == 'b'").iloc[0]
        assert row["mcse"] == pytest.approx(found.mcse, rel=1e-9)
        squares.append(((found.value - truth) / found.mcse) ** 2)
    assert abs(np.mean(squares) - 1) < 5 * math.sqrt(2 / 60)
    uneven = weighted.kish_effective_sample_size / 2000
    assert uneven < 0.5, "an error that ignored the weights would be noticed"


# Weights


def test_weights_and_draws_go_together():
    posterior = random_problem(3).learn("mcmc", steps=4000, draws=1000, seed=1)
    weighted = posterior.reweighted(prefers_one_root)
    assert weighted.weights.dims == ("chain", "draw")
    assert float(weighted.weights.sum()) == pytest.approx(1)
    factors = np.array([math.exp(prefers_one_root(dag)) for dag in weighted.iter_dags()])
    np.testing.assert_allclose(weighted.weights.to_numpy().ravel(), factors / factors.sum())
    np.testing.assert_array_equal(weighted.dags(), posterior.dags())
    np.testing.assert_allclose(
        weighted.log_scores, posterior.log_scores + np.log(factors).reshape(4, -1)
    )
    kish = factors.sum() ** 2 / (factors**2).sum()
    assert weighted.kish_effective_sample_size == pytest.approx(kish)
    assert 0 < weighted.effective_sample_size <= kish * (1 + 1e-12)
    assert weighted.largest_weight == pytest.approx(factors.max() / factors.sum())


def test_equal_weights_change_nothing():
    posterior = random_problem(3).learn("mcmc", steps=4000, seed=1)
    weighted = posterior.reweighted(lambda dag: 7.0)
    assert weighted.kish_effective_sample_size == pytest.approx(4000)
    matrices = posterior.dags().mean(("chain", "draw"))
    np.testing.assert_allclose(weighted.edge_probabilities, matrices, atol=1e-12)
    assert weighted.estimate("a -> b").mcse == pytest.approx(
        posterior.estimate(lambda dag: dag.has_edge("a", "b")).mcse, rel=1e-6
    )


def test_weights_that_fail():
    posterior = random_problem(4).learn(seed=1)
    with pytest.warns(op.WeightWarning, match="10,000 draws are worth"):
        weighted = posterior.reweighted(lambda dag: -40.0 * dag.n_edges)
    assert weighted.converged is False
    assert weighted.verdict.startswith("not to be trusted: weighted by")
    assert weighted.effective_sample_size < 100
    one = weighted.weight_failure
    assert one is not None
    assert "of the weight" in one


def test_sticky_chains_are_worth_less():
    """The same draws, each repeated 50 times in a row."""
    problem = random_problem(3)
    numbers = np.random.default_rng(1).choice(25, (2, 40), p=problem.truth.probabilities)
    posterior = problem.learn(seed=1)

    def weighted(chains: np.ndarray) -> WeightedPosterior:
        truth = problem.truth
        draws = Draws.from_arrays(truth.adjacencies[chains], truth.log_weights[chains])
        return reweight(posterior, WeightedGraphs.from_draws(draws), prefers_one_root)

    sticky = np.repeat(numbers, 50, axis=1)
    with pytest.warns(op.WeightWarning):
        few = weighted(sticky)
    assert few.kish_effective_sample_size > 500
    assert few.effective_sample_size < few.kish_effective_sample_size / 10


def test_disagreeing_order_chains_are_not_converged():
    """Two chains that never leave different DAGs of the same weight."""
    problem = edges_problem(3)
    order = problem.learn("order", steps=100, seed=1)
    truth = problem.truth
    numbers = np.flatnonzero(truth.adjacencies.sum(axis=(1, 2)) == 1)[:2].repeat(200).reshape(2, -1)
    draws = Draws.from_arrays(truth.adjacencies[numbers], truth.log_weights[numbers])
    weighted = reweight(order, WeightedGraphs.from_draws(draws), "linear_extensions")
    assert weighted.weight_failure is None
    assert weighted.converged is False
    assert "2 chains disagree" in weighted.verdict
    single = problem.learn("order", steps=20_000, chains=1, draws=2000, seed=1)
    alone = single.reweighted("linear_extensions")
    assert alone.converged is False
    assert alone.verdict.startswith("unknown: a single chain")


@pytest.mark.parametrize("by", ["extensions", 3, None])
def test_unknown_weights(by):
    with pytest.raises(OptionError, match="by must be a function"):
        random_problem(3).learn(seed=1).reweighted(by)


@pytest.mark.parametrize(
    ("value", "message"),
    [(math.nan, "NaN"), (math.inf, "NaN"), (-math.inf, "all draws have weight 0")],
)
def test_impossible_weights(value, message):
    with pytest.raises(OptionError, match=message):
        random_problem(3).learn(seed=1).reweighted(lambda dag: value)


def test_some_graphs_may_be_excluded():
    posterior = random_problem(3).learn(seed=1)
    weighted = posterior.reweighted(lambda dag: -math.inf if dag.has_edge("a", "b") else 0.0)
    assert weighted.probability("a -> b") == 0
    truth = listed_mean(
        random_problem(3),
        lambda dag: -math.inf if dag.has_edge("a", "b") else 0.0,
        lambda dag: dag.has_edge("b", "c"),
    )
    found = weighted.estimate("b -> c")
    assert abs(found.value - truth) < 5 * found.mcse


def test_linear_extensions_are_the_weights(order_on_three):
    weighted = order_on_three.reweighted("linear_extensions")
    dags = list(weighted.iter_dags())[:50]
    weights = weighted.weights.to_numpy().ravel()[:50]
    ratio = [w * count_linear_extensions(dag) for w, dag in zip(weights, dags, strict=True)]
    np.testing.assert_allclose(ratio, ratio[0])

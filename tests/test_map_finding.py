"""``find_map``: the best DAG by every method, with every kind of knowledge, and what it says."""

from pathlib import Path

import numpy as np
import pytest

import outpoint as op
from outpoint.errors import DataError, OptionError, TooLargeError
from outpoint.graphs import count_linear_extensions
from outpoint.scores import build_prior
from tests.exact.problems import names_of
from tests.reference import enumerate_posterior

RNG = np.random.default_rng(5)
DAG = op.random_dag(5, RNG, names=names_of(5))
DATA = op.simulate(DAG, 80, RNG, coefficients=(0.3, 1.0))
KNOWLEDGE = {
    "none": {},
    "forbidden": {"forbidden": [("a", "b"), ("b", "a"), ("c", "d")]},
    "required": {"required": [("a", "e"), ("e", "c")]},
    "tiers": {"tiers": [["d", "e"], ["a"]]},
    "roots": {"roots": ["b", "c"]},
    "edge prior": {"edge_prior": 0.05},
    "uniform": {"structure_prior": "uniform"},
    "max_parents": {"max_parents": 1},
}
METHODS = {
    "exact": {"method": "exact"},
    "orders": {"method": "search", "runs": 5, "steps": 500},
    "partitions": {"method": "search", "space": "partition", "runs": 10, "steps": 1000},
    "hill_climb": {"method": "hill_climb"},
}


def known_of(options: dict) -> op.Knowledge:
    """The knowledge among the options."""
    other = ("max_parents", "structure_prior")
    return op.Knowledge(**{key: value for key, value in options.items() if key not in other})


def best_by_listing(knowledge: dict) -> float:
    """The best log score of all 29,281 DAGs."""
    limit = knowledge.get("max_parents", 4)
    prior = build_prior(
        DATA.names,
        structure_prior=knowledge.get("structure_prior", "fair"),
        knowledge=known_of(knowledge),
    )
    scorer = op.BGe().bind(DATA)

    def score(child: int, parents: tuple[int, ...]) -> float:
        if len(parents) > limit:
            return -np.inf
        family = scorer.families(child, np.array([parents], dtype=np.int16))
        return float(family[0]) + prior.log_weight(child, parents)

    return enumerate_posterior(5, score).best_log_score


@pytest.mark.parametrize("knowledge", KNOWLEDGE.values(), ids=list(KNOWLEDGE))
def test_every_method_finds_the_best_of_all_dags(knowledge: dict) -> None:
    optimum = best_by_listing(knowledge)
    prior = {k: v for k, v in knowledge.items() if k == "structure_prior"}
    known = known_of(knowledge)
    for method, options in METHODS.items():
        result = op.find_map(DATA, seed=1, **options, **knowledge)
        assert result.log_score == pytest.approx(optimum, abs=1e-8), method
        found = op.log_score(DATA, result.dag, knowledge=known, **prior)
        assert found == pytest.approx(optimum, abs=1e-8)
        assert result.hits >= 1
        for edge in knowledge.get("required", ()):
            assert result.dag.has_edge(*edge)
        for edge in knowledge.get("forbidden", ()):
            assert not result.dag.has_edge(*edge)


def test_knowledge_as_one_value(tmp_path: Path) -> None:
    options = {"required": [("e", "a")], "roots": ["d"], "edge_prior": 0.3}
    expected = op.find_map(DATA, **options)
    known = op.Knowledge(**options)
    known.write(tmp_path / "known.toml")
    for form in (known, tmp_path / "known.toml", str(tmp_path / "known.toml")):
        found = op.find_map(DATA, knowledge=form)
        assert (found.dag, found.log_score) == (expected.dag, expected.log_score)
    assert expected.dag != op.find_map(DATA).dag


def test_the_exact_result() -> None:
    raw, paper = op.BGe(standardize=False), {"max_parents": 3, "structure_prior": "uniform"}
    result = op.find_map("boston", raw, seed=3, **paper)
    assert (result.method, result.hits, result.runs, result.miss_probability) == ("exact", 1, 1, 0)
    assert result.is_proven
    assert result.log_score == pytest.approx(-20419.778010134, abs=1e-6)
    assert result.dag.is_equivalent(op.learn("boston", raw, **paper).map_dag)
    assert result.cpdag == result.dag.cpdag()
    assert result.verdict.startswith("This is the best DAG")
    assert (result.score, result.max_parents, result.seed) == ("bge", 3, 3)
    assert repr(result).startswith("MapResult(log_score=-20419.778010, method='exact', 1 of 1 runs")


def test_the_result_of_a_search() -> None:
    result = op.find_map("asia", method="search", runs=12, steps=800, seed=1)
    exact = op.find_map("asia")
    assert result.log_score == pytest.approx(exact.log_score, abs=1e-8)
    assert result.dag.is_equivalent(exact.dag)
    assert (result.method, result.space, result.runs, result.n_steps) == (
        "search",
        "order",
        12,
        800,
    )
    assert result.hits == np.sum(result.run_log_scores > exact.log_score - 1e-6)
    n_orders = count_linear_extensions(result.dag)
    assert (result.n_linear_extensions, result.linear_extensions_exact) == (n_orders, True)
    expected = (1 - result.hits / (n_orders * 12)) ** 12
    assert result.miss_probability == pytest.approx(expected)
    assert f"{result.hits} of 12 runs found it; as it has {n_orders:,} orders" in result.verdict
    in_partitions = op.find_map("asia", space="partition", runs=12, seed=1)
    assert in_partitions.n_linear_extensions is None
    expected = (1 - in_partitions.hits / 12) ** 12
    assert in_partitions.miss_probability == pytest.approx(expected)


def test_hill_climbing_gives_no_bound() -> None:
    result = op.find_map("asia", method="hill_climb", runs=7, seed=1)
    assert (result.runs, result.miss_probability, result.space) == (7, None, None)
    assert "no bound" in result.verdict
    assert len(result.run_log_scores) == 7


@pytest.mark.parametrize("method", ["search", "hill_climb"])
def test_seeds(method: str) -> None:
    first, same, other = (
        op.find_map("asia", method=method, runs=3, seed=seed) for seed in (1, 1, 2)
    )
    assert first.dag == same.dag
    np.testing.assert_array_equal(first.run_log_scores, same.run_log_scores)
    assert first.seed == 1
    assert other.seed == 2
    assert op.find_map("asia").seed != op.find_map("asia").seed


@pytest.mark.parametrize("options", METHODS.values(), ids=list(METHODS))
def test_equivalent_optima_are_one_class(options: dict) -> None:
    """A score equivalent score: all optima of these data are in one class."""
    result = op.find_map(DATA, seed=1, **options)
    assert result.optima == (result.dag,)
    assert "not Markov equivalent" not in result.verdict


def test_different_classes_with_the_same_score_are_reported() -> None:
    # One edge counts, a -> b or c -> b but not both: two classes tie, and denser DAGs with them.
    data = op.Dataset(("a", "b", "c"), np.zeros((1, 3)))
    only = op.CustomScore(lambda v, parents: 1.0 if (v, parents) in ((1, (0,)), (1, (2,))) else 0.0)
    exact = op.find_map(data, score=only, method="exact", seed=1)
    assert {dag.skeleton for dag in exact.optima} >= {(("a", "b"),), (("b", "c"),)}
    assert "not Markov equivalent" in exact.verdict
    assert exact.dag.n_edges == 1, "the sparsest one is the first"


def test_more_than_twenty_nodes_with_sets_outside_the_candidates() -> None:
    rng = np.random.default_rng(3)
    dag = op.random_dag(24, rng, law="erdos_renyi", edge_probability=0.12)
    data = op.simulate(dag, 300, rng)
    found = op.find_map(data, max_parents=2, method="auto", n_candidates=3, runs=5, seed=1)
    assert (found.method, found.n_candidates) == ("search", 3)
    wide = op.find_map(data, max_parents=2, runs=5, seed=2)
    assert wide.n_candidates == 10
    assert found.log_score == pytest.approx(wide.log_score, abs=1e-7)
    climbed = op.find_map(data, max_parents=2, method="hill_climb", runs=5, seed=1)
    assert climbed.log_score <= wide.log_score + 1e-7
    assert climbed.log_score == pytest.approx(op.log_score(data, climbed.dag), abs=1e-7)
    assert found.log_score > op.log_score(data, op.Dag.empty(data.names)) + 100


def test_a_result_starts_the_samplers() -> None:
    result = op.find_map("asia", method="search", runs=5)
    posterior = op.learn(
        "asia", method="mcmc", start=result.dag, chains=2, steps=2000, warmup=0, seed=1
    )
    assert posterior.map_log_score == pytest.approx(result.log_score, abs=1e-8)


def test_penalised_likelihood() -> None:
    for score in ("bic", op.BIC(penalty=2.0)):
        exact = op.find_map("boston", score=score, max_parents=3)
        searched = op.find_map("boston", score=score, max_parents=3, method="search", seed=1)
        assert exact.log_score == pytest.approx(searched.log_score, abs=1e-6)
        assert exact.score == "bic"
    dense, sparse = (
        op.find_map("boston", score=op.BIC(penalty=p), max_parents=3).dag.n_edges for p in (1, 20)
    )
    assert sparse < dense


def test_penalised_likelihood_in_learn() -> None:
    posterior = op.learn("asia", score="bic")
    best = op.find_map("asia", score="bic")
    assert posterior.map_log_score == pytest.approx(best.log_score, abs=1e-9)
    assert posterior.info.score == "bic"


@pytest.mark.parametrize("options", METHODS.values(), ids=list(METHODS))
def test_two_variables(options: dict) -> None:
    x = np.random.default_rng(1).normal(size=50)
    data = op.Dataset(("a", "b"), np.column_stack([x, x + 0.1 * np.sin(np.arange(50))]))
    result = op.find_map(data, seed=1, **options)
    assert result.dag.skeleton == (("a", "b"),)
    assert result.cpdag.undirected == (("a", "b"),)


def test_progress_is_reported() -> None:
    seen = []
    op.find_map(
        "asia", method="search", runs=4, progress=lambda now: seen.append((now.stage, now.fraction))
    )
    assert seen[0] == ("scoring parent sets", 0.0)
    assert seen[-1] == ("searching", 1.0)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "best"}, OptionError, "method must be one of .*hill_climb, not 'best'"),
        ({"space": "dag"}, OptionError, "space must be one of order, partition, not 'dag'"),
        ({"runs": 0}, OptionError, "runs must be a whole number from 1"),
        ({"method": "search", "steps": 0}, OptionError, "steps must be a whole number from 1"),
        ({"method": "hill_climb", "tabu": -1}, OptionError, "tabu must be a whole number from 0"),
        ({"method": "hill_climb", "patience": 0}, OptionError, "patience must be a whole number"),
        ({"method": "hill_climb", "steps": 5}, OptionError, "steps belongs to method 'search'"),
        ({"method": "exact", "runs": 5}, OptionError, "runs belongs to"),
        ({"method": "exact", "space": "partition"}, OptionError, "space belongs to"),
        ({"method": "exact", "memory_limit": 1e6}, TooLargeError, "method='search'"),
        ({"seed": -1}, OptionError, "seed must be a whole number from 0"),
        ({"required": [("asia", "no")]}, OptionError, "'no'"),
        ({"score": "bge"}, DataError, "BGe needs continuous"),
    ],
)
def test_bad_options(options: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        op.find_map("asia", **options)


def test_no_admissible_dag() -> None:
    never = op.CustomScore(lambda v, parents: -np.inf if v == 0 else 0.0)
    data = op.Dataset(("a", "b", "c"), np.zeros((1, 3)))
    for options in METHODS.values():
        with pytest.raises(OptionError, match="no admissible DAG was found"):
            op.find_map(data, score=never, **options)

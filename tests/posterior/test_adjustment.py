"""Adjustment sets ranked by their probability, against a listing of all DAGs."""

import numpy as np
import pytest

import outpoint as op
from outpoint.errors import OptionError
from outpoint.posterior.designs import rank_adjustment_sets
from tests.graphs.test_adjustment import SETS, X, Y, adjusts
from tests.posterior.problems import all_graphs, random_problem


def test_ranking_against_all_dags():
    problem = random_problem(4)
    table = rank_adjustment_sets(all_graphs(problem), problem.names, X, Y, 10)
    valid = {
        given: problem.truth.probabilities
        @ np.array([adjusts(dag, set(given)) for dag in problem.truth.adjacencies])
        for given in SETS
    }
    assert len(table) == len(SETS)
    for row in table.itertuples():
        nodes = tuple(problem.names.index(name) for name in row.adjustment_set)
        assert row.probability == pytest.approx(valid[nodes], abs=1e-12)
        assert row.size == len(nodes)
    assert list(table["probability"]) == sorted(table["probability"], reverse=True)
    reaches = problem.mean(lambda dag: "a" in dag.ancestors("d"))
    assert table["optimal"].sum() == pytest.approx(reaches, abs=1e-12)


def test_posterior_and_feature_agree():
    posterior = random_problem(4).learn(seed=1)
    table = posterior.adjustment_sets("a", "d", n=3)
    assert len(table) == 3
    for row in table.itertuples():
        feature = f"adjusts({{{', '.join(row.adjustment_set)}}}, a, d)"
        assert posterior.probability(feature) == pytest.approx(row.probability, abs=1e-12)
    weighted = posterior.reweighted(lambda dag: 3.0 if dag.has_edge("d", "a") else 0.0)
    heaviest = weighted.adjustment_sets("a", "d")["probability"].iloc[0]
    assert heaviest < table["probability"].iloc[0], "no set is valid where d -> a"


def test_stored_runs_answer_the_same(tmp_path):
    posterior = op.learn("asia", method="mcmc", steps=500, chains=2, seed=1)
    posterior.save(tmp_path / "run.nc")
    again = op.load(tmp_path / "run.nc")
    first, second = (one.adjustment_sets("smoke", "dysp") for one in (posterior, again))
    assert first.equals(second)
    assert len(first) > 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("a", "a"), "'a' is both the cause and the effect"),
        (("a", "zz"), "'zz' is not one of the variables"),
        (("a", "b", 0), "from 1 to .*, not 0"),
    ],
)
def test_refusals(words, message):
    with pytest.raises(OptionError, match=message):
        random_problem(4).learn(seed=1).adjustment_sets(*words)

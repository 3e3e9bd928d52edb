"""The answers of a posterior agree with each other and with the scores they come from."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import outpoint as op

NAMES = ["a", "b", "c", "d", "e"]
RNG = np.random.default_rng(21)
DATA = op.simulate(
    op.Dag.from_edges(NAMES, [("a", "b"), ("b", "c"), ("d", "c"), ("c", "e")]),
    50,
    RNG,
    coefficients=(0.4, 0.9),
)


@pytest.fixture(scope="module")
def posterior() -> op.Posterior:
    return op.learn(DATA, seed=8, edge_prior=0.3)


@pytest.mark.parametrize(
    ("table", "labels"),
    [
        ("edge_probabilities", ("parent", "child")),
        ("ancestor_probabilities", ("ancestor", "descendant")),
    ],
)
def test_tables(posterior: op.Posterior, table: str, labels: tuple[str, str]) -> None:
    frame = getattr(posterior, table)
    assert isinstance(frame, pd.DataFrame)
    assert frame.shape == (5, 5)
    assert list(frame.index) == list(frame.columns) == NAMES
    assert (frame.index.name, frame.columns.name) == labels
    assert ((frame >= 0) & (frame <= 1)).all(axis=None)
    assert (np.diag(frame) == 0).all()
    opposite = frame + frame.to_numpy().T
    assert (opposite <= 1 + 1e-12).all(axis=None), "both directions at once are impossible"


def test_a_parent_is_an_ancestor(posterior: op.Posterior) -> None:
    edges, ancestors = posterior.edge_probabilities, posterior.ancestor_probabilities
    assert (ancestors.to_numpy() >= edges.to_numpy() - 1e-12).all()
    assert (ancestors.to_numpy() > edges.to_numpy() + 1e-3).any()


def test_labels_belong_to_their_columns() -> None:
    """Shuffled columns give the same answers by name."""
    order = ["d", "a", "e", "c", "b"]
    straight = op.learn(DATA.to_frame())
    shuffled = op.learn(DATA.to_frame()[order])
    assert shuffled.names == tuple(order)
    for table in ("edge_probabilities", "ancestor_probabilities"):
        moved = getattr(shuffled, table).loc[NAMES, NAMES]
        np.testing.assert_allclose(moved, getattr(straight, table), atol=1e-9)
    assert straight.log_evidence == pytest.approx(shuffled.log_evidence, abs=1e-8)


def test_draws(posterior: op.Posterior) -> None:
    dags = posterior.dags(300)
    assert isinstance(dags, xr.DataArray)
    assert dags.dims == ("chain", "draw", "parent", "child")
    assert dags.shape == (1, 300, 5, 5)
    assert dags.dtype == np.bool_
    assert dags.coords["parent"].values.tolist() == NAMES
    assert dags.coords["child"].values.tolist() == NAMES
    assert [dag.adjacency.tolist() for dag in posterior.iter_dags(300)] == dags[0].values.tolist()


def test_default_draws_and_their_scores(posterior: op.Posterior) -> None:
    scores = posterior.log_scores
    assert scores.dims == ("chain", "draw")
    assert scores.shape == (1, 1000)
    assert posterior.dags().shape == (1, 1000, 5, 5)
    assert float(scores.max()) <= posterior.map_log_score + 1e-9


def test_log_scores_are_those_of_the_drawn_dags(posterior: op.Posterior) -> None:
    """Draws that repeat are scored once."""
    drawn = {}
    for dag, score in zip(posterior.iter_dags(), posterior.log_scores[0].values, strict=True):
        drawn.setdefault(dag, set()).add(float(score))
    assert len(drawn) > 100
    for dag, scores in list(drawn.items())[:150]:
        assert max(scores) - min(scores) < 1e-9
        expected = op.log_score(DATA, dag, edge_prior=0.3)
        assert max(scores) == pytest.approx(expected, abs=1e-8)


def test_draws_follow_the_edge_probabilities(posterior: op.Posterior) -> None:
    """20 edges at five standard errors: another seed fails with probability 20 * 6e-7."""
    n_draws = 4000
    exact = posterior.edge_probabilities.to_numpy()
    found = posterior.dags(n_draws).mean(("chain", "draw")).values
    error = np.sqrt(exact * (1 - exact) / n_draws)
    assert (np.abs(found - exact) <= 5 * error + 1e-12).all()
    assert (np.abs(found - exact.T) > 5 * error).any(), "the transposed table would be noticed"


def test_same_seed_same_draws(posterior: op.Posterior) -> None:
    again = op.learn(DATA, seed=8, edge_prior=0.3)
    other = op.learn(DATA, seed=9, edge_prior=0.3)
    xr.testing.assert_identical(posterior.dags(), again.dags())
    xr.testing.assert_identical(posterior.log_scores, again.log_scores)
    xr.testing.assert_identical(posterior.dags(77), again.dags(77))
    assert not (posterior.dags() == other.dags()).all()
    np.testing.assert_array_equal(posterior.edge_probabilities, other.edge_probabilities)


def test_probability_of_features(posterior: op.Posterior) -> None:
    assert posterior.probability(lambda dag: True) == 1
    assert posterior.probability(lambda dag: False, 10) == 0
    n_edges = posterior.probability(lambda dag: len(dag.edges))
    assert n_edges == pytest.approx(posterior.dags().values.sum() / 1000)
    drawn = posterior.dags().sel(parent="b", child="c").mean()
    assert posterior.probability(lambda dag: ("b", "c") in dag.edges) == pytest.approx(float(drawn))


def test_feature_errors_reach_the_user(posterior: op.Posterior) -> None:
    with pytest.raises(ZeroDivisionError):
        posterior.probability(lambda dag: 1 / 0)


@pytest.mark.parametrize("n_draws", [0, -1, 2.5, True, "9"])
def test_number_of_draws(posterior: op.Posterior, n_draws: int) -> None:
    for ask in (posterior.dags, lambda n: list(posterior.iter_dags(n))):
        with pytest.raises(op.OptionError, match="whole number from 1"):
            ask(n_draws)
    with pytest.raises(op.OptionError, match="whole number from 1"):
        posterior.probability(lambda dag: True, n_draws)


@pytest.mark.parametrize("child", NAMES)
def test_parent_sets_agree_with_edges(posterior: op.Posterior, child: str) -> None:
    sets = posterior.parent_set_probabilities(child, at_least=0.0)
    assert len({parents for parents, _ in sets}) == len(sets) == 16
    probabilities = [probability for _, probability in sets]
    assert probabilities == sorted(probabilities, reverse=True)
    assert sum(probabilities) == pytest.approx(1, abs=1e-10)
    for parent in NAMES:
        total = sum(probability for parents, probability in sets if parent in parents)
        expected = posterior.edge_probabilities.loc[parent, child]
        assert total == pytest.approx(expected, abs=1e-10)


def test_parent_sets_above_a_threshold(posterior: op.Posterior) -> None:
    everything = posterior.parent_set_probabilities("c", at_least=0.0)
    common = posterior.parent_set_probabilities("c", at_least=0.05)
    assert 0 < len(common) < len(everything)
    assert common == [pair for pair in everything if pair[1] >= 0.05]
    assert posterior.parent_set_probabilities(2) == posterior.parent_set_probabilities("c")
    with pytest.raises(op.OptionError, match="'z' is not one of the variables"):
        posterior.parent_set_probabilities("z")


def test_best_dag(posterior: op.Posterior) -> None:
    best = posterior.map_dag
    assert best.names == tuple(NAMES)
    assert op.log_score(DATA, best, edge_prior=0.3) == pytest.approx(posterior.map_log_score)
    expected = np.exp(posterior.map_log_score - posterior.log_evidence)
    assert posterior.map_probability == pytest.approx(expected)
    assert 0 < posterior.map_probability < 1
    neighbours = [
        op.Dag.from_edges(NAMES, [other for other in best.edges if other != edge])
        for edge in best.edges
    ]
    assert neighbours
    assert all(
        op.log_score(DATA, dag, edge_prior=0.3) < posterior.map_log_score for dag in neighbours
    )


def test_diagnostics(posterior: op.Posterior) -> None:
    table = posterior.diagnostics()
    assert list(table.columns) == [
        *("parent", "child", "probability", "mcse", "rhat", "ess", "ess_tail", "status")
    ]
    assert len(table) == 20
    assert (table["parent"] != table["child"]).all()
    assert table["probability"].is_monotonic_decreasing
    for row in table.itertuples():
        assert row.probability == posterior.edge_probabilities.loc[row.parent, row.child]
    assert (table["mcse"] == 0).all()
    assert table[["rhat", "ess", "ess_tail"]].isna().all(axis=None)
    assert set(table["status"]) == {"exact"}


def test_verdict(posterior: op.Posterior) -> None:
    assert posterior.converged is True
    assert posterior.verdict.startswith("exact: ")
    assert "over all DAGs; no sampling" in posterior.verdict
    limited = op.learn(DATA, max_parents=3)
    assert "over all DAGs with at most 3 parents per node; no sampling" in limited.verdict
    assert posterior.method == "exact"


def test_repr(posterior: op.Posterior) -> None:
    shown = repr(posterior)
    assert "exact, 5 nodes, 50 observations, score bge" in shown
    assert "\n" not in shown


def test_two_variables() -> None:
    """Three DAGs whose weights can be worked out by hand."""
    data = DATA.to_frame()[["a", "b"]]
    empty, forward, backward = (
        op.log_score(data, op.Dag.from_edges(["a", "b"], edges))
        for edges in ([], [("a", "b")], [("b", "a")])
    )
    total = np.logaddexp.reduce([empty, forward, backward])
    posterior = op.learn(data)
    assert posterior.log_evidence == pytest.approx(total, abs=1e-10)
    assert posterior.edge_probabilities.loc["a", "b"] == pytest.approx(np.exp(forward - total))
    assert posterior.ancestor_probabilities.loc["b", "a"] == pytest.approx(np.exp(backward - total))
    assert posterior.parent_set_probabilities("a")[0][0] in ((), ("b",))

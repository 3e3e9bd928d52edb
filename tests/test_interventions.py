"""Learning from experiments: posterior, samplers, best DAG, effects, files, everything that wires.

What is compared is the posterior over all DAGs on four nodes from scores predicted row by row.
"""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import outpoint as op
from outpoint.errors import OptionError
from outpoint.graphs.validation import find_separated
from outpoint.posterior.effects import GaussianModel
from outpoint.posterior.files import run_again
from outpoint.report.facts import list_grounds, list_settings
from tests.quick_choice import choose_quickly
from tests.reference import enumerate_posterior
from tests.scores.prequential import predict_categorical, predict_gaussian

NAMES = ("a", "b", "c", "d")
DAG = op.Dag.from_edges(NAMES, [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")])
"""Without experiments no edge has a direction but in the class of one v-structure less."""

EXPERIMENTS = [()] * 30 + [("b",)] * 15 + [("a", "d")] * 15
TARGETS = ((), ("b",), ("a", "d"))


def simulated(kind: str, entries: list = EXPERIMENTS, seed: int = 3) -> op.Dataset:
    return op.simulate(
        DAG, len(entries), seed, kind=kind, coefficients=(0.4, 0.9), interventions=entries
    )


def reference(data: op.Dataset):
    """The posterior by listing all DAGs, scores predicted row by row."""
    if data.is_continuous:
        columns = np.split(data.standardized().values, 4, axis=1)
        return enumerate_posterior(
            4, lambda v, parents: predict_gaussian(columns, ~data.is_set[:, v], v, parents)
        )
    sizes = data.cardinalities.tolist()
    return enumerate_posterior(
        4,
        lambda v, parents: predict_categorical(
            data.codes, sizes, ~data.is_set[:, v], v, parents, 1.0
        ),
    )


@pytest.mark.parametrize("kind", ["gaussian", "categorical"])
def test_exact_posterior_against_enumeration(kind):
    data = simulated(kind)
    true = reference(data)
    post = op.learn(data, seed=1, structure_prior="uniform")
    assert post.log_evidence == pytest.approx(true.log_evidence, abs=1e-8)
    np.testing.assert_allclose(post.edge_probabilities, true.edges, atol=1e-9)
    np.testing.assert_allclose(post.ancestor_probabilities, true.ancestors, atol=1e-9)
    assert post.map_log_score == pytest.approx(true.best_log_score, abs=1e-8)
    assert post.info.targets == TARGETS
    best = op.find_map(data, structure_prior="uniform")
    assert best.log_score == pytest.approx(true.best_log_score, abs=1e-8)
    assert best.cpdag == best.dag.cpdag(TARGETS)
    found = op.log_score(data, best.dag, structure_prior="uniform")
    assert found == pytest.approx(true.best_log_score, abs=1e-8)


def test_classes_of_the_posterior_are_those_of_the_targets():
    data = simulated("gaussian")
    post = op.learn(data, method="mcmc", steps=2000, chains=2, draws=200, seed=1)
    draws = list(post.iter_dags())
    directed = np.mean([(g := dag.cpdag(TARGETS).adjacency) & ~g.T for dag in draws], axis=0)
    np.testing.assert_allclose(post.cpdag_probabilities, directed, atol=1e-12)
    # What targets separate is never reversible; without interventions it mostly is.
    separated = find_separated(NAMES, TARGETS)
    assert post.undirected_probabilities.to_numpy()[separated].max() == 0
    plain = op.learn(op.Dataset(NAMES, data.values), seed=1)
    assert plain.undirected_probabilities.to_numpy()[separated].max() > 0.3
    top = post.top_cpdags(3)["graph"][0]
    assert top in {dag.cpdag(TARGETS) for dag in draws}
    assert post.compare(DAG).expected_shd == pytest.approx(
        np.mean([dag.cpdag(TARGETS).shd(DAG.cpdag(TARGETS)) for dag in draws])
    )
    weighted = post.reweighted("equivalence_classes")
    weights = np.array([1 / op.count_members(dag, TARGETS) for dag in draws])
    expected = np.average([dag.adjacency for dag in draws], axis=0, weights=weights)
    np.testing.assert_allclose(weighted.edge_probabilities, expected, atol=1e-9)


def test_directions_turn_to_the_truth_as_rows_grow():
    """The edges that targets separate, in the chain a -> b -> c; observations leave them open."""
    chain = op.Dag.from_edges(["a", "b", "c"], [("a", "b"), ("b", "c")])
    true = []
    for n in (10, 40, 160):
        entries = [()] * n + [("b",)] * n
        data = op.simulate(chain, 2 * n, 5, coefficients=0.7, interventions=entries)
        edges = op.learn(data).edge_probabilities
        true.append([edges.loc["a", "b"], edges.loc["b", "c"]])
        only = op.learn(op.Dataset(data.names, data.values[:n])).edge_probabilities
        assert only.loc["b", "a"] > 0.2  # observations alone keep the other direction
    assert min(true[-1]) > 0.99
    assert np.diff(true, axis=0).min() > 0


@pytest.mark.parametrize(
    "options",
    [
        {"method": "mcmc"},
        {"method": "mcmc", "n_candidates": 2},
        {"method": "partition+rev"},
        {"method": "structure+rev"},
    ],
    ids=str,
)
def test_samplers_find_the_exact_posterior(options):
    """Within 0.05 of edges, about 8 standard errors of these short runs."""
    data = simulated("gaussian")
    exact = op.learn(data, method="exact").edge_probabilities
    found = op.learn(data, seed=2, steps=20_000, chains=2, **options)
    assert np.abs(found.edge_probabilities - exact).to_numpy().max() < 0.05
    assert found.info.targets == TARGETS


@pytest.mark.parametrize("method", ["search", "hill_climb"])
def test_searches_find_the_best_dag(method):
    data = simulated("categorical")
    exact = op.find_map(data, method="exact")
    found = op.find_map(data, method=method, seed=1)
    assert found.log_score == pytest.approx(exact.log_score, abs=1e-9)
    assert found.cpdag == exact.cpdag
    assert len(found.optima) == 1  # Markov equivalent DAGs are no longer ties


def test_more_variables_than_tables_hold(monkeypatch):
    """Narrowing and sampling; the edges of single targets point the right way."""
    choose_quickly(monkeypatch)
    rng = np.random.default_rng(1)
    dag = op.random_dag(24, rng, law="erdos_renyi", edge_probability=0.08)
    targets = [name for name in dag.names if dag.children(name)][:3]
    entries = [()] * 150 + [(name,) for name in targets for _ in range(60)]
    data = op.simulate(dag, len(entries), rng, coefficients="bounded", interventions=entries)
    post = op.learn(data, seed=1, chains=2, steps=2000, until_converged=False, max_parents=3)
    edges = post.edge_probabilities
    for parent in targets:
        for child in dag.children(parent):
            assert edges.loc[child, parent] < 0.05


def test_without_targets_everything_is_as_before(tmp_path):
    data = simulated("gaussian", [()] * 60)
    plain = op.Dataset(data.names, data.values)
    one = op.learn(data, seed=4, method="mcmc", steps=400, chains=2, interventions=[[]] * 60)
    two = op.learn(plain, seed=4, method="mcmc", steps=400, chains=2)
    one.save(tmp_path / "one.nc")
    two.save(tmp_path / "two.nc")
    assert one.info.fingerprint == two.info.fingerprint
    pd.testing.assert_frame_equal(one.edge_probabilities, two.edge_probabilities)
    assert (one.log_scores == two.log_scores).all()
    assert one.info.interventions == ()


def test_runs_are_recorded_and_made_again(tmp_path):
    data = simulated("gaussian")
    data.to_frame("set").to_csv(tmp_path / "data.csv", index=False)
    path = str(tmp_path / "data.csv")
    out = tmp_path / "run"
    post = op.learn(path, interventions="set", seed=5, max_parents=2, out=out)
    text = run_again(post)
    assert "interventions='set'" in text
    names: dict = {}
    exec(text, names)
    again = names["post"]
    assert again.log_evidence == post.log_evidence
    assert again.info.fingerprint == post.info.fingerprint == data.fingerprint()
    summary = json.loads((out / "summary.json").read_text())
    assert summary["interventions"] == [
        {"targets": [], "n_rows": 30},
        {"targets": ["b"], "n_rows": 15},
        {"targets": ["a", "d"], "n_rows": 15},
    ]
    assert summary["reading"] == {"interventions": "set"}
    loaded = op.load(out)
    assert loaded.info.interventions == post.info.interventions
    assert loaded.undirected_probabilities.to_numpy()[find_separated(NAMES, TARGETS)].max() == 0
    # 1,000 draws in the file against 10,000: 5 standard errors of at most 0.017.
    gap = (loaded.cpdag_probabilities - post.cpdag_probabilities).abs()
    assert gap.to_numpy().max() < 0.085
    assert "b set in 15 rows" in (out / "report.html").read_text(encoding="utf-8")
    told = "nothing set in 30 rows, b set in 15 rows, a and d set in 15 rows"
    assert ("Interventions", told) in list_grounds(loaded)
    assert ("Interventions", told) in list_settings(loaded)
    listed = op.learn(pd.read_csv(path)[list(NAMES)], interventions=EXPERIMENTS, max_parents=2)
    assert listed.log_evidence == post.log_evidence
    assert "the table (and its interventions) with the SHA-256" in run_again(listed)


def test_a_run_is_continued_with_the_same_interventions_only(tmp_path):
    data = simulated("gaussian")
    options = {"method": "mcmc", "chains": 2, "seed": 3, "out": tmp_path / "run"}
    op.learn(data, steps=400, **options)
    other = op.Dataset(data.names, data.values, interventions=EXPERIMENTS[::-1])
    for wrong in (other, op.Dataset(data.names, data.values)):
        with pytest.raises(op.CheckpointError, match="data was"):
            op.learn(wrong, steps=800, resume=True, **options)
    longer = op.learn(data, steps=800, resume=True, **options)
    assert longer.steps_per_chain == 800


def test_estimator():
    data = simulated("gaussian")
    frame = data.to_frame("set")
    learner = clone(op.OutpointLearner(interventions="set", seed=1)).fit(frame)
    expected = op.learn(data, seed=1)
    pd.testing.assert_frame_equal(learner.edge_support_, expected.edge_probabilities)
    listed = op.OutpointLearner(interventions=EXPERIMENTS, seed=1).fit(frame[list(NAMES)])
    pd.testing.assert_frame_equal(listed.edge_support_, learner.edge_support_)


def test_effects_use_the_rows_in_which_the_effect_was_not_set(tmp_path):
    """Coefficients against regressions on the right rows; all rows give others."""
    entries = [()] * 1000 + [("b",)] * 3000
    chain = op.Dag.from_edges(["a", "b", "c"], [("a", "b"), ("b", "c")])
    data = op.simulate(chain, 4000, 1, coefficients=2.0, interventions=entries)
    post = op.learn(data, seed=1)
    effects = post.causal_effects(n_draws=500)
    # Regression on 1,000 rows has standard error 0.03: 5 of them, false alarm 6e-7.
    assert effects.mean.loc["a", "b"] == pytest.approx(2.0, abs=0.16)
    assert effects.mean.loc["b", "c"] == pytest.approx(2.0, abs=0.08)
    assert effects.mean.loc["a", "c"] == pytest.approx(4.0, abs=0.4)
    assert effects.sd.loc["b", "c"] < effects.sd.loc["a", "b"]
    wrong = GaussianModel.from_scorer(
        op.BGe().bind(op.Dataset(data.names, data.values)), data.names
    )
    assert wrong is not None
    post.save(tmp_path / "post.nc")
    loaded = op.load(tmp_path / "post.nc").causal_effects(n_draws=500)
    pd.testing.assert_frame_equal(loaded.mean, effects.mean)
    post.model = wrong
    assert post.causal_effects(n_draws=500).mean.loc["a", "b"] < 1.5


def test_effects_of_a_variable_that_was_always_set():
    """A randomised treatment is a root: its effects are those of any cause."""
    names = ["treated", "b", "c", "alone"]  # nothing speaks against alone -> treated but a root
    chain = op.Dag.from_edges(names, [("treated", "b"), ("b", "c")])
    entries = [("treated",)] * 500
    data = op.simulate(chain, 500, 1, coefficients=2.0, interventions=entries)
    effects = op.learn(data, roots=["treated"]).causal_effects(n_draws=300)
    assert effects.mean.loc["treated", "c"] == pytest.approx(4.0, abs=0.6)
    open_ended = op.learn(data, allow_degenerate=True)
    with pytest.raises(OptionError, match="nothing is known about the effects on 'treated'"):
        open_ended.causal_effects(n_draws=300)

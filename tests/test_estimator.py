"""The estimator: the conventions of scikit-learn, and the same numbers as ``learn``."""

import inspect
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

import outpoint as op

LEFT_OUT = {
    *("data", "out", "overwrite", "resume", "checkpoint_seconds", "command", "progress"),
    *("search_effort", "pilots"),
}
"""What ``learn`` takes and an estimator does not: the data, and what is about files and shows, or
makes a run again that a clock has ended."""


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    a = rng.normal(size=60)
    b = 2 * a + rng.normal(size=60)
    return pd.DataFrame({"a": a, "b": b, "c": b - a + rng.normal(size=60)})


def test_fit_gives_what_learn_gives(frame):
    learner = op.OutpointLearner(max_parents=2, seed=1)
    assert learner.fit(frame) is learner
    posterior = op.learn(frame, max_parents=2, seed=1)
    pd.testing.assert_frame_equal(learner.edge_support_, posterior.edge_probabilities)
    assert learner.posterior_.log_evidence == posterior.log_evidence
    assert learner.causal_graph_ == posterior.map_dag
    np.testing.assert_array_equal(learner.adjacency_matrix_, posterior.map_dag.adjacency)
    assert set(learner.adjacency_matrix_.dtypes) == {np.dtype(np.int64)}
    assert list(learner.adjacency_matrix_.index) == ["a", "b", "c"]
    assert list(learner.feature_names_in_) == ["a", "b", "c"]
    assert learner.n_features_in_ == 3


def test_options_reach_the_sampler(frame):
    learner = op.OutpointLearner(method="mcmc", chains=2, steps=200, seed=4)
    learner.fit(frame.to_numpy(), None)  # columns of an array have names of their own
    assert learner.posterior_.method == "mcmc"
    assert learner.posterior_.edge_probabilities.shape == (3, 3)
    assert learner.n_features_in_ == 3


OPTIONS = {
    "max_parents": 1,
    "structure_prior": "uniform",
    "knowledge": op.Knowledge(required=["c -> a"]),
    "edge_prior": 0.1,
    "forbidden": [("a", "b")],
    "required": [("b", "a")],
    "tiers": [["c"], ["a"]],
    "roots": ["b"],
}


@pytest.mark.parametrize(("name", "value"), OPTIONS.items(), ids=list(OPTIONS))
def test_every_option_counts(frame, name, value):
    learner = op.OutpointLearner(**{name: value}).fit(frame)
    posterior = op.learn(frame, **{name: value})
    pd.testing.assert_frame_equal(learner.edge_support_, posterior.edge_probabilities)
    assert not learner.edge_support_.equals(op.OutpointLearner().fit(frame).edge_support_)


def test_the_score(frame):
    score = op.BGe(alpha_mu=0.1)
    learner = op.OutpointLearner(local_score=score).fit(frame)
    assert learner.posterior_.log_evidence == op.learn(frame, score=score).log_evidence


def test_names_are_those_that_were_given(frame, tmp_path):
    learner = op.OutpointLearner()
    frame.to_csv(tmp_path / "data.csv", index=False)
    for X in (frame, tmp_path / "data.csv", op.Dataset(("a", "b", "c"), frame.to_numpy())):
        assert list(learner.fit(X).feature_names_in_) == ["a", "b", "c"]
    for X in (frame.to_numpy(), frame.to_numpy().tolist(), frame.set_axis([0, 1, 2], axis=1)):
        assert not hasattr(learner.fit(X), "feature_names_in_")


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.9])
def test_threshold(frame, threshold):
    learner = op.OutpointLearner(threshold=threshold, seed=1).fit(frame)
    support = learner.edge_support_.to_numpy()
    expected = (support >= threshold) & ~np.eye(3, dtype=bool)
    np.testing.assert_array_equal(learner.adjacency_matrix_, expected)
    np.testing.assert_array_equal(learner.fit_predict(frame), expected)


def test_nothing_happens_before_fit(frame):
    learner = op.OutpointLearner(method="nonsense", threshold=7)
    assert not learner.__sklearn_is_fitted__()
    assert not [name for name in vars(learner) if name.endswith("_")]
    with pytest.raises(op.OptionError, match="threshold"):
        learner.fit(frame)
    with pytest.raises(op.OptionError, match="nonsense"):
        learner.set_params(threshold=None).fit(frame)
    assert not learner.__sklearn_is_fitted__()
    assert learner.set_params(method="auto").fit(frame).__sklearn_is_fitted__()


def test_parameters_are_the_options_of_learn():
    options = inspect.signature(op.learn).parameters
    own = inspect.signature(op.OutpointLearner).parameters
    assert options.keys() >= LEFT_OUT
    for name, option in options.items():
        if name not in LEFT_OUT:
            found = own["local_score" if name == "score" else name]
            assert found.default == option.default, name
    assert own.keys() - options.keys() == {"threshold", "target", "local_score"}
    assert list(own) == list(op.OutpointLearner().get_params())


def test_no_parameter_is_named_like_a_method():
    from sklearn import base

    mixins = [value for name, value in vars(base).items() if name.endswith("Mixin")]
    methods = {
        name for one in (*mixins, base.BaseEstimator, op.OutpointLearner) for name in dir(one)
    }
    conventional = {"predict", "predict_proba", "decision_function", "transform", "classes_"}
    assert {"score", "fit", "set_params"} <= methods
    assert not (methods | conventional) & op.OutpointLearner().get_params().keys()


def test_setting_parameters():
    learner = op.OutpointLearner(seed=3)
    assert learner.get_params()["seed"] == 3
    assert learner.set_params(seed=5, chains=2) is learner
    assert (learner.get_params()["seed"], learner.chains) == (5, 2)
    with pytest.raises(TypeError, match="'depth'"):
        op.OutpointLearner(depth=3)
    with pytest.raises(ValueError, match="no parameter 'depth', 'score'"):
        learner.set_params(chains=7, score="bge", depth=3)
    assert learner.chains == 2


def test_clone(frame):
    known = op.Knowledge(forbidden=["a -> b"])
    learner = op.OutpointLearner(knowledge=known, local_score=op.BGe(), seed=1).fit(frame)
    fresh = clone(learner)
    assert not fresh.__sklearn_is_fitted__()
    assert fresh.knowledge == known
    assert fresh.fit(frame).edge_support_.loc["a", "b"] == 0.0
    pd.testing.assert_frame_equal(fresh.edge_support_, learner.edge_support_)


class ContinuousLearner(op.OutpointLearner):
    """For scikit-learn it takes no categories, so that checks leave real numbers as they are."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        return tags


IDENTICAL = "the rounded data of this check have identical columns, which are refused by default"
CHECKS = {
    "real numbers": (ContinuousLearner(), {}),
    "categories": (
        op.OutpointLearner(),
        {"check_pipeline_consistency": IDENTICAL},
    ),
    "degenerate categories": (op.OutpointLearner(allow_degenerate=True), {}),
    "sampled": (
        op.OutpointLearner(method="mcmc", steps=400, chains=2, seed=1, allow_degenerate=True),
        {},
    ),
}


@pytest.mark.filterwarnings("ignore:.*does not inherit from `sklearn.base.BaseEstimator`")
@pytest.mark.parametrize(("estimator", "failing"), CHECKS.values(), ids=list(CHECKS))
def test_checks_of_scikit_learn(estimator, failing):
    """All checks pass but those listed with a reason; one needs a setting of SciPy to run."""
    results = check_estimator(estimator, expected_failed_checks=failing, on_fail=None, on_skip=None)
    statuses = {(found["check_name"], found["status"]) for found in results}
    not_passed = {pair for pair in statuses if pair[1] != "passed"}
    skipped = {("check_array_api_input", "skipped")}
    assert not_passed - skipped == {(name, "xfail") for name in failing}
    assert len(statuses) > 35


WRONG = {
    "one column": (np.zeros((5, 1)), r"1 feature\(s\) \(shape=\(5, 1\)\) while a minimum of 2"),
    "one row": (np.zeros((1, 3)), r"1 sample\(s\)"),
    "complex": (np.ones((5, 3), dtype=complex), "Complex data not supported"),
    "one dimension": (np.zeros(5), "must have 2 dimensions"),
}


@pytest.mark.parametrize(("X", "message"), WRONG.values(), ids=list(WRONG))
def test_wrong_data(X, message):
    with pytest.raises(op.DataError, match=message):
        op.OutpointLearner().fit(X)


def test_scikit_learn_is_not_needed():
    code = (
        "import json, sys\n"
        "sys.modules['sklearn'] = None\n"
        "import outpoint as op\n"
        "learner = op.OutpointLearner(max_parents=1).set_params(seed=1)\n"
        "graph = learner.fit(op.datasets.asia()).causal_graph_\n"
        "print(json.dumps([graph.n_nodes, repr(learner)]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [8, "OutpointLearner(max_parents=1, seed=1)"]


def test_representation():
    assert repr(op.OutpointLearner()) == "OutpointLearner()"
    text = repr(op.OutpointLearner(method="mcmc", threshold=0.5))
    assert text == "OutpointLearner(threshold=0.5, method='mcmc')"
    assert "edge_prior=" in repr(op.OutpointLearner(edge_prior=np.full((3, 3), 0.5)))
    assert repr(op.OutpointLearner(edge_reversals=True, chains=4)) == "OutpointLearner()"


def test_columns_of_both_kinds(frame):
    mixed = frame.assign(group=np.where(frame["b"] > 0, "high", "low"))
    for name in ("blocks", "conditional-gaussian"):
        learner = op.OutpointLearner(local_score=name, seed=1).fit(mixed)
        posterior = op.learn(mixed, name, seed=1)
        pd.testing.assert_frame_equal(learner.edge_support_, posterior.edge_probabilities)
    assert op.OutpointLearner(seed=1).fit(mixed).posterior_.info.score == "blocks"


def test_columns_that_are_left_out_are_still_features() -> None:
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"])
    X.insert(0, "id", [f"k{i}" for i in range(40)])
    learner = op.OutpointLearner(seed=1).fit(X)
    assert learner.n_features_in_ == 4
    assert list(learner.feature_names_in_) == ["id", "a", "b", "c"]
    assert learner.posterior_.names == ("a", "b", "c")
    assert list(learner.adjacency_matrix_.columns) == ["a", "b", "c"]
    values = np.column_stack([np.arange(40), X[["a", "b", "c"]]])
    assert op.OutpointLearner(seed=1).fit(values).n_features_in_ == 4
    with pytest.raises(op.DataError, match="'id' holds a different value in every row"):
        op.OutpointLearner(strict=True).fit(X)


def test_holes_are_integrated_out() -> None:
    X = np.random.default_rng(3).normal(size=(40, 3))
    X[4, 1] = np.nan
    found = op.OutpointLearner(seed=1, steps=20, warmup=5, chains=2).fit(X).posterior_
    assert found.method == "augment"
    assert found.info.n_observations == 40
    dropping = op.OutpointLearner(seed=1, missing="drop").fit(X)
    assert dropping.posterior_.info.n_observations == 39
    with pytest.raises(op.DataError, match="1 missing value, in row 5"):
        op.OutpointLearner(missing="refuse").fit(X)


def test_predictions(frame):
    learner = op.OutpointLearner(target="c", seed=1).fit(frame)
    new = frame[["a", "b"]].iloc[:4]
    expected = op.learn(frame, seed=1).predict(new, "c")["mean"]
    np.testing.assert_array_equal(learner.predict(new), expected)
    assert learner.score(frame) == pytest.approx(learner.posterior_.log_predictive(frame).mean())
    assert not hasattr(learner, "classes_")
    with pytest.raises(op.OptionError, match="categorical target"):
        learner.predict_proba(new)
    with pytest.raises(op.OptionError, match="'zz' is not one of the variables"):
        op.OutpointLearner(target="zz").fit(frame)
    assert not hasattr(op.OutpointLearner(), "predict")
    with pytest.raises(AttributeError, match="target="):
        op.OutpointLearner().fit(frame).predict(new)


def test_predicted_levels(frame):
    mixed = frame.assign(group=np.where(frame["b"] > 0, "high", "low"))
    learner = op.OutpointLearner(target="group", seed=1).fit(mixed)
    shares = learner.predict_proba(frame)
    assert list(learner.classes_) == ["high", "low"]
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(learner.predict(frame), learner.classes_[shares.argmax(axis=1)])
    assert (learner.predict(frame) == mixed["group"]).mean() > 0.9


def test_cross_validation(frame):
    """Scores are those of rows that were not learned from; before fit there are none."""
    scores = cross_val_score(op.OutpointLearner(seed=1), frame, cv=3)
    assert len(scores) == 3
    assert (scores < 0).all()
    with pytest.raises(NotFittedError):
        op.OutpointLearner().score(frame)

"""The estimator: the conventions of scikit-learn, and the same numbers as ``learn``."""

import inspect

import numpy as np
import pandas as pd
import pytest

import outpoint as op


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    a = rng.normal(size=60)
    b = 2 * a + rng.normal(size=60)
    return pd.DataFrame({"a": a, "b": b, "c": b - a + rng.normal(size=60)})


def clone_by_contract(estimator):
    """What ``sklearn.base.clone`` does: a new object from get_params, and a check of identity."""
    fresh = type(estimator)(**estimator.get_params(deep=False))
    for name, value in estimator.get_params(deep=False).items():
        assert fresh.get_params(deep=False)[name] is value
    return fresh


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
    assert learner.n_features_in_ == 3


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
    options = set(inspect.signature(op.learn).parameters) - {"data", "progress"}
    assert set(op.OutpointLearner().get_params()) == options | {"threshold"}
    learner = op.OutpointLearner(seed=3)
    assert learner.get_params()["seed"] == 3
    assert learner.set_params(seed=5, chains=2) is learner
    assert (learner.get_params()["seed"], learner.chains) == (5, 2)
    with pytest.raises(TypeError, match="'depth'"):
        op.OutpointLearner(depth=3)
    with pytest.raises(ValueError, match="'depth'"):
        learner.set_params(chains=7, depth=3)
    assert learner.chains == 2


def test_clone(frame):
    learner = op.OutpointLearner(forbidden=[("a", "b")], score=op.BGe(), seed=1).fit(frame)
    fresh = clone_by_contract(learner)
    assert not fresh.__sklearn_is_fitted__()
    assert fresh.fit(frame).edge_support_.loc["a", "b"] == 0.0


def test_clone_by_scikit_learn(frame):
    base = pytest.importorskip("sklearn.base")
    learner = op.OutpointLearner(forbidden=[("a", "b")], seed=1).fit(frame)
    fresh = base.clone(learner)
    assert not fresh.__sklearn_is_fitted__()
    pd.testing.assert_frame_equal(fresh.fit(frame).edge_support_, learner.edge_support_)


def test_representation():
    assert repr(op.OutpointLearner()) == "OutpointLearner()"
    text = repr(op.OutpointLearner(method="mcmc", threshold=0.5))
    assert text == "OutpointLearner(threshold=0.5, method='mcmc')"

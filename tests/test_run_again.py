"""What a run says about how to make it again, executed: the same posterior, bit for bit."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint.posterior.info import describe_model
from outpoint.posterior.run_again import run_again

NAMES = ["a", "b", "c", "d", "e"]
SAMPLED = {"method": "mcmc", "steps": 400, "chains": 2, "draws": 40}

RUNS = {
    "defaults": {},
    "standardized": {"score": op.BGe(alpha_mu=0.5), "max_parents": 2},
    "raw units": {"score": op.BGe(standardize=False)},
    "knowledge": {
        "required": [("a", "b")],
        "forbidden": [("c", "d")],
        "tiers": [["a", "b"], ["c", "d", "e"]],
        "roots": ["a"],
        "edge_prior": 0.2,
    },
    "edge prior table": {"edge_prior": pd.DataFrame(0.3, index=NAMES, columns=NAMES)},
    "fair": {"structure_prior": "fair", "max_parents": 3},
    "sampled": {**SAMPLED, "warmup": 60},
    "moves": {**SAMPLED, "moves": {"split_join": 1.0, "node_gibbs": 2.0, "rev": 0.5}},
    "start": {**SAMPLED, "start": op.Dag.from_edges(NAMES, [("a", "b"), ("b", "c")])},
    "candidates": {**SAMPLED, "n_candidates": 2},
    "own candidates": {
        **SAMPLED,
        "candidates": {v: [u for u in NAMES if u != v][:3] for v in NAMES},
    },
    "structure": {**SAMPLED, "method": "structure", "edge_reversals": False},
    "until converged": {"method": "mcmc", "chains": 2, "until_converged": True, "steps": 2000},
}


def table(path: Path) -> Path:
    rng = np.random.default_rng(5)
    values = rng.normal(size=(60, 5))
    values[:, 1] += values[:, 0]
    values[:, 3] += 0.7 * values[:, 1] - values[:, 2]
    frame = pd.DataFrame(values * [1, 10, 2, 1, 5] + [0, 3, 0, 1, 0], columns=NAMES)
    frame.insert(0, "row", [f"r{i}" for i in range(60)])
    frame.to_csv(path, index=False)
    return path


def assert_same(one: op.Posterior, other: op.Posterior) -> None:
    assert one.log_evidence == other.log_evidence
    assert one.map_log_score == other.map_log_score
    pd.testing.assert_frame_equal(
        one.edge_probabilities, other.edge_probabilities, check_exact=True
    )
    assert (one.log_scores.to_numpy() == other.log_scores.to_numpy()).all()
    assert one.info.score_settings == other.info.score_settings
    assert one.info.knowledge == other.info.knowledge
    assert one.info.options == other.info.options


def execute(text: str, **names: object) -> op.Posterior:
    names = dict(names)
    exec(text, names)
    return names["post"]  # type: ignore[return-value]


@pytest.mark.parametrize("options", RUNS.values(), ids=RUNS)
def test_from_python(tmp_path, options):
    data = op.load_dataset(table(tmp_path / "data.csv"), drop=["row"])
    post = op.learn(data, seed=11, **options)
    assert_same(post, execute(run_again(post.info)))


def test_seed_that_nobody_gave(tmp_path):
    data = op.load_dataset(table(tmp_path / "data.csv"), drop=["row"])
    post = op.learn(data, **SAMPLED)
    assert_same(post, execute(run_again(post.info)))


@pytest.mark.parametrize(
    "score",
    ["auto", op.Blocks(alpha_mu=0.5, standardize=False), op.ConditionalGaussian(alpha_w=9.0)],
    ids=str,
)
def test_columns_of_both_kinds(tmp_path, score):
    path = table(tmp_path / "data.csv")
    data = op.load_dataset(path, drop=["row"], discretize={"a": 3, "d": 2})
    post = op.learn(data, score, seed=11)
    assert post.info.kinds.count("categorical") == 2
    assert_same(post, execute(run_again(post.info)))


def test_data_and_scores_that_only_the_user_has():
    frame = pd.DataFrame(np.random.default_rng(1).normal(size=(30, 3)), columns=list("xyz"))
    score = op.CustomScore(lambda child, parents: -float(len(parents) + child))
    post = op.learn(frame, score=score, seed=1)
    text = run_again(post.info)
    assert post.info.fingerprint in text
    assert_same(post, execute(text, data=frame, score=score))


def test_a_run_ended_by_a_clock(tmp_path):
    data = op.load_dataset(table(tmp_path / "data.csv"), drop=["row"])
    post = op.learn(data, method="mcmc", chains=1, time=0.2, seed=1)
    text = run_again(post.info, post.steps_per_chain)
    assert f"steps={post.steps_per_chain}," in text
    assert "time=" not in text
    assert "clock" in text


def test_survives_saving(tmp_path):
    data = op.load_dataset(table(tmp_path / "data.csv"), drop=["row"])
    post = op.learn(data, seed=11, **RUNS["knowledge"])
    post.save(tmp_path / "saved.nc")
    loaded = op.load(tmp_path / "saved.nc")
    assert run_again(loaded.info) == run_again(post.info)
    assert loaded.info.kinds == ("continuous",) * 5
    assert loaded.info.libraries.keys() == {"numpy", "numba"}


def test_a_model_in_one_line(tmp_path):
    data = op.load_dataset(table(tmp_path / "data.csv"), drop=["row"])
    post = op.learn(data, seed=11, **RUNS["knowledge"])
    line = describe_model(post.info, 5)
    for part in (
        "BGe score",
        "1 required edge",
        "1 forbidden edge",
        "2 tiers",
        "1 root",
        "prior 0.2",
    ):
        assert part in line
    assert line.endswith("no limit on parents")
    assert "that the background knowledge allows" in post.verdict
    assert "at most 2 parents" in describe_model(op.learn(data, max_parents=2).info, 5)

"""What a run says about how to make it again, executed: the same posterior, bit for bit."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint.mcmc.ladder import early_ends
from outpoint.posterior.files import LENGTH, run_again
from outpoint.posterior.info import describe_model
from tests.figures import leave_out_reports
from tests.grids import covering

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
    "uniform": {"structure_prior": "uniform", "max_parents": 3},
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


@pytest.fixture(autouse=True)
def no_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_out_reports(monkeypatch)


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
    """The same model and results; what is said about the length may differ, but not the length."""
    assert one.log_evidence == other.log_evidence
    assert one.verdict == other.verdict
    assert one.map_log_score == other.map_log_score
    pd.testing.assert_frame_equal(
        one.edge_probabilities, other.edge_probabilities, check_exact=True
    )
    assert np.array_equal(one.log_scores, other.log_scores)
    assert np.array_equal(one.dags(), other.dags())
    assert one.info.score_settings == other.info.score_settings
    assert one.info.knowledge == other.info.knowledge
    assert one.info.taken == other.info.taken
    first, second = (
        {name: value for name, value in post.info.options.items() if name not in LENGTH}
        for post in (one, other)
    )
    assert first == second


def execute(text: str, **names: object) -> op.Posterior:
    names = dict(names)
    exec(text, names)
    return names["post"]  # type: ignore[return-value]


@pytest.mark.parametrize("options", RUNS.values(), ids=RUNS)
def test_from_python(tmp_path, options):
    data = op.load_dataset(table(tmp_path / "data.csv"), drop=["row"])
    post = op.learn(data, seed=11, **options)
    assert_same(post, execute(run_again(post)))


def test_seed_that_nobody_gave(tmp_path):
    data = op.load_dataset(table(tmp_path / "data.csv"), drop=["row"])
    post = op.learn(data, **SAMPLED)
    assert_same(post, execute(run_again(post)))


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
    assert_same(post, execute(run_again(post)))


def test_data_and_scores_that_only_the_user_has():
    frame = pd.DataFrame(np.random.default_rng(1).normal(size=(30, 3)), columns=list("xyz"))
    score = op.CustomScore(lambda child, parents: -float(len(parents) + child))
    post = op.learn(frame, score=score, seed=1)
    text = run_again(post)
    assert post.info.fingerprint in text
    assert_same(post, execute(text, data=frame, score=score))


# Runs whose length was not known before


def test_a_run_ended_by_agreement(tmp_path):
    data = op.load_dataset(table(tmp_path / "data.csv"), drop=["row"])
    post = op.learn(data, method="mcmc", chains=2, seed=1)
    text = run_again(post)
    assert f"steps={post.steps_per_chain}," in text
    assert_same(post, execute(text))


class Pace:
    """A clock on which every look takes a second, and so does every round of a run."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def __call__(self) -> float:
        self._seconds += 1.0
        return self._seconds


TIMED = {
    "after its warm-up": {"method": "mcmc", "time": 70},
    "in a shortened warm-up": {"method": "mcmc", "time": 20},
    "in a shortened warm-up of an odd number of sweeps": {
        "method": "mcmc",
        "time": 20,
        "warmup": 4980,
    },
    "before as many steps as usual": {"method": "mcmc", "time": 10, "draws": 999},
    "long after them": {"method": "mcmc", "time": 90, "draws": 30, "warmup": 100},
    "structure": {"method": "structure", "time": 20, "draws": 100},
    "order, a long warm-up": {"method": "order", "time": 20, "draws": 70, "warmup": 3000},
    "by its steps": {"method": "partition", "time": 9000, "steps": 2345, "draws": 70},
    "by agreement": {"method": "mcmc", "time": 9000, "until_converged": True},
}


@pytest.mark.parametrize("options", TIMED.values(), ids=TIMED)
def test_a_run_limited_by_a_clock(tmp_path, monkeypatch, options):
    monkeypatch.setattr("outpoint.progress.perf_counter", Pace())
    monkeypatch.setattr("outpoint.runs.teams.ThreadTeam.round_seconds", 0.0)
    data = op.load_dataset(table(tmp_path / "data.csv"), drop=["row"])
    post = op.learn(data, chains=2, seed=1, **options)
    monkeypatch.undo()
    text = run_again(post)
    assert f"steps={post.steps_per_chain}," in text
    assert "time=" not in text
    if options["time"] == 20:
        assert post.info.taken["warmup"] in early_ends(options.get("warmup", 5000), 20)
    again = execute(text)
    assert_same(post, again)
    assert run_again(again) == text
    assert np.array_equal(post.chain_edges, again.chain_edges)


MORE = [
    {"steps": 1500},
    {"time": 1e-9},
    {"steps": 24_000},
    {"until_converged": True, "steps": 3000},
    {"steps": 300, "until_converged": False},
]


@pytest.mark.parametrize(("method", "more"), covering(["mcmc", "structure"], MORE), ids=str)
def test_a_run_that_was_continued(tmp_path, method, more):
    data = op.load_dataset(table(tmp_path / "data.csv"), drop=["row"])
    kept = {"method": method, "chains": 2, "out": tmp_path / "run", "resume": True}
    op.learn(data, seed=1, steps=400, draws=37, **kept)
    post = op.learn(data, **kept, **more)
    assert_same(post, execute(run_again(post)))
    back = op.learn(data, **kept, steps=400)
    assert back.steps_per_chain == post.steps_per_chain
    assert_same(back, execute(run_again(back)))


def test_a_run_that_was_continued_within_a_sweep(tmp_path):
    data = op.load_dataset(table(tmp_path / "data.csv"), drop=["row"])
    kept = {"method": "mcmc", "chains": 2, "out": tmp_path / "run", "resume": True}
    op.learn(data, seed=1, steps=410, **kept)
    text = run_again(op.learn(data, steps=1000, **kept))
    assert "# The run was continued within a sweep: made in one go it has other draws.\n" in text
    assert execute(text).steps_per_chain == 1000


def test_an_interrupted_run(tmp_path):
    def stop(progress):
        if progress.chains and progress.chains[0].step >= 5500:
            raise KeyboardInterrupt

    data = op.load_dataset(table(tmp_path / "data.csv"), drop=["row"])
    options = {"method": "mcmc", "chains": 2, "seed": 1, "steps": 20_000}
    post = op.learn(data, **options, progress=stop)
    assert not post.is_complete
    text = run_again(post)
    assert "# The run was interrupted: this makes the whole of it.\n" in text
    assert_same(op.learn(data, **options), execute(text))


def test_survives_saving(tmp_path):
    data = op.load_dataset(table(tmp_path / "data.csv"), drop=["row"])
    post = op.learn(data, seed=11, **RUNS["knowledge"])
    post.save(tmp_path / "saved.npz")
    loaded = op.load(tmp_path / "saved.npz")
    assert run_again(loaded) == run_again(post)
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

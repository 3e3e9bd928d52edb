"""--resume: the run decides what it is; what is not said again is taken from it, or refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from tests.cli.conftest import Run, run
from tests.grids import first
from tests.runs.problems import (
    CASES,
    NUMBERS,
    Stopwatch,
    differing,
    interrupt,
    learn,
    make_numbers,
    same_draws,
)

__all__ = ["run"]


def contents(place: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


# Another method, other data


@pytest.mark.attack("resuming with other data or another method", "refused by name, nothing lost")
@pytest.mark.parametrize(
    ("data", "options", "reason"),
    first(
        [
            ("asia", {"method": "exact"}, 'data was "'),
            (NUMBERS, {"method": "exact"}, 'method was "mcmc" and is "exact"'),
            (NUMBERS, {"method": "order"}, 'method was "mcmc" and is "order"'),
            (NUMBERS, {"seed": 8}, "seed was 5 and is 8"),
            ("asia", {}, 'data was "'),
        ],
        2,
    ),
)
def test_an_interrupted_run_is_not_replaced(
    tmp_path: Path,
    data: Any,
    options: dict[str, Any],
    reason: str,
    short_rounds: pytest.MonkeyPatch,
) -> None:
    interrupt("mcmc", tmp_path / "run")
    before = contents(tmp_path / "run")
    with pytest.raises(op.CheckpointError, match=reason):
        op.learn(data, out=tmp_path / "run", resume=True, **options)
    assert contents(tmp_path / "run") == before


def test_the_command_of_the_report(run: Run, short_rounds: pytest.MonkeyPatch) -> None:
    """``learn asia --resume`` where an interrupted run on other data is."""
    interrupt("mcmc", Path("w"))
    before = contents(Path("w"))
    outcome = run("learn", "asia", "--out", "w", "--resume")
    assert outcome.code == 2
    assert "the run in w cannot be resumed with other data or settings: data was" in outcome.err
    assert contents(Path("w")) == before


# Options that are not given again

OPTIONS: dict[str, dict[str, Any]] = {
    "mcmc": CASES["mcmc"],
    "partition": {**CASES["partition+rev"], "warmup": 100, "structure_prior": "uniform"},
    "moves": {**CASES["mcmc"], "moves": {"node_gibbs": 1, "split_join": 2.5}},
    "start": {
        **CASES["structure+rev"],
        "start": op.Dag.from_edges(list("abcde"), [("a", "b")]),
        "edge_reversals": False,
    },
    "candidates": {
        **CASES["mcmc"],
        "candidates": {v: [u for u in "abcde" if u != v][:3] for v in "abcde"},
    },
    "n_candidates": {**CASES["mcmc"], "n_candidates": np.int64(2), "draws": np.int32(70)},
    "until converged": CASES["order until converged"],
}


@pytest.mark.parametrize("kind", first(OPTIONS))
def test_they_are_those_of_the_run(
    kind: str, tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    """Nothing but the data and --resume: the same bytes in the end."""
    options = OPTIONS[kind]
    op.learn(NUMBERS, **options, out=tmp_path / "whole")
    first = {"progress": Stopwatch(1200), "checkpoint_seconds": 0.0}
    assert not op.learn(NUMBERS, **options, **first, out=tmp_path / "run").is_complete
    assert op.learn(NUMBERS, out=tmp_path / "run", resume=True).is_complete
    assert differing(tmp_path / "whole", tmp_path / "run") == []


def few_letters() -> pd.DataFrame:
    """A table whose default limit on parents is remarked on."""
    rng = np.random.default_rng(3)
    return pd.DataFrame(rng.choice(["x", "y", "z"], (40, 6)), columns=list("abcdef"))


def test_so_are_its_remarks(tmp_path: Path, short_rounds: pytest.MonkeyPatch) -> None:
    whole = op.learn(few_letters(), **CASES["mcmc"], out=tmp_path / "whole")
    assert any("joint levels" in note for note in whole.info.notes)
    first = {"progress": Stopwatch(1200), "checkpoint_seconds": 0.0}
    op.learn(few_letters(), **CASES["mcmc"], **first, out=tmp_path / "run")
    assert op.learn(few_letters(), out=tmp_path / "run", resume=True).is_complete
    assert differing(tmp_path / "whole", tmp_path / "run") == []


def test_remarks_of_an_exact_run_that_is_made_anew(tmp_path: Path) -> None:
    whole = op.learn(few_letters(), out=tmp_path)
    assert any("joint levels" in note for note in whole.info.notes)
    (tmp_path / "summary.json").unlink()
    assert op.learn(few_letters(), out=tmp_path, resume=True).info.notes == whole.info.notes


def test_on_the_command_line(run: Run, short_rounds: pytest.MonkeyPatch) -> None:
    words = ["learn", "data.csv", "--method", "mcmc", "--chains", "3", "--seed", "4"]
    assert run(*words, "--steps", "2000", "--out", "run", "-q").code == 0
    assert run(*words, "--steps", "4000", "--out", "run", "-q", "--resume").code == 0
    other = Path("other")
    assert run(*words, "--steps", "2000", "--out", "other", "-q").code == 0
    assert run("learn", "data.csv", "--steps", "4000", "--out", "other", "--resume").code == 0
    assert differing(Path("run"), other) == []
    assert json.loads((other / "summary.json").read_text())["options"]["chains"] == 3


# Runs that are complete


@pytest.mark.parametrize(
    "score", [op.BGe(), op.CustomScore(lambda v, parents: -float(len(parents)))]
)
def test_an_exact_run(tmp_path: Path, score: Any) -> None:
    place = tmp_path / "run"
    first = op.learn(NUMBERS, score, seed=3, out=place, max_parents=2)
    before = contents(place)
    for options in ({}, {"method": "exact"}, {"max_parents": 2}, {"seed": 3}):
        again = op.learn(NUMBERS, score, out=place, resume=True, **options)
        assert again.log_evidence == first.log_evidence
    assert contents(place) == before


CHANGED: dict[str, tuple[dict[str, Any], str]] = {
    "data": ({"data": make_numbers(seed=2)}, 'data was "'),
    "method": ({"method": "mcmc"}, 'method was "exact" and is "mcmc"'),
    "score": ({"score": op.BGe(alpha_mu=0.5)}, r'score was "BGe\(\)" and is "BGe\(alpha_mu=0.5\)"'),
    "parents": ({"max_parents": 2}, "max_parents was 4 and is 2"),
    "prior": ({"structure_prior": "uniform"}, 'structure prior was "fair" and is "uniform"'),
    "knowledge": ({"required": [("a", "b")]}, "knowledge was"),
    "edge prior": ({"edge_prior": 0.3}, "knowledge was"),
    "seed": ({"seed": 9}, "seed was 3 and is 9"),
}


@pytest.mark.attack("resuming a complete run with other data or settings", "refused by name")
@pytest.mark.parametrize("change", first(CHANGED, 3))
def test_another_exact_run(change: str, tmp_path: Path) -> None:
    options, reason = CHANGED[change]
    place = tmp_path / "run"
    op.learn(NUMBERS, seed=3, out=place)
    before = contents(place)
    with pytest.raises(op.CheckpointError, match=reason):
        op.learn(**{"data": NUMBERS, "out": place, "resume": True} | options)
    assert contents(place) == before


def test_another_custom_score(tmp_path: Path) -> None:
    def scored(weight: float) -> Any:
        return op.CustomScore(lambda v, parents: weight * len(parents) - v)

    op.learn(NUMBERS, scored(1.0), seed=3, out=tmp_path / "run")
    with pytest.raises(op.CheckpointError, match="the score function or the edge prior"):
        op.learn(NUMBERS, scored(1.1), out=tmp_path / "run", resume=True)


@pytest.mark.parametrize("method", first(["exact", "mcmc"]))
def test_a_changed_file_of_scores(
    method: str, tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    """A score of a family that is in no good DAG: no sum of scores shows it."""
    path = tmp_path / "scores.jkl"
    op.write_jkl(path, NUMBERS, max_parents=2)
    options: dict[str, Any] = {"score": str(path), "method": method, "max_parents": 2}
    options |= {"out": tmp_path / "run", "resume": True}
    steps = {"steps": 3000} if method == "mcmc" else {}
    op.learn(NUMBERS, **options, **steps, seed=1)
    assert op.learn(NUMBERS, **options).is_complete
    before = contents(tmp_path / "run")
    lines = path.read_text().splitlines()
    worst = min(range(2, len(lines)), key=lambda i: _score(lines[i]))
    lines[worst] = lines[worst].replace(lines[worst].split()[0], "-99999.5")
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(op.CheckpointError, match=r"score was .* and is "):
        op.learn(NUMBERS, **options)
    assert contents(tmp_path / "run") == before


def _score(line: str) -> float:
    try:
        return float(line.split()[0]) if len(line.split()) > 2 else 0.0
    except ValueError:
        return 0.0


def test_a_sampled_run_without_its_checkpoints(
    tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    """They may be deleted: what is complete stays so, and cannot become longer."""
    place = tmp_path / "run"
    first = learn("mcmc", place)
    _delete_checkpoint(place)
    assert same_draws(first, learn("mcmc", place))
    assert same_draws(first, op.learn(NUMBERS, out=place, resume=True))
    with pytest.raises(op.CheckpointError, match="left nothing that could be resumed"):
        learn("mcmc", place, steps=9000)
    with pytest.raises(op.CheckpointError, match="chains was 3 and is 2"):
        learn("mcmc", place, chains=2)


def test_an_interrupted_run_without_its_checkpoints(
    tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "run"
    assert not learn("mcmc", place, progress=Stopwatch(2000)).is_complete
    _delete_checkpoint(place)
    with pytest.raises(op.CheckpointError, match=r"nothing that could be resumed.* overwrite=True"):
        learn("mcmc", place)


def _delete_checkpoint(place: Path) -> None:
    import shutil

    shutil.rmtree(place / "checkpoint")


@pytest.mark.parametrize("method", first(["exact", "mcmc"]))
def test_a_job_script_can_always_say_resume(run: Run, method: str) -> None:
    words = ["learn", "data.csv", "--method", method, "--out", "run", "--resume", "--seed", "2"]
    words += ["--steps", "400"] if method == "mcmc" else []
    first = run(*words)
    assert first.code == 0
    assert "complete" not in first.err
    before = Path("run/posterior.npz").read_bytes()
    again = run(*words)
    assert again.code == 0
    told = "outpoint: the run in run is complete; there was nothing to do."
    assert again.err.splitlines()[-1] == told
    assert Path("run/posterior.npz").read_bytes() == before
    as_before = run("learn", "data.csv", "--out", "run", "--resume")
    assert as_before.code == 0
    assert "enough variables" not in as_before.out, "the method was asked for when the run began"
    assert "too many variables" not in as_before.out


DAMAGE: list[Callable[[Path], Any]] = [
    lambda place: (place / "checkpoint" / "run.checkpoint").write_bytes(b"outpoint checkpoint 1\n"),
    lambda place: next(place.glob("checkpoint/chain-0.draws-*")).write_bytes(b""),
]


@pytest.mark.parametrize("damage", first(DAMAGE))
def test_the_advice_works(run: Run, damage: Any, short_rounds: pytest.MonkeyPatch) -> None:
    """A damaged run is to be started anew with --overwrite, which is then not refused."""
    words = ["learn", "data.csv", "--method", "mcmc", "--steps", "2000", "--out", "run", "-q"]
    assert run(*words, "--seed", "1").code == 0
    damage(Path("run"))
    refused = run(*words, "--resume")
    assert refused.code == 2
    assert "start the run anew with --overwrite." in refused.err
    assert run(*words, "--overwrite").code == 0


# What "auto" means


def test_auto_depends_on_the_problem_and_a_lack_of_memory_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("outpoint.exact.feasibility.available_memory", lambda: 10**6)
    with pytest.raises(op.TooLargeError, match=r"0.0 GB are free: sample it with method='mcmc'"):
        op.learn("asia")
    assert op.learn("asia", memory_limit=10**6, steps=100, chains=1, seed=1).method == "mcmc"

"""Runs on disk: complete or not at all, and never at the cost of somebody's files."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint.posterior import files, summarize
from outpoint.posterior.files import EDGE_COLUMNS
from outpoint.runs import RunDirectory
from outpoint.runs.directory import RUN_FILES


@pytest.fixture(scope="module")
def posterior() -> op.Posterior:
    return op.learn(np.random.default_rng(4).normal(size=(20, 3)), seed=6)


def write_run(posterior: op.Posterior, path: Path, *, overwrite: bool = False) -> None:
    run = RunDirectory(path)
    with run.held(overwrite=overwrite):
        files.write_run(posterior, run)


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_summary(posterior: op.Posterior) -> None:
    summary = summarize(posterior)
    assert summary["log_evidence"] == posterior.log_evidence
    assert summary["map_log_score"] == posterior.map_log_score
    assert summary["map_probability"] == posterior.map_probability
    assert (summary["seed"], summary["n_nodes"], summary["n_observations"]) == (6, 3, 20)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_run_reads_back(posterior: op.Posterior, tmp_path: Path) -> None:
    write_run(posterior, tmp_path / "deep" / "run")
    run = tmp_path / "deep" / "run"
    assert names_in(run) == sorted(RUN_FILES)
    assert json.loads((run / "summary.json").read_text()) == summarize(posterior)
    assert op.Dag.from_dot((run / "map.dot").read_text()) == posterior.map_dag
    edges = pd.read_csv(run / "edges.csv")
    expected = posterior.diagnostics()[EDGE_COLUMNS]
    pd.testing.assert_frame_equal(edges, expected, check_dtype=False)
    np.testing.assert_array_equal(op.load(run).dags(), posterior.dags())
    assert names_in(tmp_path / "deep") == ["run"]


def test_checking_a_place_leaves_no_trace(tmp_path: Path) -> None:
    RunDirectory(tmp_path / "deep" / "run").check(overwrite=False, resume=False)
    assert names_in(tmp_path) == []


def test_earlier_run_is_replaced_only_on_demand(posterior: op.Posterior, tmp_path: Path) -> None:
    run = tmp_path / "run"
    write_run(posterior, run)
    with pytest.raises(op.OptionError, match="earlier run"):
        write_run(posterior, run)
    later = op.learn(np.random.default_rng(5).normal(size=(20, 3)), seed=7)
    write_run(later, run, overwrite=True)
    assert json.loads((run / "summary.json").read_text()) == summarize(later)
    assert names_in(run) == sorted(RUN_FILES)


@pytest.mark.parametrize("overwrite", [False, True])
def test_files_of_others_are_never_touched(
    posterior: op.Posterior, tmp_path: Path, overwrite: bool
) -> None:
    for name in ("thesis.tex", "summary.json"):
        (tmp_path / name).write_text("mine")
    with pytest.raises(op.OptionError, match=r"other files \(such as 'thesis.tex'\)"):
        write_run(posterior, tmp_path, overwrite=overwrite)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "thesis.tex": "mine",
        "summary.json": "mine",
    }


def test_a_report_that_cannot_be_drawn_costs_nothing_else(tmp_path, monkeypatch):
    posterior = op.learn("asia", seed=1, max_parents=1)

    def fail(*args: object, **words: object) -> None:
        raise ZeroDivisionError("no room")

    place = tmp_path / "run"
    write_run(posterior, place)
    monkeypatch.setattr("outpoint.report.write_report", fail)
    with pytest.raises(op.OutpointError, match=r"results are in .*no room"):
        write_run(posterior, place, overwrite=True)
    assert not (place / "report.html").exists(), "that of another run is no report of this one"
    assert op.load(place).log_evidence == posterior.log_evidence
    assert {path.name for path in place.iterdir()} == set(RUN_FILES) - {"report.html"}

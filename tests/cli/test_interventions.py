"""Experiments on the command line: simulated, learned from, mapped, scored, refused."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from tests.cli.conftest import TRUTH, Run, check_schema, strict_json, table

SIMULATE = ["-n", "40", "--intervene", "b:20", "--intervene", "a,c:10", "--seed", "3"]
TARGETS = ((), ("b",), ("a", "c"))


@pytest.fixture
def lab(run: Run) -> Path:
    """A table with experiments, and the DAG that it comes from."""
    Path("truth.dot").write_text(TRUTH.to_dot())
    outcome = run("simulate", "truth.dot", *SIMULATE, "--out", "lab.csv")
    assert outcome.code == 0
    shape = "70 observations of 4 gaussian variables, 30 of them with interventions"
    assert outcome.out == f"lab.csv: {shape}\n"
    return Path("lab.csv")


def test_simulate_writes_the_column(run: Run, lab: Path) -> None:
    frame = pd.read_csv(lab, keep_default_na=False)
    assert list(frame.columns) == ["a", "b", "c", "d", "interventions"]
    assert frame["interventions"].tolist() == [""] * 40 + ["b"] * 20 + ["a;c"] * 10
    entries = [()] * 40 + [("b",)] * 20 + [("a", "c")] * 10
    expected = op.simulate(
        TRUTH, 70, np.random.default_rng(3), coefficients="bounded", interventions=entries
    )
    assert op.load_dataset(lab, interventions="interventions") == expected


def test_categorical_data(run: Run) -> None:
    words = ["--nodes", "3", "-n", "50", "--kind", "categorical", "--intervene", "x2:30"]
    run("simulate", *words, "--seed", "1", "--out", "levels.csv")
    outcome = run("learn", "levels.csv", "--interventions", "interventions", "--out", "r")
    assert outcome.code == 0
    assert "x2 set in 30 rows" in outcome.out
    assert op.load("r").info.score == "bdeu"


@pytest.mark.usefixtures("reports")
def test_learn_map_and_score(run: Run, lab: Path) -> None:
    words = ["--interventions", "interventions"]
    outcome = run("learn", str(lab), *words, "--seed", "1", "--out", "r", "--json")
    summary = strict_json(outcome.out)
    check_schema(summary, "summary")
    data = op.load_dataset(lab, interventions="interventions")
    post = op.learn(data, seed=1)
    assert summary["log_evidence"] == post.log_evidence
    assert [tuple(one["targets"]) for one in summary["interventions"]] == list(TARGETS)
    names: dict = {}
    exec(summary["run_again"], names)
    assert names["post"].log_evidence == post.log_evidence
    best = strict_json(run("map", str(lab), *words, "--json").out)
    check_schema(best, "map")
    dag = op.Dag.from_edges(data.names, [tuple(edge) for edge in best["edges"]])
    directed = dag.cpdag(TARGETS).directed
    assert sorted(map(tuple, best["compelled_edges"])) == sorted(directed)
    score = json.loads(run("score", str(lab), "truth.dot", *words, "--json").out)
    assert score["log_score"] == op.log_score(data, TRUTH)
    assert run("effects", "r").code == 0
    assert run("report", "r").code == 0


def test_refusals(run: Run, lab: Path) -> None:
    def sentence(*words: str) -> str:
        outcome = run(*words)
        assert outcome.code == 2
        assert outcome.err.count("\n") == 1
        return outcome.err

    text = lab.read_text()
    assert "'intervention', which is not a column here; did you mean 'interventions'" in sentence(
        "learn", str(lab), "--interventions", "intervention"
    )
    Path("wrong.csv").write_text(text.replace(",b\n", ",B2\n", 1))
    assert "in row 41 (line 42) name 'B2', which is not one of the variables" in sentence(
        "learn", "wrong.csv", "--interventions", "interventions"
    )
    rows = [line.rpartition(",")[0] + ",a" for line in text.splitlines()[1:]]
    Path("always.csv").write_text("\n".join([text.splitlines()[0], *rows, ""]))
    assert "'a' was set in every row" in sentence(
        "map", "always.csv", "--interventions", "interventions"
    )
    words = ["always.csv", "--interventions", "interventions", "--root", "a", "--quiet"]
    assert run("map", *words).code == 0
    assert "--intervene must be written NAMES:ROWS" in sentence(
        "simulate", "truth.dot", "--intervene", "b"
    )
    assert "--intervene must be written NAMES:ROWS" in sentence(
        "simulate", "truth.dot", "--intervene", "b:0"
    )
    assert "name 'z', which is not one of the variables" in sentence(
        "simulate", "truth.dot", "--intervene", "z:5"
    )
    Path("named.csv").write_text(table("interventions,b,c,d"))
    named = op.Dag.from_edges(["interventions", "b"], [("interventions", "b")])
    Path("named.dot").write_text(named.to_dot())
    assert "'interventions' is a variable" in sentence(
        "simulate", "named.dot", "--intervene", "b:5"
    )

"""``outpoint learn`` beyond the sizes where all variables are candidates, and --candidates."""

import csv
from pathlib import Path

import numpy as np
import pytest

import outpoint as op
from outpoint.naming import command_line
from outpoint.posterior.diagnostics import Status
from tests.cli.conftest import Run, check_schema, strict_json, table
from tests.quick_choice import choose_quickly

FEW = ["--method", "mcmc", "--steps", "400", "--chains", "2", "--seed", "3"]


def unwrapped(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.usefixtures("reports")
def test_a_problem_with_many_variables(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the command to its report: 22 variables, 5 candidates of each."""
    choose_quickly(monkeypatch)
    rng = np.random.default_rng(1)
    data = op.simulate(op.random_dag(22, rng, max_parents=2), 60, rng)
    Path("many.csv").write_text(table(",".join(data.names), data.values.round(3)))
    words = ["--candidates", "5", "--max-parents", "2", *FEW, "--out", "run"]
    outcome = run("learn", "many.csv", *words)
    assert outcome.code == 0
    assert "parent sets outside the 5 candidates of each node are sampled" in unwrapped(outcome.out)

    summary = strict_json(Path("run/summary.json").read_text(encoding="utf-8"))
    check_schema(summary, "summary")
    loaded = op.load("run")
    assert loaded.candidates.shape == (22, 5)
    assert summary["candidates"] == loaded.on_candidates
    assert summary["candidates"]["per_node"] == 5
    assert "as many as --max-parents allows" in summary["verdict"]
    assert "as many as max_parents allows" in loaded.verdict
    with command_line():
        assert summary["verdict"] == loaded.verdict

    rows = list(csv.DictReader(Path("run/edges.csv").read_text().splitlines()))
    assert len(rows) == 22 * 21
    assert {row["status"] for row in rows} <= set(Status)
    for row in rows:
        probability = loaded.edge_probabilities.loc[row["parent"], row["child"]]
        assert float(row["probability"]) == probability
    report = Path("run/report.html").read_text(encoding="utf-8")
    assert "No edge is excluded" in report
    assert all(name in report for name in data.names)

    assert run("report", "run", "--out", "again.html").code == 0
    assert "No edge is excluded" in Path("again.html").read_text(encoding="utf-8")


def test_candidates_on_the_command_line_are_those_of_learn(run: Run) -> None:
    outcome = run("learn", "data.csv", "--candidates", "2", *FEW, "--out", "run", "--json", "-q")
    assert (outcome.code, outcome.err) == (0, "")
    summary = strict_json(outcome.out)
    check_schema(summary, "summary")
    same = op.learn("data.csv", method="mcmc", n_candidates=2, steps=400, chains=2, seed=3)
    assert summary["candidates"] == same.on_candidates
    np.testing.assert_array_equal(op.load("run").dags(), same.dags())


def test_summaries_without_candidates(run: Run) -> None:
    for number, words in enumerate((FEW, ["--candidates", "3", *FEW], [])):
        outcome = run("learn", "data.csv", *words, "--out", f"run{number}", "--json", "-q")
        assert outcome.code == 0
        summary = strict_json(outcome.out)
        check_schema(summary, "summary")
        assert summary["candidates"] is None


@pytest.mark.long
def test_a_run_over_candidates_is_continued(run: Run) -> None:
    words = ["learn", "data.csv", "--candidates", "2", *FEW]
    assert run(*words, "--out", "run").code == 0
    assert run(*words, "--out", "run", "--resume", "--steps", "800").code == 0
    assert op.load("run").steps_per_chain == 800
    assert run("learn", "data.csv", *FEW, "--out", "run", "--resume").code == 0, "as it began"
    other = ["learn", "data.csv", "--candidates", "3", *FEW]
    refused = run(*other, "--out", "run", "--resume")
    assert refused.code == 2
    assert "candidates was 2 and is 3" in unwrapped(refused.err)


@pytest.mark.parametrize("number", ["0", "-1", "two"])
def test_wrong_numbers_of_candidates(run: Run, number: str) -> None:
    outcome = run("learn", "data.csv", "--candidates", number, *FEW)
    assert outcome.code == 2
    assert "candidates" in outcome.err
    assert outcome.out == ""
    assert [path.name for path in Path().iterdir()] == ["data.csv"]

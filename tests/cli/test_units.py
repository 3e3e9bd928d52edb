"""Raw units on the command line: a note where they matter, and none by default."""

import json
from pathlib import Path

import numpy as np
import pytest

import outpoint as op

from .conftest import Run, table

NOTE = (
    "in raw units the means of 'kelvin' and 'hpa' are more than 10 standard deviations from 0, "
    "where BGe's prior has them, so independent columns can get edges"
)


@pytest.fixture(autouse=True)
def weather(run: Run) -> None:
    """A file in the directory of the test, which ``run`` makes."""
    values = np.random.default_rng(3).normal([288, 1013, 1], [9, 8, 1], size=(200, 3)).round(3)
    Path("weather.csv").write_text(table("kelvin,hpa,other", values))
    Path("dag.csv").write_text("parent,child\nkelvin,hpa\n")


COMMANDS = {"learn": [], "map": [], "score": ["dag.csv"]}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_note_stands_with_the_data(run: Run, command: str) -> None:
    data = [
        "Data      weather.csv: 200 observations of 3 continuous variables",
        "Kinds     continuous: kelvin, hpa, other",
    ]
    words = [command, "weather.csv", *COMMANDS[command]]
    plain = run(*words)
    assert (plain.code, plain.err, plain.out.splitlines()[:2]) == (0, "", data)
    assert "\nNote " not in plain.out
    raw = run(*words, "--raw-units")
    assert (raw.code, raw.err, raw.out.splitlines()[:3]) == (0, "", [*data, f"Note      {NOTE}"])
    assert raw.out.count("\nNote ") == 1


@pytest.mark.usefixtures("reports")
def test_notes_are_in_the_summary_and_the_report(run: Run) -> None:
    for options, notes in (([], []), (["--raw-units"], [NOTE])):
        out = ["--out", "run", "--overwrite", "--quiet"]
        assert run("learn", "weather.csv", *options, *out).code == 0
        assert json.loads(Path("run/summary.json").read_text())["notes"] == notes
        assert list(op.load("run").info.notes) == notes
        page = Path("run/report.html").read_text(encoding="utf-8")
        assert ("independent columns can get edges" in page) == bool(notes)


def test_tiny_units_are_noted(run: Run) -> None:
    """With raw units the prior outweighs such columns, and every edge is as probable as before."""
    Path("tiny.csv").write_text(table("a,b", 1e-8 * np.random.default_rng(1).normal(size=(90, 2))))
    note = "in raw units 'a' and 'b' vary so little that BGe's prior outweighs the data"
    assert note in run("learn", "tiny.csv", "--raw-units", "--out", "run").out
    assert "vary so little" not in run("learn", "tiny.csv", "--out", "other").out


@pytest.mark.parametrize("command", COMMANDS)
def test_the_former_option_is_gone(run: Run, command: str) -> None:
    outcome = run(command, "weather.csv", *COMMANDS[command], "--standardize")
    assert outcome.code == 2
    assert "--standardize" in outcome.err

"""The command and the Python that a run gives for making it again, executed."""

import json
import shlex
from pathlib import Path

import pytest

import outpoint as op
from tests.cli.conftest import Run
from tests.test_run_again import assert_same, execute, table

WORDS = {
    "knowledge": ["--require", "a->b", "--forbid", "c->d", "--tier", "a,b", "--edge-prior", "0.2"],
    "sampled": ["--method", "mcmc", "--steps", "400", "--chains", "2"],
    "read": ["--columns", "a,b,c", "--max-parents", "1", "--structure-prior", "fair"],
}


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
def test_from_the_command_line(run: Run, words: list[str]) -> None:
    table(Path("data.csv"))
    drop = [] if "--columns" in words else ["--drop", "row"]
    line = ["learn", "data.csv", *drop, *words, "-q", "--out", "first", "--overwrite"]
    outcome = run(*line)
    assert (outcome.code, outcome.err) == (0, "")
    first = op.load("first")
    summary = json.loads(Path("first/summary.json").read_text(encoding="utf-8"))
    assert summary["knowledge"] == first.info.knowledge
    assert_same(first, execute(summary["run_again"]))
    page = Path("first/report.html").read_text(encoding="utf-8")
    shown = shlex.join(["outpoint", *line[:-1], "--seed", str(first.info.seed)])
    assert shown.replace("'", "&#39;").replace(">", "&gt;") in page
    again = [word if word != "first" else "second" for word in line]
    outcome = run(*again, "--seed", str(first.info.seed))
    assert (outcome.code, outcome.err) == (0, "")
    assert_same(first, op.load("second"))

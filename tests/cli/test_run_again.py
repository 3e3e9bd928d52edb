"""The command and the Python that a run gives for making it again, executed."""

import html
import json
import shlex
from pathlib import Path

import pytest

import outpoint as op
from tests.cli.conftest import Run
from tests.grids import first
from tests.test_run_again import assert_same, execute, table

pytestmark = pytest.mark.usefixtures("reports")

WORDS = {
    "knowledge": ["--require", "a->b", "--forbid", "c->d", "--tier", "a,b", "--edge-prior", "0.2"],
    "sampled": ["--method", "mcmc", "--steps", "400", "--chains", "2"],
    "read": ["--columns", "a,b,c", "--max-parents", "1", "--structure-prior", "uniform"],
}


@pytest.mark.parametrize("words", first(WORDS.values()), ids=WORDS)
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
    command = shlex.join(["outpoint", *line[:-1], "--seed", str(first.info.seed)])
    assert command.replace("'", "&#39;").replace(">", "&gt;") in page
    again = [word if word != "first" else "second" for word in line]
    outcome = run(*again, "--seed", str(first.info.seed))
    assert (outcome.code, outcome.err) == (0, "")
    assert_same(first, op.load("second"))


PEOPLE = """size,sex,score,visits,wealth,n,note
small,f,3,0,1.2,2,none
medium,m,4,1,20.5,1,x
large,f,5,3,3.1,3,none
medium,f,,2,7.7,2,x
small,m,2,0,150.1,1,none
large,m,4,5,2.9,4,x
medium,f,1,1,11.3,2,none
large,m,3,2,0.4,1,x
"""
"""Three levels with an order, a hole, counts, skew, weights and a word that may mean missing."""

READ = {
    "ordinal": ["--ordinal", "size:small<medium<large", "--drop", "n"],
    "normal scores": ["--normal-scores", "wealth", "--drop", "n,note"],
    "weights": ["--weights", "n", "--categorical", "visits"],
    "words": ["--na", "none", "--missing", "drop", "--drop", "n"],
    "bdeu": ["--score", "bdeu", "--columns", "size,sex,visits"],
    "bge": ["--score", "bge", "--columns", "visits,wealth,n"],
    "discretize": ["--discretize", "wealth:3", "--drop", "n,score"],
}


@pytest.mark.parametrize("words", READ.values(), ids=READ)
def test_a_table_as_people_have_it(run: Run, words: list[str]) -> None:
    Path("people.csv").write_text(PEOPLE, encoding="utf-8")
    line = ["learn", "people.csv", *words, "-q", "--out", "first"]
    outcome = run(*line)
    assert (outcome.code, outcome.err) == (0, "")
    first = op.load("first")
    summary = json.loads(Path("first/summary.json").read_text(encoding="utf-8"))
    assert_same(first, execute(summary["run_again"]))
    program, *again = shlex.split(shown("first").replace("first", "second"))
    assert program == "outpoint"
    assert run(*again).code == 0
    assert_same(first, op.load("second"))


def shown(directory: str) -> str:
    """What the report says about making the run again."""
    page = Path(directory, "report.html").read_text(encoding="utf-8")
    return html.unescape(page.split('<pre tabindex="0">')[-1].split("</pre>")[0])


TIMED = {
    "time": ["--time", "0.3s"],
    "steps first": ["--time=1h", "--steps=1234", "--until-converged", "--warmup", "500"],
}


@pytest.mark.long
@pytest.mark.parametrize("words", TIMED.values(), ids=TIMED)
def test_a_run_limited_by_a_clock(run: Run, words: list[str]) -> None:
    line = ["learn", "data.csv", "--method", "mcmc", *words, "--seed", "3", "-q", "--out", "first"]
    assert run(*line).code == 0
    first = op.load("first")
    command = shown("first")
    program, *again = shlex.split(command.replace("first", "second"))
    assert program == "outpoint"
    assert f"--steps {first.steps_per_chain}" in command
    assert not {"--time", "--time=1h", "--steps=1234", "--until-converged"} & set(again)
    assert run(*again).code == 0
    assert_same(first, op.load("second"))


def test_a_run_that_was_continued(run: Run) -> None:
    line = ["learn", "data.csv", "--method", "mcmc", "-q", "--out", "first"]
    assert run(*line, "--steps", "400", "--seed", "3").code == 0
    assert run(*line, "--resume", "--steps", "2000").code == 0
    assert "planned_steps=400" in shown("first")
    assert_same(op.load("first"), execute(shown("first")))

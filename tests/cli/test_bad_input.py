"""Bad input on the command line: exit code 2, one sentence that helps, and nothing written."""

import json
from pathlib import Path

import numpy as np
import pytest

import outpoint as op
from tests.cli.conftest import NUMBERS, Run, listing, table

WIDE = table(",".join(f"v{i}" for i in range(40)), np.random.default_rng(1).normal(size=(50, 40)))
TWICE = np.column_stack([NUMBERS, NUMBERS[:, 2]])
CONSTANT = np.column_stack([NUMBERS, np.full(30, 2.5)])

# the content of the file, then fragments that the message must contain
BAD_FILES: dict[str, tuple[str | bytes, list[str]]] = {
    "empty": ("", ["bad.csv", "is empty", "header"]),
    "header only": ("a,b,c\n", ["bad.csv", "no data rows"]),
    "one column": ("a\n1.5\n2\n", ["one column ('a')", "at least two", "--separator"]),
    "missing": ("a,b\n1.5,2\n3,\n4,NA\n", ["'b'", "2 missing values", "row 2 (line 3)", "impute"]),
    "infinite": ("a,b\n1.5,2\n3,inf\n", ["'b'", "infinite", "row 2", "correct"]),
    "text among numbers": (
        "a,b\n1.5,2\n3,oops\n4,5\n",
        ["text in a numeric column", "'b'", "'oops'", "--categorical b"],
    ),
    "hint for a difficult name": (
        "a,it is\n1.5,2\n3,oops\n4,5\n",
        ["--categorical 'it is'"],
    ),
    "constant": (table("a,b,c,d,e", CONSTANT), ["'e'", "constant", "--allow-degenerate"]),
    "identical": (
        table("a,b,c,d,e", TWICE),
        ["'c' and 'e' are identical", "BGe stays defined", "tell the two apart", "--drop e"],
    ),
    "duplicate names": ("a,b,a\n1.5,2,3\n4,5,6\n", ["'a' occurs more than once", "rename"]),
    "identifier and dates": (
        "id,day,x,y\n" + "".join(f"{i + 100},2024-01-{i + 1},{i / 7},{i / 3}\n" for i in range(20)),
        ["'id' holds a different value in every row", "'day' holds dates", "--drop id,day"],
    ),
    "binary": (bytes(range(128)) * 3, ["bad.csv", "not a text file"]),
    "short row": ("a,b\n1.5,2\n3\n", ["Line 3", "1 field", "the header has 2"]),
    "long row": ("a,b\n1.5,2\n3,4,5\n", ["Line 3", "3 fields", "the header has 2"]),
    "no header": ("1.5,2\n3,4\n", ["header row", "names"]),
    "name with a line break": (
        '"two\nlines",b\n1.5,2\n3,oops\n4,5\n',
        ["'b'", "row 2 (line 4)"],
    ),
}


def check_refusal(run: Run, words: list[str], fragments: list[str]) -> None:
    before = listing()
    outcome = run("learn", *words)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("outpoint: ")
    assert outcome.err.endswith(".\n")
    assert outcome.err.count("\n") == 1, outcome.err
    assert "Traceback" not in outcome.err
    for fragment in fragments:
        assert fragment in outcome.err
    assert listing() == before


@pytest.mark.attack(
    "tables that cannot be read", "one sentence, exit code 2, nothing written", times=2
)
@pytest.mark.parametrize(("content", "fragments"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_bad_file(run: Run, content: str | bytes, fragments: list[str]) -> None:
    Path("bad.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    check_refusal(run, ["bad.csv", "--strict"], fragments)
    check_refusal(run, ["bad.csv", "--strict", "--out", "new/deep/run", "--json"], fragments)


FAIR_FILES: dict[str, tuple[str, list[str]]] = {
    "constant": (
        table("a,b,c,d,e", CONSTANT),
        ["left out 'e', which is constant; keep it with --allow-degenerate"],
    ),
    "identical": (
        table("a,b,c,d,e", TWICE),
        ["left out 'e', which says the same as 'c'; keep both with --allow-degenerate"],
    ),
    "fewer rows than columns": (
        table(rows=NUMBERS[:3]),
        ["with fewer rows (3) than columns (4) the prior decides most edges"],
    ),
    "identifier and dates": (
        "id,day,x,y\n"
        + "".join(f"{i + 100},2024-01-{i + 1},{i / 7},{i * i % 11}\n" for i in range(20)),
        [
            "left out 'id', which differs in every row (100); keep it with --continuous id",
            "left out 'day', which holds dates or times ('2024-01-1'); keep it with "
            "--categorical day",
        ],
    ),
    "holes": (
        table() + ",1,2,3\n",
        [
            "1 cell is missing, in 'a' (1): 1 row of 31; what is missing is integrated out, "
            "assuming that it is missing at random; drop such rows with --missing drop, or refuse "
            "them with --missing refuse"
        ],
    ),
}


@pytest.mark.parametrize(("content", "notes"), FAIR_FILES.values(), ids=FAIR_FILES.keys())
def test_what_is_left_out_is_said(run: Run, content: str, notes: list[str]) -> None:
    """One line each in the printed summary, and in summary.json."""
    Path("data.csv").write_text(content)
    outcome = run("learn", "data.csv", "--out", "run")
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("Note"))
    shown = [line[10:] for line in lines[first : first + len(notes)]]
    assert shown == notes
    assert [line[:10].strip() for line in lines[first : first + len(notes) + 1]] == [
        "Note",
        *[""] * (len(notes) - 1),
        "Model",
    ]
    assert lines[1].startswith("Kinds     continuous: ")
    summary = json.loads(Path("run/summary.json").read_text())
    assert summary["notes"] == notes


def test_ordinal_weights_and_na(run: Run) -> None:
    rows = [
        f"{['small', 'large', 'medium'][i % 3]},{i % 7 / 2},{i * i % 5},{1 + i % 2}\n"
        for i in range(30)
    ]
    Path("data.csv").write_text("size,x,y,n\n" + "".join(rows) + "unknown,1,1,3\n")
    words = ["--ordinal", "size:small<medium<large", "--weights", "n", "--na", "unknown"]
    words += ["--missing", "drop"]
    outcome = run("learn", "data.csv", *words, "--normal-scores", "x", "--out", "run")
    assert outcome.code == 0, outcome.err
    assert "data.csv: 45 observations of 3 continuous variables" in outcome.out
    assert "(small < medium < large)" in outcome.out
    assert op.load("run").info.reading == {
        "ordinal": {"size": ["small", "medium", "large"]},
        "normal_scores": ["x"],
        "weights": "n",
        "missing": "drop",
        "na": ["unknown"],
    }


BAD_OPTIONS = {
    "missing file": (["nowhere/data.csv"], ["no file 'nowhere/data.csv'", "check the path"]),
    "misspelt bundled": (["bostn"], ["'bostn'", "boston, asia"]),
    "directory": (["."], ["'.' is a directory", "data file"]),
    "method": (["--method", "magic"], ["--method must be one of auto, exact", "not 'magic'"]),
    "score": (["--score", "aic"], ["unknown score 'aic'", "auto, bge, bdeu"]),
    "score of the other kind": (
        ["--score", "bdeu"],
        ["BDeu needs categorical", "'a'", "continuous"],
    ),
    "bge of categories": (["asia", "--score", "bge"], ["BGe needs continuous", "'asia'"]),
    "structure prior": (["--structure-prior", "flat"], ["'flat'", "fair, uniform"]),
    "kind of no column": (["--continuous", "zz"], ["'zz'", "not a column", "'a', 'b'"]),
    "two kinds": (["--continuous", "a", "--categorical", "a,b"], ["'a'", "both"]),
    "no names": (["--drop", " , "], ["--drop must be a list of columns"]),
    "all dropped": (["--drop", "a,b,c"], ["one column ('d')", "at least two"]),
    "cut without levels": (["--discretize", "a"], ["COLUMN:K", "'a'"]),
    "cut into words": (["--discretize", "a:three"], ["COLUMN:K", "'a:three'"]),
    "cut into one": (["--discretize", "a:1"], ["'a'", "from 2"]),
    "decimal mark": (["--decimal", ";"], ["'.' or ','"]),
    "missing": (
        ["--missing", "impute"],
        ["--missing must be one of auto, augment, drop, refuse", "not 'impute'"],
    ),
    "decimal of bundled": (["asia", "--decimal", ","], ["decimal", "leave the options out"]),
    "old option": (["--type", "continuous"], ["no such option", "--type"]),
    "separator": (["--separator", "ab"], ["'ab'", "one character"]),
    "wrong separator": (["--separator", ";"], ["one column", "'a,b,c,d'"]),
    "required cycle": (
        ["--require", "a->b", "--require", "b->c", "--require", "c->a"],
        ["required edges contradict", "cycle"],
    ),
    "required both ways": (["--require", "a->b", "--require", "b->a"], ["contradict", "cycle"]),
    "required and forbidden": (
        ["--require", "a->b", "--forbid", "a -> b"],
        ["a -> b", "both required and forbidden"],
    ),
    "required against tiers": (
        ["--require", "b->a", "--tier", "a", "--tier", "b,c"],
        ["b -> a", "against the tiers"],
    ),
    "required into a root": (["--require", "a->b", "--root", "b"], ["a -> b", "root"]),
    "required loop": (["--require", "a->a"], ["'a' -> 'a'", "itself"]),
    "forbidden loop": (["--forbid", "a->a"], ["'a' -> 'a'", "itself"]),
    "unknown in require": (["--require", "a->zz"], ["required edge", "'zz'", "not a column"]),
    "unknown in forbid": (["--forbid", "zz->a"], ["forbidden edge", "'zz'", "not a column"]),
    "unknown in tier": (["--tier", "a,zz"], ["a tier names ", "'zz'", "not a column"]),
    "unknown in root": (["--root", "zz"], ["roots", "'zz'", "not a column"]),
    "no knowledge": (["--knowledge", "known.toml"], ["cannot read known.toml", "No such file"]),
    "knowledge in data": (["--knowledge", "data.csv"], ["first row of data.csv", "kind,parent"]),
    "in two tiers": (["--tier", "a,b", "--tier", "b"], ["'b'", "two tiers"]),
    "empty tier": (["--tier", " , "], ["a tier must be a list of columns"]),
    "edge without arrow": (["--forbid", "a,b"], ["'A->B'", "'a,b'"]),
    "edge backwards": (["--require", "a<-b"], ["'A->B'", "'a<-b'"]),
    "edge without child": (["--require", "a->"], ["'A->B'", "'a->'"]),
    "edge without parent": (["--forbid", " ->b"], ["'A->B'", "' ->b'"]),
    "no parents": (["--max-parents", "0"], ["--max-parents", "from 1 to 3", "not 0"]),
    "negative parents": (["--max-parents", "-1"], ["--max-parents", "from 1 to 3", "not -1"]),
    "many parents": (["--max-parents", "4"], ["from 1 to 3 for 4 variables", "not 4"]),
    "parents in words": (["--max-parents", "two"], ["--max-parents", "integer"]),
    "half a parent": (["--max-parents", "1.5"], ["--max-parents", "integer"]),
    "more required than allowed": (
        ["--max-parents", "1", "--require", "a->c", "--require", "b->c"],
        ["c has 2 required parents", "--max-parents is 1"],
    ),
    "negative seed": (["--seed", "-3"], ["seed", "-3"]),
    "seed in words": (["--seed", "lucky"], ["--seed", "integer"]),
    "edge prior 0": (["--edge-prior", "0"], ["between 0 and 1", "0.0"]),
    "edge prior 1": (["--edge-prior", "1"], ["between 0 and 1", "1.0"]),
    "edge prior 7": (["--edge-prior", "7"], ["between 0 and 1", "7.0"]),
    "edge prior nan": (["--edge-prior", "nan"], ["between 0 and 1", "nan"]),
    "edge prior in words": (["--edge-prior", "high"], ["--edge-prior", "valid"]),
    "sample size 0": (["asia", "--equivalent-sample-size", "0"], ["positive", "0.0"]),
    "sample size -1": (["asia", "--equivalent-sample-size", "-1"], ["positive", "-1.0"]),
    "sample size nan": (["asia", "--equivalent-sample-size", "nan"], ["positive", "nan"]),
    "sample size of bge": (
        ["--score", "bge", "--equivalent-sample-size", "1"],
        ["--equivalent-sample-size belongs to bdeu", "not to the score bge"],
    ),
    "raw units of bdeu": (
        ["asia", "--score", "bdeu", "--raw-units"],
        ["--raw-units belongs to bge", "not to the score bdeu"],
    ),
    "both settings": (
        ["asia", "--equivalent-sample-size", "1", "--raw-units"],
        ["--raw-units belongs to bge", "not to the score bdeu"],
    ),
    "too many for exact": (["wide.csv", "--method", "exact"], ["40 variables", "22"]),
    "unknown option": (["--colour"], ["no such option", "--colour", "learn --help"]),
    "second file": (["data.csv", "other.csv"], ["other.csv", "learn --help"]),
    "value missing": (["--seed"], ["--seed", "--help"]),
}


@pytest.mark.attack("options that make no sense", "one sentence, exit code 2, nothing written")
@pytest.mark.parametrize(("words", "fragments"), BAD_OPTIONS.values(), ids=BAD_OPTIONS.keys())
def test_bad_options(run: Run, words: list[str], fragments: list[str]) -> None:
    Path("wide.csv").write_text(WIDE)
    names_data = bool(words) and not words[0].startswith("-")
    check_refusal(run, words if names_data else ["data.csv", *words], fragments)


def test_data_are_required(run: Run) -> None:
    check_refusal(run, [], ["missing argument 'DATA'", "learn --help"])


def test_unknown_command(run: Run) -> None:
    outcome = run("lern", "data.csv")
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert "no such command 'lern'" in outcome.err


@pytest.mark.attack("hostile names of variables")
def test_control_characters_do_not_reach_the_terminal(run: Run) -> None:
    Path("bad.csv").write_text('"a\x1b[31m\nb",b,c\n1.5,2,3\n3,4,1\n5,6,7\n')
    words = ["bad.csv", "--root", "b", "--require", "a\x1b[31m\nb->b"]
    check_refusal(run, words, ["a\\x1b[31m\\nb -> b is required but into a root"])
    assert "\x1b" not in run("learn", *words).err


BAD_PLACES = {
    "a file in the way": ("data.csv", ["data.csv is a file", "--out"]),
    "a file as a parent": ("data.csv/run", ["cannot write to data.csv/run", "Not a directory"]),
    "other files": ("notes", ["notes holds other files", "'diary.txt'", "--out"]),
    "the directory of the data": (".", ["holds other files", "'data.csv'"]),
    "a run with other files": ("mixed", ["mixed holds other files", "'diary.txt'"]),
    "a dangling link": ("link", ["link is a file"]),
    "an endless name": ("x" * 300, ["cannot write", "name too long"]),
}


@pytest.mark.attack("places that cannot be written", "one sentence, nothing changed")
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(("place", "fragments"), BAD_PLACES.values(), ids=BAD_PLACES.keys())
def test_unwritable_place(run: Run, place: str, fragments: list[str], overwrite: bool) -> None:
    for name in ("notes/diary.txt", "mixed/diary.txt", "mixed/summary.json", "mixed/edges.csv"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("mine")
    Path("link").symlink_to("nowhere")
    options = ["--overwrite"] if overwrite else []
    check_refusal(run, ["data.csv", "--out", place, *options], fragments)
    assert Path("mixed/summary.json").read_text() == "mine"


def test_place_is_refused_before_any_work(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outpoint.learning._learn", lambda *a, **k: pytest.fail("worked"))
    check_refusal(run, ["data.csv", "--out", "data.csv"], ["is a file"])

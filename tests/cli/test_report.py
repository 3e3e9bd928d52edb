"""``outpoint report``: the page of a run, with its data if they are its data."""

from pathlib import Path

import pytest

from outpoint.posterior import load
from outpoint.report import render_report
from tests.cli.conftest import Run, Runs, listing

pytestmark = pytest.mark.usefixtures("reports")


def test_page_is_that_of_python(run: Run, runs: Runs) -> None:
    outcome = run("report", str(runs.exact), "--out", "page.html")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == f"page.html: report of {runs.exact}\n"
    text = Path("page.html").read_text(encoding="utf-8")
    assert text == render_report(load(runs.exact))
    assert listing() == ["data.csv", "page.html"]


def test_default_place_and_quiet(run: Run, runs: Runs) -> None:
    Path("report.html").write_text("old")
    assert run("report", str(runs.exact / "posterior.npz"), "-q").out == ""
    assert "<html" in Path("report.html").read_text(encoding="utf-8")


def test_data(run: Run, runs: Runs) -> None:
    assert run("report", str(runs.exact), "-o", "plain.html").code == 0
    assert run("report", str(runs.exact), "-o", "full.html", "--data", "data.csv").code == 0
    assert len(Path("full.html").read_text()) > len(Path("plain.html").read_text())
    before = listing()
    other = run("report", str(runs.exact), "-o", "other.html", "--data", "asia")
    assert other.code == 2
    assert "asia does not hold the data of the run" in other.err
    assert listing() == before


def test_a_pipe_is_not_replaced(run: Run, runs: Runs, tmp_path: Path) -> None:
    import os
    import threading

    os.mkfifo("pipe")
    read: list[int] = []
    reader = threading.Thread(target=lambda: read.append(len((tmp_path / "pipe").read_bytes())))
    reader.start()
    assert run("report", str(runs.exact), "-o", "pipe").code == 0
    reader.join(timeout=10)
    assert read[0] > 10_000
    assert Path("pipe").is_fifo()

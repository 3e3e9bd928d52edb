"""Surroundings that fail: standard output, variables, the working directory, numbers in a table."""

import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import outpoint as op
from tests.cli.conftest import Run
from tests.cli.test_streams import shell
from tests.grids import first

OUTPOINT = shlex.join([sys.executable, "-m", "outpoint"])
LEARN = "learn boston --max-parents 1 --out"


PLACES = {"> /dev/full": "No space left on device", ">&-": "Bad file descriptor"}


@pytest.mark.attack("standard output that is closed or full", "one sentence, exit code 3")
@pytest.mark.parametrize("place", PLACES)
def test_standard_output(place: str, tmp_path: Path) -> None:
    done = shell(f"{OUTPOINT} datasets {place}", tmp_path)
    assert done.returncode == 3
    sentence = f"cannot write to standard output: {PLACES[place]}; everything else is done."
    assert done.stderr == f"outpoint: {sentence}\n"


@pytest.mark.attack("standard output that is closed or full")
@pytest.mark.parametrize("streams", ["|", "2>&1 |"])
def test_a_reader_that_is_gone(streams: str, tmp_path: Path) -> None:
    done = shell(f"{OUTPOINT} datasets {streams} true; exit ${{PIPESTATUS[0]}}", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")


@pytest.mark.long
@pytest.mark.attack("standard output that is closed or full")
@pytest.mark.parametrize("place", [*PLACES, "| true; exit ${PIPESTATUS[0]}"])
def test_a_run_is_written_all_the_same(place: str, tmp_path: Path) -> None:
    """The exit code tells a run that is written from one that has failed."""
    assert shell(f"{OUTPOINT} {LEARN} run {place}", tmp_path).returncode == 3
    assert (tmp_path / "run" / "summary.json").exists()
    assert shell(f"{OUTPOINT} {LEARN} other --quiet {place}", tmp_path).returncode == 0
    assert shell(f"{OUTPOINT} learn nothing {place}", tmp_path).returncode == 2


@pytest.mark.attack("a broken NUMBA_NUM_THREADS", "one sentence, and the run goes on")
@pytest.mark.parametrize("value", first(["abc", "0", "-1", "1.5", "9" * 5000, "''"]))
def test_threads_of_numba(value: str, tmp_path: Path) -> None:
    code = "import outpoint.kernels; from outpoint.cli import main; main()"
    words = f"NUMBA_NUM_THREADS={value} {shlex.quote(sys.executable)} -c '{code}' datasets"
    done = shell(words, tmp_path)
    assert done.returncode == 0
    assert done.stderr.startswith("outpoint: NUMBA_NUM_THREADS is ignored, as it is not a whole")
    assert done.stderr.count("\n") == 1


@pytest.mark.attack("a working directory that is gone", "one sentence")
def test_no_working_directory(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    data = np.random.default_rng(1).normal(size=(20, 3))
    with pytest.raises(op.CheckpointError, match="the working directory is gone"):
        op.learn(data, out="run")
    op.learn(data, out=tmp_path / "run")
    assert (tmp_path / "run" / "summary.json").exists()
    outcome = run("learn", "boston", "--max-parents", "1")
    assert outcome.code == 2
    assert "the working directory is gone" in outcome.err
    outcome = run("report", str(tmp_path / "run"), "--out", "report.html")
    assert outcome.code == 2
    assert "there is no place for report.html, as the working directory is gone" in outcome.err


BIG = "9" * 5000
TABLES = {
    "a first row": f"a,b,c\n2,{BIG},2\n" + "0,1,1\n1,0,1\n" * 9,
    "one cell": "a,b,c\n" + "0.1,1,1\n0.2,5,7\n0.7,3,1.5\n" * 5 + f"0.3,{BIG},2\n",
    "a whole column": "a,b,c\n" + f"0.1,{BIG},1\n0.2,{BIG},7\n" * 5,
    "a decimal": "a,b,c\n" + f"0.1,0.{BIG},1\n0.2,2,7\n0.9,3,1\n" * 5,
    "an exponent": "a,b,c\n" + "0.1,1e99999,1\n0.2,2,7\n0.9,3,1\n" * 5,
}


@pytest.mark.attack("numbers of 5,000 digits in a table", "read, or one sentence")
@pytest.mark.parametrize("names", [{}, {"categorical": ["b"]}, {"weights": "b"}])
def test_long_numbers(names: dict[str, Any], tmp_path: Path) -> None:
    for label, text in TABLES.items():
        (tmp_path / "data.csv").write_text(text)
        found = dataset_or_refusal(tmp_path / "data.csv", names)
        is_read = isinstance(found, op.Dataset)
        assert np.isfinite(found.values).all() if is_read else len(found) < 500, label


def dataset_or_refusal(path: Path, names: dict[str, Any]) -> Any:
    try:
        return op.load_dataset(path, **names)
    except op.OutpointError as error:
        return str(error)

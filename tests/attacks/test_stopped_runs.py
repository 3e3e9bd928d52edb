"""Commands that are killed, told to end or stopped at random moments end like those left alone."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.attacks.stopped_runs import CASES, KILL, SIGNALS
from tests.runs.problems import python

ATTACK = pytest.mark.attack(
    "commands killed, stopped, told to end or left by their readers",
    "no traceback, continued to the same bytes",
)
HOURS = 4 * 3600.0
"""For a case with Dask on a machine with other work to do, where a cluster starts in minutes."""

ENDED = (" -9", " 130")
"""Codes of commands that were at work when they were killed or told to end."""

Record = Callable[[str, object], None]


def check(place: Path, record: Record, case: str, **job: int) -> None:
    words = json.dumps({"directory": str(place), "cases": [case], **job})
    done = python("-m", "tests.attacks.stopped_runs", words, timeout=HOURS)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    record("attacks", sum(found["tried"].values()))
    assert found["wrong"] == []
    assert sum(found["tried"].values()) == job["kills"] + job["signals"]
    assert set(found["tried"]) <= {KILL, *SIGNALS}
    assert sum(n for words, n in found["codes"].items() if words.endswith(ENDED)) > 0


@ATTACK
@pytest.mark.parametrize("case", ["holes, exact tables", "series, exact"])
def test_some(case: str, tmp_path: Path, record_property: Record) -> None:
    check(tmp_path, record_property, case, kills=2, signals=len(SIGNALS), seed=3)


@ATTACK
@pytest.mark.long
@pytest.mark.parametrize("case", [case for case in CASES if "Dask" not in case])
def test_threads(case: str, tmp_path: Path, record_property: Record) -> None:
    """Seven cases: 84 kills and 168 signals."""
    check(tmp_path, record_property, case, kills=12, signals=24, seed=1)


@ATTACK
@pytest.mark.long
@pytest.mark.parametrize("case", [case for case in CASES if "Dask" in case])
def test_dask(case: str, tmp_path: Path, record_property: Record) -> None:
    """Two cases: 16 kills and 32 signals."""
    pytest.importorskip("distributed")
    check(tmp_path, record_property, case, kills=8, signals=16, seed=1)

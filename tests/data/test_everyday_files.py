"""Tables as people have them: each is read, or refused with the option that helps."""

import time
from pathlib import Path

import pytest

from tests.data import everyday
from tests.data.everyday import CASES, Case

DOCS = Path(__file__).parents[2] / "docs" / "data.md"
SECONDS = 30.0
"""Far more than any of the files takes; a quadratic step would take longer."""


def test_there_are_enough() -> None:
    assert len(CASES) >= 40
    assert len({case.title for case in CASES if not case.title.startswith("the same")}) >= 40


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_everyday_file(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    start = time.monotonic()
    works, said = everyday.outcome(case)
    assert time.monotonic() - start < SECONDS
    assert works is case.works, said
    assert case.fragment in said
    if not works:
        assert said.endswith(".")
        assert "\n" not in said


def test_the_documentation_shows_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert everyday.table() in DOCS.read_text(encoding="utf-8"), "run python -m tests.data.everyday"

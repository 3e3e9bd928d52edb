"""Runs in many small rounds."""

import pytest

from tests.runs.problems import use_short_rounds


@pytest.fixture
def short_rounds(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    use_short_rounds(monkeypatch)
    return monkeypatch

"""Runs in many small rounds; Ctrl-C works also where the tests run in the background."""

import signal
from collections.abc import Iterator

import pytest

from tests.figures import leave_out_reports
from tests.runs.problems import use_short_rounds


@pytest.fixture
def short_rounds(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    use_short_rounds(monkeypatch)
    return monkeypatch


@pytest.fixture(autouse=True)
def no_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_out_reports(monkeypatch)


@pytest.fixture(autouse=True)
def heeded_interrupts() -> Iterator[None]:
    """A shell starts background jobs with SIGINT ignored, and Python leaves it so."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)

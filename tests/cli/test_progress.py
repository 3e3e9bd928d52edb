"""What is shown while chains run: on a terminal, in a file, or nothing."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import outpoint as op
from outpoint import showing as module
from outpoint.kernels import are_cached
from outpoint.runs import ChainStatus, Progress
from outpoint.showing import RunProgress
from tests.cli.conftest import Run, table, without_colours


def report(fraction: float, *, step: int = 500, **more: Any) -> Progress:
    chains = tuple(ChainStatus(step + i, np.array([-3.0, -2.5 - i]), -1.25 - i) for i in range(2))
    return Progress(
        "sampling", fraction, chains, **{"steps_per_second": 1234.5, "rhat": 1.01} | more
    )


REPORTS = [
    Progress("scoring parent sets", 0.0),
    Progress("sampling", 0.0),
    Progress("sampling", 0.0, (ChainStatus(20, np.zeros(0), -np.inf),), 0.0, None),
    report(0.1),
    report(0.5, rhat=float("inf")),
    report(0.6, rhat=float("nan"), steps_per_second=None),
    Progress("[red]stage[/nonsense] 100%", 0.3),
    report(1.0),
]


def shown(monkeypatch: pytest.MonkeyPatch, *, terminal: bool, shown: bool = True) -> str:
    stream = io.StringIO()
    monkeypatch.setattr(module, "are_cached", lambda: True)
    monkeypatch.setattr(
        module,
        "Console",
        lambda **_: Console(file=stream, force_terminal=terminal, width=100, height=30),
    )
    monkeypatch.setattr(module, "SECONDS_BETWEEN_LINES", -1.0)
    with RunProgress(shown=shown) as progress:
        for now in REPORTS:
            progress(now)
            if progress._live is not None:
                progress._live.refresh()
    return without_colours(stream.getvalue())


def test_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, terminal=True)
    assert "scoring parent sets" in text
    assert "100%" in text
    assert "warming up" in text
    assert "-inf" in text
    for word in ("chain", "steps", "log score", "best", "501", "-3.50", "-2.25"):
        assert word in text
    assert "1,234 steps/s, R-hat of the log score 1.010" in " ".join(text.split())


def test_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(monkeypatch, terminal=False).splitlines()
    assert lines[:2] == ["scoring parent sets ...", "sampling ..."]
    assert lines[2] == "sampling: 0%, 20 steps per chain, best log score -inf"
    assert lines[3] == (
        "sampling: 10%, 500 steps per chain, best log score -1.25, 1,234 steps/s, "
        "R-hat of the log score 1.010"
    )
    assert lines[-1].startswith("sampling: 100%")


@pytest.mark.parametrize("terminal", [False, True])
def test_nothing(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    assert shown(monkeypatch, terminal=terminal, shown=False) == ""


def test_few_lines_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(module, "Console", lambda **_: Console(file=stream))
    with RunProgress(shown=True) as progress:
        for _ in range(100):
            progress(report(0.5))
    assert stream.getvalue() == "sampling ...\n"


HOSTILE = ["[bold]x[/bold]", "\x1b[31mred", "%(a)s {task}", "naïve ☃", "[/]", "\\"]


@pytest.mark.parametrize("terminal", ["1", None])
def test_hostile_names(run: Run, terminal: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are data: nothing in them is markup, a format or a command to the terminal."""
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", terminal)
    rows = np.random.default_rng(1).normal(size=(30, 6)).round(3)
    Path("data.csv").write_text(table("\t".join(HOSTILE), rows, "\t"), encoding="utf-8")
    outcome = run("learn", "data.csv", "--method", "mcmc", "--steps", "500", "--out", "[run]")
    assert outcome.code == 0
    assert "[bold]x[/bold]" in without_colours(outcome.out)
    assert "\x1b[31mred" not in outcome.out
    assert "\\x1b[31mred" in outcome.out


def test_quiet(run: Run) -> None:
    outcome = run("learn", "data.csv", "--method", "mcmc", "--steps", "500", "--quiet")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")


def test_progress_goes_to_standard_error(run: Run) -> None:
    outcome = run("learn", "data.csv", "--method", "mcmc", "--steps", "500", "--json")
    assert outcome.out.startswith("{")
    assert "sampling ..." in outcome.err


@pytest.mark.parametrize(
    ("terminal", "quiet", "cached", "said"),
    [
        (True, False, False, 1),
        (True, True, False, 0),
        (False, False, False, 0),
        (True, False, True, 0),
    ],
)
def test_the_first_run_says_that_it_compiles(monkeypatch, terminal, quiet, cached, said):
    stream = io.StringIO()
    monkeypatch.setattr(
        module, "Console", lambda **_: Console(file=stream, force_terminal=terminal, width=100)
    )
    monkeypatch.setattr(module, "are_cached", lambda: cached)
    with RunProgress(shown=False, quiet=quiet):
        pass
    assert stream.getvalue().count("compiling, once") == said


def test_whether_kernels_are_cached(monkeypatch, tmp_path):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    assert not are_cached()
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "kernel.nbi").touch()
    assert are_cached()


class Clock:
    """Seconds that pass only when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def in_python(monkeypatch: pytest.MonkeyPatch, given: Any, *, terminal: bool) -> list[str]:
    """What is shown after one second, and after three, of a run that Python began."""
    stream, clock = io.StringIO(), Clock()
    monkeypatch.setattr(module, "are_cached", lambda: True)
    monkeypatch.setattr(module, "monotonic", clock)
    monkeypatch.setattr(
        module, "Console", lambda **_: Console(file=stream, force_terminal=terminal, width=100)
    )
    texts = []
    with module.shown(given) as callback:
        for seconds in (1.0, 3.0):
            clock.now = 100.0 + seconds
            if callback is not None:
                callback(report(0.5))
            live = getattr(callback, "_live", None)
            if live is not None and live.is_started:
                live.refresh()
            texts.append(without_colours(stream.getvalue()))
    return texts


@pytest.mark.parametrize(
    ("given", "terminal", "early", "late"),
    [
        (None, True, False, True),
        (None, False, False, False),
        (True, True, True, True),
        (True, False, True, True),
        (False, True, False, False),
    ],
)
def test_when_python_shows_it(
    monkeypatch: pytest.MonkeyPatch, given: Any, terminal: bool, early: bool, late: bool
) -> None:
    texts = in_python(monkeypatch, given, terminal=terminal)
    assert [("sampling" in text) for text in texts] == [early, late]


def test_a_function_of_the_user_is_called() -> None:
    with module.shown(print) as callback:
        assert callback is print
    with pytest.raises(op.OptionError, match="progress must be True, False, None or a function"):
        op.find_map("asia", progress=3)  # type: ignore[arg-type]


def test_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(module, "_in_notebook", lambda: True)
    monkeypatch.setattr(module._NotebookLine, "show", lambda self, text: lines.append(text))
    assert in_python(monkeypatch, None, terminal=False) == ["", ""]
    assert lines == [
        "sampling: 50%, 500 steps per chain, best log score -1.25, 1,234 steps/s, "
        "R-hat of the log score 1.010"
    ]
    assert in_python(monkeypatch, False, terminal=False) == ["", ""]
    assert len(lines) == 1

"""The command line run in this process, in an empty directory that every test has to itself."""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from outpoint.cli import main

COLOURS = ("FORCE_COLOR", "PY_COLORS", "TTY_COMPATIBLE", "GITHUB_ACTIONS", "CLICOLOR_FORCE")
"""Variables that can make a pipe look like a terminal."""

RNG = np.random.default_rng(7)
NUMBERS = RNG.normal(size=(30, 4)).round(3)
NUMBERS[:, 1] += NUMBERS[:, 0]
NUMBERS[:, 3] -= NUMBERS[:, 1]


def table(names: str = "a,b,c,d", rows: np.ndarray = NUMBERS, separator: str = ",") -> str:
    """The text of a file with these numbers."""
    lines = [separator.join(str(value) for value in row) for row in rows]
    return "\n".join([names.replace(",", separator), *lines, ""])


@dataclass(frozen=True)
class Outcome:
    """What a user sees of a run."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Call with the words of a command; the file data.csv is there to be learned from."""
    monkeypatch.chdir(tmp_path)
    for variable in ("OUTPOINT_TRACEBACK", *COLOURS):
        monkeypatch.delenv(variable, raising=False)
    Path("data.csv").write_text(table())

    def call(*words: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["outpoint", *words])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else int(error.code is not None)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


def without_colours(text: str) -> str:
    """The text without escape sequences."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def listing(directory: Path = Path()) -> list[str]:
    """Every file and directory below ``directory``, hidden ones included."""
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))

"""The command line run in this process, in an empty directory that every test has to itself."""

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import outpoint as op
from outpoint.cli import main
from tests.figures import leave_out_figures, leave_out_reports

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


@pytest.fixture(autouse=True)
def short_reports(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing in them; where a test asks for ``reports``, all but the figures."""
    leave_out = leave_out_figures if "reports" in request.fixturenames else leave_out_reports
    leave_out(monkeypatch)


@pytest.fixture
def reports() -> None:
    """For tests that look into reports."""


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


HOSTILE = ["[bold]x[/]", "a\x1b[31m\nb", "😀, one", "[/]"]
"""Names that are markup, move the cursor, break lines or hold separators."""

KNOWN = op.Knowledge(
    forbidden=[("b", "c")], roots=["a"], edge_prior={"others": 0.2, "edges": [("a", "d", 0.6)]}
)
TRUTH = op.Dag.from_edges(list("abcd"), [("a", "b"), ("b", "d")])


@dataclass(frozen=True)
class Runs:
    """Runs to ask questions of, by their directories; all but ``categories`` on ``data``."""

    data: Path
    exact: Path
    limited: Path
    sampled: Path
    categories: Path
    hostile: Path


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Posteriors in directories, as ``learn`` leaves them but without the other files."""
    place = tmp_path_factory.mktemp("runs")
    data = place / "data.csv"
    data.write_text(table())
    hostile = op.Dataset(tuple(HOSTILE), NUMBERS)
    posteriors = {
        "exact": op.learn(data, seed=1),
        "limited": op.learn(data, seed=2, max_parents=1, edge_prior=0.2),
        "sampled": op.learn(data, method="partition", steps=400, chains=2, draws=40, seed=3),
        "categories": op.learn("asia", seed=4),
        "hostile": op.learn(hostile, seed=2**80),
    }
    for name, posterior in posteriors.items():
        (place / name).mkdir()
        posterior.save(place / name / "posterior.npz")
    return Runs(data, **{name: place / name for name in posteriors})


def strict_json(text: str) -> Any:
    """JSON without NaN and Infinity, which are Python and not JSON."""
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def check_schema(result: Any, name: str) -> None:
    """The result is what the schema of this name, part of the package, promises."""
    text = (files("outpoint.cli") / "schemas" / f"{name}.json").read_text(encoding="utf-8")
    schema = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(result)

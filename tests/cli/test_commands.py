"""The other commands, and the command line as a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import outpoint as op
from outpoint.cli import app
from tests.cli.conftest import COLOURS, Run, listing, table, without_colours


def outpoint(directory: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """``python -m outpoint`` in a directory."""
    inherited = {key: value for key, value in os.environ.items() if key not in COLOURS}
    return subprocess.run(
        [sys.executable, "-m", "outpoint", *words],
        cwd=directory,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def test_process_success(tmp_path: Path) -> None:
    done = outpoint(tmp_path, "learn", "asia", "--json", "--seed", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["n_observations"] == 1000
    assert (tmp_path / "outpoint-run-asia" / "map.dot").exists()


def test_process_failure(tmp_path: Path) -> None:
    done = outpoint(tmp_path, "learn", "nowhere.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "outpoint: There is no file 'nowhere.csv'; check the path.\n"
    assert listing(tmp_path) == []


@pytest.mark.long
@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_process_with_names_the_terminal_cannot_show(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "data.csv").write_text(table("é😀,b,c,d"), encoding="utf-8")
    done = outpoint(tmp_path, "learn", "data.csv", PYTHONIOENCODING=encoding, COLUMNS="40")
    assert (done.returncode, done.stderr) == (0, "")
    shown = "é😀" if encoding == "utf-8" else "\\xe9\\U0001f600"
    assert shown in done.stdout
    assert "\x1b" not in done.stdout, "no colours in a pipe"
    written = (tmp_path / "outpoint-run-data" / "edges.csv").read_text(encoding="utf-8")
    assert "é😀" in written


def test_help_does_not_load_the_numerics(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['outpoint', '--help']\n"
        "from outpoint.cli import main\n"
        "main()\n"
        "print([m for m in ('numba', 'pandas', 'numpy', 'xarray') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Usage: outpoint" in without_colours(done.stdout)
    assert done.stdout.endswith("[]\n")


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["learn", "--help"]])
def test_help(run: Run, words: list[str]) -> None:
    outcome = run(*words)
    assert (outcome.code, outcome.err) == (0, "")
    assert "Usage: outpoint" in without_colours(outcome.out)
    assert "learn" in outcome.out


def test_help_names_every_option(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    out = without_colours(run("learn", "-h").out)
    for option in (
        *("--out", "--overwrite", "--quiet", "--json", "--method", "--score", "--max-parents"),
        *("--seed", "--raw-units", "--equivalent-sample-size", "--separator"),
        *("--columns", "--drop", "--categorical", "--continuous", "--discretize", "--decimal"),
        *("--missing", "--structure-prior", "--knowledge", "--edge-prior", "--forbid"),
        *("--require", "--tier", "--root", "--allow-degenerate"),
    ):
        assert option in out


def test_version(run: Run) -> None:
    outcome = run("--version")
    assert (outcome.code, outcome.out) == (0, f"outpoint {op.__version__}\n")


def test_list_of_data_sets(run: Run) -> None:
    outcome = run("datasets")
    assert (outcome.code, outcome.err) == (0, "")
    assert [line.split()[0] for line in outcome.out.splitlines()] == ["boston", "asia"]


@pytest.mark.parametrize("name", ["boston", "asia"])
def test_data_set_as_csv(run: Run, name: str) -> None:
    assert run("datasets", name, "--out", "copy.csv").out == ""
    printed = run("datasets", name).out
    assert printed == Path("copy.csv").read_text()
    from outpoint.data import load_dataset

    kind = "continuous" if name == "boston" else "categorical"
    assert load_dataset("copy.csv", **{kind: "all"}) == op.datasets.load(name)


def test_data_set_refusals(run: Run) -> None:
    before = listing()
    unknown = run("datasets", "iris", "--out", "iris.csv")
    assert (unknown.code, unknown.out, unknown.err.count("\n")) == (2, "", 1)
    assert "'iris'" in unknown.err
    assert "boston, asia" in unknown.err
    nowhere = run("datasets", "asia", "--out", "no/such/place.csv")
    assert (nowhere.code, nowhere.out, nowhere.err.count("\n")) == (2, "", 1)
    assert "there is no directory no/such" in nowhere.err
    assert listing() == before


COMMANDS = [command.name or command.callback.__name__ for command in app.registered_commands]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command(run: Run, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An example to copy, and nothing wider than the screen."""
    monkeypatch.setenv("COLUMNS", "80")
    outcome = run(command, "--help")
    assert outcome.code == 0
    text = without_colours(outcome.out)
    assert f"Example: outpoint {command} " in text
    assert "[[" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_completion(tmp_path: Path) -> None:
    """The script for bash, and the words it then asks for."""
    named = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}  # whatever shell runs the tests
    script = outpoint(tmp_path, "--show-completion", "bash", **named)
    assert script.returncode == 0
    assert "complete -o default -F _outpoint_completion outpoint" in script.stdout
    asked = {"_OUTPOINT_COMPLETE": "complete_bash", "COMP_WORDS": "outpoint e", "COMP_CWORD": "1"}
    words = outpoint(tmp_path, **asked).stdout.split()
    assert words == ["effects", "export"]


@pytest.mark.parametrize(
    ("command", "first"),
    [
        ("learn", ["out", "max-parents", "method", "time", "seed", "resume", "overwrite"]),
        ("map", ["out", "max-parents", "method", "seed"]),
        ("simulate", ["nodes", "observations", "kind", "seed"]),
    ],
)
def test_common_options_come_first(run: Run, command: str, first: list[str]) -> None:
    """In a panel before all others, which are named after what they are for."""
    lines = without_colours(run(command, "--help").out).splitlines()
    panels = [line.strip("╭╮─ ") for line in lines if line.startswith("╭")]
    assert panels[:2] == ["Arguments", "Options"]
    assert panels[-1] == "Output"
    shown = [line.split()[1] for line in lines if line.startswith("│ --")]
    assert shown[: len(first) + 1] == [f"--{name}" for name in (*first, "help")]

"""Ctrl-C and SIGTERM: exit code 130, and a command that continues the run to the same end."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from outpoint import showing
from outpoint.cli.terminal import Interrupted, _resume_command
from outpoint.runs import Progress
from tests.cli.conftest import Run, table
from tests.runs.problems import differing, environment

WORDS = ["learn", "data.csv", "--method", "partition", "--steps", "800000", "--draws", "2000"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with data, where ``outpoint`` is a command."""
    (tmp_path / "data.csv").write_text(table())
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "outpoint"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m outpoint "$@"\n')
    script.chmod(0o755)
    return tmp_path


def shell(command: str, place: Path) -> subprocess.CompletedProcess[str]:
    """Type a command."""
    path = f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=place,
        env=environment(PATH=path),
        capture_output=True,
        text=True,
        timeout=300,
    )


def interrupt(
    words: list[str], place: Path, number: signal.Signals, wait_for: str, *, seconds: float = 0.0
) -> tuple[int, str]:
    """Start a run, wait for a file and then for so many seconds, and send it a signal."""
    process = subprocess.Popen(
        [sys.executable, "-m", "outpoint", *words],
        cwd=place,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    end = time.monotonic() + 120
    while not list(place.glob(wait_for)) and process.poll() is None and time.monotonic() < end:
        time.sleep(0.005)
    time.sleep(seconds)
    os.killpg(process.pid, number)
    _, errors = process.communicate(timeout=120)
    return process.returncode, errors


def resume_command(errors: str) -> str:
    last = errors.splitlines()[-1]
    start = "outpoint: interrupted; continue with: "
    assert last.startswith(start)
    assert "Traceback" not in errors
    return last.removeprefix(start)


@pytest.mark.attack("a signal, on the command line", "saved, continues to the same bytes")
@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        pytest.param(signal.SIGTERM, marks=pytest.mark.long),
        pytest.param(signal.SIGHUP, marks=pytest.mark.long),
    ],
)
def test_interrupted_and_continued(place: Path, run: Run, number: signal.Signals) -> None:
    """No seed is given: the run remembers its own."""
    words = [*WORDS, "--out", "my run"]
    draws = "my run/checkpoint/chain-0.draws-*"
    code, errors = interrupt(words, place, number, draws, seconds=0.05)
    assert code == 130
    command = resume_command(errors)
    assert "--resume" in command
    assert "'my run'" in command
    done = shell(command, place)
    assert done.returncode == 0, done.stderr
    assert "interrupted" not in done.stdout
    seed = json.loads((place / "my run" / "summary.json").read_text())["seed"]
    whole = run(*WORDS, "--out", "whole", "--seed", str(seed))
    assert whole.code == 0, whole.err
    assert differing(place / "whole", place / "my run") == []
    again = run(*shlex.split(command)[1:])
    assert again.code == 0, again.err
    assert differing(place / "whole", place / "my run") == [], "there was nothing to do"


def test_before_anything_is_recorded(place: Path) -> None:
    """In the warm-up; without --out the directory is named in the command."""
    words = [*WORDS[:-4], "--steps", "100", "--warmup", "100000000", "--quiet"]
    lock = "outpoint-run-data/checkpoint/run.checkpoint"
    code, errors = interrupt(words, place, signal.SIGINT, lock, seconds=0.3)
    assert code == 130
    assert "--out outpoint-run-data" in resume_command(errors)
    assert [path.name for path in (place / "outpoint-run-data").iterdir()] == ["checkpoint"]
    assert list(place.glob("outpoint-run-data/checkpoint/chain-0.checkpoint"))


@pytest.mark.long
def test_worker_processes(place: Path) -> None:
    """A terminal sends Ctrl-C to the workers too."""
    words = [*WORDS, "--out", "run", "--engine", "dask", "--seed", "3"]
    draws = "run/checkpoint/chain-0.draws-*"
    code, errors = interrupt(words, place, signal.SIGINT, draws, seconds=0.05)
    assert code == 130
    done = shell(resume_command(errors), place)
    assert done.returncode == 0, done.stderr
    whole = shell(shlex.join(["outpoint", *WORDS, "--out", "whole", "--seed", "3"]), place)
    assert whole.returncode == 0
    assert differing(place / "whole", place / "run") == []


# In this process


def test_summary_of_an_interrupted_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(self: showing.RunProgress, now: Progress) -> None:
        if now.chains and now.chains[0].step > 2000:
            raise KeyboardInterrupt

    monkeypatch.setattr("outpoint.runs.teams.ThreadTeam.round_seconds", 0.0)
    words = ["learn", "data.csv", "--method", "mcmc", "--steps", "4000", "--seed=1", "--out"]
    assert run(*words, "whole").code == 0
    with monkeypatch.context() as patch:
        patch.setattr(showing.RunProgress, "__call__", stop)
        outcome = run(*words, "run")
    assert outcome.code == 130
    assert "Verdict   interrupted after " in outcome.out
    command = resume_command(outcome.err)
    assert command == (
        "outpoint learn --resume data.csv --method mcmc --steps 4000 --seed=1 --out run"
    )
    again = run(*words, "run")
    assert again.code == 2
    assert "do so with --resume" in again.err
    assert run(*shlex.split(command)[1:]).code == 0
    assert differing(Path("whole"), Path("run")) == []


@pytest.mark.long
def test_a_finished_run_is_continued(run: Run) -> None:
    """With more steps, or without a word about them, which changes nothing."""
    words = ["learn", "data.csv", "--method", "mcmc", "--draws", "100", "--seed=1", "--out"]
    for name in ("run", "other"):
        assert run(*words, name, "--steps", "2000").code == 0
    longer = run(*words, "run", "--steps", "5000", "--resume")
    assert longer.code == 0
    assert "4 chains of 5,000 steps" in longer.out
    before = Path("run/posterior.npz").read_bytes()
    assert before != Path("other/posterior.npz").read_bytes()
    assert "4 chains of 5,000 steps" in run(*words, "run", "--resume").out
    assert Path("run/posterior.npz").read_bytes() == before
    assert run(*words, "other", "--steps", "5000", "--resume").code == 0
    assert differing(Path("run"), Path("other")) == []
    refused = run(*words, "run", "--steps", "9000")
    assert refused.code == 2
    assert "do so with --resume" in refused.err
    assert Path("run/posterior.npz").read_bytes() == before


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("learn a.csv", "outpoint learn --resume --out run a.csv"),
        ("learn a.csv --out run", "outpoint learn --resume a.csv --out run"),
        ("learn a.csv --out=run", "outpoint learn --resume a.csv --out=run"),
        ("learn a.csv -o run", "outpoint learn --resume a.csv -o run"),
        ("learn a.csv --resume --out run", "outpoint learn --resume a.csv --out run"),
        ("learn --overwrite a.csv", "outpoint learn --resume --out run a.csv"),
        ("learn -q -- -a.csv", "outpoint learn --resume --out run -q -- -a.csv"),
        ("learn 'my data.csv'", "outpoint learn --resume --out run 'my data.csv'"),
    ],
)
def test_command(typed: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/bin/outpoint", *shlex.split(typed)])
    assert _resume_command(Path("run")) == expected
    assert str(Interrupted(Path("run"))) == f"interrupted; continue with: {expected}"


SENDS = """
import os, signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # where the tests outlive their terminal it is ignored
class Sender:
    def find_spec(self, name, *rest):
        if name == {module!r}:
            try:
                os.kill(os.getpid(), signal.{number})
                time.sleep(1)
            except KeyboardInterrupt as error:
                raise {error} from error
            {otherwise}
sys.meta_path.insert(0, Sender())
sys.argv = ["outpoint", "datasets"]
from outpoint.__main__ import main
main()
"""


def sending(number: str, module: str, error: str = "error", otherwise: str = "pass") -> str:
    return SENDS.format(number=number, module=module, error=error, otherwise=otherwise)


def python(code: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stderr


@pytest.mark.attack("a signal while a command is imported", "one sentence, exit code 130", times=1)
@pytest.mark.parametrize(
    ("number", "module", "error"),
    [
        ("SIGINT", "outpoint.cli", "error"),
        ("SIGTERM", "typer", "error"),
        ("SIGHUP", "outpoint.data", "error"),
        ("SIGINT", "outpoint.data", "RuntimeError('of Python')"),
    ],
)
def test_a_signal_while_modules_are_imported(number: str, module: str, error: str) -> None:
    """Python may make an error of its own of what interrupts an import."""
    found = python(sending(number, module, error))
    assert found == (130, "outpoint: interrupted; nothing was written.\n")


def test_an_error_without_a_signal_is_no_interruption() -> None:
    code, said = python(sending("SIGCONT", "outpoint.data", otherwise="raise RuntimeError"))
    assert code == 1
    assert "unexpected failure (RuntimeError" in said


@pytest.mark.attack("a signal when all is done", "exit code 0")
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_when_all_is_done(number: str) -> None:
    late = "import atexit\natexit.register(lambda: os.kill(os.getpid(), signal.{}))\n"
    code = sending(number, "nothing").replace("sys.argv", late.format(number) + "sys.argv")
    assert python(code) == (0, "")

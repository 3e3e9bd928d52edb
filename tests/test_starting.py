"""A command that is interrupted while it is imported ends in a sentence, not in a traceback."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from outpoint.starting import INTERRUPTED, NOTHING_DONE, is_command
from tests.runs.problems import environment

SCRIPT = Path(sys.executable).with_name("outpoint")


def heed_signals() -> None:
    """Undo what a shell does to what it runs in the background, which ignores Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.attack("a signal while the first modules are imported", "one sentence, exit code 130")
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("began", [["-m", "outpoint"], [str(SCRIPT)]], ids=["module", "script"])
def test_a_signal_within_the_first_imports(number: str, began: list[str], tmp_path: Path) -> None:
    """The first module that outpoint imports from elsewhere is one that sends a signal."""
    if not SCRIPT.exists():
        pytest.skip("the script is not installed beside this Python")
    sending = f"import signal\nsignal.raise_signal(signal.{number})\n"
    (tmp_path / "typing.py").write_text(sending)
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[1] / "src")])
    done = subprocess.run(
        [sys.executable, *began, "--version"],
        env=environment() | {"PYTHONPATH": path},
        cwd=tmp_path,
        capture_output=True,
        preexec_fn=heed_signals,
    )
    assert (done.returncode, done.stdout, done.stderr) == (INTERRUPTED, b"", NOTHING_DONE)


@pytest.mark.parametrize(
    ("began", "name", "expected"),
    [
        (["python", "/usr/bin/outpoint", "learn", "x.csv"], "/usr/bin/outpoint", True),
        (["python", "-P", "-m", "outpoint", "learn", "-m"], "-m", True),
        (["python", "-m", "outpoint.ahead", "exact"], "-m", False),
        (["python", "-m", "pytest"], "-m", False),
        (["python", "-c", "import outpoint"], "-c", False),
        (["python"], "", False),
        (["python", "-c", "from multiprocessing ..."], "/usr/bin/outpoint", False),  # a worker
        (["python", "mine.py"], "mine.py", False),
    ],
)
def test_what_is_a_command(began: list[str], name: str, expected: bool) -> None:
    assert is_command(began, name) == expected


EVALUATING = """
import outpoint.cli

def run():
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        raise SystemExit(130)

outpoint.cli.main = run
from outpoint.__main__ import main
main()
"""


@pytest.mark.attack("a signal while Python evaluates text", "the exit code is that of all signals")
def test_a_signal_within_evaluated_text(tmp_path: Path) -> None:
    """Python would end by SIGINT although the exception was dealt with."""
    (tmp_path / "evaluating.py").write_text(EVALUATING)
    command = [sys.executable, "-m", "evaluating"]
    done = subprocess.run(command, env=environment(), cwd=tmp_path, capture_output=True)
    assert (done.returncode, done.stderr) == (INTERRUPTED, b"")


def test_a_program_that_imports_outpoint_keeps_its_handlers() -> None:
    code = (
        "import signal, outpoint; "
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler; "
        "assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        capture_output=True,
        preexec_fn=heed_signals,
    )
    assert done.returncode == 0, done.stderr

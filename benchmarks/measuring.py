"""Seconds, processor seconds and peak memory of a command, each run in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

LAUNCHER = Path(__file__).with_name("launch.py")


class Measured(NamedTuple):
    """What a command took, what it printed, and why it failed if it did."""

    seconds: float
    processor_seconds: float
    peak_bytes: int
    printed: str
    failure: str | None


def measure(command: Sequence[str], *, limit: float) -> Measured:
    """Run ``command`` from the root of the project for at most ``limit`` seconds.

    Whatever it started is ended with it. A command that fails is measured as well: the failure is
    its last line on standard error.
    """
    with tempfile.TemporaryDirectory() as folder:
        report, errors = Path(folder, "report.json"), Path(folder, "errors.txt")
        with errors.open("w") as stream:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(LAUNCHER), str(report), *command],
                cwd=LAUNCHER.parents[1],
                stdout=subprocess.PIPE,
                stderr=stream,
                text=True,
                start_new_session=True,
            )
        try:
            printed, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            printed, _ = process.communicate()
            return Measured(limit, limit, 0, printed, f"not done after {limit:.0f} s")
        if not report.exists():
            return Measured(0, 0, 0, printed, _last_line(errors) or "cannot be started")
        took = json.loads(report.read_text())
        failure = None
        if exit_code := took.pop("exit_code"):
            failure = _last_line(errors) or f"exit code {exit_code}"
        return Measured(**took, printed=printed, failure=failure)


def _last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")

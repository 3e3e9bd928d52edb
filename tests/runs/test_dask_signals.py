"""Ctrl-C and hang-ups while a cluster starts, which all of its processes are told of."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from outpoint.runs.dask import held_back
from outpoint.signals import remembered_signals
from tests.runs.problems import ROOT
from tests.runs.test_signals import arranged, default

pytest.importorskip("distributed")

LEARN = ["learn", "boston", "--method", "mcmc", "--steps", "50000000", "--engine", "dask"]
CASES = [(name, after) for after in (2.0, 3.0, 4.0, 6.0) for name in ("SIGINT", "SIGHUP")]


@pytest.mark.parametrize("name", ["SIGINT", "SIGHUP"])
def test_signals_wait(name: str) -> None:
    """They come when all is running, and a process that starts meanwhile never hears them."""
    number = getattr(signal, name)
    with arranged(number, default(number)), remembered_signals() as check:
        with held_back():
            os.kill(os.getpid(), number)
            sleeper = subprocess.Popen(["sleep", "60"])
        with pytest.raises(KeyboardInterrupt):
            check()
    sleeper.send_signal(number)
    time.sleep(0.2)
    assert sleeper.poll() is None
    sleeper.kill()
    sleeper.wait()


@pytest.mark.long
@pytest.mark.attack("a signal while a Dask cluster starts", "one sentence, exit code 130")
@pytest.mark.parametrize(("name", "after"), CASES)
def test_the_start_of_a_cluster(name: str, after: float, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "outpoint", *LEARN, "--threads", "2", "--quiet", "--out", "run"]
    with subprocess.Popen(
        words,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    ) as process:
        time.sleep(after)
        os.killpg(process.pid, getattr(signal, name))  # all of them, as a terminal does
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert said.startswith("outpoint: interrupted")
    assert "Traceback" not in said

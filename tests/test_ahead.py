"""Helpers compile what a run needs: the right kernels, where it helps, while it runs."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import numba
import pytest

from outpoint import ahead
from tests.grids import first
from tests.kernel_list import RUNS, calls_of

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")

RUN = "exact, bge"
PARENT = """
import sys, time
from outpoint import ahead

ahead.n_threads = lambda: 2
with ahead.helpers("exact, bge") as started:
    print(*(process.pid for process in started), flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("run", first(RUNS, 2))
def test_the_list_says_what_runs_call(run: str, tmp_path: Path) -> None:
    """Otherwise ``python -m tests.kernel_list`` writes it anew."""
    found = {
        (f"{kernel.py_func.__module__}.{kernel.py_func.__qualname__}", kinds)
        for kernel, kinds in ahead.listed(run)
    }
    assert found == set(calls_of(run, tmp_path))
    assert not ahead.is_needed(run)


@pytest.mark.parametrize("run", RUNS)
def test_what_is_listed_exists(run: str) -> None:
    """Kernels are found by their names, and tuples by their names and numbers of fields."""
    assert ahead.listed(run)
    for name, *fields in ahead._read()["tuples"].values():
        assert len(fields) == len(ahead._find(name)._fields), name


def test_runs_that_are_not_listed() -> None:
    assert ahead.listed("order, bge") == []
    assert not ahead.is_needed("order, bge")


@pytest.mark.parametrize(
    ("threads", "needed", "compiles", "number"),
    [
        (2, True, True, 1),
        (16, True, True, 3),
        (1, True, True, 0),
        (2, False, True, 0),
        (2, True, False, 0),
    ],
)
def test_how_many_helpers_there_are(
    monkeypatch: pytest.MonkeyPatch, threads: int, needed: bool, compiles: bool, number: int
) -> None:
    sleeper = [sys.executable, "-c", "input()"]
    monkeypatch.setattr(ahead, "n_threads", lambda: threads)
    monkeypatch.setattr(ahead, "is_needed", lambda run: needed)
    monkeypatch.setattr(ahead, "_start", lambda run: subprocess.Popen(sleeper, stdin=-1))
    monkeypatch.setattr(numba.config, "DISABLE_JIT", not compiles)
    with ahead.helpers(RUN) as started:
        assert len(started) == number
        assert all(process.poll() is None for process in started)
    assert all(process.returncode is not None for process in started)


def test_a_machine_that_starts_no_more_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(run: str) -> None:
        raise BlockingIOError

    monkeypatch.setattr(ahead, "n_threads", lambda: 2)
    monkeypatch.setattr(ahead, "is_needed", lambda run: True)
    monkeypatch.setattr(ahead, "_start", fail)
    with ahead.helpers(RUN) as started:
        assert started == []


def is_running(pid: int) -> bool:
    """Whether there is such a process, one that has ended and waits to be noticed left aside."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are seen in /proc")
@pytest.mark.attack("a first run that is killed", "its helpers end")
@pytest.mark.parametrize("ending", first(["SIGKILL", "end of input"]))
def test_helpers_end_with_the_run(tmp_path: Path, ending: str) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, stdin=-1, stdout=-1, env=environment) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        [pid] = map(int, parent.stdout.readline().split())
        limit = monotonic() + 120
        while not any(tmp_path.rglob("*.nbi")) and monotonic() < limit:
            assert is_running(pid)
            sleep(0.05)
        if ending == "SIGKILL":
            parent.send_signal(signal.SIGKILL)
        else:
            parent.stdin.close()
        parent.wait()
    while is_running(pid) and monotonic() < limit:
        sleep(0.05)
    assert not is_running(pid)
    last, _ = ahead.listed(RUN)[-1]
    assert any(last.py_func.__name__ in path.name for path in tmp_path.rglob("*.nbi"))

"""Commands that are killed, stopped and told to end: ``python -m tests.attacks.stopped_runs JOB``.

Each case is a command that learns and writes a run. It is begun, attacked at a random moment,
continued with ``--resume``, attacked again, and so on, until a run is complete: its files must then
be those of a run that was left alone. Whatever happens, no traceback is shown, and the exit code
says whether the run was written.

Commands with threads are children of a process that has imported and compiled everything, so that
hundreds of them take minutes; those with Dask, and whatever is asked for as a ``process``, are
processes of their own. What is attacked goes to standard output as one line of JSON for each case.
"""

import contextlib
import io
import json
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from outpoint.__main__ import main
from outpoint.signals import ENDING, end_at_once
from tests.runs.killing import is_complete, wait_for
from tests.runs.problems import differing, environment, use_short_rounds

SAMPLED = ["--method", "mcmc", "--steps", "6000", "--draws", "150", "--checkpoint-seconds", "0"]
OPEN = ["--method", "structure", "--until-converged", "--steps", "9000", "--draws", "45"]
SERIES = ["panel.csv", "--time-column", "t", "--subject-column", "id"]
HOLES = ["holes.csv", "--chains", "3", "--checkpoint-seconds", "0"]
DASK = ["--engine", "dask", "--threads", "2"]

CASES: dict[str, list[str]] = {
    "exact": ["table.csv"],
    "sampled": ["table.csv", *SAMPLED],
    "until converged": ["table.csv", *OPEN, "--checkpoint-seconds", "0"],
    "holes, exact tables": [*HOLES, "--steps", "40"],
    "holes, sampled tables": [*HOLES, "--steps", "30", "--method", "mcmc"],
    "series, exact": SERIES,
    "series, sampled": [*SERIES, *SAMPLED],
    "sampled, Dask": ["table.csv", *SAMPLED, *DASK],
    "series, sampled, Dask": [*SERIES, *SAMPLED, *DASK],
}
"""What follows ``outpoint learn``."""

SIGNALS: dict[str, tuple[str, ...]] = {
    "SIGINT": ("SIGINT",),
    "SIGTERM": ("SIGTERM",),
    "SIGTERM twice": ("SIGTERM", "SIGTERM"),
    "SIGHUP": ("SIGHUP",),
    "SIGSTOP": ("SIGSTOP", "SIGCONT"),
    "broken pipe": (),
}
"""What is sent, in turn and within a second."""

KILL = "SIGKILL"
PATIENCE = 600.0
"""Seconds that a command may take, on a machine with other work to do."""

TO_ALL = ("SIGINT", "SIGHUP", "SIGSTOP", "SIGCONT")
"""What a terminal sends to all processes of a command."""

CODES = {KILL: (0, -9), "SIGSTOP": (0,), "broken pipe": (0, 3)}
"""Exit codes that may follow; those of the other signals are 0, if the run was over, and 130."""


def write_tables(place: Path) -> None:
    """The tables of all cases."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=(60, 7))
    for v in range(1, 7):
        values[:, v] += 0.6 * values[:, v - 1]
    holes = np.where(rng.random((60, 5)) < 0.1, np.nan, values[:, :5])
    panel = np.column_stack([np.repeat(range(6), 10), np.tile(range(10), 6), values[:, :4]])
    for name, header, rows in [
        ("table", "a,b,c,d,e,f,g", values),
        ("holes", "a,b,c,d,e", holes),
        ("panel", "id,t,a,b,c,d", panel),
    ]:
        lines = [",".join("" if x != x else f"{x:.4g}" for x in row) for row in rows]
        (place / f"{name}.csv").write_text("\n".join([header, *lines, ""]))


@dataclass
class Command:
    """A command that learns, in a process that can be attacked."""

    process: int
    said: Path
    reader: int | None = None

    @classmethod
    def start(cls, words: list[str], *, fork: bool, piped: bool) -> "Command":
        """Begin or continue; what is said goes to a file, or to a pipe whose reader goes."""
        said = Path("said.txt")
        reader, writer = os.pipe() if piped else (None, os.open(said, os.O_WRONLY | os.O_CREAT))
        os.truncate(said, 0) if not piped else said.write_text("")
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        child = os.fork()
        if not child:
            os.setsid()
            os.dup2(writer, 1)
            os.dup2(writer, 2)
            if reader is not None:
                os.close(reader)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)  # its last words go to the file
            _become(words, fork=fork)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(writer)
        return cls(child, said, reader)

    def attack(self, how: str, pause: float) -> None:
        """Send what is to be sent, or stop listening."""
        if self.reader is not None:
            os.close(self.reader)
            self.reader = None
        if how != KILL:
            self._wait_for_outpoint()
        for turn, name in enumerate((KILL,) if how == KILL else SIGNALS[how]):
            time.sleep(pause if turn else 0.0)
            send = os.killpg if name in TO_ALL else os.kill
            with contextlib.suppress(ProcessLookupError):
                send(self.process, getattr(signal, name))

    def _wait_for_outpoint(self) -> None:
        """Wait until signals are heeded or ignored, or all is over: Python starts without us."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            lines = Path(f"/proc/{self.process}/status").read_text().splitlines()
            status = dict(line.split(":\t", 1) for line in lines)
            known = int(status["SigCgt"], 16) | int(status["SigIgn"], 16)
            if status["State"].startswith("Z") or known >> (signal.SIGTERM - 1) & 1:
                return
            time.sleep(0.01)

    def end(self) -> int | None:
        """Wait for the exit code; None if it never ends."""
        code = wait_for(self.process, PATIENCE)
        if code is None:
            os.killpg(self.process, signal.SIGKILL)
            wait_for(self.process)
        if self.reader is not None:
            os.close(self.reader)
        return code

    def is_left(self, seconds: float = 30.0) -> bool:
        """Whether processes that it has started live on after it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                os.killpg(self.process, 0)
            except ProcessLookupError:
                return False
            time.sleep(0.1)
        os.killpg(self.process, signal.SIGKILL)
        return True


def _become(words: list[str], *, fork: bool) -> None:
    """Be the command from now on."""
    if not fork:
        os.execve(sys.executable, [sys.executable, "-m", "outpoint", *words], environment())
    sys.argv = ["outpoint", *words]
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False, buffering=1)
    code = 1
    try:
        main()
        code = 0
    except SystemExit as ending:
        code = int(ending.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


@dataclass
class Trial:
    """A case, its attacks, and what was wrong."""

    case: str
    fork: bool
    rng: np.random.Generator
    seconds: float = 0.0
    runs: int = 0
    tried: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def words(self, out: str) -> list[str]:
        """The command, to begin or to continue."""
        return ["learn", *CASES[self.case], "--seed", "5", "--out", out, "--resume"]

    def finish(self, out: str) -> bool:
        """Make or continue a run that is left alone."""
        command = Command.start(self.words(out), fork=self.fork, piped=False)
        code = command.end()
        if code != 0:
            said = command.said.read_text()[-300:]
            self.wrong.append(f"{out}: left alone it ended with {code} and {said!r}")
        return code == 0

    def attack(self, how: str, out: str) -> None:
        """Begin or continue a run, and attack it at a random moment."""
        command = Command.start(self.words(out), fork=self.fork, piped=how == "broken pipe")
        time.sleep(self.rng.uniform(0.0, self.seconds))
        command.attack(how, pause=self.rng.uniform(0.0, 1.0))
        code = command.end()
        self.tried[how] += 1
        self.codes[f"{how} {code}"] += 1
        for problem in self.problems(command, how, code, out):
            self.wrong.append(f"{how}: {problem}")

    def problems(self, command: Command, how: str, code: int | None, out: str) -> Iterator[str]:
        """What is wrong with the way a command has ended."""
        said = command.said.read_text(errors="replace")
        if code not in CODES.get(how, (0, 130)):
            yield f"exit code {code} and {said[-500:]!r}"
        elif code in (0, 3) and not is_complete(Path(out)):
            yield f"exit code {code}, and no run"
        elif code == 130 and "outpoint: interrupted" not in said:
            yield f"interrupted, and said {said[-500:]!r}"
        if "Traceback" in said or "unexpected failure" in said:
            yield f"said {said[-1500:]!r}"
        if command.is_left():
            yield "processes are left"

    def attack_all(self, attacks: list[str]) -> None:
        """Run after run, each attacked until it is complete."""
        started = time.monotonic()
        if not self.finish("whole"):
            return
        self.seconds = time.monotonic() - started
        while attacks and len(self.wrong) < 20:
            out = f"run-{self.runs}"
            self.runs += 1
            most = int(self.rng.integers(1, 6))
            while attacks and most and not is_complete(Path(out)):
                most -= 1
                self.attack(attacks.pop(), out)
            if self.finish(out) and (found := differing(Path("whole"), Path(out))):
                self.wrong.append(f"{out}: {', '.join(found)} differ")


def run_case(case: str, job: dict[str, Any]) -> dict[str, Any]:
    """All attacks on a case, in a directory of its own."""
    place = Path(job["directory"]) / case.replace(", ", "-").replace(" ", "-")
    place.mkdir()
    write_tables(place)
    with contextlib.chdir(place):
        fork = "Dask" not in case and not job.get("process")
        rng = np.random.default_rng([job["seed"], list(CASES).index(case)])
        trial = Trial(case, fork, rng)
        if fork:
            sys.argv = ["outpoint", *trial.words("compiled")]
            silent = contextlib.redirect_stdout(io.StringIO())
            with silent, contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(SystemExit):
                main()
            end_at_once()  # from the first moment of a child on
        kinds = [KILL] * job["kills"]
        kinds += [list(SIGNALS)[i % len(SIGNALS)] for i in range(job["signals"])]
        trial.attack_all(rng.permutation(kinds).tolist())
    return {
        "case": case,
        "tried": dict(trial.tried),
        "codes": dict(trial.codes),
        "runs": trial.runs,
        "wrong": trial.wrong,
    }


if __name__ == "__main__":
    use_short_rounds()
    given = json.loads(sys.argv[1])
    for name in given["cases"]:
        print(json.dumps(run_case(name, given)), flush=True)

"""A process that starts small runs and kills them: ``python -m tests.runs.killing JOB``.

Every run is a child of a process that has imported and compiled everything, so that hundreds of
them take seconds. A job is a JSON object: the case, a directory to work in, and either
``kills`` and ``seed`` for kills at random moments, or ``windows`` for deaths at given places in the
program, or ``signals`` and ``seed`` for signals that can be heeded. Prints a JSON object that says
what differed from the uninterrupted run, or how each signal ended the run.
"""

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from outpoint.runs import runner
from outpoint.runs.checkpoint import read_checkpoint
from tests.runs.problems import differing, learn, use_short_rounds

DIED = 9
PATIENCE = 120.0


def start_child(case: str, directory: Path, prepare: Callable[[], None]) -> int:
    """Fork a process that makes or continues the run in ``directory``."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        prepare()
        learn(case, directory)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def wait_for(child: int, seconds: float = PATIENCE) -> int | None:
    """The exit code of the child; None if it is still running after so many seconds."""
    end = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            return None
        time.sleep(0.002)


def finish(case: str, directory: Path, prepare: Callable[[], None]) -> float:
    """Make or continue a run to its end; returns the seconds it took."""
    begun = time.monotonic()
    if wait_for(start_child(case, directory, prepare)) != 0:
        raise RuntimeError(f"the run in {directory.name} did not end well")
    return time.monotonic() - begun


def is_complete(directory: Path) -> bool:
    """Whether there is nothing to continue: the file that is written last is there."""
    return (directory / "summary.json").exists()


def kill_at_random(
    case: str, place: Path, n_kills: int, seed: int, prepare: Callable[[], None]
) -> dict[str, Any]:
    """Kill runs at random moments, continue them until they are done, begin the next one."""
    rng = np.random.default_rng(seed)
    seconds = finish(case, place / "whole", prepare)
    kills = n_runs = n_continued = 0
    different: list[str] = []
    while kills < n_kills:
        directory = place / f"run-{n_runs}"
        n_runs += 1
        while not is_complete(directory):
            n_continued += any(directory.glob("checkpoint/chain-*.checkpoint"))
            child = start_child(case, directory, prepare)
            code = wait_for(child, rng.uniform(0.0, seconds) if kills < n_kills else PATIENCE)
            if code is None:
                os.kill(child, signal.SIGKILL)
                kills += wait_for(child) != 0
            elif code != 0:
                raise RuntimeError(f"the run in {directory.name} did not end well")
            else:
                break
        different += differing(place / "whole", directory)
    return {"kills": kills, "runs": n_runs, "continued": n_continued, "different": different}


def interrupt_at_random(case: str, place: Path, n_signals: int, seed: int) -> dict[str, Any]:
    """Send signals to a run that would never end, at random moments, and continue it each time."""
    rng = np.random.default_rng(seed)
    directory = place / "run"
    codes: list[int | None] = []
    steps: list[int] = []
    for number in rng.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP], n_signals):
        begun, end_begun = os.pipe()
        child = os.fork()
        if not child:
            os._exit(_learn_until_told(case, directory, end_begun))
        os.close(end_begun)
        os.read(begun, 1)  # it is sampling
        os.close(begun)
        time.sleep(rng.uniform(0.0, 0.3))
        os.kill(child, int(number))
        codes.append(wait_for(child))
        first = directory / "checkpoint" / "chain-0.checkpoint"
        steps.append(int(read_checkpoint(first)[1]["counters"][0]))
    left = [name for name in listing(directory) if name.startswith(".")]
    return {"codes": codes, "steps": steps, "left": left}


def _learn_until_told(case: str, directory: Path, begun: int) -> int:
    """Make or continue an endless run, tell when its chains run, and return 130 if interrupted."""

    def tell(progress: Any) -> None:
        nonlocal begun
        if progress.chains and begun >= 0:
            os.write(begun, b"x")
            begun = -1

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, usual)
    try:
        endless: dict[str, Any] = {"steps": 10**9, "until_converged": None}
        return 0 if learn(case, directory, progress=tell, **endless).is_complete else 130
    except KeyboardInterrupt:  # before there was anything to return
        return 130
    except BaseException:
        traceback.print_exc()
        return 1


def listing(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


def die_in(function: str, call: int, after: bool) -> Callable[[], None]:
    """Patch ``module:name`` so that its call with this number ends the process, as a kill does."""

    def prepare() -> None:
        module, _, name = function.partition(":")
        owner: Any = import_module(module)
        *owners, name = name.split(".")
        for part in owners:
            owner = getattr(owner, part)
        original = getattr(owner, name)
        calls = count(1)  # the chains are threads: a number of its own for every call

        def deadly(*values: Any, **options: Any) -> Any:
            number = next(calls)
            if number == call and not after:
                os._exit(DIED)
            result = original(*values, **options)
            if number == call:
                os._exit(DIED)
            return result

        setattr(owner, name, deadly)

    return prepare


def die_while_halving(block: int) -> Callable[[], None]:
    """End the process when this many blocks have been copied in a halving of the draws."""

    def prepare() -> None:
        runner.BLOCK = 16
        halve = runner.FileDraws.halve

        def halve_and_die(self: runner.FileDraws) -> None:
            die_in("outpoint.runs.runner:FileDraws._write", block, True)()
            halve(self)

        runner.FileDraws.halve = halve_and_die  # type: ignore[method-assign]

    return prepare


def die_in_windows(
    case: str, place: Path, windows: list[list[Any]], prepare: Callable[[], None]
) -> dict[str, Any]:
    """Let a run die at each of the places in turn, each time anew, and continue it."""
    finish(case, place / "whole", prepare)
    different: dict[str, Any] = {}
    for number, (function, call, after) in enumerate(windows):
        directory = place / f"run-{number}"
        is_halving = function == "halving"
        kill = die_while_halving(call) if is_halving else die_in(function, call, after)
        code = wait_for(start_child(case, directory, lambda kill=kill: (prepare(), kill())))
        left = listing(directory)
        name = f"{function} {call} {'after' if after else 'before'}"
        if code != DIED:
            return {"failed": f"{name} was not reached (exit code {code})"}
        finish(case, directory, prepare)
        different[name] = {
            "different": differing(place / "whole", directory),
            "left": left,
            "now": listing(directory),
        }
    return {"windows": different}


def main() -> None:
    job = json.loads(sys.argv[1])
    place = Path(job["directory"])
    broken: Callable[[], None] = lambda: None  # noqa: E731
    if "broken" in job:
        broken = getattr(import_module("tests.runs.broken"), job["broken"])
    use_short_rounds()
    learn(job["case"], place / "compiled")
    if "windows" in job:
        found = die_in_windows(job["case"], place, job["windows"], broken)
    elif "signals" in job:
        found = interrupt_at_random(job["case"], place, job["signals"], job["seed"])
    else:
        found = kill_at_random(job["case"], place, job["kills"], job["seed"], broken)
    print(json.dumps(found))


if __name__ == "__main__":
    main()

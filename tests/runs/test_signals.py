"""Signals end a run as Ctrl-C does, wherever they come; nobody's other arrangements are touched."""

import gc
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from outpoint import signals, store
from tests.grids import first
from tests.runs.problems import differing, learn, python

NUMBERS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


class AtStep:
    """Does something once, when the chains have taken so many steps."""

    def __init__(self, action: Callable[[], Any], step: int = 1500) -> None:
        self._action: Callable[[], Any] | None = action
        self._step = step

    def __call__(self, progress: Any) -> None:
        if self._action and progress.chains and progress.chains[0].step >= self._step:
            action, self._action = self._action, None
            action()


@contextmanager
def arranged(number: int, handler: Any) -> Iterator[None]:
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def default(number: int) -> Any:
    return signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL


@pytest.mark.attack("a signal, in Python", "saved, continues to the same bytes")
@pytest.mark.parametrize("number", first(NUMBERS))
def test_in_python(number: int, tmp_path: Path, short_rounds: pytest.MonkeyPatch) -> None:
    learn("mcmc", tmp_path / "whole")
    with arranged(number, default(number)):
        send = AtStep(lambda: os.kill(os.getpid(), number))
        posterior = learn("mcmc", tmp_path / "run", progress=send)
        assert not posterior.is_complete
        assert posterior.verdict.startswith("interrupted after ")
        assert signal.getsignal(number) == default(number), "as it was"
    assert learn("mcmc", tmp_path / "run").is_complete
    assert differing(tmp_path / "whole", tmp_path / "run") == []


class Tripping:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.attack("several signals at once, as of timeout", "saved, and the results written")
def test_signals_that_come_together_are_one(
    tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    """The second one comes while the run is being saved, which it must not cut short."""
    signals_sent: list[int] = []
    seal = store.digest_of

    def send_again(content: bytes) -> bytes:
        if signals_sent and len(signals_sent) < 3:
            signals_sent.append(signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)
        return seal(content)

    def send() -> None:
        signals_sent.append(signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGHUP)

    short_rounds.setattr(store, "digest_of", send_again)
    with arranged(signal.SIGTERM, signal.SIG_DFL), arranged(signal.SIGHUP, signal.SIG_DFL):
        posterior = learn("mcmc", tmp_path / "run", progress=AtStep(send))
    assert len(signals_sent) == 3
    assert not posterior.is_complete
    assert (tmp_path / "run" / "summary.json").exists()


def test_a_later_signal_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Tripping()
    monkeypatch.setattr(signals, "monotonic", clock)
    monkeypatch.setattr(signals, "_last", -np.inf)
    with arranged(signal.SIGTERM, signal.SIG_DFL), signals.remembered_signals() as check:
        heard = []
        for clock.now in (0.0, 0.5, 1.9, 2.1, 4.0, 4.2):
            try:
                signal.raise_signal(signal.SIGTERM)
            except KeyboardInterrupt:
                heard.append(clock.now)
        assert heard == [0.0, 2.1, 4.2]
        with pytest.raises(KeyboardInterrupt):
            check()
    with arranged(signal.SIGTERM, signals.interrupt):
        clock.now = 5.0
        signal.raise_signal(signal.SIGTERM)  # goes with the one at 4.2, of which the run has ended
        clock.now = 7.0
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)


@pytest.mark.parametrize("number", NUMBERS)
def test_what_others_have_arranged_stays(number: int, short_rounds: pytest.MonkeyPatch) -> None:
    """A handler of the user's is called; what is ignored, as by nohup, stays ignored."""
    heard: list[int] = []
    send = AtStep(lambda: os.kill(os.getpid(), number))
    with arranged(number, lambda number, frame: heard.append(number)):
        assert learn("mcmc", resume=False, progress=send).is_complete
    assert heard == [number]
    with arranged(number, signal.SIG_IGN):
        send = AtStep(lambda: os.kill(os.getpid(), number))
        assert learn("mcmc", resume=False, progress=send).is_complete
        signals.treat_as_interruption()
        assert signal.getsignal(number) == signal.SIG_IGN


def test_in_another_thread(short_rounds: pytest.MonkeyPatch) -> None:
    """Where Python allows no handlers, a run goes on without them."""
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(learn("mcmc", resume=False).is_complete))
    thread.start()
    thread.join()
    assert found == [True]


# Exceptions that get lost


def lose_a_signal(number: int) -> None:
    """Send a signal that arrives while Python collects garbage."""

    def callback(phase: str, info: Any) -> None:
        if phase == "start":
            signal.raise_signal(number)

    gc.callbacks.append(callback)
    try:
        gc.collect()
    finally:
        gc.callbacks.remove(callback)


@pytest.mark.attack("a signal while Python collects garbage", "heeded all the same")
@pytest.mark.parametrize(("number", "is_remembered"), first(product(NUMBERS, [True, False]), 2))
def test_a_lost_exception(
    number: int,
    is_remembered: bool,
    short_rounds: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Python swallows the exception; without a memory of the signal the run would go on."""
    lost: list[Any] = []
    short_rounds.setattr(sys, "unraisablehook", lambda one: lost.append(one.exc_type))
    if not is_remembered:

        @contextmanager
        def forgetful() -> Iterator[Callable[[], None]]:
            with signals.remembered_signals():
                yield lambda: None

        short_rounds.setattr("outpoint.learning.remembered_signals", forgetful)
    with arranged(number, default(number)):
        send = AtStep(lambda: lose_a_signal(number))
        posterior = learn("mcmc", tmp_path / "run", progress=send)
    assert lost == [KeyboardInterrupt]
    assert posterior.is_complete != is_remembered


@pytest.mark.attack("a signal while a checkpoint is written", "it is written, then saved and ended")
def test_a_signal_while_a_checkpoint_is_written(
    short_rounds: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An archive that is interrupted raises errors of its own, which hide the interruption."""
    seal, written, left_halfway = store.digest_of, [], []

    def send_within(content: bytes) -> bytes:
        written.append(len(content))
        try:
            if len(written) == 30:
                os.kill(os.getpid(), signal.SIGTERM)
            return seal(content)
        except KeyboardInterrupt:
            left_halfway.append(len(written))
            raise

    short_rounds.setattr(store, "digest_of", send_within)
    with arranged(signal.SIGTERM, signal.SIG_DFL):
        posterior = learn("mcmc", tmp_path / "run")
    assert len(written) > 30
    assert not left_halfway
    assert not posterior.is_complete


COMPILING = """
import gc, os, signal, sys
import numpy as np
from llvmlite.binding import ffi
from outpoint.kernels import kernel

link = ffi.lib.LLVMPY_LinkModules
sent = []

def link_and_send(*modules):
    '''A signal comes while the compiler links; Python hears of it when the call returns.'''
    code = link(*modules)
    if len(sent) < int(sys.argv[1]):
        sent.append(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    return code

ffi.lib._fntab["LLVMPY_LinkModules"] = link_and_send

@kernel
def add(values):
    return values.sum()

try:
    add(np.ones(3))
except KeyboardInterrupt:
    print("interrupted", len(add.signatures))
gc.collect()
print(add(np.ones(3)), signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


@pytest.mark.attack("a signal while a kernel is compiled", "heeded when it is compiled", times=2)
@pytest.mark.parametrize("number", [1, 1000])
def test_a_signal_while_a_kernel_is_compiled(number: int) -> None:
    """What the compiler has linked would be freed twice, and the process would crash."""
    done = python("-c", COMPILING, str(number))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "interrupted 1\n3.0 True\n"


def test_signals_that_are_held_back() -> None:
    """Each handler is called at the end, and where somebody says that the work can be left."""
    heard: list[int] = []
    with arranged(signal.SIGTERM, lambda number, frame: heard.append(number)):
        with signals.held_signals():
            signal.raise_signal(signal.SIGTERM)
            assert heard == []
            with signals.held_signals():
                signal.raise_signal(signal.SIGTERM)
            assert heard == [], "only the outer one ends"
            signals.heed_held_signals()
            assert len(heard) == 2
            signal.raise_signal(signal.SIGTERM)
        assert len(heard) == 3
        signals.heed_held_signals()
        with arranged(signal.SIGHUP, signal.SIG_IGN), signals.held_signals():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


def interrupt_and_note(noted: list[int]) -> None:
    with signals.held_signals():
        signal.raise_signal(signal.SIGINT)
        noted.append(0)


def test_what_is_held_back_interrupts_at_the_end() -> None:
    noted: list[int] = []
    with arranged(signal.SIGINT, default(signal.SIGINT)), pytest.raises(KeyboardInterrupt):
        interrupt_and_note(noted)
    assert noted == [0]


# At random moments


@pytest.mark.parametrize("case", ["mcmc"])
def test_some_signals(case: str, tmp_path: Path) -> None:
    check_signals(tmp_path, case, n_signals=4, seed=1)


@pytest.mark.long
@pytest.mark.attack(
    "SIGINT, SIGTERM and SIGHUP at random times", "ends at once, can be continued", times=60
)
@pytest.mark.parametrize("case", ["mcmc", "partition", "order until converged"])
def test_many_signals(case: str, tmp_path: Path) -> None:
    check_signals(tmp_path, case, n_signals=60, seed=2)


def check_signals(place: Path, case: str, n_signals: int, seed: int) -> None:
    """Of a run that would take hours; each signal ends it, and it goes on until the next one."""
    job = {"case": case, "directory": str(place), "signals": n_signals, "seed": seed}
    done = python("-m", "tests.runs.killing", json.dumps(job))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["codes"] == [130] * n_signals
    assert found["steps"] == sorted(found["steps"]), "nothing is taken back"
    assert found["steps"][-1] > found["steps"][0]
    assert found["left"] == []

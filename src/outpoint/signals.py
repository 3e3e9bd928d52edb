"""Signals that end a run early: Ctrl-C, and those by which a system asks a process to end.

Each raises KeyboardInterrupt, as Ctrl-C does. An exception that comes while Python collects garbage
is lost there, so a signal is also remembered, and long work asks for it now and then.

Signals that come together count as one: ``timeout`` and some clusters send theirs to a process and
to its group, which it is in, too. Only one that comes later asks to end without waiting.

While a command is being imported there is nothing to interrupt: a signal ends the process at once.

While a kernel is compiled nothing may be interrupted: see :func:`held_signals`.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from threading import current_thread, main_thread
from time import monotonic
from types import FrameType
from typing import Any

from outpoint.starting import ENDING, end, would_end

TOGETHER = 2.0
"""Seconds after a signal in which further ones count as the same."""

_last = -inf  # when a signal came that was not one of several
_ours: dict[int, Any] = dict.fromkeys(ENDING, end)  # the handlers of whole processes


def interrupt(number: int, frame: FrameType | None) -> None:
    """A handler of signals that does what Ctrl-C does."""
    global _last
    if monotonic() - _last >= TOGETHER:
        _last = monotonic()
        raise KeyboardInterrupt


def end_at_once() -> None:
    """From now on let signals end this process in a sentence."""
    _arrange(end)


def ignore() -> None:
    """Heed no more signals: all is done, and the exit code should say so."""
    _arrange(signal.SIG_IGN)


def treat_as_interruption() -> Callable[[], bool]:
    """Let all signals that would end this process interrupt it; ignored ones stay ignored.

    Returns a function that tells whether one has come since. Where it comes in the middle of an
    import, what is raised may be an error of another kind, which says nothing of it.
    """
    begun = monotonic()
    _arrange(interrupt)
    return lambda: _last >= begun


def _arrange(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    """Give this handler to all signals that would end this process."""
    for number in filter(_would_end, ENDING):
        signal.signal(number, handler)
        _ours[number] = handler


@contextmanager
def remembered_signals() -> Iterator[Callable[[], None]]:
    """Let signals interrupt; yields a function that interrupts again if a signal has come before.

    What somebody else has arranged for a signal stays as it is. Python allows only its main thread
    to arrange anything.
    """
    received: list[float] = []

    def remember(number: int, frame: FrameType | None) -> None:
        global _last
        if received and monotonic() - received[-1] < TOGETHER:
            return
        _last = monotonic()
        received.append(_last)
        if not _is_deferring:
            raise KeyboardInterrupt

    def check() -> None:
        if received:
            raise KeyboardInterrupt

    before = {}
    if current_thread() is main_thread():
        for number in filter(_would_end, ENDING):
            before[number] = signal.signal(number, remember)
    try:
        yield check
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


_is_deferring = False


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Remember signals instead of being interrupted by them: for work not to be left halfway."""
    global _is_deferring
    before, _is_deferring = _is_deferring, True
    try:
        yield
    finally:
        _is_deferring = before


@contextmanager
def held_signals() -> Iterator[None]:
    """Hold signals back, whoever heeds them, for code of others that must not be left anywhere.

    A handler may raise as soon as a call of compiled code returns. The compiler then has freed or
    given away what the Python object in front of it still believes to own, and which is freed
    once more with that object: the process crashes.
    """
    global _holding
    if current_thread() is not main_thread() or _holding is not None:
        yield
        return
    numbers = [number for number in ENDING if callable(signal.getsignal(number))]
    holding = _Holding({number: signal.getsignal(number) for number in numbers})
    try:
        _holding = holding
        for number in numbers:
            signal.signal(number, holding.hold)
        yield
    finally:
        _holding = None
        holding.is_over = True
        for number in numbers:
            signal.signal(number, holding.handlers[number])
        holding.heed()


def heed_held_signals() -> None:
    """Heed a signal that was held back: between two steps of work that can be left here."""
    if _holding is not None and current_thread() is main_thread():
        _holding.heed()


class _Holding:
    """The handlers of signals that are held back, and those that have come."""

    def __init__(self, handlers: dict[int, Any]) -> None:
        self.handlers = handlers
        self.is_over = False
        self._came: list[tuple[int, FrameType | None]] = []

    def hold(self, number: int, frame: FrameType | None) -> None:
        """Remember a signal; one that comes while the handlers return to their places is heeded."""
        if self.is_over:
            self.handlers[number](number, frame)
        else:
            self._came.append((number, frame))

    def heed(self) -> None:
        """Call the handlers of what has come; the first one usually raises."""
        while self._came:
            number, frame = self._came.pop(0)
            self.handlers[number](number, frame)


_holding: _Holding | None = None  # only the main thread sets it


def _would_end(number: int) -> bool:
    """Whether a signal has the handler of Python, or ours: no other program has set its own."""
    return would_end(number) or signal.getsignal(number) == _ours[number]

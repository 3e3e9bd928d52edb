"""The first thing that a process of the command line does: signals end it at once, in a sentence.

Everything it needs takes a while to be imported, and there is nothing yet to interrupt. Without
this, Ctrl-C would show a traceback from the middle of an import. A program that imports outpoint
for itself keeps its own arrangements, and so do the workers that a command starts. Here nothing is
imported that Python has not loaded already, so that this comes early.
"""

import os
import signal
import sys

ENDING = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
"""The signals by which a user or a system asks a process to end."""

INTERRUPTED = 130
NOTHING_DONE = b"outpoint: interrupted; nothing was written.\n"


def end(number: int, frame: object) -> None:
    """A handler of signals that ends the process, with a sentence if somebody reads it."""
    try:
        os.write(2, NOTHING_DONE)
    finally:
        os._exit(INTERRUPTED)


def is_command(began: list[str], name: str) -> bool:
    """Whether Python was begun as ``outpoint ...`` or ``python -m outpoint ...``.

    ``began`` is what it was begun with. ``name`` is its ``sys.argv[0]``, which a worker may have
    taken over from a command.
    """
    if name == "-m":
        return "-m" in began and began[began.index("-m") + 1 :][:1] == ["outpoint"]
    return name in began and os.path.splitext(os.path.basename(name))[0] == "outpoint"


def would_end(number: int) -> bool:
    """Whether a signal has the handler of Python: nobody has set another, or ignores it."""
    usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
    return signal.getsignal(number) == usual


if is_command(sys.orig_argv, sys.argv[0] if sys.argv else ""):
    for _number in filter(would_end, ENDING):
        signal.signal(_number, end)

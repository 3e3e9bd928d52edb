"""Standard streams that are closed, full or gone.

Standard error that nobody reads any more must not end a run: a terminal that was closed, or a
``tee`` that has died, makes every write fail. From the first failure on, what is written goes
nowhere. What cannot be written to standard output is missed, so it is an error, but one that tells
a command that has failed from one that has done its work. Text from data is made `printable`: every
character is visible, and none moves the cursor of a terminal.
"""

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO


def printable(text: str) -> str:
    """``text`` in one line: line breaks and control characters are shown by their escapes."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


class ForgivingStream:
    """A text stream to which writing never fails."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_gone = False

    def write(self, text: str) -> int:
        """Write, if there is still somebody to read it."""
        if not self._is_gone:
            try:
                self._stream.write(text)
                self._stream.flush()
            except (OSError, ValueError):  # no reader any more, or closed
                self._give_up()
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""

    def _give_up(self) -> None:
        self._is_gone = True
        with suppress(OSError, ValueError):  # what is still in its buffer goes nowhere, too
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        """Everything else is that of the stream."""
        return getattr(self._stream, name)


class ClosedStream(io.TextIOBase):
    """A text stream to which nothing can be written."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def write(self, text: str) -> int:
        """Fail as a closed file does."""
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def is_of_output(error: Exception) -> bool:
    """Whether an error is one of a stream; those of files, which have names, are told elsewhere."""
    return isinstance(error, OSError) and error.filename is None and error.errno in _OF_STREAMS


def discard_output() -> None:
    """Let what is still held back for standard output go nowhere."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_OF_STREAMS = (errno.EPIPE, errno.EIO, errno.EBADF, errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def forgiving_stderr() -> Iterator[None]:
    """Keep writing to standard error from failing, even if it is closed."""
    before = sys.stderr
    with open(os.devnull, "w") as nowhere:
        sys.stderr = ForgivingStream(before or nowhere)
        try:
            yield
        finally:
            sys.stderr = before

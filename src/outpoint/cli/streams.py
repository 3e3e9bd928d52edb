"""Standard error that nobody reads any more must not end a run.

A terminal that was closed, or a ``tee`` that has died, makes every write fail. From the first
failure on, what is written goes nowhere.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO


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

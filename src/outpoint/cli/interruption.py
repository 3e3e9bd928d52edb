"""Ending early: Ctrl-C or a polite request of the system, and how to go on afterwards."""

import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any


class Interrupted(Exception):
    """A run was interrupted; its state is in a directory."""

    def __init__(self, directory: Path) -> None:
        super().__init__(f"interrupted; continue with: {_resume_command(directory)}")


@contextmanager
def resumable(directory: Path) -> Iterator[None]:
    """Around work that is interrupted before it has anything to show."""
    from outpoint.posterior.files import CHECKPOINT

    try:
        yield
    except KeyboardInterrupt:
        if (directory / CHECKPOINT).exists():
            raise Interrupted(directory) from None
        raise


def _resume_command(directory: Path) -> str:
    """The command line of this process, with what continues the run in ``directory``."""
    command, *words = [word for word in sys.argv[1:] if word not in ("--resume", "--overwrite")]
    added = ["--resume"]
    if not any(word in ("--out", "-o") or word.startswith("--out=") for word in words):
        added += ["--out", str(directory)]
    return shlex.join(["outpoint", command, *added, *words])


def treat_termination_as_interruption() -> None:
    """A cluster that asks a job to end gives it the time to save its state."""

    def interrupt(number: int, frame: FrameType | None) -> Any:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)

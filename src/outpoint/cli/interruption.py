"""Ending early: Ctrl-C or a polite request of the system, and how to go on afterwards."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Interrupted(Exception):
    """A run was interrupted; its state is in a directory."""

    def __init__(self, directory: Path) -> None:
        super().__init__(f"interrupted; continue with: {_resume_command(directory)}")


@contextmanager
def resumable(directory: Path) -> Iterator[None]:
    """Around work that is interrupted before it has anything to show."""
    from outpoint.runs import RunDirectory

    try:
        yield
    except KeyboardInterrupt:
        if RunDirectory(directory).has_checkpoint:
            raise Interrupted(directory) from None
        raise


def _resume_command(directory: Path) -> str:
    """The command line of this process, with what continues the run in ``directory``."""
    command, *words = [word for word in sys.argv[1:] if word not in ("--resume", "--overwrite")]
    added = ["--resume"]
    if not any(word in ("--out", "-o") or word.startswith("--out=") for word in words):
        added += ["--out", str(directory)]
    return shlex.join(["outpoint", command, *added, *words])


@contextmanager
def without_complaints() -> Iterator[None]:
    """Show no Ctrl-C that Python loses while collecting garbage; it counts later."""
    before = sys.unraisablehook

    def show(lost: Any) -> None:
        if lost.exc_type is not KeyboardInterrupt:
            before(lost)

    sys.unraisablehook = show
    try:
        yield
    finally:
        sys.unraisablehook = before

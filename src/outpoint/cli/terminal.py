"""What commands share: the runs they are given, where results go, failing streams, ending early.

A result goes to standard output or to a file, as text or as JSON. Standard streams can be closed,
full or gone.

Standard error that nobody reads any more must not end a run: a terminal that was closed, or a
``tee`` that has died, makes every write fail. From the first failure on, what is written goes
nowhere. What cannot be written to standard output is missed, so it is an error, but one that tells
a command that has failed from one that has done its work. Text from data is made `printable`: every
character is visible, and none moves the cursor of a terminal.

A command that ends early, by Ctrl-C or because the system asks it to, says how to go on.
"""

import errno
import io
import json
import math
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

from outpoint.errors import DataError, GraphError, OptionError
from outpoint.files import absolute

if TYPE_CHECKING:
    import pandas as pd

    from outpoint.graphs import Dag
    from outpoint.posterior import Posterior
    from outpoint.showing import RunProgress


def load_run(path: Path) -> "Posterior":
    """The posterior of a run."""
    from outpoint.posterior import load

    _check_run(path)
    return load(path)


def _check_run(path: Path) -> None:
    from outpoint.runs import RunDirectory

    file, run = path, RunDirectory(path)
    try:
        if path.is_dir():
            file = run.found_posterior
            if not file.exists() and run.has_checkpoint:
                raise DataError(
                    f"the run in {path} has no posterior yet: continue it with "
                    "'outpoint learn' and --resume."
                )
        if not path.exists():
            raise DataError(f"there is no run {path}: check the path.")
        if not file.is_file():
            raise DataError(f"{path} is not a run: there is no {run.posterior.name} in it.")
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}.") from None


def read_graph(path: Path, names: Sequence[str]) -> "Dag":
    """The DAG in a file, which must have these nodes."""
    from outpoint.graphs import read_dag
    from outpoint.graphs.validation import quote_name

    dag = read_dag(path, names)
    unknown = [name for name in dag.names if name not in names]
    if unknown:
        raise GraphError(f"{path} has a node {quote_name(unknown[0])}, which is not a variable.")
    missing = [name for name in names if name not in dag.names]
    if missing:
        raise GraphError(
            f"{path} lacks the variable {quote_name(missing[0])}: nodes without edges must be "
            "listed, too."
        )
    return dag


def check_file(path: Path | None, option: str = "--out") -> None:
    """Refuse, before any work is done, a place where no file can be written."""
    if path is None:
        return
    try:
        if path.is_dir():
            raise OptionError(f"{path} is a directory: choose a file ({option}).")
        directory = absolute(path).parent
        if not directory.is_dir():
            raise OptionError(f"there is no directory {path.parent}: choose another ({option}).")
        if not os.access(path if path.exists() else directory, os.W_OK):
            raise OptionError(f"cannot write {path}: permission denied ({option}).")
    except OSError as error:
        raise OptionError(f"cannot write {path}: {error.strerror} ({option}).") from None


def print_data(text: str) -> None:
    """Print data as they are, in UTF-8 whatever the terminal."""
    typer.echo(text.encode("utf-8", "backslashreplace"), nl=False)


def print_note(text: str) -> None:
    """Print one line, whatever the names in it."""
    typer.echo(printable(text))


def format_json(result: Any) -> str:
    """A result as JSON in plain ASCII, numbers that are not finite as null."""
    return json.dumps(_plain(result), indent=2, allow_nan=False)


def print_json(result: Any) -> None:
    """Print a result as JSON."""
    typer.echo(format_json(result))


def print_or_write(text: str, out: Path | None) -> None:
    """Data to a file, or to standard output if there is none."""
    from outpoint.files import write_text

    if out is None:
        print_data(text)
    else:
        write_text(out, text)


@dataclass(frozen=True)
class Output:
    """Where the result of a command goes: to a file, and as JSON, a table or not at all beside."""

    out: Path | None = None
    quiet: bool = False
    json: bool = False

    def give(
        self,
        as_text: Callable[[], str],
        as_json: Callable[[], dict[str, Any]],
        show: Callable[[], None],
    ) -> None:
        """Write and print the result in the forms that were asked for."""
        from outpoint.files import write_text

        if self.out is not None:
            write_text(self.out, as_text())
        if self.json:
            print_json(as_json())
        elif not self.quiet:
            show()
            if self.out is not None:
                print_note(f"{'File':<10}{self.out}")


@contextmanager
def shows_progress(*, quiet: bool) -> Iterator["RunProgress"]:
    """For a question to a run: what shows how far the answer is, once it takes a while."""
    from outpoint.showing import PATIENCE, RunProgress

    with RunProgress(shown=not quiet, quiet=True, patience=PATIENCE) as progress:
        yield progress


def frame_to_rows(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """A table as a list of objects."""
    return [dict(zip(frame.columns, row, strict=True)) for row in frame.to_numpy().tolist()]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


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
        """Do nothing, as nothing is held back."""

    def _give_up(self) -> None:
        self._is_gone = True
        with suppress(OSError, ValueError):  # what is still in its buffer goes nowhere, too
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        """Everything else comes from the stream itself."""
        return getattr(self._stream, name)


class ClosedStream(io.TextIOBase):
    """A text stream to which nothing can be written."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def write(self, text: str) -> int:
        """Fail as a closed file does."""
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def is_of_output(error: Exception) -> bool:
    """Whether an error comes from a stream, not from a file, which would have a name."""
    return isinstance(error, OSError) and error.filename is None and error.errno in _OF_STREAMS


def discard_output() -> None:
    """Throw away what is still held back for standard output."""
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


class Interrupted(Exception):
    """A run was interrupted; its state is in a directory."""

    def __init__(self, directory: Path) -> None:
        super().__init__(f"interrupted; continue with: {_resume_command(directory)}")


@contextmanager
def resumable(directory: Path) -> Iterator[None]:
    """Around work: where it leaves a checkpoint, an interruption says how to continue it."""
    from outpoint.runs import RunDirectory

    try:
        yield
    except KeyboardInterrupt:
        if RunDirectory(directory).has_checkpoint:
            raise Interrupted(directory) from None
        raise


def _resume_command(directory: Path) -> str:
    """The command line of this process, changed so that it continues the run in ``directory``."""
    command, *words = [word for word in sys.argv[1:] if word not in ("--resume", "--overwrite")]
    added = ["--resume"]
    if not any(word in ("--out", "-o") or word.startswith("--out=") for word in words):
        added += ["--out", str(directory)]
    return shlex.join(["outpoint", command, *added, *words])


@contextmanager
def without_complaints() -> Iterator[None]:
    """Hide a Ctrl-C that Python loses while it collects garbage; it takes effect later."""
    before = sys.unraisablehook

    def show(lost: Any) -> None:
        if lost.exc_type is not KeyboardInterrupt:
            before(lost)

    sys.unraisablehook = show
    try:
        yield
    finally:
        sys.unraisablehook = before

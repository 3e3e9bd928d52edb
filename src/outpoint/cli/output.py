"""Where a command's result goes: standard output, a file, JSON."""

import json
import math
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from outpoint.cli.text import printable
from outpoint.errors import OptionError

if TYPE_CHECKING:
    import pandas as pd


def check_file(path: Path | None, option: str = "--out") -> None:
    """Refuse, before any work is done, a place where no file can be written."""
    if path is None:
        return
    try:
        if path.is_dir():
            raise OptionError(f"{path} is a directory: choose a file ({option}).")
        directory = path.absolute().parent
        if not directory.is_dir():
            raise OptionError(f"there is no directory {path.parent}: choose another ({option}).")
        if not os.access(path if path.exists() else directory, os.W_OK):
            raise OptionError(f"cannot write {path}: permission denied ({option}).")
    except OSError as error:
        raise OptionError(f"cannot write {path}: {error.strerror} ({option}).") from None


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A place to write what then becomes ``path``, which appears complete or not at all.

    What is not an ordinary file, such as ``/dev/stdout``, is written to as it is; of a link, the
    file it leads to is replaced.
    """
    try:
        if path.exists() and not path.is_file():
            yield path
            return
        target = path.resolve()
        with tempfile.TemporaryDirectory(prefix=".outpoint-", dir=target.parent) as private:
            beside = Path(private) / target.name
            yield beside
            beside.replace(target)
    except OSError as error:
        raise OptionError(f"cannot write {path}: {os.strerror(error.errno or 5)}.") from None


def write_text(path: Path, text: str) -> None:
    """Write a file completely, or say why it cannot be written."""
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError:
        raise OptionError(f"cannot write {path}: a name is not valid Unicode.") from None
    with replaced(path) as place:
        place.write_bytes(content)


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

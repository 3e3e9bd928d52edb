"""Where a command's result goes: standard output, a file, JSON."""

import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from outpoint.cli.streams import printable
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

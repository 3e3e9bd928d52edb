"""Where a command's result goes: standard output, a file, JSON."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from outpoint.errors import OptionError

if TYPE_CHECKING:
    import pandas as pd


def check_file(path: Path | None) -> None:
    """Refuse, before any work is done, a place where no file can be written."""
    if path is None:
        return
    if path.is_dir():
        raise OptionError(f"{path} is a directory: choose a file (--out).")
    if not path.absolute().parent.is_dir():
        raise OptionError(f"there is no directory {path.parent}: choose another file (--out).")


def write_text(path: Path, text: str) -> None:
    """Write a file, or say why it cannot be written."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OptionError(f"cannot write {path}: {error.strerror}.") from None


def print_json(result: Any) -> None:
    """Print a result as JSON, undefined numbers as null."""
    typer.echo(json.dumps(_plain(result), indent=2, ensure_ascii=False, allow_nan=False))


def frame_to_rows(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """A table as a list of objects."""
    return [dict(zip(frame.columns, row, strict=True)) for row in frame.to_numpy().tolist()]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return str(value)
    return value

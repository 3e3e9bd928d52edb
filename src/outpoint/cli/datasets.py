"""``outpoint datasets``: the bundled data sets."""

from pathlib import Path
from typing import Annotated

import typer


def datasets(
    name: Annotated[
        str | None, typer.Argument(help="Data set to write; all are listed without.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File instead of stdout.")] = None,
) -> None:
    """List the bundled data sets, or write one as CSV.

    Example: outpoint datasets asia --out asia.csv
    """
    from outpoint.data import bundled
    from outpoint.errors import OptionError

    if name is None:
        width = max(len(known) for known in bundled.available())
        for known, description in bundled.available().items():
            typer.echo(f"{known:<{width}}  {description}")
        return
    text = bundled.load(name).to_frame().to_csv(index=False)
    if out is None:
        typer.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OptionError(f"cannot write {out}: {error.strerror}.") from None

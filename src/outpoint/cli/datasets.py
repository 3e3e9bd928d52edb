"""``outpoint datasets``: the bundled data sets."""

from typing import Annotated

import typer

from outpoint.cli import options
from outpoint.errors import OptionError


def datasets(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Data set to write (default: list them all)."),
    ] = None,
    out: options.Table = None,
) -> None:
    """List the bundled data sets, or write one as CSV.

    Example: outpoint datasets asia --out asia.csv
    """
    from outpoint.cli.terminal import check_file, print_data
    from outpoint.data import bundled
    from outpoint.files import write_text

    if name is None:
        if out is not None:
            raise OptionError("name the data set to write (NAME).")
        width = max(len(known) for known in bundled.available())
        for known, description in bundled.available().items():
            typer.echo(f"{known:<{width}}  {description}")
        return
    check_file(out)
    text = bundled.load(name).to_frame().to_csv(index=False, lineterminator="\n")
    if out is None:
        print_data(text)
    else:
        write_text(out, text)

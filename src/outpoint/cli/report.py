"""``outpoint report``: the interactive report of a run."""

from pathlib import Path
from typing import Annotated

import typer

from outpoint.cli import options


def report(
    run: options.Run,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="Where to write the page."),
    ] = Path("report.html"),
    data: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="The data of the run, to describe its columns."),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Write the interactive report of a run, one HTML file that needs nothing else.

    Example: outpoint report outpoint-run-boston --out boston.html
    """
    from outpoint.cli.output import check_file
    from outpoint.data import load_dataset
    from outpoint.posterior import load

    check_file(out)
    posterior = load(run)
    posterior.report(out, data=None if data is None else load_dataset(data))
    if not quiet:
        typer.echo(f"{out}: report of {run}")

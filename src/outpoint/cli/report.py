"""``outpoint report``: the interactive report of a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outpoint.cli import options
from outpoint.cli.options import takes
from outpoint.errors import OptionError
from outpoint.naming import flag
from outpoint.options import LOAD, Role

if TYPE_CHECKING:
    from outpoint.data import Dataset
    from outpoint.posterior import Posterior


@takes(given=options.declared(LOAD, Role.READING))
def report(
    run: options.Run,
    given: options.Given,
    out: Annotated[
        Path,
        options.file_to_write("Where to write the page."),
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
    from outpoint.cli.terminal import check_file, load_run, print_note
    from outpoint.files import write_text
    from outpoint.report import render_report

    check_file(out)
    if data is None and given:
        said = " and ".join(map(flag, given))
        raise OptionError(f"{said} says how to read the data: name them (--data).")
    posterior = load_run(run)
    dataset = None if data is None else _read_data(data, given, posterior)
    page = render_report(posterior, data=dataset)
    write_text(out, page.encode("utf-8", "replace").decode("utf-8"))
    if not quiet:
        print_note(f"{out}: report of {run}")


def _read_data(data: str, given: options.Given, posterior: "Posterior") -> "Dataset":
    """The data of a run, and no others: the report says that the run was learned from them."""
    own = given or options.Given(posterior.info.reading or {})
    dataset = own.load(data)
    if dataset.fingerprint() != posterior.info.fingerprint:
        raise OptionError(f"{data} does not hold the data of the run, or was read differently.")
    return dataset

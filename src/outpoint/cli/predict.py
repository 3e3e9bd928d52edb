"""``outpoint predict``: what a variable will be in new rows."""

from typing import TYPE_CHECKING, Annotated

import typer

from outpoint.cli import options
from outpoint.cli.options import takes
from outpoint.cli.terminal import Output

if TYPE_CHECKING:
    import pandas as pd

    from outpoint.posterior import Posterior

N_SHOWN = 20


@takes(output=options.output("Write the predictions of all rows to this CSV file."))
def predict(
    run: options.Run,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Table of new rows, with any of the variables; blank cells are unknown.",
        ),
    ],
    *,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The variable to predict; without it, the log predictive density of every row.",
        ),
    ] = None,
    quantiles: Annotated[
        str,
        typer.Option(
            metavar="NUMBERS", help="Quantiles of a continuous target, separated by commas."
        ),
    ] = "0.025,0.25,0.5,0.75,0.975",
    output: Output,
) -> None:
    """Predict a variable in new rows, averaged over DAGs and parameters.

    Example: outpoint predict outpoint-run-boston new.csv --target medv --out predicted.csv
    """
    from outpoint.cli.terminal import check_file, frame_to_rows, load_run, shows_progress

    check_file(output.out)
    posterior = load_run(run)
    with shows_progress(quiet=output.quiet) as progress:
        if target is None:
            table = posterior.log_predictive(file, progress=progress).to_frame()
            table["mcse"] = table["log_predictive"].attrs["mcse"]
        else:
            asked = _parse_numbers(quantiles)
            table = posterior.predict(file, target, quantiles=asked, progress=progress)
    kind = "log_predictive" if target is None else "prediction"
    output.give(
        lambda: _format(table),
        lambda: {"target": target, "kind": kind, "rows": frame_to_rows(table)},
        lambda: _print(posterior, table, target),
    )


def _print(posterior: "Posterior", table: "pd.DataFrame", target: str | None) -> None:
    from outpoint.cli.summary import make_console, print_line, print_table

    what = "log predictive densities" if target is None else f"predictions of {target}"
    shown = table.head(N_SHOWN)
    more = f" (rows 1 to {N_SHOWN} of {len(table):,})" if len(table) > N_SHOWN else ""
    numbers = [str(row + 1) for row in range(len(shown))]
    columns = [str(name) for name in table.columns]
    is_probability = target is not None and "mean" not in columns
    console = make_console()
    numbered = shown.set_axis(columns, axis=1)
    numbered.insert(0, "row", numbers, allow_duplicates=True)
    significant = () if is_probability else columns
    print_table(console, numbered, f"{what}{more}", significant=significant)
    print_line(console, "Verdict", posterior.verdict)


def _format(table: "pd.DataFrame") -> str:
    """The table as CSV, safe to open in a spreadsheet: levels are the names of columns."""
    from outpoint.graphs.formats import protect_cell

    safe = table.set_axis([protect_cell(str(name)) for name in table.columns], axis=1)
    safe.insert(0, "row", range(1, len(table) + 1), allow_duplicates=True)
    return str(safe.to_csv(index=False, lineterminator="\n"))


def _parse_numbers(text: str) -> list[float]:
    from outpoint.errors import OptionError

    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise OptionError(
            f"--quantiles must be probabilities such as 0.05,0.5,0.95, not {text!r}."
        ) from None

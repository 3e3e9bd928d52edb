"""``outpoint next-experiment``: which variable to set next."""

from typing import Annotated

import typer

from outpoint.cli import options

N_SHOWN = 20


def next_experiment(
    run: options.Run,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="FEATURE",
            help="What is to be found out, such as 'a -> ... -> b', instead of the whole DAG.",
        ),
    ] = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """How much of what observations leave open an experiment on each variable would tell.

    Example: outpoint next-experiment outpoint-run-asia
    """
    from outpoint.cli.inputs import load_run
    from outpoint.cli.output import frame_to_rows, print_json
    from outpoint.cli.summary import make_console, print_line, print_table

    posterior = load_run(run)
    table = posterior.next_experiment(target)
    if json:
        print_json({"target": target, "experiments": frame_to_rows(table)})
    elif not quiet:
        console = make_console()
        what = "the DAG" if target is None else target
        print_table(console, table.head(N_SHOWN), f"experiments that tell most about {what}")
        before = float(table["before"].iloc[0])
        print_line(
            console,
            "Open",
            f"{before:.3f} bits, which no further observations can tell; after setting the "
            "variable, the bits in the last column are expected to be left",
        )
        print_line(console, "Verdict", posterior.verdict)

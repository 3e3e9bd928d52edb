"""``outpoint next-experiment``: which variable to set next."""

from typing import Annotated

import typer

from outpoint.cli import options
from outpoint.errors import OptionError

N_SHOWN = 20


def next_experiment(
    run: options.Run,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="FEATURE",
            help="A feature to find out about, such as 'a -> ... -> b', instead of the whole DAG.",
        ),
    ] = None,
    effect: Annotated[
        str | None,
        typer.Option(
            metavar="CAUSE,EFFECT",
            help="Find out about this effect instead; uncertainty is then its standard deviation.",
        ),
    ] = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """How much an experiment on each variable would show of what observations leave open.

    Example: outpoint next-experiment outpoint-run-asia
    """
    from outpoint.cli.summary import make_console, print_line, print_table
    from outpoint.cli.terminal import frame_to_rows, load_run, print_json

    posterior = load_run(run)
    pair = None if effect is None else options.parse_group(effect, "--effect")
    if pair is not None and len(pair) != 2:
        raise OptionError(f"--effect must be written CAUSE,EFFECT, not {effect!r}.")
    table = posterior.next_experiment(target, effect=None if pair is None else (pair[0], pair[1]))
    if json:
        print_json({"target": target, "effect": pair, "experiments": frame_to_rows(table)})
    elif not quiet:
        console = make_console()
        what = "the DAG" if target is None else target
        unit = "bits"
        if pair is not None:
            what, unit = f"the effect of {pair[0]} on {pair[1]}", "standard deviations"
        print_table(console, table.head(N_SHOWN), f"experiments that tell most about {what}")
        before = float(table["before"].iloc[0])
        print_line(
            console,
            "Open",
            f"{before:.3g} {unit}, which no further observations can remove; the last column says "
            f"how much is expected to be left after setting the variable",
        )
        print_line(console, "Verdict", posterior.verdict)

"""``outpoint probability``: how probable features of the DAG are."""

from typing import Annotated

import typer

from outpoint.cli import options


def probability(
    run: options.Run,
    features: Annotated[
        list[str],
        typer.Argument(
            metavar="FEATURE...",
            help="Such as 'a -> b', 'a -> ... -> b', 'a -> c <- b', 'a in mb(b)', 'root(a)', "
            "'parents(a) = {b, c}' or 'adjusts({c}, a, b)', combined by not, and, or.",
        ),
    ],
    quiet: options.QuietNumber = False,
    json: options.Json = False,
) -> None:
    """Posterior probability of features of the DAG, with its Monte Carlo standard error.

    Example: outpoint probability outpoint-run-asia 'smoke -> ... -> dysp'
    """
    import pandas as pd

    from outpoint.cli.summary import make_console, print_line, print_table
    from outpoint.cli.terminal import frame_to_rows, load_run, print_json

    posterior = load_run(run)
    found = [posterior.estimate(feature) for feature in features]
    table = pd.DataFrame(
        {
            "feature": features,
            "probability": [one.value for one in found],
            "mcse": [one.mcse for one in found],
            "status": [one.status for one in found],
        }
    )
    if json:
        print_json({"probabilities": frame_to_rows(table)})
    elif quiet:
        for one in found:
            typer.echo(f"{one.value!r}")
    else:
        console = make_console()
        print_table(console, table, "probabilities", significant=("mcse",))
        print_line(console, "Verdict", posterior.verdict)

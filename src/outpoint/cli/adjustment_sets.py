"""``outpoint adjustment-sets``: what to adjust for, with probabilities."""

from typing import Annotated

import typer

from outpoint.cli import options


def adjustment_sets(
    run: options.Run,
    cause: Annotated[str, typer.Argument(metavar="CAUSE", help="The variable that is set.")],
    effect: Annotated[str, typer.Argument(metavar="EFFECT", help="The variable that responds.")],
    number: Annotated[
        int,
        typer.Option("--number", "-n", metavar="NUMBER", help="Largest number of sets to show."),
    ] = 10,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Sets of variables that adjust for confounding of an effect, with their probabilities.

    Example: outpoint adjustment-sets outpoint-run-asia smoke dysp
    """
    from outpoint.cli.summary import make_console, print_line, print_table
    from outpoint.cli.terminal import frame_to_rows, load_run, print_json

    posterior = load_run(run)
    table = posterior.adjustment_sets(cause, effect, number)
    if json:
        rows = [
            row | {"adjustment_set": list(row["adjustment_set"])} for row in frame_to_rows(table)
        ]
        print_json({"cause": cause, "effect": effect, "adjustment_sets": rows})
    elif not quiet:
        console = make_console()
        shown = table.assign(
            adjustment_set=["{" + ", ".join(one) + "}" for one in table["adjustment_set"]]
        )
        print_table(console, shown, f"adjustment sets for the effect of {cause} on {effect}")
        names = posterior.names
        reverse = float(
            posterior.edge_probabilities.to_numpy()[names.index(effect), names.index(cause)]
        )
        print_line(
            console, "None", f"no set is valid where {effect} -> {cause}: probability {reverse:.3f}"
        )
        print_line(console, "Verdict", posterior.verdict)

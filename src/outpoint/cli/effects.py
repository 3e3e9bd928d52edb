"""``outpoint effects``: causal effects from a run on continuous data."""

from pathlib import Path
from typing import Annotated

import typer

from outpoint.cli import options

N_SHOWN = 20
UNITS = {"original": "in the units of the data", "sd": "in standard deviations"}


def effects(
    run: options.Run,
    cause: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only effects of this variable.")
    ] = None,
    effect: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only effects on this variable.")
    ] = None,
    draws: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            help="DAGs to draw, each with new coefficients; at most as many as the run has kept.",
        ),
    ] = 2000,
    level: Annotated[
        float, typer.Option(metavar="NUMBER", help="Probability of the intervals.")
    ] = 0.95,
    units: Annotated[
        str, typer.Option(metavar="NAME", help="original, or sd: standard deviations.")
    ] = "original",
    seed: options.Seed = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write all pairs, or those of --cause and --effect, to this CSV file.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Total causal effects of every variable on every other, averaged over DAGs and parameters.

    Example: outpoint effects outpoint-run-boston --effect medv
    """
    from outpoint.cli.inputs import load_run
    from outpoint.cli.output import check_file, frame_to_rows, print_json
    from outpoint.cli.summary import make_console, print_line, print_table
    from outpoint.errors import OptionError
    from outpoint.posterior.export import format_table
    from outpoint.whole_numbers import checked_seed
    from outpoint.writing import write_text

    check_file(out)
    if seed is not None:
        checked_seed(seed)
    posterior = load_run(run)
    for name in (cause, effect):
        if name is not None and name not in posterior.names:
            raise OptionError(f"{name!r} is not one of the variables of the run.")
    if cause is not None and cause == effect:
        raise OptionError(f"{cause!r} is both the cause and the effect: choose two variables.")
    found = posterior.causal_effects(n_draws=draws, seed=seed, level=level, units=units)
    table = found.table()
    if cause is not None:
        table = table[table["cause"] == cause]
    if effect is not None:
        table = table[table["effect"] == effect]
    if out is not None:
        write_text(out, format_table(table, ("cause", "effect")))
    if json:
        print_json(
            {
                "units": units,
                "level": level,
                "n_draws": found.n_draws,
                "effects": frame_to_rows(table),
            }
        )
    elif not quiet:
        console = make_console()
        shown = table.reindex(table["mean"].abs().sort_values(ascending=False).index)
        shown = shown.sort_values("probability", ascending=False, kind="stable").head(N_SHOWN)
        print_table(console, shown, _title(cause, effect, len(shown), len(table)))
        print_line(
            console,
            "Draws",
            f"{found.n_draws:,} DAGs, each with new coefficients; {100 * level:.4g}% of the "
            f"effects drawn lie between lower and upper, {UNITS[units]}",
        )
        print_line(console, "Verdict", posterior.verdict)
        if out is not None:
            print_line(console, "File", str(out))


def _title(cause: str | None, effect: str | None, n_shown: int, n_pairs: int) -> str:
    """What the table shows, and of how much."""
    of = "" if cause is None else f" of {cause}"
    on = "" if effect is None else f" on {effect}"
    if n_pairs == 1:
        return f"effect{of}{on}"
    count = f" ({n_shown} of {n_pairs} pairs)" if n_shown < n_pairs else ""
    return f"strongest effects{of}{on}{count}"

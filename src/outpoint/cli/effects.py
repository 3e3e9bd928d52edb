"""``outpoint effects``: causal effects from a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outpoint.cli import options

if TYPE_CHECKING:
    import pandas as pd

    from outpoint.posterior import Posterior
    from outpoint.posterior.effects import CausalEffects
    from outpoint.posterior.what_if import Effect

N_SHOWN = 20
BETWEEN = "effects are those between continuous variables"
IN_UNITS = ("mean", "sd", "lower", "upper", "mean_given_path")
"""Columns of any size, of which three digits are shown wherever they begin."""
UNITS = {"original": "in the units of the data", "sd": "in standard deviations"}


def effects(
    run: options.Run,
    cause: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only effects of this variable.")
    ] = None,
    effect: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only effects on this variable.")
    ] = None,
    levels: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Two values of the cause to compare, in all detail; needs --cause and --effect.",
        ),
    ] = None,
    effect_level: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL", help="With --levels: the level of the effect (default: its last)."
        ),
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
    from outpoint.cli.output import check_file, frame_to_rows, print_json, print_note
    from outpoint.errors import OptionError
    from outpoint.kinds import checked_seed
    from outpoint.posterior.export import format_table
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
    if levels is not None or effect_level is not None:
        if levels is None or cause is None or effect is None:
            raise OptionError("two --levels are compared of a --cause for an --effect: name all.")
        two = options.parse_group(levels, "--levels")
        one = posterior.effect(
            cause, effect, two, effect_level, n_draws=draws, seed=seed, interval_level=level
        )
        _show_one(posterior, one, out, quiet=quiet, json=json)
        return
    found = posterior.causal_effects(n_draws=draws, seed=seed, level=level, units=units)
    left_out = [name for name in posterior.names if name not in found.names]
    for name in (cause, effect):
        if name in left_out:
            raise OptionError(f"{name!r} is categorical: {BETWEEN}.")
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
                "left_out": left_out,
                "effects": frame_to_rows(table),
            }
        )
    elif not quiet:
        title = _title(cause, effect, min(len(table), N_SHOWN), len(table))
        _print(posterior, found, table, title, left_out)
        if out is not None:
            print_note(f"{'File':<10}{out}")


def _print(
    posterior: "Posterior",
    found: "CausalEffects",
    table: "pd.DataFrame",
    title: str,
    left_out: list[str],
) -> None:
    """The largest effects in standard deviations, in whatever units they are shown."""
    from outpoint.cli.summary import make_console, print_line, print_table
    from outpoint.posterior.effects import standardized_means

    console = make_console()
    sizes = table["mean"].to_numpy()
    if posterior.model is not None and found.units != "sd":
        sizes = standardized_means(found, table, posterior.model)
        table = table.assign(mean_in_sd=sizes)
    order = (-abs(sizes)).argsort(kind="stable")[:N_SHOWN]
    print_table(console, table.iloc[order], title, significant=IN_UNITS)
    print_line(
        console,
        "Draws",
        f"{found.n_draws:,} DAGs, each with new coefficients; {100 * found.level:.4g}% of the "
        f"effects drawn lie between lower and upper, {UNITS[found.units]}",
    )
    if left_out:
        print_line(console, "Left out", f"{', '.join(left_out)} (categorical): {BETWEEN}")
    print_line(console, "Verdict", posterior.verdict)


def _show_one(
    posterior: "Posterior", found: "Effect", out: Path | None, *, quiet: bool, json: bool
) -> None:
    """All that is known about one effect."""
    import pandas as pd

    from outpoint.cli.output import print_json, print_note
    from outpoint.cli.summary import make_console, print_line, print_table
    from outpoint.posterior.export import format_table
    from outpoint.writing import write_text

    table = pd.DataFrame(found.rows(), columns=["what", "value"])
    if out is not None:
        write_text(out, format_table(table, ("what",)))
    if json:
        about = {"question": found.question, "level": found.interval_level, "note": found.note}
        ratios = {"ratio": None, "ratio_lower": None, "ratio_upper": None}
        print_json(about | {"n_draws": len(found.draws)} | ratios | dict(found.rows()))
    elif not quiet:
        console = make_console()
        print_table(console, table, found.question, significant=("value",))
        if found.note:
            print_line(console, "Sign", found.note)
        print_line(console, "Verdict", posterior.verdict)
        if out is not None:
            print_note(f"{'File':<10}{out}")


def _title(cause: str | None, effect: str | None, n_shown: int, n_pairs: int) -> str:
    """What the table shows, and of how much."""
    of = "" if cause is None else f" of {cause}"
    on = "" if effect is None else f" on {effect}"
    if n_pairs == 1:
        return f"effect{of}{on}"
    count = f" ({n_shown} of {n_pairs} pairs)" if n_shown < n_pairs else ""
    return f"strongest effects{of}{on}{count}"

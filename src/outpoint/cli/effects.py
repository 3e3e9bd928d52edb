"""``outpoint effects``: causal effects from a run."""

from collections.abc import Sequence
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
N_SETS_SHOWN = 5
BETWEEN = "in this series only continuous variables have effects"
IN_UNITS = ("mean", "sd", "lower", "upper", "mean_given_path")
"""Columns whose numbers may be of any size; they are shown with three significant digits."""
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
            help="Two values of the cause to compare in full detail; needs --cause and --effect.",
        ),
    ] = None,
    effect_level: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL", help="With --levels: the level of the effect (default: its last)."
        ),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=A,B",
            help="Instead of --cause and --levels, for several variables that are set together; "
            "repeatable.",
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="For a time series: effects after 0 up to this many steps.",
        ),
    ] = None,
    draws: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            help="DAGs to draw, each with new parameters; at most as many as the run has kept.",
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
        options.file_to_write(
            "Write all pairs, or those of --cause and --effect, to this CSV file."
        ),
    ] = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Total causal effects of every variable on every other, averaged over DAGs and parameters.

    Example: outpoint effects outpoint-run-boston --effect medv
    """
    from outpoint.cli.terminal import check_file, frame_to_rows, load_run, print_json, print_note
    from outpoint.errors import OptionError
    from outpoint.files import write_text
    from outpoint.kinds import checked_seed
    from outpoint.posterior.export import format_table

    check_file(out)
    if seed is not None:
        checked_seed(seed)
    posterior = load_run(run)
    for name in (cause, effect):
        if name is not None and name not in posterior.names:
            raise OptionError(f"{name!r} is not one of the variables of the run.")
    if cause is not None and cause == effect:
        raise OptionError(f"{cause!r} is both the cause and the effect: choose two variables.")
    contrast = _parse_contrast(posterior.names, cause, effect, levels, effect_level, setting)
    if contrast is not None and effect is not None:
        one = posterior.effect(
            contrast, effect, None, effect_level, n_draws=draws, seed=seed, interval_level=level
        )
        _show_one(posterior, one, out, quiet=quiet, json=json)
        return
    if steps is not None:
        table = posterior.effects_over_time(steps, n_draws=draws, seed=seed, level=level)
        _show_steps(posterior, _chosen(table, cause, effect), level, out, quiet=quiet, json=json)
        return
    found = posterior.causal_effects(n_draws=draws, seed=seed, level=level, units=units)
    left_out = [name for name in posterior.names if name not in found.names]
    for name in (cause, effect):
        if name in left_out:
            raise OptionError(f"{name!r} is categorical: {BETWEEN}.")
    table = _chosen(found.table(), cause, effect)
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


def _parse_contrast(
    names: Sequence[str],
    cause: str | None,
    effect: str | None,
    levels: str | None,
    effect_level: str | None,
    setting: list[str] | None,
) -> dict[str, list[str]] | None:
    """The variables that are set, each with two values, or None if all pairs are wanted."""
    from outpoint.errors import OptionError

    if setting:
        if cause is not None or levels is not None:
            raise OptionError("use either --cause or --set, which names causes with their values.")
        if effect is None:
            raise OptionError("--set needs --effect, the variable that responds.")
        form = "--set must be written NAME=A,B, such as age=40,50, not {!r}."
        found = {}
        for text in setting:
            if "=" not in text:
                raise OptionError(form.format(text))
            name, two = options.parse_setting(text, names, "--set")
            found[name] = options.parse_group(two, "--set")
        return found
    if levels is None and effect_level is None:
        return None
    if levels is None or cause is None or effect is None:
        raise OptionError(
            "--levels compares two values of a --cause by an --effect: give all three."
        )
    return {cause: options.parse_group(levels, "--levels")}


def _chosen(table: "pd.DataFrame", cause: str | None, effect: str | None) -> "pd.DataFrame":
    """The rows of these variables."""
    if cause is not None:
        table = table[table["cause"] == cause]
    return table if effect is None else table[table["effect"] == effect]


def _show_steps(
    posterior: "Posterior",
    table: "pd.DataFrame",
    level: float,
    out: Path | None,
    *,
    quiet: bool,
    json: bool,
) -> None:
    """Show effects in a time series; on screen, only those that may differ from zero."""
    from outpoint.cli.summary import make_console, print_line, print_table
    from outpoint.cli.terminal import frame_to_rows, print_json, print_note
    from outpoint.files import write_text
    from outpoint.posterior.export import format_table

    if out is not None:
        write_text(out, format_table(table, ("cause", "effect")))
    if json:
        print_json({"level": level, "effects": frame_to_rows(table)})
    elif not quiet:
        console = make_console()
        shown = table[table["p_zero"] < 0.99]
        print_table(console, shown, "effects over time", significant=IN_UNITS)
        print_line(console, "Not shown", "effects that are zero with probability 0.99 or more")
        print_line(console, "Verdict", posterior.verdict)
        if out is not None:
            print_note(f"{'File':<10}{out}")


def _print(
    posterior: "Posterior",
    found: "CausalEffects",
    table: "pd.DataFrame",
    title: str,
    left_out: list[str],
) -> None:
    """Print the effects that are largest in standard deviations, in the units they have."""
    from outpoint.cli.summary import make_console, print_line, print_table
    from outpoint.posterior.effects import standardized_means

    console = make_console()
    sizes = standardized_means(found, table, posterior)
    if found.units != "sd":
        table = table.assign(mean_in_sd=sizes)
    order = (-abs(sizes)).argsort(kind="stable")[:N_SHOWN]
    print_table(console, table.iloc[order], title, significant=IN_UNITS)
    print_line(console, "Meaning", _meaning(found))
    print_line(
        console,
        "Draws",
        f"{found.n_draws:,} DAGs, each with new parameters; {100 * found.level:.4g}% of the "
        f"effects drawn lie between lower and upper, {UNITS[found.units]}",
    )
    if left_out:
        print_line(console, "Left out", f"{', '.join(left_out)} (categorical): {BETWEEN}")
    print_line(console, "Verdict", posterior.verdict)


def _meaning(found: "CausalEffects") -> str:
    """Say what is changed, what responds, and what ``probability`` is the probability of."""
    sets = [f"{name}: {first} to {last}" for name, (first, last) in found.outermost.items()]
    listed = ", ".join(sets[:N_SETS_SHOWN]) + (", ..." if len(sets) > N_SETS_SHOWN else "")
    change, response = "one unit more of the cause", "the mean of the effect"
    if sets:
        change += f", or its last level instead of its first ({listed}),"
        response += ", or the probability of its last level"
    return f"how much {change} changes {response}; probability is that of a directed path"


def _show_one(
    posterior: "Posterior", found: "Effect", out: Path | None, *, quiet: bool, json: bool
) -> None:
    """Show all that is known about one effect."""
    import pandas as pd

    from outpoint.cli.summary import make_console, print_line, print_table
    from outpoint.cli.terminal import print_json, print_note
    from outpoint.files import write_text
    from outpoint.posterior.export import format_table

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
    """The title of the table: what it shows, and how many of how many pairs."""
    of = "" if cause is None else f" of {cause}"
    on = "" if effect is None else f" on {effect}"
    if n_pairs == 1:
        return f"effect{of}{on}"
    count = f" ({n_shown} of {n_pairs} pairs)" if n_shown < n_pairs else ""
    return f"strongest effects{of}{on}{count}"

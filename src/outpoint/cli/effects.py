"""``outpoint effects``: causal effects from a run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from outpoint.cli import options
from outpoint.cli.options import takes
from outpoint.cli.terminal import Output
from outpoint.errors import OptionError

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


@dataclass(frozen=True)
class Question:
    """Which effects are asked for: of all pairs, of some of them, or one of two settings."""

    cause: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only effects of this variable.")
    ] = None
    effect: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only effects on this variable.")
    ] = None
    levels: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Two values of the cause to compare in full detail; needs --cause and --effect.",
        ),
    ] = None
    effect_level: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL", help="With --levels: the level of the effect (default: its last)."
        ),
    ] = None
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=A,B",
            help="Instead of --cause and --levels, for several variables that are set together; "
            "repeatable.",
        ),
    ] = None

    def check(self, names: Sequence[str]) -> None:
        """Refuse variables that the run does not have."""
        for name in (self.cause, self.effect):
            if name is not None and name not in names:
                raise OptionError(f"{name!r} is not one of the variables of the run.")
        if self.cause is not None and self.cause == self.effect:
            raise OptionError(
                f"{self.cause!r} is both the cause and the effect: choose two variables."
            )

    def contrast(self, names: Sequence[str]) -> tuple[dict[str, list[str]], str] | None:
        """Two values for each variable that is set, and the effect; None if pairs are asked for."""
        cause, effect, levels = self.cause, self.effect, self.levels
        if self.setting:
            if cause is not None or levels is not None:
                raise OptionError(
                    "use either --cause or --set, which names causes with their values."
                )
            if effect is None:
                raise OptionError("--set needs --effect, the variable that responds.")
            return _parse_settings(self.setting, names), effect
        if levels is None and self.effect_level is None:
            return None
        if levels is None or cause is None or effect is None:
            raise OptionError(
                "--levels compares two values of a --cause by an --effect: give all three."
            )
        return {cause: options.parse_group(levels, "--levels")}, effect

    def rows_of(self, table: "pd.DataFrame") -> "pd.DataFrame":
        """The rows of these variables."""
        if self.cause is not None:
            table = table[table["cause"] == self.cause]
        return table if self.effect is None else table[table["effect"] == self.effect]

    def title(self, n_pairs: int) -> str:
        """What the table of so many pairs shows, and of how much."""
        of = "" if self.cause is None else f" of {self.cause}"
        on = "" if self.effect is None else f" on {self.effect}"
        if n_pairs == 1:
            return f"effect{of}{on}"
        count = f" ({N_SHOWN} of {n_pairs} pairs)" if n_pairs > N_SHOWN else ""
        return f"strongest effects{of}{on}{count}"


@takes(
    question=options.fields_of(Question),
    output=options.output("Write all pairs, or those of --cause and --effect, to this CSV file."),
)
def effects(
    run: options.Run,
    *,
    question: Question,
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
    output: Output,
) -> None:
    """Total causal effects of every variable on every other, averaged over DAGs and parameters.

    Example: outpoint effects outpoint-run-boston --effect medv
    """
    from outpoint.cli.terminal import check_file, load_run, shows_progress
    from outpoint.kinds import checked_seed

    check_file(output.out)
    if seed is not None:
        checked_seed(seed)
    posterior = load_run(run)
    question.check(posterior.names)
    contrast = question.contrast(posterior.names)
    with shows_progress(quiet=output.quiet) as progress:
        drawn: dict[str, Any] = {"n_draws": draws, "seed": seed, "progress": progress}
        if contrast is not None:
            one = posterior.effect(
                *contrast, None, question.effect_level, interval_level=level, **drawn
            )
        elif steps is not None:
            table = posterior.effects_over_time(steps, level=level, **drawn)
        else:
            found = posterior.causal_effects(level=level, units=units, **drawn)
    if contrast is not None:
        _show_one(posterior, one, output)
    elif steps is not None:
        _show_steps(posterior, question.rows_of(table), level, output)
    else:
        _show_pairs(posterior, found, question, output)


def _parse_settings(texts: Sequence[str], names: Sequence[str]) -> dict[str, list[str]]:
    """The two values of each variable, of texts such as 'age=40,50'."""
    found = {}
    for text in texts:
        if "=" not in text:
            raise OptionError(f"--set must be written NAME=A,B, such as age=40,50, not {text!r}.")
        name, two = options.parse_setting(text, names, "--set")
        found[name] = options.parse_group(two, "--set")
    return found


def _show_steps(
    posterior: "Posterior", table: "pd.DataFrame", level: float, output: Output
) -> None:
    """Show effects in a time series; on screen, only those that may differ from zero."""
    from outpoint.cli.summary import make_console, print_line, print_table
    from outpoint.cli.terminal import frame_to_rows
    from outpoint.posterior.export import format_table

    def show() -> None:
        console = make_console()
        shown = table[table["p_zero"] < 0.99]
        print_table(console, shown, "effects over time", significant=IN_UNITS)
        print_line(console, "Not shown", "effects that are zero with probability 0.99 or more")
        print_line(console, "Verdict", posterior.verdict)

    output.give(
        lambda: format_table(table, ("cause", "effect")),
        lambda: {"level": level, "effects": frame_to_rows(table)},
        show,
    )


def _show_pairs(
    posterior: "Posterior", found: "CausalEffects", question: Question, output: Output
) -> None:
    """The effects of all pairs that are asked for."""
    from outpoint.cli.terminal import frame_to_rows
    from outpoint.posterior.export import format_table

    left_out = [name for name in posterior.names if name not in found.names]
    for name in (question.cause, question.effect):
        if name in left_out:
            raise OptionError(f"{name!r} is categorical: {BETWEEN}.")
    table = question.rows_of(found.table())
    output.give(
        lambda: format_table(table, ("cause", "effect")),
        lambda: {
            "units": found.units,
            "level": found.level,
            "n_draws": found.n_draws,
            "left_out": left_out,
            "effects": frame_to_rows(table),
        },
        lambda: _print(posterior, found, table, question.title(len(table)), left_out),
    )


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
    print_line(console, "Meaning", _meaning(found, table))
    print_line(
        console,
        "Draws",
        f"{found.n_draws:,} DAGs, each with new parameters; {100 * found.level:.4g}% of the "
        f"effects drawn lie between lower and upper, {UNITS[found.units]}",
    )
    if left_out:
        print_line(console, "Left out", f"{', '.join(left_out)} (categorical): {BETWEEN}")
    print_line(console, "Verdict", posterior.verdict)


def _meaning(found: "CausalEffects", table: "pd.DataFrame") -> str:
    """Say what is changed, what responds, and what ``probability`` is the probability of."""
    causes, effects = (dict.fromkeys(table[column]) for column in ("cause", "effect"))
    sets = [f"{name}: {first} to {last}" for name, (first, last) in _levels(found, causes)]
    levels = [f"{name}: {last}" for name, (_, last) in _levels(found, effects)]
    if len(sets) == len(causes):
        change = f"the last level of the cause instead of its first ({_listed(sets)})"
    elif sets:
        change = (
            f"one unit more of the cause, or its last level instead of its first ({_listed(sets)}),"
        )
    else:
        change = "one unit more of the cause"
    if len(levels) == len(effects):
        response = f"the probability of the last level of the effect ({_listed(levels)})"
    elif levels:
        response = "the mean of the effect, or the probability of its last level"
        response += "" if sets else f" ({_listed(levels)})"
    else:
        response = "the mean of the effect"
    return f"how much {change} changes {response}; probability is that of a directed path"


def _levels(found: "CausalEffects", names: Iterable[str]) -> list[tuple[str, tuple[str, str]]]:
    """Those of the variables that are categorical, each with its first and its last level."""
    return [(name, found.outermost[name]) for name in names if name in found.outermost]


def _listed(items: list[str]) -> str:
    return ", ".join(items[:N_SETS_SHOWN]) + (", ..." if len(items) > N_SETS_SHOWN else "")


def _show_one(posterior: "Posterior", found: "Effect", output: Output) -> None:
    """Show all that is known about one effect."""
    import pandas as pd

    from outpoint.cli.summary import make_console, print_line, print_table
    from outpoint.posterior.export import format_table

    table = pd.DataFrame(found.rows(), columns=["what", "value"])

    def as_json() -> dict[str, Any]:
        about = {"question": found.question, "level": found.interval_level, "note": found.note}
        ratios = {"ratio": None, "ratio_lower": None, "ratio_upper": None}
        return about | {"n_draws": len(found.draws)} | ratios | dict(found.rows())

    def show() -> None:
        console = make_console()
        print_table(console, table, found.question, significant=("value",))
        if found.note:
            print_line(console, "Sign", found.note)
        print_line(console, "Verdict", posterior.verdict)

    output.give(lambda: format_table(table, ("what",)), as_json, show)

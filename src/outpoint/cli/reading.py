"""The options of every command that reads data, declared once."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from outpoint.cli.groups import Group
from outpoint.cli.options import parse_group
from outpoint.errors import OptionError
from outpoint.naming import flag

if TYPE_CHECKING:
    from outpoint.data import Dataset

DATA = "Reading the data"


def _list_option(flag: str, help_text: str, metavar: str = "NAMES") -> Any:
    option = typer.Option(flag, metavar=metavar, help=help_text, rich_help_panel=DATA)
    return Annotated[list[str] | None, option]


def _text_option(flag: str, metavar: str, help_text: str) -> Any:
    option = typer.Option(flag, metavar=metavar, help=help_text, rich_help_panel=DATA)
    return Annotated[str | None, option]


PARAMETERS: dict[str, Any] = {
    "columns": _list_option("--columns", "Read only these columns, separated by commas."),
    "drop": _list_option("--drop", "Leave out these columns."),
    "categorical": _list_option("--categorical", "Columns to take as categories, or 'all'."),
    "continuous": _list_option("--continuous", "Columns to take as measurements, or 'all'."),
    "ordinal": _list_option(
        "--ordinal",
        "Columns of which only the order counts, with the order of levels where it is not the "
        "usual one: size:small<medium<large; repeatable.",
        "NAMES|NAME:LEVELS",
    ),
    "normal_scores": _list_option(
        "--normal-scores", "Skewed columns to replace by normal scores of their ranks, or 'all'."
    ),
    "discretize": _list_option(
        "--discretize",
        "Cut a numeric column (or 'all') at quantiles into K levels; repeatable.",
        "COLUMN:K",
    ),
    "weights": _text_option(
        "--weights", "COLUMN", "Column that tells how often each row was observed."
    ),
    "missing": _text_option(
        "--missing",
        "auto|drop|refuse",
        "Rows with missing values: drop or refuse them; auto (default) drops them if two thirds "
        "of the rows stay.",
    ),
    "na": _list_option(
        "--na", "Words that mean missing, instead of the usual ones such as NA.", "WORDS"
    ),
    "decimal": _text_option("--decimal", "MARK", "The decimal mark: . or ,"),
    "cardinality_row": Annotated[
        bool | None,
        typer.Option(
            help="Whether the row below the header holds the number of levels of each column "
            "(default: found out from the file).",
            rich_help_panel=DATA,
        ),
    ],
    "interventions": _text_option(
        "--interventions",
        "COLUMN",
        "Column that names the variables set from outside in each row (such as a;b).",
    ),
    "separator": _text_option(
        "--separator", "CHARACTER", "What separates the columns (default: found out from the file)."
    ),
    "time_column": _text_option(
        "--time-column", "COLUMN", "Column of times of a series: numbers, or dates (2024-05-31)."
    ),
    "subject_column": _text_option(
        "--subject-column", "COLUMN", "Column that tells the subjects of a panel apart."
    ),
    "lags": Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="Rows are times in order, and variables depend on so many times before.",
            rich_help_panel=DATA,
        ),
    ],
    "static": _list_option("--static", "Columns that do not change within a subject."),
    "contemporaneous": Annotated[
        bool | None,
        typer.Option(
            help="Whether variables of a series may depend on others at the same time.",
            rich_help_panel=DATA,
        ),
    ],
    "strict": Annotated[
        bool | None,
        typer.Option(
            "--strict",
            help="Refuse identifiers, dates, constant columns and missing values instead of "
            "leaving them out.",
            rich_help_panel=DATA,
        ),
    ],
}
"""The options by their names in ``load_dataset``; all are None if they are not given."""


SERIES = ("time_column", "subject_column", "lags", "static", "contemporaneous")
"""Those of ``load_series``."""


class ReadingOptions(dict[str, Any]):
    """The options of ``load_dataset`` that were given on the command line."""

    def load(self, data: str, model: Mapping[str, Any] | None = None) -> "Dataset":
        """The data of that name, read as asked and as the score of the model needs them."""
        from outpoint.data import load_dataset
        from outpoint.scores import reading_for

        own: dict[str, Any] = {}
        if model is not None:
            own = {"allow_degenerate": model["allow_degenerate"], **reading_for(model["score"])}
        series = {name: self[name] for name in SERIES if name in self}
        if not series:
            return load_dataset(data, **self, **own)
        from outpoint.data import load_series

        others = {name: value for name, value in self.items() if name not in SERIES}
        for name in ("time", "subject"):
            series[name] = series.pop(f"{name}_column", None)
        return load_series(data, **series, **others, **own)


NO_OPTIONS = ReadingOptions()


def _parse(given: dict[str, Any]) -> ReadingOptions:
    """Texts of the command line as ``load_dataset`` takes them."""
    reading = ReadingOptions((name, value) for name, value in given.items() if value is not None)
    for name in ("columns", "drop", "categorical", "continuous", "normal_scores", "na", "static"):
        if name in reading:
            groups = [parse_group(group, flag(name)) for group in reading[name]]
            reading[name] = [column for group in groups for column in group]
    if "ordinal" in reading:
        groups = [parse_group(group, "--ordinal") for group in reading["ordinal"]]
        reading["ordinal"] = dict(_parse_order(text) for group in groups for text in group)
    if "discretize" in reading:
        groups = [parse_group(group, "--discretize") for group in reading["discretize"]]
        reading["discretize"] = dict(_parse_cut(cut) for group in groups for cut in group)
    if reading.get("separator") in ("tab", "\\t"):
        reading["separator"] = "\t"
    return reading


def _parse_order(text: str) -> tuple[str, list[str]]:
    """A column, and its levels in order if they are given as in ``size:small<medium<large``."""
    column, colon, levels = text.partition(":")
    if not colon or "<" not in levels:
        return text, []
    return column.strip(), [level.strip() for level in levels.split("<")]


def _parse_cut(text: str) -> tuple[str, int]:
    column, colon, size = text.rpartition(":")
    if not colon or not column.strip() or not _is_size(size.strip()):
        raise OptionError(f"--discretize is written COLUMN:K, such as age:3, not {text!r}.")
    return column.strip(), int(size)


def _is_size(text: str) -> bool:
    return text.isdecimal() and len(text) < 10


READING = Group({name: (annotation, None) for name, annotation in PARAMETERS.items()}, _parse)

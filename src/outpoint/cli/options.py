"""Options that belong together and that several commands have, declared once.

A command takes one parameter for a :class:`Group` of options and is decorated with :func:`takes`:
on the command line the options stand in its place, and the command is handed what they mean.

Other options that several commands share are types here, and functions read their text.

The options of a run are those that :mod:`outpoint.options` declares. In the help, those that most
users need come first, without a panel of their own.
"""

import csv
import inspect
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_type_hints

import typer

from outpoint.cli.terminal import Output
from outpoint.errors import OptionError
from outpoint.naming import flag
from outpoint.options import LEARN, OPTIONS, Option, Options, Role, names_of, options_of
from outpoint.options.option import MODEL_PANEL, READING_PANEL, STARTS

if TYPE_CHECKING:
    from outpoint.data import Dataset
    from outpoint.graphs import Dag
    from outpoint.scores import LocalScore


class Group(NamedTuple):
    """Options by name, each with its declaration and default, and a function that reads them."""

    options: dict[str, tuple[Any, Any]]
    make: Callable[[dict[str, Any]], Any]


def takes(**groups: Group) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a command that has a parameter for each of the groups."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        hints = get_type_hints(command, include_extras=True)
        parameters = []
        for name, parameter in signature.parameters.items():
            if name not in groups:
                parameters.append(parameter.replace(annotation=hints[name]))
                continue
            parameters += [
                inspect.Parameter(one, parameter.kind, default=default, annotation=annotation)
                for one, (annotation, default) in groups[name].options.items()
            ]

        @wraps(command)
        def with_groups(**words: Any) -> None:
            for name, group in groups.items():
                words[name] = group.make({one: words.pop(one) for one in group.options})
            command(**words)

        with_groups.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        with_groups.__annotations__ = {one.name: one.annotation for one in parameters}
        return with_groups

    return decorate


def fields_of(kind: Any) -> Group:
    """The fields of a dataclass as options, of which the command is handed one value."""
    declared = get_type_hints(kind, include_extras=True)
    options = {one.name: (declared[one.name], one.default) for one in fields(kind)}
    return Group(options, lambda words: kind(**words))


OUTPUT = "Output"


def file_to_write(what: str) -> Any:
    """The option ``--out FILE``; its help says ``what`` is written to it."""
    return typer.Option("--out", "-o", metavar="FILE", help=what, rich_help_panel=OUTPUT)


Table = Annotated[Path | None, file_to_write("CSV file (default: standard output).")]
Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV or space-separated file with a header, or a bundled data set.",
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print only errors.", rich_help_panel=OUTPUT)
]
QuietNumber = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Print only the number.", rich_help_panel=OUTPUT),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print the result as JSON instead.", rich_help_panel=OUTPUT),
]


def output(what: str) -> Group:
    """``--out``, with words on what is written there, ``--quiet`` and ``--json``."""
    file = Annotated[Path | None, file_to_write(what)]
    options = {"out": (file, None), "quiet": (Quiet, False), "json": (Json, False)}
    return Group(options, lambda words: Output(**words))


Run = Annotated[
    Path,
    typer.Argument(metavar="RUN", help="Directory of a run, or a file that Posterior.save wrote."),
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="NUMBER", help=OPTIONS["seed"].help)]
RawUnits = Annotated[
    bool,
    typer.Option(
        "--raw-units",
        help="Take continuous columns as they are, as the paper does, instead of standardising "
        "them. (Columns that code categories are always centred.)",
        rich_help_panel=MODEL_PANEL,
    ),
]
EquivalentSampleSize = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER",
        help="Categorical columns: weight of the prior, in observations (default 1).",
        rich_help_panel=MODEL_PANEL,
    ),
]


def _series_option(kind: Any, metavar: str | None, text: str) -> Any:
    """A parameter that says how the rows of a series follow each other."""
    return Annotated[
        kind | None, typer.Option(metavar=metavar, help=text, rich_help_panel=READING_PANEL)
    ]


SETTINGS: dict[str, tuple[Any, Any]] = {
    "raw_units": (RawUnits, False),
    "equivalent_sample_size": (EquivalentSampleSize, None),
}
"""Settings of scores; in Python they are arguments of the score itself."""

SERIES: dict[str, tuple[Any, Any]] = {
    "time_column": (
        _series_option(str, "COLUMN", "Column of times of a series: numbers, or dates."),
        None,
    ),
    "subject_column": (
        _series_option(
            str, "COLUMN", "Column that says which subject of a panel a row belongs to."
        ),
        None,
    ),
    "lags": (
        _series_option(
            int,
            "NUMBER",
            "Rows are times in order, and variables depend on this many earlier times.",
        ),
        None,
    ),
    "static": (
        _series_option(list[str], "NAMES", "Columns that do not change within a subject."),
        None,
    ),
    "contemporaneous": (
        _series_option(
            bool, None, "Whether variables of a series may depend on others at the same time."
        ),
        None,
    ),
}
"""Options of ``load_series``, which is a call of its own in Python."""

FIRST = ("out", "max_parents", "method", "time", "seed", "resume", "overwrite")
"""The options that the help begins with: those that most users need."""

SHORT = {"out": "-o"}
"""Flags of one letter."""


def parameter(one: Option) -> Any:
    """An option of Python as a parameter of a command."""
    flags, kind, text = flag(one.name), one.kind, one.help or ""
    if kind.text is bool and one.default is not False:
        flags = f"{flags}/--no-{flags.removeprefix('--')}"
    value: Any = list[str] if kind.is_list else kind.text
    return Annotated[
        value | None if one.default in (None, ()) else value,
        typer.Option(
            flags,
            *([SHORT[one.name]] if one.name in SHORT else []),
            metavar=None if kind.text is bool else kind.metavar,
            help=text.format_map({name: flag(name) for name in OPTIONS}),
            rich_help_panel=one.panel,
            show_default="default" not in text,
        ),
    ]


def declared(function: str, *roles: Role) -> Group:
    """The options of a Python function that the command line has: all, or those with some roles."""
    rank = {name: place for place, name in enumerate(FIRST)}
    chosen = sorted(
        (one for one in options_of(function, *roles) if one.help is not None),
        key=lambda one: rank.get(one.name, len(rank)),
    )
    parameters = {
        one.name: (parameter(one), None if one.default == () else one.default) for one in chosen
    }
    if Role.READING in roles or not roles:
        parameters |= SERIES
    return Group(parameters | ({} if roles else SETTINGS), Given.parse)


class Given(dict[str, Any]):
    """The options that were given on the command line and differ from their defaults, by name."""

    @classmethod
    def parse(cls, words: dict[str, Any]) -> "Given":
        """The texts of the command line as Python takes them, as far as that needs no data."""
        given = cls(
            (name, value)
            for name, value in words.items()
            if value is not None and (name not in OPTIONS or OPTIONS[name].differs(value))
        )
        for name in given:
            own = OPTIONS.get(name)
            if own is None or own.role is not Role.READING or not own.kind.is_list:
                continue
            texts = [text for group in given[name] for text in parse_group(group, flag(name))]
            given[name] = READERS.get(name, list)(texts)
        if "static" in given:
            given["static"] = [
                name for group in given["static"] for name in parse_group(group, "--static")
            ]
        if given.get("separator") in ("tab", "\\t"):
            given["separator"] = "\t"
        return given

    def load(self, data: str, *, keep: bool = False, keeps_holes: bool = False) -> "Dataset":
        """The data of that name, read as asked and as the score needs them; see ``model.read``."""
        from outpoint.model import read

        names = [*names_of(Role.READING), "score", "allow_degenerate"]
        given = {name: self[name] for name in names if name in self}
        series = {name: self[name] for name in SERIES if name in self}
        if not series:
            asked = Options.read(LEARN, given)
            return read(data, asked, keep=keep, keeps_holes=keeps_holes)
        from outpoint.data.series import read_series
        from outpoint.scores import has_model, reading_for

        for name in ("time", "subject"):
            series[name] = series.pop(f"{name}_column", None)
        score = given.pop("score", "auto")
        own = {**reading_for(score), "keeps_holes": keeps_holes and has_model(score)}
        return read_series(data, **series, **given, **own)

    def arguments(self, data: "Dataset") -> dict[str, Any]:
        """All other options as Python takes them for these data."""
        left_out = {*names_of(Role.READING), *SETTINGS, *SERIES}
        given = {name: value for name, value in self.items() if name not in left_out}
        settings = {name: self.get(name) for name in SETTINGS}
        given["score"] = parse_score(self.get("score", "auto"), data, **settings)
        for name in ("forbidden", "required"):
            if name in given:
                given[name] = [parse_edge_option(edge, data.names) for edge in given[name]]
        if "tiers" in given:
            given["tiers"] = [parse_group(group) for group in given["tiers"]]
        if "moves" in given:
            given["moves"] = _parse_moves(given["moves"])
        if "candidates" in given:
            given["candidates"] = dict(_parse_candidates(text) for text in given["candidates"])
        if given.get("start", STARTS[0]) not in STARTS:
            given["start"] = _read_start(given["start"], data.names)
        return given


def check_text(data: str) -> None:
    """Refuse the name of a file that a run could not record."""
    if not data.isprintable() and any("\ud800" <= character <= "\udfff" for character in data):
        raise OptionError(f"the name of the file {data!r} is not valid Unicode: rename the file.")


def parse_edge_option(text: str, names: Sequence[str]) -> tuple[str, str]:
    """Parent and child of 'A->B'; names that hold an arrow themselves are tried at each arrow."""
    parts = text.split("->")
    splits = [
        ("->".join(parts[:i]).strip(), "->".join(parts[i:]).strip()) for i in range(1, len(parts))
    ]
    known = [split for split in splits if split[0] in names and split[1] in names]
    edge = (known or splits or [("", "")])[0]
    if not edge[0] or not edge[1]:
        raise OptionError(f"an edge must be written 'A->B', not {text!r}.")
    return edge


def parse_group(text: str, what: str = "a tier") -> list[str]:
    """Names separated by commas; a name that holds a comma is put in double quotes."""
    fields = next(csv.reader([text], skipinitialspace=True), [])
    group = [name.strip() for name in fields if name.strip()]
    if not group:
        raise OptionError(f"{what} must be a list of columns such as 'age,sex', not {text!r}.")
    return group


def parse_setting(text: str, names: Sequence[str], what: str) -> tuple[str, str]:
    """A variable and what it is set to, of a text such as 'age=40'; names may hold a '='."""
    parts = text.split("=")
    splits = [("=".join(parts[:i]).strip(), "=".join(parts[i:])) for i in range(1, len(parts))]
    known = [split for split in splits if split[0] in names]
    setting = (known or splits or [("", "")])[0]
    if not setting[0] or not setting[1].strip():
        raise OptionError(f"{what} must be written NAME=VALUE, such as age=40, not {text!r}.")
    return setting[0], setting[1].strip()


def parse_score(
    name: str, data: "Dataset", raw_units: bool | None, equivalent_sample_size: float | None
) -> "LocalScore":
    """The score that a name means for these data, with the settings that were given."""
    from outpoint.naming import enumerate_items
    from outpoint.scores import resolve_score, scores_with

    settings: dict[str, Any] = {}
    if raw_units:
        settings["standardize"] = False
    if equivalent_sample_size is not None:
        settings["equivalent_sample_size"] = equivalent_sample_size
    chosen = resolve_score(name, data)
    for setting in settings:
        if chosen.name not in (able := scores_with(setting)):
            raise OptionError(
                f"{flag(setting)} belongs to {enumerate_items(able, ' and ')}, not to the score "
                f"{chosen.name}."
            )
    return resolve_score(name, data, **settings) if settings else chosen


def _parse_moves(texts: Sequence[str]) -> str | dict[str, float]:
    """Weights written NAME=WEIGHT, separated by commas or given one by one; or a word alone."""
    words = [word for text in texts for word in parse_group(text, "--moves")]
    if len(words) == 1 and "=" not in words[0]:
        return words[0]
    weights = {}
    for word in words:
        name, _, weight = word.partition("=")
        try:
            weights[name.strip()] = float(weight)
        except ValueError:
            raise OptionError(
                f"--moves must be written NAME=WEIGHT, such as split_join=1, or paper, not "
                f"{word!r}."
            ) from None
    return weights


def _parse_candidates(text: str) -> tuple[str, list[str]]:
    """A variable and its candidates, of a text such as ``y:a,b``."""
    name, colon, others = text.partition(":")
    if not colon or not name.strip():
        raise OptionError(
            f"--candidates-of must be written NAME:NAMES, such as y:a,b, not {text!r}."
        )
    return name.strip(), parse_group(others, "--candidates-of")


def _read_start(path: str, names: Sequence[str]) -> "Dag":
    """The DAG in a file that chains are to start at."""
    from outpoint.graphs import read_dag

    if not Path(path).exists():
        raise OptionError(
            f"--start must be {', '.join(STARTS)} or the file of a DAG; there is no file {path!r}."
        )
    return read_dag(path, names)


def _parse_order(text: str) -> tuple[str, list[str]]:
    """A column, and its levels in order if they are given as in ``size:small<medium<large``."""
    column, colon, levels = text.partition(":")
    if not colon or "<" not in levels:
        return text, []
    return column.strip(), [level.strip() for level in levels.split("<")]


def _parse_cut(text: str) -> tuple[str, int]:
    column, colon, size = text.rpartition(":")
    if not colon or not column.strip() or not _is_size(size.strip()):
        raise OptionError(f"--discretize must be written COLUMN:K, such as age:3, not {text!r}.")
    return column.strip(), int(size)


def _is_size(text: str) -> bool:
    return text.isdecimal() and len(text) < 10


READERS: dict[str, Callable[[list[str]], Any]] = {
    "ordinal": lambda texts: dict(map(_parse_order, texts)),
    "discretize": lambda texts: dict(map(_parse_cut, texts)),
}
"""Functions that read lists of texts which are more than names."""

"""Options that several commands share, declared once, and what their text means.

In the help the options that most users need come first, without a panel of their own.
"""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from outpoint.cli.groups import Group
from outpoint.errors import OptionError
from outpoint.naming import flag
from outpoint.registry import list_scores

if TYPE_CHECKING:
    from outpoint.data import Dataset
    from outpoint.scores import LocalScore

MODEL = "Model"
KNOWLEDGE = "Prior and background knowledge"
OUTPUT = "Output"
MACHINE = "Machine"

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
Run = Annotated[
    Path,
    typer.Argument(metavar="RUN", help="Directory of a run, or a file that Posterior.save wrote."),
]
Score = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help=f"auto (by the kinds of columns), {list_scores()}, or a file of local scores (.jkl).",
        rich_help_panel=MODEL,
    ),
]
MaxParents = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER",
        help="Largest number of parents of a node (default: no limit up to 20 variables, 3 to 10 "
        "beyond).",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="NUMBER",
        help="Seed of the random numbers: the same seed repeats the result.",
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER",
        help="Largest number of threads, or of local worker processes (default: one per processor "
        "that this process may use).",
        rich_help_panel=MACHINE,
    ),
]
RawUnits = Annotated[
    bool,
    typer.Option(
        "--raw-units",
        help="Take continuous columns as they are, as the paper does, instead of standardising "
        "them. (Columns that code categories are always centred.)",
        rich_help_panel=MODEL,
    ),
]
EquivalentSampleSize = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER",
        help="Categorical columns: weight of the prior, in observations (default 1).",
        rich_help_panel=MODEL,
    ),
]
AllowDegenerate = Annotated[
    bool,
    typer.Option(
        "--allow-degenerate",
        help="Keep constant columns and copies of columns, and accept variables that were set in "
        "every row.",
        rich_help_panel=MODEL,
    ),
]
Prior = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="fair (default): equal weight for each number of parents; or uniform (default with "
        "bic and .jkl files): equal weight for each DAG, as in the paper, which favours many "
        "edges.",
        rich_help_panel=KNOWLEDGE,
    ),
]
EdgePrior = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER",
        help="P multiplies the weight of a DAG by P/(1-P) for every edge. The prior probability of "
        "an edge is less than P, as there are no cycles: with 5 variables and the uniform prior "
        "0.089, 0.301 and 0.460 for 0.1, 0.5 and 0.9.",
        rich_help_panel=KNOWLEDGE,
    ),
]
KnowledgeFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="TOML or CSV file with required and forbidden edges, tiers, roots and an edge prior; "
        "other options add to it.",
        rich_help_panel=KNOWLEDGE,
    ),
]
Forbid = Annotated[
    list[str] | None,
    typer.Option(
        metavar="EDGE",
        help="Edge to exclude, written 'A->B'; repeatable.",
        rich_help_panel=KNOWLEDGE,
    ),
]
Require = Annotated[
    list[str] | None,
    typer.Option(
        metavar="EDGE",
        help="Edge that must be there, written 'A->B'; repeatable.",
        rich_help_panel=KNOWLEDGE,
    ),
]
Tier = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="Comma-separated group of variables; repeat from causes to effects.",
        rich_help_panel=KNOWLEDGE,
    ),
]
Root = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME", help="Variable without parents; repeatable.", rich_help_panel=KNOWLEDGE
    ),
]


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
        raise OptionError(f"an edge is written 'A->B', not {text!r}.")
    return edge


def parse_group(text: str, what: str = "a tier") -> list[str]:
    """Names separated by commas; a name that holds a comma is put in double quotes."""
    fields = next(csv.reader([text], skipinitialspace=True), [])
    group = [name.strip() for name in fields if name.strip()]
    if not group:
        raise OptionError(f"{what} is a list of columns such as 'age,sex', not {text!r}.")
    return group


def parse_score(
    name: str, data: "Dataset", raw_units: bool, equivalent_sample_size: float | None
) -> "LocalScore":
    """The score that a name means for these data, with the settings that were given."""
    from outpoint.data.wording import enumerate_items
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


class ModelOptions(dict[str, Any]):
    """The options of the score, the prior and the background knowledge, as they were given."""

    def arguments(self, data: "Dataset") -> dict[str, Any]:
        """The same as the Python interface takes them."""
        return {
            "score": parse_score(
                self["score"], data, self["raw_units"], self["equivalent_sample_size"]
            ),
            "structure_prior": self["structure_prior"],
            "knowledge": self["knowledge"],
            "edge_prior": self["edge_prior"],
            "forbidden": [parse_edge_option(edge, data.names) for edge in self["forbid"] or ()],
            "required": [parse_edge_option(edge, data.names) for edge in self["require"] or ()],
            "tiers": [parse_group(group) for group in self["tier"]] if self["tier"] else None,
            "roots": self["root"] or (),
            "allow_degenerate": self["allow_degenerate"],
        }


MODEL_OPTIONS = Group(
    {
        "score": (Score, "auto"),
        "raw_units": (RawUnits, False),
        "equivalent_sample_size": (EquivalentSampleSize, None),
        "allow_degenerate": (AllowDegenerate, False),
        "structure_prior": (Prior, None),
        "knowledge": (KnowledgeFile, None),
        "edge_prior": (EdgePrior, None),
        "forbid": (Forbid, None),
        "require": (Require, None),
        "tier": (Tier, None),
        "root": (Root, None),
    },
    ModelOptions,
)
"""What ``learn``, ``map`` and ``score`` are told about the model."""

DEFAULT_MODEL = ModelOptions({name: own[1] for name, own in MODEL_OPTIONS.options.items()})

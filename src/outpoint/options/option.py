"""What an option is: its name and default, what it takes and decides, and who has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from outpoint.errors import require
from outpoint.kinds import Kind, checked
from outpoint.naming import named


class Role(Enum):
    """What an option decides."""

    READING = "how the data are read"
    POSTERIOR = "the posterior"
    DRAWS = "the draws"
    PACE = "the draws, unless the time of the run decides"
    STOP = "when to stop"
    PLACE = "where to run, and what is kept and shown"


SAMPLING_ROLES = (Role.DRAWS, Role.PACE, Role.STOP)

LEARN, FIT, MAP, SCORE, LOAD = "learn", "OutpointLearner", "find_map", "log_score", "load_dataset"
RUN = (LEARN, FIT)
MODEL = (LEARN, FIT, MAP, SCORE)
DATA = (LEARN, FIT, MAP, SCORE, LOAD)

MODEL_PANEL = "Model"
KNOWLEDGE_PANEL = "Prior and background knowledge"
SAMPLING_PANEL = "Sampling (where the posterior is not exact)"
SEARCH_PANEL = "Search (where the best DAG is not found exactly)"
READING_PANEL = "Reading the data"
MACHINE_PANEL = "Machine"


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option: what it takes, what it decides, and who has it.

    ``help`` is what the command line says, with the names of other options in braces; an option
    without it exists in Python alone. ``flag`` is given if it is not the name. ``has_own_place``
    says that the record of a run holds the option by itself, not among its ``options``. ``others``
    has what is different for single functions.
    """

    kind: Kind
    role: Role
    of: tuple[str, ...]
    help: str | None = None
    panel: str | None = None
    flag: str | None = None
    has_own_place: bool = False
    others: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    name: str = ""
    default: Any = None

    def for_function(self, function: str) -> Option:
        """The option as this function has it."""
        return replace(self, **self.others.get(function, {}), others={})

    def read(self, value: Any) -> Any:
        """The value in its plain form, or a refusal."""
        if value is None and self.default is None:
            return None
        shown = self.name if self.help is None else named(self.name)
        return checked(shown, self.kind, value)

    def differs(self, value: Any) -> bool:
        """Whether a value that was read is not the default."""
        default = self.default
        return value is not default and not (type(value) is type(default) and value == default)

    @property
    def is_of_sampling(self) -> bool:
        """Whether exact sums ignore it; not so the seed, by which DAGs are drawn from them."""
        return self.role in SAMPLING_ROLES and self.name != "seed"


def declare(default: Any, kind: Kind, role: Role, of: tuple[str, ...], **more: Any) -> Any:
    """Declare the option that the field is named after."""
    declared = Option(kind=kind, role=role, of=of, default=default, **more)
    return field(default=default, metadata={"option": declared})


def reading(default: Any, kind: Kind, help_text: str | None, of: tuple[str, ...] = DATA) -> Any:
    """Declare an option on how the data are read."""
    return declare(default, kind, Role.READING, of, panel=READING_PANEL, help=help_text)


def known(default: Any, kind: Kind, help_text: str, **more: Any) -> Any:
    """Declare an option on the prior or on what is known, which a record keeps in one place."""
    own = {"has_own_place": True, "panel": KNOWLEDGE_PANEL, "help": help_text}
    return declare(default, kind, Role.POSTERIOR, MODEL, **own, **more)


def sampling(
    default: Any,
    kind: Kind,
    role: Role,
    help_text: str | None = None,
    of: tuple[str, ...] = RUN,
    **more: Any,
) -> Any:
    """Declare an option of runs that sample."""
    return declare(default, kind, role, of, **{"panel": SAMPLING_PANEL, "help": help_text, **more})


STARTS = ("empty", "order", "search")


@dataclass(frozen=True)
class Start(Kind):
    """Where chains start."""

    words: str = "'empty', 'order', 'search' or a Dag"
    metavar: str = "WORD|FILE"

    def read(self, value: Any) -> Any:
        """A word or a DAG."""
        from outpoint.graphs import Dag

        is_word = isinstance(value, str) and value in STARTS
        require(is_word or isinstance(value, Dag), self.words)
        return value

    def as_json(self, value: Any) -> Any:
        """A DAG by its names and edges."""
        if isinstance(value, str):
            return value
        return {"names": list(value.names), "edges": [list(edge) for edge in value.edges]}

    def from_json(self, value: Any) -> Any:
        """The DAG of these names and edges."""
        from outpoint.graphs import Dag

        if isinstance(value, str):
            return value
        return Dag.from_edges(value["names"], [tuple(edge) for edge in value["edges"]])

    def as_python(self, value: Any) -> str:
        """A call that makes the DAG."""
        if isinstance(value, str):
            return repr(value)
        edges = [tuple(edge) for edge in value["edges"]]
        return f"op.Dag.from_edges({value['names']!r}, {edges!r})"

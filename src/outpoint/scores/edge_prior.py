"""Prior probabilities of single edges, by name: a number, a list of edges, or a whole table.

However they are given, they are kept in one form: some edges with their probabilities, and one
probability for all others. It compares, goes into files and is small where a table says the same
of most edges.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint.data.sources import Frame
from outpoint.errors import OptionError
from outpoint.kinds import in_brief, list_of
from outpoint.naming import enumerate_items

Edge = tuple[str, str]
Node = str | int
"""A variable by name, or by its position if a table without names has not met the data yet."""

ARROW = "->"
KEYS = ("edges", "others", "columns")


@dataclass(frozen=True)
class EdgePrior:
    """Probabilities of edges before any data.

    ``edges`` holds (parent, child, probability): 0 forbids an edge, 1 requires it. Every edge that
    is not listed has probability ``others``; None says nothing about them, which is as good as
    0.5. ``columns`` are the variables of a whole table, which must be those of the data.
    """

    edges: tuple[tuple[Node, Node, float], ...] = ()
    others: float | None = None
    columns: tuple[Node, ...] = ()

    def as_value(self) -> Any:
        """A number, or a dictionary of what is given; JSON can hold it."""
        if not self.edges and not self.columns:
            return self.others
        value: dict[str, Any] = {} if self.others is None else {"others": self.others}
        value["edges"] = [list(edge) for edge in self.edges]
        return {**value, "columns": list(self.columns)} if self.columns else value

    def edges_with(self, probability: float) -> list[Edge]:
        """The edges with exactly this probability, as far as they have names yet."""
        return [
            (u, v)
            for u, v, p in self.edges
            if p == probability and isinstance(u, str) and isinstance(v, str)
        ]

    def bind(self, names: Sequence[str]) -> "EdgePrior":
        """The edge prior by the names of the data; a table must have just these variables."""
        if not self.columns:
            return self
        n, width = len(names), len(self.columns)
        if self.columns == tuple(range(width)):
            if width != n:
                raise OptionError(
                    f"the edge prior has shape {(width, width)}, but there are {n} variables."
                )
            edges = [(names[int(u)], names[int(v)], p) for u, v, p in self.edges]
            return EdgePrior(_sorted(edges), self.others)
        _refuse_other_names(self.columns, names)
        return EdgePrior(self.edges, self.others)

    def log_odds(self, index: Mapping[Any, int]) -> NDArray[np.float64]:
        """Log odds of every edge [parent, child]; infinite where the probability is 0 or 1."""
        probability = np.full((len(index), len(index)), 0.5 if self.others is None else self.others)
        for parent, child, p in self.edges:
            probability[index[parent], index[child]] = p
        with np.errstate(divide="ignore"):
            return np.log(probability) - np.log1p(-probability)

    def __or__(self, other: "EdgePrior") -> "EdgePrior":
        """What both say, if they do not contradict each other."""
        if self == other:
            return self
        whole = self.columns or other.columns
        contradict = self.others is not None and other.others is not None
        if whole or (contradict and self.others != other.others):
            raise OptionError(
                "two different edge priors are given, as an option and in the knowledge: give one."
            )
        others = self.others if other.others is None else other.others
        return EdgePrior(_checked_edges([*self.edges, *other.edges], others), others)


GivenEdgePrior = (
    float | Mapping[str, object] | Frame | NDArray[Any] | Sequence[Sequence[float]] | EdgePrior
)
"""An edge prior as it may be given: a number, a dictionary, or a table."""


def make_edge_prior(value: GivenEdgePrior | None) -> EdgePrior | None:
    """The edge prior meant by a number, a table [parent, child] or a dictionary of ``KEYS``."""
    if value is None or isinstance(value, EdgePrior):
        return value
    if isinstance(value, Mapping):
        return _from_mapping(value)
    if isinstance(value, str | Real):
        return EdgePrior(others=_checked_number(value))
    return _from_table(value)


def in_words(items: Iterable[str]) -> str:
    """Items for a sentence: all of them, unless they are very many."""
    return enumerate_items(list(items), limit=20)


def list_items(items: Any, what: str) -> list[Any]:
    """The items of a collection; a string, or what is not a collection, is refused."""
    try:
        return list_of(items)
    except Exception:  # whatever an object does that is not a collection
        raise OptionError(f"{what}, not {in_brief(items)}.") from None


def parse_edge(edge: Any, what: str) -> tuple[Any, Any]:
    """Parent and child of a pair, or of text such as 'a -> b' that can be read in one way only."""
    forms = f"{what} edges must be pairs (parent, child) or texts 'parent {ARROW} child'"
    if isinstance(edge, str):
        parts = [part.strip() for part in edge.split(ARROW)]
        if len(parts) > 2:
            raise OptionError(
                f"{edge!r} can be read as more than one edge: write it as a pair of names."
            )
    else:
        parts = list_items(edge, forms)
    if len(parts) != 2 or any(isinstance(part, str) and not part for part in parts):
        raise OptionError(f"{forms}, not {in_brief(edge)}.")
    return parts[0], parts[1]


def _checked_number(value: Any) -> float:
    is_number = isinstance(value, Real)
    if not is_number or not 0 < value < 1:
        raise OptionError(
            f"an edge prior must be a probability between 0 and 1, not {in_brief(value)}."
        )
    return float(value)


def _from_mapping(value: Mapping[Any, Any]) -> EdgePrior | None:
    try:
        value = dict(value)
    except Exception:
        raise OptionError("the edge prior is a dictionary that cannot be read.") from None
    unknown = [in_brief(key) for key in value if key not in KEYS]
    if unknown:
        raise OptionError(
            f"the edge prior has no {in_words(unknown)}: it must be a number, a table or a "
            "dictionary with 'edges', a list of [parent, child, probability], and 'others', "
            "a number."
        )
    others = value.get("others")
    others = None if others is None else _checked_number(others)
    form = "edges of the edge prior must be triples (parent, child, probability)"
    edges = []
    for entry in list_items(value.get("edges", ()), form):
        *edge, probability = list_items(entry, form) or [None]
        if len(edge) not in (1, 2):
            raise OptionError(f"{form}, not {in_brief(entry)}.")
        parent, child = parse_edge(edge[0] if len(edge) == 1 else edge, "edge prior")
        edges.append((parent, child, probability))
    columns = tuple(list_items(value.get("columns", ()), "columns must be a list of names"))
    if not all(isinstance(name, str | int) for name in columns):
        raise OptionError(f"columns must be a list of names, not {in_brief(columns)}.")
    prior = EdgePrior(_checked_edges(edges, others), others, columns)
    return None if prior == EdgePrior() else prior


def _from_table(table: Any) -> EdgePrior:
    labels: list[Node] | None = None
    if hasattr(type(table), "loc") and getattr(table, "ndim", 0) == 2:
        rows, labels = list(map(str, table.index)), list(map(str, table.columns))
        _refuse_other_names(rows, labels)
        table = np.asarray(table)[[rows.index(str(label)) for label in labels]]
    try:
        array = np.array(table, dtype=np.float64)
    except Exception:  # whatever else the entries are
        raise OptionError("the edge prior must be a table of probabilities.") from None
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise OptionError(
            f"the edge prior has shape {array.shape}: give a row and a column for each variable."
        )
    columns: list[Node] = labels or list(range(len(array)))
    off_diagonal = ~np.eye(len(array), dtype=np.bool_)
    interior = array[off_diagonal & (array > 0) & (array < 1)]
    values, counts = np.unique(interior, return_counts=True)
    others = float(values[counts.argmax()]) if len(values) else None
    listed = np.argwhere(off_diagonal & (array != others if others is not None else True))
    edges = [(columns[i], columns[j], float(array[i, j])) for i, j in listed]
    return EdgePrior(_checked_edges(edges, others), others, tuple(columns))


def _checked_edges(
    edges: Iterable[tuple[Any, Any, Any]], others: float | None
) -> tuple[tuple[Node, Node, float], ...]:
    """Every edge once, in order, without those that ``others`` covers."""
    found: dict[tuple[Node, Node], Any] = {}
    wrong, twice = [], []
    for parent, child, p in edges:
        if not isinstance(parent, str | int) or not isinstance(child, str | int):
            other = child if isinstance(parent, str | int) else parent
            raise OptionError(
                f"the edge prior names {in_brief(other)}, but the names of columns are text."
            )
        shown = f"{parent} {ARROW} {child}"
        if not _is_probability(p):
            wrong.append(f"{shown} ({in_brief(p)})")
        elif parent == child:
            raise OptionError(f"the edge prior's edge {shown} joins a node to itself.")
        elif found.setdefault((parent, child), float(p)) != p:
            twice.append(shown)
    if wrong:
        raise OptionError(
            "every entry of the edge prior must be a probability from 0 to 1, "
            f"not {in_words(wrong)}."
        )
    if twice:
        raise OptionError(f"the edge prior gives two probabilities to {in_words(twice)}.")
    return _sorted((u, v, p) for (u, v), p in found.items() if p != others)


def _is_probability(value: Any) -> bool:
    """Whether this is a number from 0 to 1, compared as it is: a float may be too small for it."""
    is_number: bool = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    return is_number and bool(0 <= value <= 1)


def _sorted(edges: Iterable[tuple[Node, Node, float]]) -> tuple[tuple[Node, Node, float], ...]:
    return tuple(sorted(edges, key=lambda edge: (str(edge[0]), str(edge[1]))))


def _refuse_other_names(found: Sequence[Node], names: Sequence[Node]) -> None:
    """Refuse a table whose labels are not just these names, each once."""
    known, given = set(names), set(found)
    unknown = [repr(name) for name in found if name not in known]
    missing = [repr(name) for name in names if name not in given]
    repeated = sorted(repr(name) for name, count in Counter(found).items() if count > 1)
    clauses = [
        f"{what} {in_words(which)}"
        for what, which in (("it has", unknown), ("it lacks", missing), ("it repeats", repeated))
        if which
    ]
    if clauses:
        raise OptionError(
            "the edge prior's rows and columns must be the columns of the data: "
            f"{'; '.join(clauses)}."
        )

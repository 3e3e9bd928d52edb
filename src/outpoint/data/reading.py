"""How data are to be read: the options of ``load_dataset`` and of every command that reads data."""

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from outpoint.data.cells import DecimalMark
from outpoint.data.dataset import Kind
from outpoint.data.textfile import validate_separator
from outpoint.data.wording import enumerate_names
from outpoint.errors import OptionError
from outpoint.naming import named
from outpoint.whole_numbers import is_whole

ALL = "all"
"""Stands for all columns, unless a column has that name."""

Names = str | Iterable[str]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The options, checked as far as that is possible without the data.

    ``columns`` and ``drop`` choose columns, ``categorical``, ``continuous`` and ``discretize`` say
    what they are, ``decimal``, ``missing``, ``separator`` and ``cardinality_row`` how the cells are
    read. ``interventions`` is the column that tells what was set in each row. Lists of columns
    become tuples of names.
    """

    columns: Names | None = None
    drop: Names = ()
    categorical: Names = ()
    continuous: Names = ()
    discretize: Mapping[str, int] | None = None
    decimal: DecimalMark | None = None
    missing: Literal["refuse", "drop"] = "refuse"
    separator: str | None = None
    cardinality_row: bool | None = None
    interventions: str | None = None

    def __post_init__(self) -> None:
        for name in ("columns", "drop", "categorical", "continuous"):
            object.__setattr__(self, name, _as_names(name, getattr(self, name)))
        object.__setattr__(self, "discretize", _as_bins(self.discretize))
        object.__setattr__(self, "separator", validate_separator(self.separator))
        if self.decimal not in (None, ".", ","):
            raise OptionError(f"{named('decimal')} is '.' or ',', not {self.decimal!r}.")
        if self.missing not in ("refuse", "drop"):
            raise OptionError(f"{named('missing')} is 'refuse' or 'drop', not {self.missing!r}.")

    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults, ready for ``load_dataset`` and JSON."""
        given = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value not in (field.default, ()) and not (field.name == "discretize" and not value):
                given[field.name] = list(value) if isinstance(value, tuple) else value
        return given

    def choose(self, names: Sequence[str]) -> list[int]:
        """The positions of the columns to read, in the order asked for."""
        dropped = set(self.drop)
        self._require_known("drop", self.drop, names)
        if self.interventions is not None:
            self._require_known("interventions", [self.interventions], names)
        apart = {*dropped, self.interventions}
        if self.columns is None:
            return [v for v, name in enumerate(names) if name not in apart]
        self._require_known("columns", self.columns, names)
        both = [name for name in self.columns if name in dropped]
        if both:
            raise OptionError(
                f"{enumerate_names(both)} cannot be both in {named('columns')} and in "
                f"{named('drop')}; choose one."
            )
        wanted = [name for name in self.columns if name != self.interventions]
        return [v for name in wanted for v, other in enumerate(names) if other == name]

    def kinds_of(self, names: Sequence[str]) -> dict[str, Kind]:
        """The kind that was asked for, by column; a column named itself overrules "all".

        What is to be cut into levels is read as numbers first, so "all" asks nothing there.
        """
        of_all: dict[str, Kind] = {}
        asked: dict[str, str] = {}
        for option, kind in _KINDS:
            wanted = list(getattr(self, option))
            if ALL in wanted and ALL not in names:
                wanted.remove(ALL)
                if option != "discretize":
                    of_all = {name: of_all.get(name, kind) for name in names}
            self._require_known(option, wanted, names)
            for name in wanted:
                if {asked.get(name), option} in _CONTRADICTIONS:
                    raise OptionError(
                        f"Column {name!r} cannot be in both {named(asked[name])} and "
                        f"{named(option)}; choose one."
                    )
                asked[name] = option
        return of_all | {name: dict(_KINDS)[option] for name, option in asked.items()}

    def bins_of(self, names: Sequence[str], kinds: Mapping[str, Kind | None]) -> dict[str, int]:
        """The number of levels to cut columns into; "all" are the continuous ones."""
        bins = dict(self.discretize or {})
        if ALL in bins and ALL not in names:
            size = bins.pop(ALL)
            bins = {name: size for name in names if kinds[name] == "continuous"} | bins
        return bins

    @staticmethod
    def _require_known(option: str, wanted: Iterable[str], names: Sequence[str]) -> None:
        unknown = [name for name in wanted if name not in names]
        if not unknown:
            return
        close = [match for one in unknown for match in difflib.get_close_matches(one, names, n=1)]
        hint = f"did you mean {enumerate_names(dict.fromkeys(close))}?"
        if not close:
            hint = f"the columns are {enumerate_names(names)}."
        verb = "is not a column" if len(unknown) == 1 else "are not columns"
        raise OptionError(
            f"{named(option)} names {enumerate_names(unknown)}, which {verb} here; {hint}"
        )


_KINDS: tuple[tuple[str, Kind], ...] = (
    ("categorical", "categorical"),
    ("continuous", "continuous"),
    ("discretize", "continuous"),
)
"""Options that name columns, and the kind as which these are read."""

_CONTRADICTIONS = ({"categorical", "continuous"}, {"categorical", "discretize"})


def _as_names(option: str, names: object) -> tuple[str, ...] | None:
    if names is None:
        return None if option == "columns" else ()
    if isinstance(names, str):
        return (names,)
    if not isinstance(names, Iterable) or isinstance(names, Mapping):
        raise OptionError(f"{named(option)} is a list of column names, not {names!r}.")
    listed = tuple(str(name) for name in names)
    repeated = [name for name, count in Counter(listed).items() if count > 1]
    if repeated:
        raise OptionError(f"{named(option)} names {enumerate_names(repeated)} more than once.")
    if option == "columns" and not listed:
        raise OptionError(
            f"{named('columns')} names no column; name at least two, or leave it out."
        )
    return listed


def _as_bins(bins: object) -> dict[str, int]:
    if bins is None:
        return {}
    if not isinstance(bins, Mapping):
        raise OptionError(
            f"{named('discretize')} is a dictionary of levels by column, such as {{'age': 3}}, not "
            f"{bins!r}."
        )
    checked = {}
    for name, size in bins.items():
        if not is_whole(size) or size < 2:
            raise OptionError(
                f"{named('discretize')} cuts {str(name)!r} into a whole number of levels from 2, "
                f"not {size!r}."
            )
        checked[str(name)] = int(size)
    return checked

"""How data are to be read: the options of ``load_dataset`` and of every command that reads data."""

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Any, Literal, get_args

from outpoint.data.cells import DecimalMark
from outpoint.data.dataset import Asked, Kind
from outpoint.data.textfile import validate_separator
from outpoint.data.wording import enumerate_names
from outpoint.errors import OptionError
from outpoint.naming import named
from outpoint.whole_numbers import is_whole

ALL = "all"
"""Stands for all columns, unless a column has that name."""

Names = str | Iterable[str]
Treatment = Literal["auto", "drop", "refuse"]
TREATMENTS = get_args(Treatment)


class UnknownColumnError(OptionError):
    """An option names columns that the data do not have."""

    def __init__(self, option: str, names: Sequence[str], message: str) -> None:
        super().__init__(message)
        self.option = option
        self.names = names


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The options, checked as far as that is possible without the data.

    ``columns`` and ``drop`` choose columns; ``categorical``, ``continuous``, ``ordinal``,
    ``normal_scores``, ``discretize`` and ``prefer`` say what they are; ``decimal``, ``missing``,
    ``na``, ``separator`` and ``cardinality_row`` how the cells are read. ``interventions`` and
    ``weights`` are the columns that tell what was set in each row, and how often it counts. With
    ``strict`` nothing is left out or assumed, with ``allow_degenerate`` constant columns and copies
    stay, with ``keep`` every column. Lists of columns become tuples of names.
    """

    columns: Names | None = None
    drop: Names = ()
    categorical: Names = ()
    continuous: Names = ()
    ordinal: Names | Mapping[str, Sequence[str]] = ()
    normal_scores: Names = ()
    discretize: Mapping[str, int] | None = None
    weights: str | None = None
    missing: Treatment = "auto"
    na: Names | None = None
    decimal: DecimalMark | None = None
    separator: str | None = None
    cardinality_row: bool | None = None
    interventions: str | None = None
    strict: bool = False
    allow_degenerate: bool = False
    keep: bool = False
    prefer: Kind | None = None

    def __post_init__(self) -> None:
        for name in ("columns", "drop", "categorical", "continuous", "normal_scores", "na"):
            object.__setattr__(self, name, _as_names(name, getattr(self, name)))
        object.__setattr__(self, "ordinal", _as_orders(self.ordinal))
        object.__setattr__(self, "discretize", _as_bins(self.discretize))
        object.__setattr__(self, "separator", validate_separator(self.separator))
        if self.decimal not in (None, ".", ","):
            raise OptionError(f"{named('decimal')} is '.' or ',', not {self.decimal!r}.")
        if self.missing not in TREATMENTS:
            raise OptionError(
                f"{named('missing')} is 'auto', 'drop' or 'refuse', not {self.missing!r}."
            )
        if self.prefer not in (None, *get_args(Kind)):
            raise OptionError(f"prefer is 'continuous' or 'categorical', not {self.prefer!r}.")
        for name in ("interventions", "weights"):
            if not isinstance(getattr(self, name), str | None):
                raise OptionError(
                    f"{named(name)} is the name of a column, not {getattr(self, name)!r}."
                )

    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults, ready for ``load_dataset`` and JSON."""
        given = {}
        for field in fields(self):
            value = getattr(self, field.name)
            is_default = value == field.default or (value in ((), {}) and field.name != "na")
            if field.name == "ordinal":
                orders = {name: list(levels) for name, levels in value.items()}
                value = orders if any(value.values()) else list(value)
            if not is_default:
                given[field.name] = list(value) if isinstance(value, tuple) else value
        return given

    def choose(self, names: Sequence[str]) -> list[int]:
        """The positions of the columns to read, in the order asked for."""
        dropped = set(self.drop)
        self._require_known("drop", self.drop, names)
        for option in ("interventions", "weights"):
            if getattr(self, option) is not None:
                self._require_known(option, [getattr(self, option)], names)
        apart = {*dropped, self.interventions, self.weights}
        if self.columns is None:
            return [v for v, name in enumerate(names) if name not in apart]
        self._require_known("columns", self.columns, names)
        both = [name for name in self.columns if name in dropped]
        if both:
            raise OptionError(
                f"{enumerate_names(both)} cannot be both in {named('columns')} and in "
                f"{named('drop')}; choose one."
            )
        wanted = [name for name in self.columns if name not in (self.interventions, self.weights)]
        return [v for name in wanted for v, other in enumerate(names) if other == name]

    def kinds_of(self, names: Sequence[str]) -> dict[str, Asked]:
        """The kind that was asked for, by column; a column named itself overrules "all".

        What is to be cut into levels or ranked is read as numbers first, so "all" asks nothing
        there.
        """
        of_all: dict[str, Asked] = {}
        asked: dict[str, str] = {}
        for option, kind in _KINDS:
            wanted = list(getattr(self, option))
            if ALL in wanted and ALL not in names and option != "ordinal":
                wanted.remove(ALL)
                if option in ("categorical", "continuous"):
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

    def said(self, names: Sequence[str]) -> list[str]:
        """The columns whose kind the user has said, among those of data read with these options."""
        said = {name for option, _ in _KINDS for name in getattr(self, option)}
        is_all = ALL in said and ALL not in names
        return [name for name in names if is_all or name in said]

    @property
    def words(self) -> frozenset[str] | None:
        """The words for missing values, None for the usual ones."""
        return None if self.na is None else frozenset(self.na)

    @property
    def orders(self) -> Mapping[str, Sequence[str]]:
        """The ordinal columns, with the order of their levels where it was given."""
        assert isinstance(self.ordinal, Mapping)
        return self.ordinal

    def ranked(self, kinds: Mapping[str, Kind | None]) -> set[str]:
        """The columns that enter as normal scores; "all" are the continuous ones."""
        wanted = {*self.normal_scores, *self.ordinal}
        if ALL in self.normal_scores and ALL not in kinds:
            wanted |= {name for name, kind in kinds.items() if kind == "continuous"}
        return wanted

    def bins_of(self, kinds: Mapping[str, Kind | None]) -> dict[str, int]:
        """The number of levels to cut columns into; "all" are the continuous ones."""
        bins = dict(self.discretize or {})
        if ALL in bins and ALL not in kinds:
            size = bins.pop(ALL)
            bins = {name: size for name, kind in kinds.items() if kind == "continuous"} | bins
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
        raise UnknownColumnError(
            option,
            unknown,
            f"{named(option)} names {enumerate_names(unknown)}, which {verb} here; {hint}",
        )


_KINDS: tuple[tuple[str, Asked], ...] = (
    ("categorical", "categorical"),
    ("continuous", "continuous"),
    ("normal_scores", "continuous"),
    ("discretize", "continuous"),
    ("ordinal", "ordinal"),
)
"""Options that name columns, and the kind as which these are read."""

_CONTRADICTIONS = tuple(
    {one, other}
    for one, other in combinations([option for option, _ in _KINDS], 2)
    if one != "continuous" or other == "ordinal"
)


def _as_names(option: str, names: object) -> tuple[str, ...] | None:
    if names is None:
        return None if option in ("columns", "na") else ()
    if isinstance(names, str):
        return (names,)
    if not isinstance(names, Iterable) or isinstance(names, Mapping):
        what = "words" if option == "na" else "column names"
        raise OptionError(f"{named(option)} is a list of {what}, not {names!r}.")
    listed = tuple(str(name) for name in names)
    repeated = [name for name, count in Counter(listed).items() if count > 1]
    if repeated:
        raise OptionError(f"{named(option)} names {enumerate_names(repeated)} more than once.")
    if option == "columns" and not listed:
        raise OptionError(
            f"{named('columns')} names no column; name at least two, or leave it out."
        )
    return listed


def _as_orders(orders: object) -> dict[str, tuple[str, ...]]:
    """Ordinal columns, each with the order of its levels, which is empty if it is not given."""
    if not isinstance(orders, Mapping):
        return dict.fromkeys(_as_names("ordinal", orders) or (), ())
    checked = {}
    for name, levels in orders.items():
        if isinstance(levels, str) or not isinstance(levels, Iterable):
            raise OptionError(
                f"{named('ordinal')} has a list of the levels of {str(name)!r} in order, "
                f"not {levels!r}."
            )
        checked[str(name)] = tuple(str(level) for level in levels)
        if len(set(checked[str(name)])) < len(checked[str(name)]):
            raise OptionError(f"{named('ordinal')} names a level of {str(name)!r} more than once.")
    return checked


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

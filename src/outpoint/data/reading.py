"""How data are to be read: the options of ``load_dataset`` and of every command that reads data."""

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

from outpoint.data.dataset import Asked, Kind
from outpoint.data.textfile import validate_separator
from outpoint.errors import OptionError
from outpoint.naming import enumerate_names, named
from outpoint.options import LOAD, Options, options_of

ALL = "all"
"""Stands for all columns, unless a column has that name."""

Names = str | Iterable[str]
Treatment = Literal["auto", "augment", "drop", "refuse"]


class UnknownColumnError(OptionError):
    """An option names columns that the data do not have."""

    def __init__(self, option: str, names: Sequence[str], message: str) -> None:
        super().__init__(message)
        self.option = option
        self.names = names


class Reading(Options):
    """The options of a call, with what those on reading mean for the columns of a table."""

    @classmethod
    def of(cls, asked: Options) -> "Reading":
        """These options, checked as far as that is possible without the data."""
        for name, value in asked.chosen(options_of(LOAD)).items():
            if isinstance(value, tuple):
                _refuse_repeated(name, value)
        for column, levels in asked.ordinal.items() if isinstance(asked.ordinal, dict) else ():
            if len(set(levels)) < len(levels):
                raise OptionError(f"{named('ordinal')} names a level of {column!r} more than once.")
        if asked.columns == ():
            raise OptionError(
                f"{named('columns')} names no column; name at least two, or leave it out."
            )
        return cls(**vars(asked) | {"separator": validate_separator(asked.separator)})

    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults, ready for ``load_dataset`` and JSON."""
        given = {}
        for one in options_of(LOAD):
            value = getattr(self, one.name)
            if not one.differs(value) or (value == {} or (value == () and one.name != "na")):
                continue
            if isinstance(value, tuple):
                value = list(value)
            elif one.name == "ordinal":
                orders = {name: list(levels) for name, levels in value.items()}
                value = orders if any(orders.values()) else list(orders)
            given[one.name] = value
        return given

    def choose(self, names: Sequence[str]) -> list[int]:
        """The positions of the columns to read, in the order asked for."""
        dropped = set(self.drop)
        self.require_known("drop", self.drop, names)
        for option in ("interventions", "weights"):
            if getattr(self, option) is not None:
                self.require_known(option, [getattr(self, option)], names)
        apart = {*dropped, self.interventions, self.weights}
        if self.columns is None:
            return [v for v, name in enumerate(names) if name not in apart]
        self.require_known("columns", self.columns, names)
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
            wanted = list(getattr(self, option) or ())
            if ALL in wanted and ALL not in names and option != "ordinal":
                wanted.remove(ALL)
                if option in ("categorical", "continuous"):
                    of_all = {name: of_all.get(name, kind) for name in names}
            self.require_known(option, wanted, names)
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
        said = {name for option, _ in _KINDS for name in getattr(self, option) or ()}
        is_all = ALL in said and ALL not in names
        return [name for name in names if is_all or name in said]

    @property
    def words(self) -> frozenset[str] | None:
        """The words for missing values, None for the usual ones."""
        return None if self.na is None else frozenset(self.na)

    @property
    def orders(self) -> Mapping[str, Sequence[str]]:
        """The ordinal columns, with the order of their levels where it was given."""
        return self.ordinal if isinstance(self.ordinal, dict) else dict.fromkeys(self.ordinal, ())

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
    def require_known(option: str, wanted: Iterable[str], names: Sequence[str]) -> None:
        """Refuse what an option names but the data do not have."""
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
"""Options that name columns, and the kind that these are read as."""

_CONTRADICTIONS = tuple(
    {one, other}
    for one, other in combinations([option for option, _ in _KINDS], 2)
    if one != "continuous" or other == "ordinal"
)


def _refuse_repeated(option: str, names: Sequence[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise OptionError(f"{named(option)} names {enumerate_names(repeated)} more than once.")

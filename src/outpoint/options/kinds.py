"""What values an option may have: a check, the words for it, and the plain form that is kept.

A kind turns what a user gives into one plain form (:meth:`Kind.read`) or fails. However it fails,
the user reads one sentence of :func:`refuse`: the option, what it takes, and what it got.
"""

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NoReturn

from outpoint.errors import OptionError
from outpoint.whole_numbers import MOST_OF_ALL, is_whole

SHOWN = 80
"""Most characters of a value in a sentence."""

STARTS = ("empty", "order", "search")
LONGEST_TIME = 100 * 365.25 * 86400.0
SIZES = {"": 1.0, "k": 2.0**10, "m": 2.0**20, "g": 2.0**30, "t": 2.0**40}
UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True)
class Kind:
    """Values of one kind; ``words`` say what they are, ``metavar`` stands for one in the help.

    ``text`` is the type that a word of the command line is turned into, ``is_list`` says whether
    the flag may be repeated.
    """

    words: str
    metavar: str = "NAME"
    text: type = str
    is_list: bool = False

    def read(self, value: Any) -> Any:
        """The value in its plain form; any exception means that it is not of this kind."""
        raise NotImplementedError

    def as_json(self, value: Any) -> Any:
        """What a record of the run holds of a value that was read."""
        return value

    def from_json(self, value: Any) -> Any:
        """The value that a record of a run holds."""
        return value

    def as_python(self, value: Any) -> str:
        """What a record holds, as Python that makes it."""
        return repr(value)


def refuse(name: str, words: str, value: Any) -> NoReturn:
    """Refuse a value of the option that the reader calls so, in the one wording for this."""
    raise OptionError(f"{name} is {words}, not {in_brief(value)}.") from None


def in_brief(value: Any) -> str:
    """A value for a sentence, however large it is and whatever it does when it is shown."""
    try:
        shape = getattr(value, "shape", None)
        if isinstance(shape, tuple) and shape:
            return f"{type(value).__name__} of shape {shape}"
        text = " ".join(repr(value).split())
    except Exception:
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def list_of(value: Any) -> list[Any]:
    """The items of a collection; text, bytes and dictionaries do not count as collections."""
    if isinstance(value, str | bytes | Mapping):
        raise TypeError
    return list(value)


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number."""

    words: str = "a whole number"
    metavar: str = "NUMBER"
    text: type = int
    least: int | None = None
    most: int = 2**4096  # of which more could not be shown

    def read(self, value: Any) -> int:
        """An int."""
        _require(is_whole(value) and (self.least is None or value >= self.least))
        _require(value <= self.most)
        return int(value)


def whole(least: int, most: int = MOST_OF_ALL) -> Whole:
    """A whole number from ``least`` on, within reason."""
    return Whole(f"a whole number from {least} to {most:,}", least=least, most=most)


SEED = Whole("a whole number from 0 to 2**4096", least=0)


@dataclass(frozen=True)
class Number(Kind):
    """A number from ``least`` to ``most``."""

    words: str = "a number"
    metavar: str = "NUMBER"
    text: type = float
    least: float = -float("inf")
    most: float = float("inf")

    def read(self, value: Any) -> float:
        """A float."""
        _require(isinstance(value, Real) and not isinstance(value, bool))
        number = float(value)
        _require(self.least <= number <= self.most)
        return number


def number(least: float, most: float | None = None, metavar: str = "NUMBER") -> Number:
    """A number from ``least`` on, to ``most`` if there is an end."""
    if most is None:
        return Number(f"a number from {least:g}", metavar, least=least)
    return Number(f"a number from {least:g} to {most:g}", metavar, least=least, most=most)


@dataclass(frozen=True)
class Truth(Kind):
    """A truth value, of Python or of NumPy."""

    words: str = "True or False"
    text: type = bool

    def read(self, value: Any) -> bool:
        """A bool."""
        is_numpy = getattr(getattr(value, "dtype", None), "kind", "") == "b" and value.shape == ()
        _require(isinstance(value, bool) or is_numpy)
        return bool(value)


TRUTH = Truth()


@dataclass(frozen=True)
class Choice(Kind):
    """One of some words."""

    choices: tuple[str, ...] = ()

    def read(self, value: Any) -> str:
        """The word."""
        _require(isinstance(value, str) and value in self.choices)
        return str(value)


def choice(*choices: str, metavar: str = "NAME") -> Choice:
    """One of these words."""
    return Choice(f"one of {', '.join(choices)}", metavar, choices=choices)


@dataclass(frozen=True)
class Seconds(Kind):
    """A time such as 90, ``"90s"``, ``"10m"``, ``"1.5h"`` or ``"2d"``."""

    words: str = "a positive time of at most 100 years such as 90s, 10m or 2h"
    metavar: str = "TIME"

    def read(self, value: Any) -> float:
        """Its seconds."""
        if isinstance(value, str):
            matched = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-z]*)\s*", value)
            _require(matched is not None)
            assert matched is not None
            seconds = float(matched[1]) * UNITS[matched[2]]
        else:
            seconds = Number().read(value)
        _require(0 < seconds <= LONGEST_TIME)
        return seconds


@dataclass(frozen=True)
class Bytes(Kind):
    """An amount of memory such as 4e9, ``"4GB"`` or ``"500 MB"``."""

    words: str = "a number of bytes from 0, such as 4e9 or 4GB"
    metavar: str = "SIZE"

    def read(self, value: Any) -> float:
        """Its bytes."""
        if not isinstance(value, str):
            return number(0).read(value)
        matched = re.fullmatch(
            r"\s*([0-9]*\.?[0-9]+(?:e[0-9]+)?)\s*([kmgt]?)i?b?\s*", value.lower()
        )
        _require(matched is not None)
        assert matched is not None
        return number(0, sys.float_info.max).read(float(matched[1]) * SIZES[matched[2]])


@dataclass(frozen=True)
class Names(Kind):
    """Names in a list, or a single one; a label that is no text counts as its text."""

    words: str = "a list of column names"
    metavar: str = "NAMES"
    is_list: bool = True

    def read(self, value: Any) -> tuple[str, ...]:
        """The names."""
        if value is None:
            return ()
        return (value,) if isinstance(value, str) else tuple(str(name) for name in list_of(value))


@dataclass(frozen=True)
class Orders(Names):
    """Names, or a dictionary with the order of the levels of each."""

    words: str = "a list of column names, or a dictionary of their levels in order"
    metavar: str = "NAMES|NAME:LEVELS"

    def read(self, value: Any) -> Any:
        """The names, or a dictionary of levels."""
        if not isinstance(value, Mapping):
            return super().read(value)
        return {str(name): tuple(map(str, list_of(levels))) for name, levels in value.items()}


@dataclass(frozen=True)
class Bins(Kind):
    """Numbers of levels by column."""

    words: str = "a dictionary of whole numbers of levels from 2 by column, such as {'age': 3}"
    metavar: str = "COLUMN:K"
    is_list: bool = True

    def read(self, value: Any) -> dict[str, int]:
        """A dictionary."""
        _require(isinstance(value, Mapping))
        return {str(name): whole(2).read(size) for name, size in value.items()}


@dataclass(frozen=True)
class Items(Kind):
    """A collection whose items are checked where they are used."""

    is_list: bool = True
    may_be_text: bool = False

    def read(self, value: Any) -> Any:
        """A tuple, so that a generator can be read more than once."""
        return value if self.may_be_text and isinstance(value, str) else tuple(list_of(value))


@dataclass(frozen=True)
class Table(Kind):
    """A dictionary from text to what ``item`` makes of its values, or the word ``instead``."""

    item: Callable[[Any], Any] = str
    instead: str | None = None

    def read(self, value: Any) -> Any:
        """A dictionary, or the word."""
        if self.instead is not None and isinstance(value, str) and value == self.instead:
            return value
        _require(isinstance(value, Mapping) and all(isinstance(name, str) for name in value))
        return {name: self.item(own) for name, own in value.items()}


@dataclass(frozen=True)
class Tested(Kind):
    """Whatever passes a test."""

    test: Callable[[Any], bool] = callable

    def read(self, value: Any) -> Any:
        """The value itself."""
        _require(self.test(value))
        return value


@dataclass(frozen=True)
class Start(Kind):
    """Where chains start."""

    words: str = "'empty', 'order', 'search' or a Dag"
    metavar: str = "WORD|FILE"

    def read(self, value: Any) -> Any:
        """A word or a DAG."""
        from outpoint.graphs import Dag

        is_word = isinstance(value, str) and value in STARTS
        _require(is_word or isinstance(value, Dag))
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


def is_text(value: Any) -> bool:
    """Whether this is text."""
    return isinstance(value, str)


def is_path(value: Any) -> bool:
    """Whether this is the path of a file; one with a null byte is that of none."""
    return isinstance(value, str | os.PathLike) and "\0" not in os.fsdecode(value)


def is_edge_prior(value: Any) -> bool:
    """Whether this is a probability, a table or a dictionary of probabilities."""
    if isinstance(value, bool | Real):
        return 0 < float(value) < 1
    shape = getattr(value, "shape", None)
    if shape is not None:
        return len(shape) == 2
    is_collection = isinstance(value, Mapping | Sequence) and not isinstance(value, str | bytes)
    return is_collection or hasattr(value, "as_value")

"""What values an option or an argument may have: a check, words for it, and the form that is kept.

A kind turns what a user gives into one plain form (:meth:`Kind.read`) or fails. However it fails,
the user reads one sentence of :func:`refuse`: the option, what it takes, and what it got.
"""

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from inspect import signature
from itertools import islice
from numbers import Integral, Real
from typing import Any, NoReturn, TypeGuard

from outpoint.errors import OptionError
from outpoint.naming import named

MOST_OF_ALL = 10**12
"""No machine would come to the end of more of anything."""


def is_whole(value: Any) -> TypeGuard[int]:
    """Whether this is a whole number, of Python or of NumPy; a truth value is not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


SHOWN = 80
"""Most characters of a value in a sentence."""

MOST_ITEMS = 10**8
"""Most items of a collection."""

MOST_OF_ENDLESS = 10**6
"""Most items of what does not say how many it has: a generator may never end."""

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
        """Python code that makes the value that a record holds."""
        return repr(value)


def refuse(name: str, words: str, value: Any) -> NoReturn:
    """Refuse a value of the option of this name to the user, in the one wording for this."""
    raise OptionError(f"{name} must be {words}, not {in_brief(value)}.") from None


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


def checked(name: str, kind: "Kind", value: Any) -> Any:
    """The plain form of what was given for the option of this name, or a refusal."""
    try:
        return kind.read(value)
    except Exception:
        refuse(name, kind.words, value)


def list_of(value: Any) -> list[Any]:
    """The items of a collection; text, bytes and dictionaries do not count as collections.

    The edges of a networkx graph are a set and a mapping at once, and count.
    """
    if isinstance(value, str | bytes) or (
        isinstance(value, Mapping) and not isinstance(value, Set)
    ):
        raise TypeError
    most = MOST_ITEMS if hasattr(value, "__len__") else MOST_OF_ENDLESS
    demand(most == MOST_OF_ENDLESS or len(value) <= most)
    items = list(islice(value, most + 1))
    demand(len(items) <= most)
    return items


def demand(condition: bool) -> None:
    """Fail unless a condition holds."""
    if not condition:
        raise ValueError


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number."""

    words: str = "a whole number"
    metavar: str = "NUMBER"
    text: type = int
    least: int | None = None
    most: int = 2**4096  # larger ones could not be shown

    def read(self, value: Any) -> int:
        """An int."""
        demand(is_whole(value) and (self.least is None or value >= self.least))
        demand(value <= self.most)
        return int(value)


def whole(least: int, most: int = MOST_OF_ALL) -> Whole:
    """A whole number from ``least`` on, within reason."""
    return Whole(f"a whole number from {least} to {most:,}", least=least, most=most)


SEED = Whole("a whole number from 0 to 2**4096", least=0)


def checked_count(value: Any, name: str, least: int) -> int:
    """A whole number from ``least`` on, within reason, for the option of this name."""
    return int(checked(named(name), whole(least), value))


def checked_seed(seed: int | None) -> int:
    """The seed, or a fresh one if none is given."""
    if seed is None:
        import numpy as np

        return int(np.random.SeedSequence().generate_state(1)[0])
    return int(checked(named("seed"), SEED, seed))


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
        demand(isinstance(value, Real) and not isinstance(value, bool))
        number = float(value)
        demand(self.least <= number <= self.most)
        return number


def number(least: float, most: float | None = None, metavar: str = "NUMBER") -> Number:
    """A number from ``least`` on, and up to ``most`` if that is given."""
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
        demand(isinstance(value, bool) or is_numpy)
        return bool(value)


TRUTH = Truth()


@dataclass(frozen=True)
class Choice(Kind):
    """One of some words."""

    choices: tuple[str, ...] = ()

    def read(self, value: Any) -> str:
        """The word."""
        demand(isinstance(value, str) and value in self.choices)
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
        """The number of seconds."""
        if isinstance(value, str):
            matched = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-z]*)\s*", value)
            demand(matched is not None)
            assert matched is not None
            seconds = float(matched[1]) * UNITS[matched[2]]
        else:
            seconds = Number().read(value)
        demand(0 < seconds <= LONGEST_TIME)
        return seconds


@dataclass(frozen=True)
class Bytes(Kind):
    """An amount of memory such as 4e9, ``"4GB"`` or ``"500 MB"``."""

    words: str = "a number of bytes from 0, such as 4e9 or 4GB"
    metavar: str = "SIZE"

    def read(self, value: Any) -> float:
        """The number of bytes."""
        if not isinstance(value, str):
            return number(0).read(value)
        matched = re.fullmatch(
            r"\s*([0-9]*\.?[0-9]+(?:e[0-9]+)?)\s*([kmgt]?)i?b?\s*", value.lower()
        )
        demand(matched is not None)
        assert matched is not None
        return number(0, sys.float_info.max).read(float(matched[1]) * SIZES[matched[2]])


@dataclass(frozen=True)
class Names(Kind):
    """Names in a list, or a single one; a label that is not text is turned into text."""

    words: str = "a list of column names"
    metavar: str = "NAMES"
    is_list: bool = True

    def read(self, value: Any) -> tuple[str, ...]:
        """The names."""
        if value is None:
            return ()
        items = [value] if isinstance(value, str) else list_of(value)
        return tuple(str(name) for name in items)


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
        demand(isinstance(value, Mapping))
        return {str(name): whole(2).read(size) for name, size in value.items()}


@dataclass(frozen=True)
class Items(Kind):
    """A collection whose items are checked where they are used."""

    is_list: bool = True
    may_be_text: bool = False

    def read(self, value: Any) -> Any:
        """A tuple, so that a generator can be read more than once."""
        is_text = self.may_be_text and isinstance(value, str)
        return str(value) if is_text else tuple(list_of(value))


@dataclass(frozen=True)
class Table(Kind):
    """A dictionary from text to what ``item`` makes of its values, or the word ``instead``."""

    item: Callable[[Any], Any] = str
    instead: str | None = None

    def read(self, value: Any) -> Any:
        """A dictionary, or the word."""
        if self.instead is not None and isinstance(value, str) and value == self.instead:
            return value
        demand(isinstance(value, Mapping) and all(isinstance(name, str) for name in value))
        return {name: self.item(own) for name, own in value.items()}


@dataclass(frozen=True)
class Tested(Kind):
    """Whatever passes a test."""

    test: Callable[[Any], bool] = callable

    def read(self, value: Any) -> Any:
        """The value itself, text as a plain str."""
        demand(self.test(value))
        return str(value) if isinstance(value, str) else value


def is_progress(value: Any) -> bool:
    """Whether this says what becomes of reports on progress."""
    return isinstance(value, bool) or is_function_of_one(value)


def is_function_of_one(value: Any) -> bool:
    """Whether this takes one argument, as far as its signature says; a class is not a function."""
    if isinstance(value, type) or not callable(value):
        return False
    try:
        parameters = signature(value)
    except (TypeError, ValueError):  # some built-in functions have none
        return True
    parameters.bind(None)
    return True


def is_text(value: Any) -> bool:
    """Whether this is text."""
    return isinstance(value, str)


def is_path(value: Any) -> bool:
    """Whether this can be the path of a file, which has no null byte."""
    return isinstance(value, str | os.PathLike) and b"\0" not in os.fsencode(value)


def is_edge_prior(value: Any) -> bool:
    """Whether this is a probability, a table or a dictionary of probabilities."""
    if isinstance(value, bool | Real):
        return 0 < float(value) < 1
    shape = getattr(value, "shape", None)
    if shape is not None:
        return len(shape) == 2
    is_collection = isinstance(value, Mapping | Sequence) and not isinstance(value, str | bytes)
    return is_collection or hasattr(value, "as_value")


PROGRESS = Tested("True, False, None or a function of the progress", test=is_progress)

"""Arguments that are checked before anything is computed, and functions that users give.

A function says by :func:`takes` of which kind its arguments are (:mod:`outpoint.kinds`); it is then
called with their plain forms, and anything of another kind is refused in the one wording for this.
Options of runs are declared in :mod:`outpoint.options`, which does the same for them.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import wraps
from inspect import signature
from numbers import Real
from pathlib import Path
from typing import Any, TypeVar, cast

from outpoint.errors import OptionError, OutpointError
from outpoint.kinds import (
    SEED,
    Kind,
    Names,
    Number,
    Tested,
    Whole,
    checked,
    demand,
    in_brief,
    is_path,
    list_of,
    number,
    whole,
)
from outpoint.naming import named

F = TypeVar("F", bound=Callable[..., Any])


def takes(**kinds: Kind) -> Callable[[F], F]:
    """Decorate a function to check its arguments of these names; a default of None is accepted."""

    def decorate(function: F) -> F:
        parameters = signature(function)
        may_be_none = {name: parameters.parameters[name].default is None for name in kinds}

        @wraps(function)
        def call(*values: Any, **given: Any) -> Any:
            try:
                bound = parameters.bind(*values, **given)
            except TypeError as error:
                raise TypeError(f"{function.__name__}() {error}") from None
            for name, kind in kinds.items():
                if name in bound.arguments:
                    value = bound.arguments[name]
                    if value is not None or not may_be_none[name]:
                        bound.arguments[name] = checked(named(name), kind, value)
            return function(*bound.args, **bound.kwargs)

        return cast(F, call)

    return decorate


def number_from(what: str, function: Callable[..., Any], *values: Any) -> float:
    """The number that a function of the user returns; errors call the function ``what``.

    Exceptions of the user's own code stay as they are; a function that cannot be called is refused.
    """
    try:
        found = function(*values)
    except Exception as error:
        own = error.__traceback__.tb_next if error.__traceback__ else None
        if own is not None or isinstance(error, OutpointError):
            raise
        raise OptionError(f"{what} cannot be called: {error}.") from error
    try:
        return float(found)
    except Exception:
        raise OptionError(f"{what} must return a number, not {in_brief(found)}.") from None


@dataclass(frozen=True)
class Words(Kind):
    """Text."""

    words: str = "text"

    def read(self, value: Any) -> str:
        """A str, whatever it was derived from."""
        demand(isinstance(value, str))
        return str(value)


@dataclass(frozen=True)
class Node(Kind):
    """A variable, by its name or its number."""

    words: str = "the name of a variable, or its number"

    def read(self, value: Any) -> str | int:
        """A str or an int."""
        return str(value) if isinstance(value, str) else Whole().read(value)


@dataclass(frozen=True)
class Filename(Kind):
    """The path of a file."""

    words: str = "the path of a file"
    metavar: str = "FILE"
    text: type = Path

    def read(self, value: Any) -> Path:
        """A Path."""
        demand(is_path(value))
        return Path(os.fsdecode(value))


@dataclass(frozen=True)
class Probability(Number):
    """A probability that is neither 0 nor 1."""

    words: str = "a probability between 0 and 1, such as 0.95"

    def read(self, value: Any) -> float:
        """A float."""
        found = super().read(value)
        demand(0 < found < 1)
        return found


@dataclass(frozen=True)
class Plain(Kind):
    """A single value of a variable: text, a number or a truth value."""

    words: str = "a number or a level"

    def read(self, value: Any) -> Any:
        """The value as text, or as it is if it is a number."""
        if isinstance(value, str):
            return str(value)
        demand(isinstance(value, Real) or getattr(value, "shape", None) == ())
        float(value)  # numbers beyond floating point fail
        return value


@dataclass(frozen=True)
class ListOf(Kind):
    """A collection of items of one kind, ``size`` of them if that is given."""

    item: Kind = field(default_factory=Words)
    size: int | None = None

    def read(self, value: Any) -> tuple[Any, ...]:
        """A tuple."""
        items = tuple(self.item.read(one) for one in list_of(value))
        demand(self.size in (None, len(items)))
        return items


@dataclass(frozen=True)
class MapOf(Kind):
    """A dictionary from names to items of one kind."""

    item: Kind = field(default_factory=Words)

    def read(self, value: Any) -> dict[str, Any]:
        """A dictionary."""
        demand(isinstance(value, Mapping) and all(isinstance(name, str) for name in value))
        return {str(name): self.item.read(own) for name, own in value.items()}


@dataclass(frozen=True)
class Made(Kind):
    """What a function can turn into a plain value."""

    make: Callable[[Any], Any] = str

    def read(self, value: Any) -> Any:
        """What it makes."""
        return self.make(value)


@dataclass(frozen=True)
class Either(Kind):
    """A value of one of several kinds."""

    kinds: tuple[Kind, ...] = ()

    def read(self, value: Any) -> Any:
        """What the first kind that takes it makes of it."""
        for kind in self.kinds:
            with suppress(Exception):
                return kind.read(value)
        raise ValueError


@dataclass(frozen=True)
class Randomness(Kind):
    """A generator of random numbers, or what one is made from."""

    words: str = "a NumPy Generator, a SeedSequence or a seed, which is a whole number from 0"

    def read(self, value: Any) -> Any:
        """The generator or sequence, or an int."""
        import numpy as np

        is_numpy = isinstance(value, np.random.Generator | np.random.SeedSequence)
        return value if is_numpy else SEED.read(value)


COLUMN = Words("the name of a column")
COLUMNS = Names()
COUNT = whole(1)
DRAWS = whole(1, 10**7)
FUNCTION = Tested("a function")
NAMES = ListOf("a list of names", item=Words())
NODE = Node()
NONE = Tested("None", test=lambda given: given is None)
EDGE_LIST = ListOf(
    "a list of edges, which are pairs (parent, child)", item=ListOf("a pair", item=NODE, size=2)
)
PATH = Filename()
PROBABILITY = Probability()
RANDOM = Randomness()
SHARE = number(0, 1)
TEXT = Words()
VALUE = Plain()
VARIABLE = Words("the name of a variable")

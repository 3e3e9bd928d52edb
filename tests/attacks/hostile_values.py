"""Values that no option and no argument is made for, and objects that fail when looked at."""

import itertools
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd


class Failing:
    """An object that fails in some of what is done with it, by default in everything."""

    def __init__(self, *ways: str) -> None:
        self.ways = ways

    def _fail(self, way: str) -> None:
        if not self.ways or way in self.ways:
            raise RuntimeError(f"fails in {way}")

    def __repr__(self) -> str:
        self._fail("repr")
        return "Failing()"

    def __str__(self) -> str:
        self._fail("str")
        return "Failing()"

    def __iter__(self) -> Iterator[Any]:
        self._fail("iter")
        return iter("ab")

    def __len__(self) -> int:
        self._fail("len")
        return 2

    def __bool__(self) -> bool:
        self._fail("bool")
        return True

    def __eq__(self, other: object) -> bool:
        self._fail("eq")
        return self is other

    def __hash__(self) -> int:
        self._fail("hash")
        return 1

    def __float__(self) -> float:
        self._fail("float")
        return 0.5

    def __index__(self) -> int:
        self._fail("index")
        return 1

    def __array__(self, *given: Any, **named: Any) -> Any:
        self._fail("array")
        return np.zeros(2)

    def __fspath__(self) -> str:
        self._fail("fspath")
        return "failing"


class FailingMapping(Mapping[str, Any]):
    """A dictionary that fails when it is read."""

    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("fails in getitem")

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("fails in iter")

    def __len__(self) -> int:
        return 1


class Remote:
    """An object whose attributes cannot be looked up."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"fails in {name}")


class Text(str):
    """Text that cannot be compared."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("fails in eq")

    def __hash__(self) -> int:
        return 1


class OwnError(Exception):
    """What a user's own function may raise, and has to see."""


def failing_function(*values: Any, **named: Any) -> Any:
    """A function that fails."""
    raise OwnError


def nested(depth: int) -> Any:
    """A list in a list in a list, and so on."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def endless_list() -> Any:
    """A list that holds itself."""
    value: list[Any] = []
    value.append(value)
    return value


HOSTILE: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "truth": lambda: True,
    "zero": lambda: 0,
    "minus one": lambda: -1,
    "half": lambda: 1.5,
    "huge": lambda: 10**400,
    "too large for text": lambda: 10**5000,
    "nan": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "complex": lambda: 1 + 2j,
    "decimal": lambda: Decimal("0.5"),
    "signalling": lambda: Decimal("sNaN"),
    "fraction": lambda: Fraction(10**400, 3),
    "half precision": lambda: np.float16(0.5),
    "date": lambda: datetime(2020, 1, 1),
    "time that is none": lambda: pd.NaT,
    "not available": lambda: pd.NA,
    "not implemented": lambda: NotImplemented,
    "ellipsis": lambda: ...,
    "empty text": lambda: "",
    "text": lambda: "nonsense",
    "null byte": lambda: "a\0b",
    "lone surrogate": lambda: "a\ud800b",
    "right to left": lambda: "\u202ea\u0000\x1b[2J",
    "long text": lambda: "(" * 100_000,
    "text that cannot be compared": lambda: Text("a"),
    "template": lambda: "{0.__class__} %s %d ${x}",
    "bytes": lambda: b"abc",
    "path": lambda: Path("a\0b"),
    "long path": lambda: Path("a" * 5000),
    "empty list": list,
    "numbers": lambda: [1, 2, 3],
    "nested list": lambda: [1, [2, [None]]],
    "pairs of lists": lambda: [([1], ["a"]), (None, np.arange(3))],
    "deep list": lambda: nested(sys.getrecursionlimit() * 3),
    "list in itself": endless_list,
    "tuple of nothing": lambda: (None, None),
    "set": lambda: {"a", 1},
    "set of sets": lambda: {frozenset({"a"}), frozenset({1})},
    "range": lambda: range(10**12),
    "generator": lambda: (name for name in ("a", 5)),
    "endless generator": lambda: itertools.count(),
    "generator that fails": lambda: (1 // 0 for _ in "a"),
    "empty dict": dict,
    "dict": lambda: {"a": object(), 2: [3]},
    "dict of nothing": lambda: {None: None, "a": float("nan")},
    "dict of arrays": lambda: {"a": np.arange(3), "b": pd.Series([1, 2])},
    "dict of huge": lambda: {"a": 10**400},
    "dict that fails": FailingMapping,
    "array": lambda: np.arange(3.0),
    "array of one": lambda: np.array(5),
    "array of nothing": lambda: np.zeros((0, 3)),
    "table": lambda: np.full((3, 3), 0.5),
    "cube": lambda: np.zeros((2, 2, 2)),
    "array of objects": lambda: np.array([None, "a", object()], dtype=object),
    "array of records": lambda: np.zeros(3, dtype=[("a", "f8"), ("b", "i4")]),
    "array of dates": lambda: np.array(["2020-01-01", "NaT"], dtype="M8[D]"),
    "masked array": lambda: np.ma.masked_all((3, 3)),
    "series": lambda: pd.Series([1.0, 2.0], index=list("ab")),
    "frame": lambda: pd.DataFrame({"a": [1, 2], "b": ["x", None]}),
    "frame of nothing": pd.DataFrame,
    "frame that fails": lambda: pd.DataFrame({"a": [Failing(), 1], "b": [2, 3]}, dtype=object),
    "frame of levels": lambda: pd.DataFrame(
        np.zeros((2, 2)), columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])
    ),
    "function": lambda: lambda *values: 0,
    "function that fails": lambda: failing_function,
    "function of nothing": lambda: lambda: None,
    "function of text": lambda: lambda *values: "text",
    "class": lambda: int,
    "class that is asked for": lambda: Failing,
    "module": lambda: sys,
    "object": object,
    "fails in everything": Failing,
    "fails when compared": lambda: Failing("eq"),
    "fails when tested": lambda: Failing("bool"),
    "fails when counted": lambda: Failing("len"),
    "fails when listed": lambda: Failing("iter"),
    "fails when shown": lambda: Failing("repr", "str"),
    "fails when looked up": Remote,
    "list that fails": lambda: [Failing()],
    "pair that fails": lambda: (Failing("eq"), Failing("hash")),
    "dict of what fails": lambda: {"a": Failing(), "b": [Failing()]},
}
"""What to call for a fresh value, by a name for it."""

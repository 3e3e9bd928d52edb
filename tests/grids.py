"""Grids of cases of which a few are always tested, and all of them in the long set."""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import pytest


def first(values: Iterable[Any], n: int = 1) -> list[Any]:
    """The first ``n`` values, and the others marked long; a tuple is a case of several values."""
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)),
            marks=pytest.mark.long if place >= n else (),
        )
        for place, value in enumerate(values)
    ]


def covering(*axes: Sequence[Any]) -> list[Any]:
    """All combinations of some axes; every value is in one that is not marked long."""
    longest = max(map(len, axes))
    always = {tuple(i % len(axis) for axis in axes) for i in range(longest)}
    return [
        pytest.param(
            *(axis[i] for axis, i in zip(axes, places, strict=True)),
            marks=() if places in always else pytest.mark.long,
        )
        for places in product(*(range(len(axis)) for axis in axes))
    ]

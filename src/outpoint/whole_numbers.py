"""Whole numbers: what is one, and how large they may be."""

from numbers import Integral
from typing import Any, TypeGuard

MOST_OF_ALL = 10**12
"""Numbers of anything that no machine would come to the end of."""


def is_whole(value: Any) -> TypeGuard[int]:
    """Whether this is a whole number, of Python or of NumPy; a truth value is not."""
    return isinstance(value, Integral) and not isinstance(value, bool)

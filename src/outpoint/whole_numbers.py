"""Whole numbers that users give: counts and seeds, or a sentence on what is wrong with them."""

from numbers import Integral
from typing import Any, TypeGuard

from outpoint.errors import OptionError
from outpoint.naming import named

MOST_OF_ALL = 10**12
"""Numbers of anything that no machine would come to the end of."""


def is_whole(value: Any) -> TypeGuard[int]:
    """Whether this is a whole number, of Python or of NumPy; a truth value is not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def checked_count(value: Any, name: str, least: int) -> int:
    """A whole number from ``least`` on, within reason."""
    if not is_whole(value) or value < least:
        raise OptionError(f"{named(name)} is a whole number from {least}, not {value!r}.")
    if value > MOST_OF_ALL:
        raise OptionError(f"{named(name)} is at most {MOST_OF_ALL:,}.")
    return int(value)


def checked_seed(seed: int | None) -> int:
    """The seed, or a fresh one if none is given."""
    if seed is None:
        import numpy as np

        return int(np.random.SeedSequence().generate_state(1)[0])
    if not is_whole(seed) or seed < 0:
        raise OptionError(f"a seed is a whole number from 0, not {seed!r}.")
    return int(seed)

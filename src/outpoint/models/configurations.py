"""The joint states of some categorical variables: their numbers, and which were observed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Floats, Integers
from outpoint.errors import TooLargeError

MOST_NUMBERED = 2**62
"""Most configurations that can be numbered."""

FEW = 4096
"""Most configurations of which a complete list is kept."""

MOST_LISTED = 2**22
"""Most configurations whose parameters can all be drawn."""


@dataclass(frozen=True, eq=False)
class Configurations:
    """The states of categorical ``parents``, numbered from 0; the last parent counts fastest.

    ``sizes`` are the numbers of levels of the parents, ``observed`` the ascending numbers of the
    states that occur in the data. Without parents there is one state.
    """

    parents: tuple[int, ...]
    sizes: tuple[int, ...]
    observed: NDArray[np.int64]

    @property
    def n_all(self) -> int:
        """The number of possible states."""
        return prod(self.sizes)

    def number(self, columns: Floats) -> NDArray[np.int64]:
        """The number of the state in every row of level codes (row, variable)."""
        return number_states(columns, self.parents, self.sizes)

    @cached_property
    def _places(self) -> Integers:
        """The places of all states; asked for only where these are few."""
        places = np.full(self.n_all, len(self.observed), dtype=np.intp)
        places[self.observed] = np.arange(len(self.observed))
        return places

    def places(self, numbers: NDArray[np.int64]) -> Integers:
        """The places of states among those observed; states never observed share the one after."""
        if self.n_all <= FEW:
            return np.asarray(self._places[numbers])
        found = np.searchsorted(self.observed, numbers)
        known = np.append(self.observed, -1)[found] == numbers
        return np.where(known, found, len(self.observed))

    def every(self) -> NDArray[np.int64]:
        """The numbers of all states."""
        if self.n_all > MOST_LISTED:
            raise TooLargeError(
                f"the parents of a variable have {self.n_all:,} joint levels, but the parameters "
                f"of at most {MOST_LISTED:,} can be drawn: allow fewer parents, or join levels."
            )
        return np.arange(self.n_all, dtype=np.int64)


def number_states(
    columns: Floats, parents: tuple[int, ...], sizes: tuple[int, ...]
) -> NDArray[np.int64]:
    """The number of the joint state of ``parents`` in every row of level codes."""
    if prod(sizes) > MOST_NUMBERED:
        raise TooLargeError(
            "the parents of a variable have more joint levels than can be numbered: allow fewer "
            "parents, or join levels."
        )
    if not parents:
        return np.zeros(len(columns), dtype=np.int64)
    numbers = columns[:, parents[0]].astype(np.int64)
    for parent, size in zip(parents[1:], sizes[1:], strict=True):
        numbers = numbers * size + columns[:, parent].astype(np.int64)
    return numbers

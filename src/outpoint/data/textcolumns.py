"""Columns of a text file: a text for every batch of rows, and numbers where all cells are numbers.

As many strings as a large table has cells would fill gigabytes, so cells are strings only while
somebody looks at them.
"""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from outpoint.arrays import Floats
from outpoint.data.cells import LARGEST_EXACT, parse_numbers

BATCH = 300
"""Rows of every piece but the last."""

_GAP = "\0"
"""Stands before every cell; no text that is read has it."""

_CODE = re.compile(_GAP + r"\s*0[0-9]")


class TextColumn(Sequence[str]):
    """The cells of a column, in the order of the rows."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._numbers: list[Floats] | None = []
        self._length = 0

    def append_batch(self, cells: Sequence[str]) -> None:
        """Take the cells of the next rows, `BATCH` of them unless they are the last."""
        piece = _GAP + _GAP.join(cells)
        self._pieces.append(piece)
        self._length += len(cells)
        if self._numbers is not None:
            found = parse_numbers(cells)
            if found is None or not (np.abs(found) < LARGEST_EXACT).all() or _CODE.search(piece):
                self._numbers = None
            else:
                self._numbers.append(found)

    @property
    def numbers(self) -> Floats | None:
        """All cells as numbers, if these say all that the texts do: none is missing or a code."""
        return None if self._numbers is None else np.concatenate(self._numbers)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[str]:
        for piece in self._pieces:
            yield from piece[1:].split(_GAP)

    def __getitem__(self, row):
        if isinstance(row, slice):
            return list(self)[row]
        piece, place = divmod(range(self._length)[row], BATCH)
        return self._pieces[piece][1:].split(_GAP)[place]

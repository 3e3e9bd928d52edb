"""One row of numbers per node, of its own length, in a single array.

Nodes may have different numbers of candidates, and a table over K of them has 2^K entries: most
nodes need few, and the few that need many must not make the tables of all others as long.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Rows:
    """The row of node v is ``values[start[v]:start[v + 1]]``; it is what indexing gives."""

    def __init__(self, values: NDArray[np.float64], start: NDArray[np.int64]) -> None:
        self.values = values
        self.start = start

    @classmethod
    def empty(cls, lengths: "Sequence[int] | NDArray[np.int64]") -> "Rows":
        """Rows of these lengths, to be filled."""
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return cls(np.empty(start[-1]), start)

    @classmethod
    def of(cls, matrix: "NDArray[np.float64] | Rows") -> "Rows":
        """The rows of a matrix; rows stay what they are."""
        if isinstance(matrix, Rows):
            return matrix
        start = np.arange(len(matrix) + 1, dtype=np.int64) * matrix.shape[1]
        return cls(np.ascontiguousarray(matrix).reshape(-1), start)

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, index: Any) -> Any:
        """A row, or entries of it: ``rows[v]``, ``rows[v, i]``."""
        node, *rest = index if isinstance(index, tuple) else (index,)
        row = self.values[self.start[node] : self.start[node + 1]]
        return row[rest[0]] if rest else row

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        return (self[node] for node in range(len(self)))

    @property
    def matrix(self) -> NDArray[np.float64]:
        """All rows, which must be equally long, as a matrix."""
        return self.values.reshape(len(self), -1)

    @property
    def first(self) -> NDArray[np.float64]:
        """The first entry of every row."""
        return self.values[self.start[:-1]]

    @property
    def last(self) -> NDArray[np.float64]:
        """The last entry of every row."""
        return self.values[self.start[1:] - 1]

    def copy(self) -> "Rows":
        """Other rows with the same entries."""
        return Rows(self.values.copy(), self.start)

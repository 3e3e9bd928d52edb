"""A user-defined score: any function of a child and its parent set."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isnan

import numpy as np
from numpy.typing import NDArray

from outpoint.data import Dataset
from outpoint.errors import OptionError
from outpoint.scores.base import FamilyScorer, Scores


@dataclass(frozen=True)
class CustomScore:
    """A score given by ``function(child, parents) -> float``, a natural log, larger is better.

    ``child`` is a column number and ``parents`` an ascending tuple of column numbers; with
    ``by_name=True`` both are column names. A family that must not occur scores ``-inf``.
    """

    function: Callable[..., float]
    by_name: bool = False

    @property
    def name(self) -> str:
        """Short name of the score."""
        return "custom"

    def bind(self, data: Dataset, *, allow_degenerate: bool = False) -> "CustomScorer":
        """Prepare for the variables of ``data``; the function itself knows its data."""
        return CustomScorer(self.function, data.names, self.by_name)


class CustomScorer(FamilyScorer):
    """Scores of a user's function, checked one by one."""

    def __init__(
        self, function: Callable[..., float], names: tuple[str, ...], by_name: bool
    ) -> None:
        self.n_nodes = len(names)
        self._function = function
        self._names = names
        self._labels: tuple[str, ...] | tuple[int, ...] = (
            names if by_name else tuple(range(len(names)))
        )

    def families(self, child: int, parents: NDArray[np.integer]) -> Scores:
        """Scores of ``child`` with each row of ``parents``."""
        labels = self._labels
        scores = [
            self._checked(child, row, self._function(labels[child], tuple(labels[u] for u in row)))
            for row in parents.tolist()
        ]
        return np.array(scores, dtype=np.float64)

    def _checked(self, child: int, parents: list[int], value: float) -> float:
        try:
            score = float(value)
        except (TypeError, ValueError):
            score = np.nan
        if isnan(score) or score == inf:
            shown = ", ".join(self._names[u] for u in parents) or "no parents"
            raise OptionError(
                f"the custom score of {self._names[child]} given {shown} is {value!r}: "
                "it must be a number or -inf."
            )
        return score

"""Parent sets of a complete table with their probabilities, by mask."""

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats
from outpoint.errors import OptionError

QUICKLY_DRAWN = 15
"""Drawing DAGs is quick up to this number of variables."""


class StoredDraws:
    """Draws that were read, as many as there are."""

    dags: Booleans
    log_scores: Floats

    @property
    def n_stored(self) -> int:
        """Number of draws in the file."""
        return len(self.dags)

    def draw(self, n_draws: int, seed: int) -> tuple[Booleans, Floats]:
        """The first of the stored draws."""
        if n_draws > len(self.dags):
            raise OptionError(
                f"the file holds {len(self.dags)} draws, not {n_draws}: ask for fewer, or learn "
                "the posterior again."
            )
        return self.dags[:n_draws], self.log_scores[:n_draws]


class DenseParentSets:
    """What is asked of a solution whose ``log_parent_sets`` [child, mask] are over ``candidates``.

    It is about one part, all variables together.
    """

    log_parent_sets: Floats

    if TYPE_CHECKING:

        @property
        def candidates(self) -> NDArray[np.int32]: ...

    @property
    def part_sizes(self) -> tuple[int, ...]:
        """Number of variables of each part: there is one."""
        return (len(self.candidates),)

    @property
    def is_quickly_drawn(self) -> bool:
        """Whether ten thousand draws are made at once and take little room."""
        return len(self.candidates) <= QUICKLY_DRAWN

    @property
    def drawn_ancestors(self) -> Booleans | None:
        """Which probabilities of ancestors are averages over draws: none."""
        return None

    def log_parent_set(self, child: int, parents: Collection[int]) -> float:
        """Log probability that these are the parents of a node."""
        candidates = self.candidates[child].tolist()
        mask = sum(1 << candidates.index(u) for u in parents)
        return float(self.log_parent_sets[child, mask])

    def likely_sets(self, child: int, at_least: float) -> list[tuple[tuple[int, ...], float]]:
        """Parent sets of at least this probability, with its log, most probable first."""
        log_sets = self.log_parent_sets[child]
        chosen = np.flatnonzero(log_sets >= np.log(at_least))
        ranked = chosen[np.argsort(-log_sets[chosen], kind="stable")]
        members = self.candidates[child].tolist()
        return [
            (tuple(u for i, u in enumerate(members) if mask >> i & 1), float(log_sets[mask]))
            for mask in ranked.tolist()
        ]

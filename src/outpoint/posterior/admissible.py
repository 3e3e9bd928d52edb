"""Which families a posterior can have: what background knowledge and the score allow.

The limit on parents is left out, because it never tells members of a class apart: all of them have
the same largest number of parents. (In each of them some node of a largest undirected clique of a
component follows all its others, and all nodes of a component have the same directed parents.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from outpoint.arrays import Booleans
from outpoint.errors import OptionError
from outpoint.posterior.info import RunInfo
from outpoint.registry import SCORES
from outpoint.scores import Knowledge, build_prior

IsScored = Callable[[int, Sequence[int]], bool]
"""Whether a child with these parents has a finite score."""


class Admissible:
    """Families of weight above 0, before any data.

    Of the scores known by name only the conditional Gaussian excludes families, those of a
    categorical child with a continuous parent. For a score of the user's own, ``is_scored``
    decides.
    """

    def __init__(self, info: RunInfo, names: Sequence[str], is_scored: IsScored | None) -> None:
        known = Knowledge.from_dict(info.knowledge)
        self._prior = build_prior(names, knowledge=known)
        self._excluded = np.isneginf(self._prior.edge_log_weight)
        if info.score == "conditional-gaussian":
            is_continuous = np.array([kind == "continuous" for kind in info.kinds])
            self._excluded |= np.outer(is_continuous, ~is_continuous)
        self._is_own = info.score not in SCORES
        self._is_scored = is_scored

    @cached_property
    def settled(self) -> Booleans:
        """The edges [parent, child] that all DAGs have, or none has."""
        required = self._prior.required
        return self._excluded | required | required.T

    @property
    def excluded(self) -> Booleans:
        """The edges [parent, child] that no DAG has."""
        return self._excluded

    @property
    def is_unlimited(self) -> bool:
        """Whether every DAG is admissible, as far as is known without asking for families."""
        pairs = ~np.eye(len(self._excluded), dtype=np.bool_)
        return not (self._is_own or self.settled[pairs].any())

    def __call__(self, child: int, parents: Sequence[int]) -> bool:
        """Whether a DAG may have this family."""
        chosen = list(parents)
        if self._excluded[chosen, child].any():
            return False
        if self._prior.required[chosen, child].sum() != self._prior.required[:, child].sum():
            return False
        if not self._is_own:
            return True
        if self._is_scored is None:
            raise OptionError(
                "the score of this posterior is one of your own, which its file does not hold, so "
                "which members of a class it excludes is unknown: reweight the posterior "
                "that learn returns."
            )
        return self._is_scored(child, chosen)

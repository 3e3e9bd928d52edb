"""What a posterior can have, before any data, and how much of the graph the data settle.

Background knowledge and the score decide which families there can be. The limit on parents is left
out, because it never tells members of a class apart: all of them have the same largest number of
parents. (In each of them some node of a largest undirected clique of a component follows all its
others, and all nodes of a component have the same directed parents.)

How much the data settle is another question than how the posterior was computed: it may be computed
to the last digit and still leave everything open, as after few rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from outpoint.arrays import Booleans
from outpoint.errors import OptionError
from outpoint.naming import count_of, write_number
from outpoint.posterior.info import RunInfo
from outpoint.registry import SCORES
from outpoint.scores import Knowledge, build_prior

if TYPE_CHECKING:
    from outpoint.posterior.posterior import Posterior

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


SETTLED = 0.95
"""A pair is settled if it is connected, or is not, with at least this probability."""


@dataclass(frozen=True)
class Certainty:
    """Numbers of pairs of variables: surely connected, surely not, and neither.

    ``directed`` counts those that are surely connected in one direction.
    """

    connected: int
    directed: int
    apart: int
    undecided: int

    @property
    def headline(self) -> str:
        """The same in a few words, by what is connected: most pairs of many variables are not."""
        if self.undecided == 0:
            return "The data settle which variables are connected"
        if self.connected == 0:
            return "The data settle no connection"
        if self.undecided > self.connected:
            return "The data leave more connections open than they settle"
        return "The data settle most of the connections"

    @property
    def counts(self) -> str:
        """The numbers in one line."""
        return (
            f"{count_of(self.connected, 'pair')} of variables connected (probability {SETTLED:g} "
            f"or more; {self.directed} with a direction), {self.undecided} undecided, "
            f"{self.apart} not connected"
        )


def judge_certainty(posterior: Posterior) -> Certainty:
    """How many pairs the posterior settles; those that cannot be connected are left out."""
    edges = posterior.edge_probabilities.to_numpy()
    excluded = posterior.admissible.excluded
    pairs = np.nonzero(np.triu(~(excluded & excluded.T), 1))
    forward, backward = edges[pairs], edges.T[pairs]
    together = forward + backward
    connected = together >= SETTLED
    apart = together <= 1 - SETTLED
    return Certainty(
        connected=int(connected.sum()),
        directed=int((np.maximum(forward, backward) >= SETTLED).sum()),
        apart=int(apart.sum()),
        undecided=int((~connected & ~apart).sum()),
    )


def describe_best(posterior: Posterior) -> str:
    """What the best DAG is worth; empty where its probability is not known."""
    share = posterior.map_probability
    if share is None:
        return ""
    told = f"The best DAG has a probability of {write_number(share)}"
    if share >= 0.5:
        return f"{told}."
    return f"{told}: look at the probabilities of edges, not at one graph."

"""How much of the graph the data settle, which is a different question from how it was computed.

A posterior may be computed to the last digit and still leave everything open, as after few rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from outpoint.naming import count_of, write_number
from outpoint.posterior.posterior import Posterior

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

"""What chains over completed tables have found of parent sets that they cannot have."""

from dataclasses import dataclass

import numpy as np

from outpoint.arrays import Floats
from outpoint.tables.missing import Missing


@dataclass(frozen=True)
class Exclusion:
    """Sums over draws of what excluded sets have, relative to those that are listed.

    ``edges`` [parent, child] of the sets with this parent, ``mass`` and ``larger`` (node,) of all
    and of those with more members than the limit of the node; ``n_looks`` draws were looked at.
    """

    edges: Floats
    mass: Floats
    larger: Floats
    n_looks: int

    @classmethod
    def none(cls, n_nodes: int) -> "Exclusion":
        """Before anything was looked at."""
        return cls(np.zeros((n_nodes, n_nodes)), np.zeros(n_nodes), np.zeros(n_nodes), 0)

    def __add__(self, other: "Exclusion") -> "Exclusion":
        return Exclusion(
            self.edges + other.edges,
            self.mass + other.mass,
            self.larger + other.larger,
            self.n_looks + other.n_looks,
        )

    @property
    def missing(self) -> Missing:
        """The shares of the posterior that excluded sets would have."""
        whole = self.n_looks + self.mass
        return Missing(self.mass / np.maximum(whole, 1), self.edges / np.maximum(whole, 1))

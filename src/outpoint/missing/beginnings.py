"""The network that values before the first slices, and static ones, are drawn from.

They are given: no question is about their own law. But those that are missing need one. In the rows
where they are new (:mod:`outpoint.missing.unknowns`) they follow a Bayesian network under the same
score, with parameters of its own: static columns first, then earlier values from the oldest on, in
the order of the table; a column may have at most two parents among those before it. Its parents are
drawn as everything else is, with a fair prior, given the completed table.

Formulas: docs/math.md#missing-values-of-a-time-series.
"""

from collections.abc import Callable
from itertools import combinations

import numpy as np

from outpoint.arrays import Booleans, Floats
from outpoint.data import Dataset
from outpoint.scores import FamilyScorer

MOST_PARENTS = 2

ScorerOf = Callable[[Floats, Booleans], FamilyScorer]
"""The scores of some rows of a completed table."""


class Beginnings:
    """Draws the network of the given columns; ``new`` (row, node) has their rows."""

    def __init__(self, data: Dataset, new: Booleans) -> None:
        assert data.slices is not None
        static = set(data.slices.static)
        past = data.slices.past(data.names)
        given = [data.index(name) for name in data.slices.given(data.names)]
        self._order = sorted(given, key=lambda v: (data.names[v] not in static, -past[v][1], v))
        self._rows, self._group = np.unique(new.T, axis=0, return_inverse=True)
        self._n_nodes = data.n_nodes

    def draw(self, values: Floats, scorer_of: ScorerOf, rng: np.random.Generator) -> Booleans:
        """Parents of the given columns, [parent, child], given a completed table."""
        dag = np.zeros((self._n_nodes, self._n_nodes), dtype=np.bool_)
        scorers: dict[int, FamilyScorer] = {}
        for i, v in enumerate(self._order):
            group = int(self._group.ravel()[v])
            if group not in scorers:
                scorers[group] = scorer_of(values, self._rows[group])
            sets, logs = [], []
            for size in range(min(i, MOST_PARENTS) + 1):
                own = list(combinations(sorted(self._order[:i]), size))
                families = np.array(own, dtype=np.int16).reshape(len(own), size)
                sets += own
                logs.append(scorers[group].families(v, families) - np.log(len(own)))
            chosen = int(np.argmax(np.concatenate(logs) + rng.gumbel(size=len(sets))))
            dag[list(sets[chosen]), v] = True
        return dag

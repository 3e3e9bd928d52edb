"""Adjustment sets by their posterior probability: in how much of the posterior a set is valid."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from outpoint.errors import OptionError
from outpoint.graphs.adjustment import OPTIMAL, find_adjusted, propose_adjustments
from outpoint.posterior.draws import WeightedGraphs

if TYPE_CHECKING:
    import pandas as pd

MOST_RANKED = 500
"""Sets that are judged on all DAGs, beside the empty one: those that most DAGs propose."""

Set = tuple[int, ...]


def rank_adjustment_sets(
    graphs: WeightedGraphs, names: Sequence[str], cause: int, effect: int, n: int
) -> pd.DataFrame:
    """The sets that adjust for an effect in most of the posterior, see ``Posterior``."""
    import pandas as pd

    if cause == effect:
        raise OptionError(
            f"{names[cause]!r} is both the cause and the effect: choose two variables."
        )
    proposed, optimal = _proposed_sets(graphs, cause, effect)
    likely = sorted(proposed, key=lambda one: (-proposed[one], one))[:MOST_RANKED]
    probability = {one: graphs.mean(_is_valid(graphs, cause, effect, one)) for one in {(), *likely}}
    ranked = sorted(probability, key=lambda one: (-probability[one], len(one), one))[:n]
    return pd.DataFrame(
        {
            "adjustment_set": [tuple(names[v] for v in one) for one in ranked],
            "size": [len(one) for one in ranked],
            "probability": [probability[one] for one in ranked],
            "optimal": [min(optimal.get(one, 0.0), 1.0) for one in ranked],
        }
    )


def _is_valid(graphs: WeightedGraphs, cause: int, effect: int, one: Set) -> np.ndarray:
    members = np.zeros(graphs.draws.n_nodes, dtype=np.bool_)
    members[list(one)] = True
    return graphs.evaluate(lambda dags: find_adjusted(dags, cause, effect, members))


def _proposed_sets(
    graphs: WeightedGraphs, cause: int, effect: int
) -> tuple[dict[Set, float], dict[Set, float]]:
    """The sets that drawn DAGs propose, with their weight; and that of the optimal ones alone."""
    proposed: dict[Set, float] = defaultdict(float)
    optimal: dict[Set, float] = defaultdict(float)
    for part, dags in graphs.blocks():
        members, exist = propose_adjustments(dags, cause, effect)
        for sets, present, weight in zip(members, exist, graphs.weights[part], strict=True):
            found = [tuple(np.flatnonzero(sets[kind]).tolist()) for kind in np.flatnonzero(present)]
            for one in set(found):
                proposed[one] += weight
            if present[OPTIMAL]:
                optimal[found[OPTIMAL]] += weight
    return proposed, optimal

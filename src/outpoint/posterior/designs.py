"""What a study should adjust for, and which variable the next one should set.

Adjustment sets are ranked by their posterior probability: in how much of the posterior a set is
valid.

An ideal experiment is ranked by what it is expected to tell about the DAG. Observations, however
many, leave all DAGs of an equivalence class. An experiment that sets v tells the direction of every
edge at v, and nothing else that the class does not imply (see :mod:`outpoint.graphs.validation`):
within a class, what it shows is the set of v's children. With C the class of G and C_v the class
together with that set, the entropy of G that is left to experiments is H(G | C), and H(G | C_v) is
expected to be left after the one on v; in place of the entropy of the whole G, that of a feature,
or the variance of an effect.
Formulas: docs/math.md#the-next-experiment.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from outpoint.arrays import Booleans, Floats, Integers
from outpoint.errors import OptionError
from outpoint.graphs.adjustment import OPTIMAL, find_adjusted, propose_adjustments
from outpoint.graphs.blocks import compute_cpdags
from outpoint.posterior.draws import WeightedGraphs, number_matrices

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


def rank_experiments(
    graphs: WeightedGraphs,
    names: Sequence[str],
    separated: Booleans,
    *,
    labels: Integers | None = None,
    values: Floats | None = None,
) -> pd.DataFrame:
    """One row per variable, see ``Posterior``.

    Uncertainty is the standard deviation of ``values`` of the DAGs, or the entropy of their
    ``labels``, by default their own numbers, in bits.
    """
    import pandas as pd

    classes = number_matrices(compute_cpdags(dags, separated) for _, dags in graphs.blocks())
    children = np.concatenate([np.packbits(dags, axis=2) for _, dags in graphs.blocks()])
    known = [classes, *(_refine(classes, children[:, v]) for v in range(len(names)))]
    if values is None:
        whole = np.arange(len(graphs)) if labels is None else labels
        left = [_conditional_entropy(whole, groups, graphs.weights) for groups in known]
    else:
        left = [_conditional_variance(values, groups, graphs.weights) for groups in known]
    before, after = left[0], np.minimum(left[1:], left[0])
    removed = 1.0 - after / before if before > 0 else np.zeros(len(names))
    if values is not None:
        before, after = np.sqrt(before), np.sqrt(after)
    order = np.argsort(-removed, kind="stable")
    table = pd.DataFrame(
        {
            "variable": [names[v] for v in order],
            "removed": removed[order],
            "before": np.full(len(names), before),
            "after": after[order],
        }
    )
    table.attrs["unit"] = "bits" if values is None else "sd"
    return table


def _refine(groups: Integers, rows: np.ndarray) -> Integers:
    """Numbers for groups that are divided further by the content of their rows."""
    keys = np.column_stack([groups, rows.astype(np.int64)])
    return np.unique(keys, axis=0, return_inverse=True)[1].ravel()


def _conditional_entropy(labels: Integers, groups: Integers, weights: Floats) -> float:
    """The entropy in bits of labels within groups, averaged over the groups."""
    joint = np.unique(np.column_stack([groups, labels]), axis=0, return_inverse=True)[1].ravel()
    return max(0.0, _entropy(joint, weights) - _entropy(groups, weights))


def _entropy(groups: Integers, weights: Floats) -> float:
    shares = np.bincount(groups, weights=weights)
    shares = shares[shares > 0]
    return float(-(shares @ np.log2(shares)))


def _conditional_variance(values: Floats, groups: Integers, weights: Floats) -> float:
    """The variance of values within groups, averaged over the groups."""
    shares = np.bincount(groups, weights=weights)
    sums = np.bincount(groups, weights=weights * values)
    means = np.divide(sums, shares, out=np.zeros_like(sums), where=shares > 0)
    return float(weights @ (values - means[groups]) ** 2)

"""Which variable to set next: what an ideal experiment is expected to show about the DAG.

Observations, however many, leave all DAGs of an equivalence class. An experiment that sets v tells
the direction of every edge at v, and nothing else that the class does not imply (see
:mod:`outpoint.graphs.validation`): within a class, what it shows is the set of v's children. With C
the class of G and C_v the class together with that set, the entropy of G that is left to
experiments is H(G | C), and H(G | C_v) is expected to be left after the one on v; in place of the
entropy of the whole G, that of a feature, or the variance of an effect.
Formulas: docs/math.md#the-next-experiment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from outpoint.arrays import Booleans, Floats, Integers
from outpoint.graphs.blocks import compute_cpdags
from outpoint.posterior.draws import WeightedGraphs, number_matrices

if TYPE_CHECKING:
    import pandas as pd


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

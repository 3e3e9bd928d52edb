"""Predictive densities by a definition: how much more likely the data are with one more row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log

import numpy as np

from outpoint.data import Dataset
from tests.reference import (
    bdeu_family_score,
    bge_family_score,
    conditional_gaussian_family_score,
    gaussian_log_likelihood,
)

Predict = Callable[[int, tuple[int, ...], np.ndarray], float]
"""Log predictive density of a child given parents, in a new row of values."""


def standard(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Means and deviations of continuous columns, 0 and 1 of others."""
    is_continuous = [one is None for one in data.levels]
    means = np.where(is_continuous, data.values.mean(axis=0), 0.0)
    deviations = np.where(is_continuous, data.values.std(axis=0, ddof=1), 1.0)
    return means, deviations


def predictor(score: str, data: Dataset, **settings: float) -> Predict:
    """The predictive densities of a score in the units of the data, by two marginal likelihoods."""
    cardinalities = [0 if one is None else len(one) for one in data.levels]
    means, deviations = standard(data)
    is_set = data.is_set

    def family(values: np.ndarray, child: int, parents: Sequence[int]) -> float:
        if score == "bge":
            return bge_family_score(values, child, parents, **settings)
        if score == "bdeu":
            ess = settings.get("equivalent_sample_size", 1.0)
            return bdeu_family_score(values.astype(int), cardinalities, child, parents, ess)
        if score == "conditional-gaussian":
            return conditional_gaussian_family_score(values, cardinalities, child, parents)
        return indicators_score(values, data, child, parents)

    def predict(child: int, parents: tuple[int, ...], row: np.ndarray) -> float:
        before = ((data.values - means) / deviations)[~is_set[:, child]]
        after = np.vstack([before, (row - means) / deviations])
        gained = family(after, child, parents) - family(before, child, parents)
        return gained - log(deviations[child])

    return predict


def indicators_score(
    values: np.ndarray, data: Dataset, child: int, parents: Sequence[int]
) -> float:
    """Blocks of columns by indicators of all levels but the first, centred as in ``data``."""
    sizes = [1 if one is None else len(one) - 1 for one in data.levels]
    m, n_obs = sum(sizes), len(values)
    t = 0.5

    def total(nodes: Sequence[int]) -> float:
        columns, shapes, change = [np.zeros((n_obs, 0))], [], 0.0
        for v in nodes:
            levels = data.levels[v]
            if levels is None:
                columns.append(values[:, [v]])
                shapes.append(t * np.eye(1))
            else:
                r = len(levels)
                others = np.arange(1, r)
                shares = (data.values[:, [v]] == others).mean(axis=0)
                columns.append((values[:, [v]] == others) - shares)
                shapes.append(t * (np.eye(r - 1) - 1 / r) / r)
                change -= n_obs * r / 2 * log(r)
        block = np.hstack(columns)
        matrix = np.zeros((block.shape[1], block.shape[1]))
        at = 0
        for part in shapes:
            matrix[at : at + len(part), at : at + len(part)] = part
            at += len(part)
        return change + gaussian_log_likelihood(block, 1.0, 2.0 + block.shape[1], matrix)

    assert m >= len(sizes)
    return total([*parents, child]) - total(parents)

"""Predictions and simulated rows as tables with the names of variables and levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from outpoint.arrays import Floats
from outpoint.errors import OptionError
from outpoint.models import (
    NEEDS_MODEL,
    Averaged,
    AveragedModel,
    Coding,
    MixedModel,
    NetworkModel,
)
from outpoint.models.averaging import Predicted
from outpoint.models.network import Setting, to_frame
from outpoint.naming import enumerate_names, suggest
from outpoint.posterior.draws import WeightedGraphs
from outpoint.posterior.effects import spread_evenly
from outpoint.posterior.new_rows import NewRows
from outpoint.posterior.what_if import Component

if TYPE_CHECKING:
    import pandas as pd

QUANTILES = (0.025, 0.25, 0.5, 0.75, 0.975)
MOST_DAGS = 2000
"""Most distinct DAGs that are averaged over; if there are more, as many draws are taken."""


def require_model(model: NetworkModel | None) -> NetworkModel:
    """The model; an error if there is none."""
    if model is None:
        raise OptionError(NEEDS_MODEL)
    return model


def average(components: Sequence[Component] | None, seed: int) -> Averaged:
    """The model averaged over the distinct DAGs among the draws, or a mixture of such models."""
    if components is None:
        raise OptionError(NEEDS_MODEL)
    parts = [_average(*own, seed) for own in components]
    return parts[0] if len(parts) == 1 else MixedModel.of(parts)


def _average(found: NetworkModel, graphs: WeightedGraphs, seed: int) -> AveragedModel:
    if len(graphs) <= MOST_DAGS:
        numbers, weights = np.arange(len(graphs)), graphs.weights
    else:
        chosen = graphs.which.ravel()[spread_evenly(graphs.which.size, MOST_DAGS)]
        numbers, counts = np.unique(chosen, return_counts=True)
        weights = counts * graphs.unit_weights[numbers]
    dags = graphs.adjacencies(numbers.astype(np.intp))
    return AveragedModel(found, dags, weights / weights.sum(), seed)


def check_question(coding: Coding, target: str, quantiles: Sequence[float]) -> None:
    """Refuse a target that is not a variable, and quantiles that are not probabilities."""
    if target not in coding.names:
        hint = suggest(str(target), coding.names) or f"they are {enumerate_names(coding.names)}."
        raise OptionError(f"{target!r} is not one of the variables; {hint}")
    if not all(0 < q < 1 for q in quantiles):
        raise OptionError(f"quantiles must be probabilities between 0 and 1, not {quantiles!r}.")


def predict(
    averaged: Averaged, new: NewRows, target: str, quantiles: Sequence[float] = QUANTILES
) -> pd.DataFrame:
    """The table of :meth:`Posterior.predict`."""
    import pandas as pd

    coding = averaged.model.coding
    v = coding.names.index(target)
    found = averaged.predict(new.values, v)
    levels = coding.levels[v]
    if levels is not None:
        return pd.DataFrame(found.weights, index=new.index, columns=list(levels))
    mean = (found.weights * found.means).sum(axis=1)
    squares = found.sds**2 + (found.means - mean[:, None]) ** 2
    columns = {"mean": mean, "sd": np.sqrt((found.weights * squares).sum(axis=1))}
    limits = mixture_quantiles(found, list(quantiles))
    columns |= {f"q{100 * q:g}": limits[:, i] for i, q in enumerate(quantiles)}
    return pd.DataFrame(columns, index=new.index)


def mixture_quantiles(found: Predicted, quantiles: list[float]) -> Floats:
    """Quantiles (row, quantile) of mixtures, by bisection; of points, between their middles."""
    from scipy.special import ndtr

    out = np.empty((len(found.weights), len(quantiles)))
    for row, (weights, means, sds) in enumerate(
        zip(found.weights, found.means, found.sds, strict=True)
    ):
        if not sds.any():
            out[row] = np.interp(quantiles, np.cumsum(weights) - weights / 2, means)
            continue
        sds = np.where(sds > 0, sds, 1.0)  # of parts that weigh nothing
        for i, q in enumerate(quantiles):
            low, high = (means - 40 * sds).min(), (means + 40 * sds).max()
            for _ in range(60):
                middle = (low + high) / 2
                is_low = weights @ ndtr((middle - means) / sds) < q
                low, high = (middle, high) if is_low else (low, middle)
            out[row, i] = (low + high) / 2
    return out


def log_predictive(averaged: Averaged, new: NewRows) -> pd.Series[float]:
    """The series of :meth:`Posterior.log_predictive`."""
    import pandas as pd

    logs, errors = averaged.log_predictive(new.values)
    found = pd.Series(logs, index=new.index, name="log_predictive")
    found.attrs["mcse"] = errors.tolist()
    return found


def sample(
    averaged: Averaged, n_rows: int, do: Setting | None, rng: np.random.Generator
) -> pd.DataFrame:
    """Rows of networks, each with a DAG and parameters drawn for it, and an observed past."""
    model = averaged.model
    do = do or {}
    fixed = {name: np.atleast_1d(np.asarray(value, dtype=object)) for name, value in do.items()}
    rows = []
    for row, (drawn, dag) in enumerate(averaged.choose(n_rows, rng)):
        own = {name: value[row % len(value)] for name, value in fixed.items()}
        past = model.pasts[rng.integers(len(model.pasts))] if model.given.any() else None
        network = drawn.sample_parameters(dag, rng)
        rows.append(network.simulate(1, rng, own, past))
    values = np.concatenate(rows) if rows else np.zeros((0, len(model.names)))
    return to_frame(model.coding, values)


def replicate(averaged: Averaged, n_tables: int, n_rows: int, rng: np.random.Generator) -> Floats:
    """Tables of networks, each with a DAG and parameters drawn for it."""
    model = averaged.model
    if model.given.any():
        raise OptionError("tables of a time series cannot be simulated row by row.")
    drawn = (own.sample_parameters(dag, rng) for own, dag in averaged.choose(n_tables, rng))
    return np.stack([network.simulate(n_rows, rng) for network in drawn])

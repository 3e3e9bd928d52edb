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
from outpoint.progress import FractionCallback, part_of, say_nothing, tell_fractions

if TYPE_CHECKING:
    import pandas as pd

QUANTILES = (0.025, 0.25, 0.5, 0.75, 0.975)
LAWS = 0.9
"""About the share of the work that finding the laws takes, before their quantiles."""

MOST_HALVES = 100
PRECISION = 1e-10
"""Steps to a quantile, at most, and the last of them in the least of the standard deviations."""

ROWS_BETWEEN = 100
"""Rows between two reports."""

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
    averaged: Averaged,
    new: NewRows,
    target: str,
    quantiles: Sequence[float] = QUANTILES,
    tell: FractionCallback = say_nothing,
) -> pd.DataFrame:
    """The table of :meth:`Posterior.predict`."""
    import pandas as pd

    coding = averaged.model.coding
    v = coding.names.index(target)
    found = averaged.predict(new.values, v, part_of(tell, 0.0, LAWS))
    levels = coding.levels[v]
    if levels is not None:
        return pd.DataFrame(found.weights, index=new.index, columns=list(levels))
    mean = (found.weights * found.means).sum(axis=1)
    squares = found.sds**2 + (found.means - mean[:, None]) ** 2
    columns = {"mean": mean, "sd": np.sqrt((found.weights * squares).sum(axis=1))}
    limits = mixture_quantiles(found, list(quantiles), part_of(tell, LAWS, 1.0))
    columns |= {f"q{100 * q:g}": limits[:, i] for i, q in enumerate(quantiles)}
    return pd.DataFrame(columns, index=new.index)


def mixture_quantiles(
    found: Predicted, quantiles: list[float], tell: FractionCallback = say_nothing
) -> Floats:
    """Quantiles (row, quantile) of mixtures of normals; of points, between their middles."""
    out = np.empty((len(found.weights), len(quantiles)))
    advance = tell_fractions(max(1, len(out)), tell)
    for row, (weights, means, sds) in enumerate(
        zip(found.weights, found.means, found.sds, strict=True)
    ):
        if sds.any():
            out[row] = _normal_quantiles(weights, means, sds, np.asarray(quantiles))
        else:
            out[row] = np.interp(quantiles, np.cumsum(weights) - weights / 2, means)
        if row % ROWS_BETWEEN == 0:
            advance(min(ROWS_BETWEEN, len(out) - row))
    return out


def _normal_quantiles(weights: Floats, means: Floats, sds: Floats, asked: Floats) -> Floats:
    """Quantiles of one mixture: Newton's steps, and halves where these would leave a bracket."""
    from scipy.special import ndtr, ndtri

    counts = sds > 0  # other parts weigh nothing
    weights, means, sds = weights[counts], means[counts], sds[counts]
    centre = weights @ means
    width = np.sqrt(weights @ (sds**2 + (means - centre) ** 2))
    low = np.full(len(asked), (means - 40 * sds).min())
    high = np.full(len(asked), (means + 40 * sds).max())
    at = centre + width * ndtri(asked)
    for _ in range(MOST_HALVES):
        z = (at[:, None] - means) / sds
        excess = ndtr(z) @ weights - asked
        low, high = np.where(excess < 0, at, low), np.where(excess < 0, high, at)
        density = np.exp(-0.5 * z**2) @ (weights / sds) / np.sqrt(2 * np.pi)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            after = at - excess / density
        middle = (low + high) / 2
        after = np.where((after > low) & (after < high), after, middle)
        moved, at = np.abs(after - at).max(), after
        if moved <= max(PRECISION * sds.min(), 4 * np.finfo(np.float64).eps * np.abs(at).max()):
            break
    return np.asarray(at)


def log_predictive(
    averaged: Averaged, new: NewRows, tell: FractionCallback = say_nothing
) -> pd.Series[float]:
    """The series of :meth:`Posterior.log_predictive`."""
    import pandas as pd

    logs, errors = averaged.log_predictive(new.values, tell)
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

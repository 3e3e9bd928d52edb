"""Predictions, simulated rows and parameters as tables with the names of variables and levels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from outpoint.arrays import Floats
from outpoint.data import Dataset
from outpoint.data.textfile import read_table
from outpoint.data.wording import enumerate_names, suggest
from outpoint.errors import DataError, OptionError
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
from outpoint.models.regression import Regression
from outpoint.models.tables import Table
from outpoint.posterior.draws import WeightedGraphs
from outpoint.posterior.effects import spread_evenly
from outpoint.posterior.what_if import Component

if TYPE_CHECKING:
    import pandas as pd

    from outpoint.graphs import Dag

QUANTILES = (0.025, 0.25, 0.5, 0.75, 0.975)
MOST_DAGS = 2000
"""Distinct DAGs that are averaged over; of more, so many draws are taken."""

MOST_STATES = 10_000
"""Rows of the tables of one DAG."""

BLANKS = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "?", ".")
"""What stands for an unknown cell in a file."""


def require_model(model: NetworkModel | None) -> NetworkModel:
    """The model, or the sentence that there is none."""
    if model is None:
        raise OptionError(NEEDS_MODEL)
    return model


def average(components: Sequence[Component] | None, seed: int) -> Averaged:
    """The model with the distinct DAGs among the draws, or several of them."""
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


def read_rows(new: Any, coding: Coding) -> Floats:
    """Values (row, variable) of new rows, NaN where a cell is blank or a column absent.

    Columns that are no variables are left alone.
    """
    frame = _as_frame(new)
    names = [str(name) for name in frame.columns]
    if not set(names) & set(coding.names):
        raise DataError(
            f"none of the columns {enumerate_names(names)} is a variable: the variables are "
            f"{enumerate_names(coding.names)}."
        )
    values = np.full((len(frame), len(coding.names)), np.nan)
    for place, name in enumerate(names):
        if name in coding.names:
            v = coding.names.index(name)
            cells = frame.iloc[:, place].tolist()
            values[:, v] = [_cell(coding, v, cell, row) for row, cell in enumerate(cells)]
    return values


def _as_frame(new: Any) -> pd.DataFrame:
    import pandas as pd

    if isinstance(new, str | Path):
        table = read_table(Path(new))
        return pd.DataFrame(dict(zip(table.names, table.columns, strict=True)))
    if isinstance(new, Dataset):
        return new.to_frame()
    if isinstance(new, pd.DataFrame):
        return new
    try:
        return pd.DataFrame(new)
    except (ValueError, TypeError):
        raise DataError(
            f"new rows are a table with named columns or a file, not {type(new).__name__}."
        ) from None


def _cell(coding: Coding, v: int, cell: Any, row: int) -> float:
    """The number of a cell: a value, the code of a level, NaN if it is blank."""
    if cell is None or (isinstance(cell, float) and np.isnan(cell)):
        return np.nan
    text = str(cell).strip()
    levels, name = coding.levels[v], coding.names[v]
    if levels is not None:
        if text not in levels and isinstance(cell, float) and cell.is_integer():
            text = str(int(cell))
        if text in levels:
            codes, place = coding.codes[v], levels.index(text)
            if codes is None or not np.isnan(codes[place]).any():
                return float(place)
            raise DataError(f"the level {text!r} of {name!r} was not observed: leave it blank.")
    if text in BLANKS or text == "<NA>":
        return np.nan
    if levels is not None:
        raise DataError(
            f"column {name!r} has {text!r} in row {row + 1}, but its levels are "
            f"{enumerate_names(levels)}: correct it, or leave it blank."
        )
    try:
        number = float(text)
    except ValueError:
        number = np.inf
    if not np.isfinite(number):
        raise DataError(
            f"column {name!r} has {text!r} in row {row + 1}, but it is continuous: give a finite "
            "number, or leave it blank."
        )
    return number


def predict(
    averaged: Averaged, new: Any, target: str, quantiles: Sequence[float] = QUANTILES
) -> pd.DataFrame:
    """The table of :meth:`Posterior.predict`."""
    import pandas as pd

    coding = averaged.model.coding
    if target not in coding.names:
        hint = suggest(str(target), coding.names) or f"there are {enumerate_names(coding.names)}."
        raise OptionError(f"{target!r} is not one of the variables; {hint}")
    if not all(0 < q < 1 for q in quantiles):
        raise OptionError(f"quantiles are probabilities between 0 and 1, not {quantiles!r}.")
    v = coding.names.index(target)
    values, index = read_rows(new, coding), getattr(new, "index", None)
    found = averaged.predict(values, v)
    index = index if isinstance(index, pd.Index) else pd.RangeIndex(len(values))
    levels = coding.levels[v]
    if levels is not None:
        return pd.DataFrame(found.weights, index=index, columns=list(levels))
    mean = (found.weights * found.means).sum(axis=1)
    squares = found.sds**2 + (found.means - mean[:, None]) ** 2
    columns = {"mean": mean, "sd": np.sqrt((found.weights * squares).sum(axis=1))}
    limits = mixture_quantiles(found, list(quantiles))
    columns |= {f"q{100 * q:g}": limits[:, i] for i, q in enumerate(quantiles)}
    return pd.DataFrame(columns, index=index)


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


def log_predictive(averaged: Averaged, new: Any) -> pd.Series[float]:
    """The series of :meth:`Posterior.log_predictive`."""
    import pandas as pd

    values = read_rows(new, averaged.model.coding)
    logs, errors = averaged.log_predictive(values)
    index = getattr(new, "index", None)
    index = index if isinstance(index, pd.Index) else pd.RangeIndex(len(values))
    found = pd.Series(logs, index=index, name="log_predictive")
    found.attrs["mcse"] = errors.tolist()
    return found


def sample(
    averaged: Averaged, n_rows: int, do: Setting | None, rng: np.random.Generator
) -> pd.DataFrame:
    """Rows of networks, each with a DAG and parameters drawn for it."""
    model = averaged.model
    if model.given.any():
        raise OptionError(
            "rows of a time series depend on those before: they cannot be simulated one by one."
        )
    do = do or {}
    fixed = {name: np.atleast_1d(np.asarray(value, dtype=object)) for name, value in do.items()}
    rows = []
    for row, (drawn, dag) in enumerate(averaged.choose(n_rows, rng)):
        own = {name: value[row % len(value)] for name, value in fixed.items()}
        rows.append(drawn.sample_parameters(dag, rng).simulate(1, rng, own))
    values = np.concatenate(rows) if rows else np.zeros((0, len(model.names)))
    return to_frame(model.coding, values)


def parameters(model: NetworkModel | None, dag: Dag) -> dict[str, pd.DataFrame]:
    """The tables of :meth:`Posterior.parameters`, by variable."""
    found = require_model(model)
    families = zip(found.names, found.families(dag), strict=True)
    return {name: _table_of(found, family) for name, family in families if family}


def average_parameters(models: Sequence[NetworkModel], dag: Dag) -> dict[str, pd.DataFrame]:
    """The same averaged over models of tables that were completed differently.

    Variances add up: that within tables and that of the means between them. Limits are as many
    standard deviations from the mean as they are within a table.
    """
    import pandas as pd

    found = [parameters(model, dag) for model in models]
    averaged = {}
    for name, first in found[0].items():
        every = [one[name] for one in found]
        if "sd" not in first.columns or "term" not in first.columns:
            averaged[name] = sum(every[1:], start=first) / len(every)
            continue
        means, sds, upper = (np.stack([one[c] for one in every]) for c in ("mean", "sd", "upper"))
        mean, sd = means.mean(axis=0), np.sqrt((sds**2).mean(axis=0) + means.var(axis=0))
        reach = sd * ((upper - means) / sds).mean(axis=0)
        changed = {"mean": mean, "sd": sd, "lower": mean - reach, "upper": mean + reach}
        averaged[name] = pd.DataFrame({**first, **changed})
    return averaged


def _table_of(model: NetworkModel, family: Sequence[Regression | Table]) -> pd.DataFrame:
    import pandas as pd

    first = family[0]
    if isinstance(first, Table):
        return _probabilities(model.coding, first)
    parts = [part for part in family if isinstance(part, Regression)]
    return pd.concat([_coefficients(model.coding, part) for part in parts], ignore_index=True)


def _states(coding: Coding, part: Regression | Table) -> tuple[list[str], list[tuple[str, ...]]]:
    """The names of categorical parents, and the levels of their states in order."""
    states = part.states
    if states.n_all > MOST_STATES:
        raise OptionError(
            f"the parents of {coding.names[coding.owner[part.child]]!r} have {states.n_all:,} "
            f"joint levels, and tables have at most {MOST_STATES:,} rows."
        )
    names = [coding.names[parent] for parent in states.parents]
    every = np.unravel_index(states.every(), states.sizes) if names else ()
    labels = [
        [(coding.levels[parent] or ())[code] for code in codes]
        for parent, codes in zip(states.parents, every, strict=True)
    ]
    return names, list(zip(*labels, strict=True)) if names else [()]


def _probabilities(coding: Coding, part: Table) -> pd.DataFrame:
    """A conditional probability table: one row for each state of the parents."""
    import pandas as pd

    names, states = _states(coding, part)
    weights = part.weights[part.states.places(part.states.every())]
    means = weights / weights.sum(axis=1, keepdims=True)
    index = pd.MultiIndex.from_tuples(states, names=names) if names else pd.RangeIndex(1)
    columns = pd.Index(coding.levels[part.child] or (), name=coding.names[part.child])
    return pd.DataFrame(means, index=index, columns=columns)


def _coefficients(coding: Coding, part: Regression) -> pd.DataFrame:
    """A regression in the units of the data: coefficient, mean, sd and 95 % interval."""
    import pandas as pd
    from scipy.special import stdtrit

    names, states = _states(coding, part)
    place = part.states.places(part.states.every())
    terms = ["(intercept)", *(_term(coding, column) for column in part.parents)]
    rows = []
    for state, k in zip(states, place, strict=True):
        mean, covariance, noise = _in_units(coding, part, int(k))
        freedom = part.freedoms[k]
        spread = np.sqrt(np.diag(covariance))
        reach = stdtrit(freedom, 0.975) * spread
        sds = spread * (np.sqrt(freedom / (freedom - 2)) if freedom > 2 else np.nan)
        for term, m, sd, r in zip(terms, mean, sds, reach, strict=True):
            rows.append((_term(coding, part.child), *state, term, m, sd, m - r, m + r))
        rows.append((_term(coding, part.child), *state, "(noise sd)", noise, *[np.nan] * 3))
    columns = ["variable", *names, "term", "mean", "sd", "lower", "upper"]
    return pd.DataFrame(rows, columns=columns)


def _term(coding: Coding, column: int) -> str:
    """What a column is called: its variable, with a number if it has several columns."""
    v = int(coding.owner[column])
    if coding.codes[v] is None:
        return coding.names[v]
    return f"{coding.names[v]} (contrast {column - coding.columns_of(v)[0] + 1})"


def _in_units(coding: Coding, part: Regression, k: int) -> tuple[Floats, Floats, float]:
    """Mean and scale matrix of (intercept, slopes) in the units of the data, and the noise."""
    parents = list(part.parents)
    size = len(parents)
    owners = coding.owner[parents]
    ratio = coding.scales[coding.owner[part.child]] / coding.scales[owners]
    inverse = np.linalg.inv(part.roots[k].T @ part.roots[k]) if size else np.zeros((0, 0))
    scale = part.residuals[k] / part.freedoms[k]
    own = coding.owner[part.child]
    # intercept = shift + s (level - b'centre) - sum b ratio shift_u, linear in (level, b)
    change = np.zeros((size + 1, size + 1))
    change[0, 0] = coding.scales[own]
    change[0, 1:] = -coding.scales[own] * part.centres[k] - ratio * coding.shifts[owners]
    change[1:, 1:] = np.diag(ratio)
    mean = change @ np.concatenate([[part.levels[k]], part.slopes[k]])
    mean[0] += coding.shifts[own]
    square = np.zeros((size + 1, size + 1))
    square[0, 0], square[1:, 1:] = 1.0 / part.weights[k], inverse
    return mean, change @ (scale * square) @ change.T, float(np.sqrt(scale) * coding.scales[own])

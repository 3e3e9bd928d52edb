"""The parameters of a DAG as tables people know: coefficients, conditional probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from outpoint.arrays import Floats
from outpoint.errors import OptionError
from outpoint.models import Coding, NetworkModel
from outpoint.models.conditionals import Regression, Table

if TYPE_CHECKING:
    import pandas as pd

    from outpoint.graphs import Dag

MOST_STATES = 10_000
"""Rows of the tables of one DAG."""


def tabulate_parameters(model: NetworkModel, dag: Dag) -> dict[str, pd.DataFrame]:
    """The tables of :meth:`Posterior.parameters`, by variable."""
    families = zip(model.names, model.families(dag), strict=True)
    return {name: _table_of(model, family) for name, family in families if family}


def average_parameters(models: Sequence[NetworkModel], dag: Dag) -> dict[str, pd.DataFrame]:
    """The tables of :func:`tabulate_parameters`, averaged over models of completed tables.

    Variances add up: that within tables and that of the means between them. Limits are as many
    standard deviations from the mean as they are within a table.
    """
    import pandas as pd

    found = [tabulate_parameters(model, dag) for model in models]
    averaged = {}
    for name, first in found[0].items():
        every = [one[name] for one in found]
        if "sd" not in first.columns or "term" not in first.columns:
            averaged[name] = sum(every[1:], start=first) / len(every)
            continue
        means, sds, lower, upper = (
            np.stack([one[column] for one in every]) for column in ("mean", "sd", "lower", "upper")
        )
        mean, sd = means.mean(axis=0), np.sqrt((sds**2).mean(axis=0) + means.var(axis=0))
        below, above = (((limit - means) / sds).mean(axis=0) for limit in (lower, upper))
        changed = {"mean": mean, "sd": sd, "lower": mean + below * sd, "upper": mean + above * sd}
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
            f"joint levels, but tables have at most {MOST_STATES:,} rows."
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
        rows.append((_term(coding, part.child), *state, "(noise sd)", *_noise(noise, freedom)))
    columns = ["variable", *names, "term", "mean", "sd", "lower", "upper"]
    return pd.DataFrame(rows, columns=columns)


def _noise(scale: float, freedom: float) -> tuple[float, float, float, float]:
    """Mean, sd and 95 % interval of sigma: freedom scale² / sigma² is chi-squared."""
    from scipy.special import chdtri, gammaln

    half = freedom / 2
    total = scale * np.sqrt(freedom)
    lower, upper = total / np.sqrt(chdtri(freedom, [0.025, 0.975]))
    if freedom <= 2:
        return float("nan"), float("nan"), float(lower), float(upper)
    mean = total / np.sqrt(2) * np.exp(gammaln(half - 0.5) - gammaln(half))
    variance = max(total**2 / (freedom - 2) - mean**2, 0.0)
    return float(mean), float(np.sqrt(variance)), float(lower), float(upper)


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

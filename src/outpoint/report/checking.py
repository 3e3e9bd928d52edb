"""A predictive check: whether columns are what the averaged model would make of such data.

Tables of as many rows, up to a limit, are simulated, each with a DAG and parameters of its own, and
some figures of every column are compared with those of the data. A figure that hardly any simulated
table reaches is a sign that the model does not describe the column, whatever the DAG.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from outpoint.arrays import Floats
from outpoint.data import Dataset
from outpoint.posterior import Posterior

N_TABLES = 100
MOST_CELLS = 4_000_000
"""Most cells that are simulated; larger tables are compared with fewer simulated ones."""
LEAST_TABLES = 20
MOST_IN_TABLE = 1_000_000
"""Most cells of each simulated table; with larger data, only some rows are compared."""
LEAST_SPIKE = 0.1
"""Least share of rows with one and the same value that counts as a spike."""
RARE = 0.02
"""Share of simulated tables below which a figure counts as odd."""


def _skewness(values: Floats) -> float:
    gaps = values - values.mean()
    return float((gaps**3).mean() / max((gaps**2).mean(), 1e-300) ** 1.5)


def _farthest(values: Floats) -> float:
    return float(np.abs(values - values.mean()).max() / max(values.std(), 1e-300))


def _most_frequent(values: Floats) -> float:
    """The share of the value that occurs most often; 0 if that may be due to rounding."""
    share = float(np.unique(values, return_counts=True)[1].max() / len(values))
    return share if share >= LEAST_SPIKE else 0.0


FIGURES: dict[str, Callable[[Floats], float]] = {
    "skewness": _skewness,
    "farthest value, in standard deviations": _farthest,
    "share of the commonest value": _most_frequent,
}


@dataclass(frozen=True)
class Oddity:
    """A figure of a column that the model hardly ever has."""

    column: str
    figure: str
    observed: float
    lower: float
    upper: float
    """Where 95 % of the simulated tables lie."""


@dataclass(frozen=True)
class Check:
    """What is odd, of how many columns, next to how many simulated tables of how many rows."""

    odd: list[Oddity]
    n_columns: int
    n_tables: int
    n_rows: int
    n_obs: int


def check_columns(posterior: Posterior, data: Dataset | None) -> Check | None:
    """The check; None without data, without a model, for series and for experiments."""
    is_usable = data is not None and data.is_complete and data.names == posterior.names
    if data is None or not is_usable or posterior.network_model is None:
        return None
    if posterior.is_series or data.is_set.any():
        return None
    n_rows = min(data.n_obs, max(1, MOST_IN_TABLE // len(data.names)))
    rows = np.random.default_rng(data.n_obs).permutation(data.n_obs)[:n_rows]
    observed = data.values[np.sort(rows)]
    n_tables = int(np.clip(MOST_CELLS // observed.size, LEAST_TABLES, N_TABLES))
    tables = posterior.replicate(n_tables, n_rows)
    odd = []
    for v, (name, levels) in enumerate(zip(data.names, data.levels, strict=True)):
        if levels is not None:
            continue  # counts of levels are fitted, whatever they are
        for what, figure in FIGURES.items():
            seen = figure(observed[:, v])
            made = np.array([figure(table[:, v]) for table in tables])
            share = min((made >= seen).mean(), (made <= seen).mean())
            if share <= RARE and seen not in made:
                limits = np.quantile(made, [0.025, 0.975]).tolist()
                odd.append(Oddity(name, what, seen, *limits))
    n_columns = int(sum(one is None for one in data.levels))
    return Check(odd, n_columns, n_tables, n_rows, data.n_obs)

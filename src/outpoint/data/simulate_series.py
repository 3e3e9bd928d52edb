"""Series simulated from a dynamic network: the same edges and coefficients at every time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from outpoint.arguments import NAMES, takes
from outpoint.arrays import Booleans, Floats
from outpoint.data.dataset import lagged_name
from outpoint.data.simulate import (
    GRAPH,
    MOST_ROWS,
    NUMBERS,
    Coefficients,
    DagLike,
    ancestral_order,
    draw_weights,
    noise_of,
)
from outpoint.errors import OptionError
from outpoint.graphs.random import Seed, make_generator
from outpoint.kinds import whole
from outpoint.naming import named

if TYPE_CHECKING:
    import pandas as pd

BEFORE = 100
"""Times that are left out at the beginning, so that it does not matter how a series starts."""

MOST_PERSISTENT = 0.95
"""Largest modulus of what a series carries over from one time to the next."""


@takes(
    dag=GRAPH,
    n_times=whole(1, MOST_ROWS),
    n_subjects=whole(1, MOST_ROWS),
    coefficients=NUMBERS,
    noise_sd=NUMBERS,
    static=NAMES,
)
def simulate_series(
    dag: DagLike,
    n_times: int,
    rng: Seed = None,
    *,
    n_subjects: int = 1,
    static: Sequence[str] = (),
    coefficients: Coefficients = (0.3, 0.6),
    noise_sd: float = 1.0,
) -> pd.DataFrame:
    """Simulate Gaussian series from a dynamic network.

    Parameters
    ----------
    dag
        A DAG over variables ``x`` and their earlier values ``x[-1]``, ``x[-2]``, ..., as the
        posterior of a series has them; edges point at variables of the time itself.
    n_times
        Rows of each subject.
    rng
        A seed or a NumPy generator.
    n_subjects
        Number of independent series.
    static
        Nodes without parents whose value does not change within a series.
    coefficients, noise_sd
        Edge coefficients, as for :func:`simulate`, and the standard deviation of the noise. What
        would let a series explode is scaled down.

    Returns
    -------
    pandas.DataFrame
        The columns ``subject`` (if there are several) and ``time``, then the variables.
    """
    import pandas as pd

    generator = make_generator(rng)
    variables, place = _variables(dag, static)
    weights = draw_weights(dag, coefficients, generator)
    spread = float(noise_of(noise_sd, 1)[0])
    within, before = _matrices(weights, variables, place, len(dag.names))
    rows, is_static = [], np.isin(variables, static)
    for _ in range(n_subjects):
        noise = spread * generator.standard_normal((BEFORE + n_times, len(variables)))
        noise[:, is_static] = noise[0, is_static]
        values = np.zeros_like(noise)
        for t in range(len(values)):
            past = sum(
                (values[t - 1 - i] @ own for i, own in enumerate(before) if t > i), np.zeros(1)
            )
            values[t] = (noise[t] + past) @ within
        rows.append(values[BEFORE:])
    frame = pd.DataFrame(np.concatenate(rows), columns=list(variables))
    frame.insert(0, "time", np.tile(np.arange(n_times), n_subjects))
    if n_subjects > 1:
        frame.insert(0, "subject", np.repeat([f"s{i}" for i in range(n_subjects)], n_times))
    return frame


def lagged_nodes(dag: DagLike) -> set[str]:
    """The nodes that are earlier values of others; a DAG with any is a dynamic network."""
    lags = range(1, len(dag.names))
    return {lagged_name(name, lag) for name in dag.names for lag in lags} & set(dag.names)


def _variables(dag: DagLike, static: Sequence[str]) -> tuple[tuple[str, ...], dict[str, int]]:
    """The variables of the time itself, static ones included, and the places of all nodes."""
    ancestral_order(dag)  # refuses cycles
    place = {name: i for i, name in enumerate(dag.names)}
    lagged = lagged_nodes(dag)
    variables = tuple(name for name in dag.names if name not in lagged)
    if not lagged:
        raise OptionError(
            "The graph is not that of a series: it has no node such as "
            f"{lagged_name(dag.names[0], 1)!r}; use simulate."
        )
    adjacency: Booleans = np.asarray(dag.adjacency, dtype=bool)
    unknown = [name for name in static if name not in variables]
    if unknown:
        raise OptionError(
            f"{named('static')} names {unknown[0]!r}, which is not one of its variables."
        )
    for name in (*sorted(lagged), *static):
        if adjacency[:, place[name]].any():
            what = "an earlier value" if name in lagged else "static"
            raise OptionError(f"{name!r} is {what} and cannot have parents.")
    taken = {"subject", "time"} & set(variables)
    if taken:
        raise OptionError(
            f"A variable is called {taken.pop()!r}, like the column that tells rows apart: "
            "rename it."
        )
    return variables, place


def _matrices(
    weights: Floats, variables: tuple[str, ...], place: dict[str, int], n_nodes: int
) -> tuple[Floats, list[Floats]]:
    """(I - B)^-1 of the edges within a time, and the coefficients of each lag, scaled down."""
    now = [place[name] for name in variables]
    n = len(variables)
    within: Floats = np.linalg.inv(np.eye(n) - weights[np.ix_(now, now)]).astype(np.float64)
    before: list[Floats] = []
    for lag in range(1, n_nodes):
        own = np.zeros((n, n))
        for i, name in enumerate(variables):
            if lagged_name(name, lag) in place:
                own[i] = weights[place[lagged_name(name, lag)], now]
        before.append(own)
    while len(before) > 1 and not before[-1].any():
        before.pop()
    while _persistence(within, before) > MOST_PERSISTENT:
        before = [0.9 * own for own in before]
    return within, before


def _persistence(within: Floats, before: list[Floats]) -> float:
    """The largest modulus of an eigenvalue of the companion matrix."""
    n, n_lags = len(within), len(before)
    companion = np.zeros((n * n_lags, n * n_lags))
    companion[:, :n] = np.concatenate([own @ within for own in before])
    companion[: n * (n_lags - 1), n:] = np.eye(n * (n_lags - 1))
    return float(np.abs(np.linalg.eigvals(companion)).max())

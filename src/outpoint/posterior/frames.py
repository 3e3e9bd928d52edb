"""Arrays of numbers as tables with names: what every answer of a posterior is wrapped in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from outpoint.arrays import Floats, Integers

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


def name_matrix(values: Floats, names: Sequence[str], rows: str, columns: str) -> pd.DataFrame:
    """A copy of a matrix, with the variables' names along its ``rows`` and ``columns``."""
    import pandas as pd

    return pd.DataFrame(
        values.copy(),
        index=pd.Index(list(names), name=rows),
        columns=pd.Index(list(names), name=columns),
    )


def name_draws(values: Floats, name: str) -> xr.DataArray:
    """A copy of numbers (chain, draw), with the chains' numbers."""
    import xarray as xr

    return xr.DataArray(
        values.copy(),
        dims=("chain", "draw"),
        coords={"chain": np.arange(len(values))},
        name=name,
    )


def rank_pairs(values: Floats) -> tuple[Integers, Integers]:
    """Rows and columns of a square matrix without its diagonal, largest value first.

    Values that differ by rounding errors only, as those of an edge and its reversal may, stay in
    the order of the matrix, which is then the same on every machine.
    """
    rows, columns = np.nonzero(~np.eye(len(values), dtype=np.bool_))
    ranked = np.argsort(-values[rows, columns].round(10), kind="stable")
    return rows[ranked], columns[ranked]

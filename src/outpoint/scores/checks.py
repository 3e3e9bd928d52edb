"""Data on which a score is defined but says little: refused, unless the user insists."""

from math import inf
from typing import Any

import numpy as np

from outpoint.data import Dataset
from outpoint.errors import DataError

_GO_ON = "or go on with allow_degenerate=True (--allow-degenerate)"


def refuse_degenerate(data: Dataset, score: str, allowed: bool) -> None:
    """Refuse constant columns, identical columns and fewer rows than columns.

    Declared but unobserved levels make a constant categorical column meaningful, so only a
    column that cannot take a second value counts as constant there.
    """
    if allowed:
        return
    constant = [
        name
        for name in data.constant_columns
        if (levels := data.levels[data.index(name)]) is None or len(levels) == 1
    ]
    if constant:
        raise DataError(
            f"column {constant[0]!r} is constant, so the data say nothing about its edges: "
            f"drop it, {_GO_ON}."
        )
    if data.identical_columns:
        first, second = data.identical_columns[0]
        raise DataError(
            f"columns {first!r} and {second!r} are identical: {score} stays defined, but no data "
            "can tell the two apart, so every edge of one is shared out between both: "
            f"drop one of them, {_GO_ON}."
        )
    if data.n_obs < data.n_nodes:
        raise DataError(
            f"the table has fewer rows ({data.n_obs}) than columns ({data.n_nodes}): {score} stays "
            f"defined, but its prior would decide most edges: drop columns, {_GO_ON}."
        )


def is_positive_number(value: Any) -> bool:
    """Whether a setting is a finite number above 0."""
    if isinstance(value, bool) or not isinstance(value, float | int | np.number):
        return False
    return bool(0 < value < inf)

"""Columns of objects that fail when they are looked at: the sentence names the column."""

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from tests.attacks.hostile_values import Failing, Remote

GOOD = np.random.default_rng(5).normal(size=(12, 2))
CELLS: dict[str, Any] = {
    "fails in everything": Failing(),
    "cannot be shown": Failing("str", "repr"),
    "cannot be compared": Failing("eq", "hash"),
    "cannot be looked up": Remote(),
    "signalling NaN": Decimal("sNaN"),
    "signalling NaN with digits": Decimal("-sNaN123"),
    "beyond floating point": 10**400,
    "beyond text": 10**5000,
}


def made(cell: Any, how: str) -> Any:
    """A table with one hostile cell in the column of which the sentence speaks."""
    column = GOOD[:, 1].astype(object)
    column[-1] = cell
    if how == "frame":
        return pd.DataFrame({"good": GOOD[:, 0], "x2": column})
    if how == "array":
        return np.column_stack([GOOD[:, 0].astype(object), column])
    return [list(row) for row in zip(GOOD[:, 0].tolist(), column, strict=True)]


@pytest.mark.attack("objects in tables that fail when looked at", "the sentence names the column")
@pytest.mark.parametrize("how", ["frame", "array", "rows"])
@pytest.mark.parametrize("cell", CELLS.values(), ids=list(CELLS))
def test_a_hostile_cell(cell: Any, how: str) -> None:
    """A cell that can be shown and compared makes a level; the column is named all the same."""
    with pytest.raises(op.DataError, match="'x2'") as caught:
        op.load_dataset(made(cell, how), strict=True)
    assert "\n" not in str(caught.value)


@pytest.mark.attack("objects in tables that fail when looked at")
@pytest.mark.parametrize("label", ["fails in everything", "signalling NaN"])
def test_the_words(label: str) -> None:
    with pytest.raises(op.DataError, match="Column 'x2' cannot be read: looking at its values"):
        op.load_dataset(made(CELLS[label], "frame"))


@pytest.mark.attack("objects in tables that fail when looked at")
def test_new_rows() -> None:
    posterior = op.learn(pd.DataFrame(GOOD, columns=["good", "x2"]), seed=1)
    for label in ("fails in everything", "signalling NaN"):
        with pytest.raises(op.DataError, match="'x2'"):
            posterior.predict(made(CELLS[label], "frame"), "good")

"""Columns that determine each other, and columns that only look alike."""

import time

import numpy as np
import pytest

from outpoint.data import Dataset
from outpoint.data.copies import find_copies

RNG = np.random.default_rng(5)
X = RNG.normal(size=200)


def pairs(*columns: np.ndarray, continuous: bool = True) -> list[tuple[int, int]]:
    return find_copies(np.column_stack(columns), [continuous] * len(columns))


LINEAR = {
    "double": 2 * X,
    "negative": -X,
    "Fahrenheit": 32 + 1.8 * X,
    "far away": 1e6 + X,
    "tiny": 1e-200 * X,
    "huge": 1e200 * X,
    "through text": np.array([float(f"{value:.17g}") for value in 0.1 + 0.7 * X]),
}


@pytest.mark.parametrize("copy", LINEAR.values(), ids=LINEAR.keys())
def test_linear_copies(copy: np.ndarray) -> None:
    assert pairs(X, RNG.normal(size=200), copy) == [(0, 2)]
    assert pairs(copy, X) == [(0, 1)]


NO_COPIES = {
    "one value differs a little": X + np.eye(200)[7] * 1e-6,
    "rounded": (32 + 1.8 * X).round(1),
    "nearly": X + 1e-7 * RNG.normal(size=200),
    "square": X**2,
    "cube": X**3,
}


@pytest.mark.parametrize("other", NO_COPIES.values(), ids=NO_COPIES.keys())
def test_columns_that_are_no_copies(other: np.ndarray) -> None:
    assert pairs(X, other) == []


def test_all_pairs_of_several_copies() -> None:
    y = RNG.normal(size=200)
    assert pairs(X, y, 2 * X, 1 - y, -X) == [(0, 2), (0, 4), (1, 3), (2, 4)]


def test_constants_are_copies_only_if_equal() -> None:
    assert pairs(np.full(9, 2.0), np.full(9, 3.0), np.full(9, 2.0)) == [(0, 2)]
    assert pairs(np.zeros(9), np.ones(9), np.zeros(9), continuous=False) == [(0, 2)]


def test_levels_by_other_names() -> None:
    codes = np.array([0, 1, 2, 1, 0, 2.0])
    merged = np.minimum(codes, 1)
    assert pairs(codes, 2 - codes, merged, continuous=False) == [(0, 1)]


def test_kinds_do_not_mix() -> None:
    levels = (None, ("no", "yes"))
    assert Dataset(("a", "b"), [[0, 0], [1, 1], [0, 0]], levels).copied_columns == ()


def test_many_columns_take_seconds() -> None:
    values = RNG.normal(size=(100, 5000))
    values[:, 4000] = 3 - values[:, 17]
    start = time.monotonic()
    assert find_copies(values, [True] * 5000) == [(17, 4000)]
    assert time.monotonic() - start < 10

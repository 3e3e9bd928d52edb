"""Sums in log space and subset transforms."""

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outpoint.tables.logspace import (
    best_subsets,
    insert_bit,
    log_add,
    max_over_subsets,
    skip_bit,
    sum_over_subsets,
)
from tests.reference import log_sum_exp

fixed = settings(derandomize=True, deadline=None, max_examples=200)
logs = st.one_of(st.floats(-1e6, 1e6), st.just(-inf))


@fixed
@given(logs, logs)
def test_log_add(a: float, b: float) -> None:
    expected = log_sum_exp([a, b])
    assert log_add(a, b) == pytest.approx(expected, rel=1e-15, abs=1e-15)
    assert log_add(a, b) == log_add(b, a)
    assert log_add(a, b) >= max(a, b)


@pytest.mark.parametrize("gap", [0.0, 1e-9, 1.0, 30.0, 36.0, 39.9, 40.1, 700.0, 800.0])
def test_log_add_near_zero_keeps_what_a_double_can_hold(gap: float) -> None:
    assert log_add(0.0, -gap) == pytest.approx(np.log1p(np.exp(-gap)), abs=5e-18)


def test_nothing_plus_nothing_is_nothing() -> None:
    assert log_add(-inf, -inf) == -inf
    assert log_add(-inf, -3.0) == -3.0


def scores(seed: int, n_bits: int, spread: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = rng.normal(scale=spread, size=1 << n_bits)
    values[rng.random(values.size) < 0.3] = -inf
    return values


@pytest.mark.parametrize("spread", [1.0, 100.0, 5000.0])
@pytest.mark.parametrize("n_bits", [0, 1, 2, 5])
def test_transforms_against_direct_sums(n_bits: int, spread: float) -> None:
    values = scores(n_bits, n_bits, spread)
    sums, tops = values.copy(), values.copy()
    sum_over_subsets(sums)
    max_over_subsets(tops)
    which = best_subsets(values)
    masks = range(values.size)
    for mask in masks:
        below = [values[s] for s in masks if s & ~mask == 0]
        assert sums[mask] == pytest.approx(log_sum_exp(below), abs=1e-10)
        assert tops[mask] == max(below)
        assert which[mask] & ~mask == 0
        assert values[which[mask]] == max(below)


@fixed
@given(st.integers(0, 2**20 - 1), st.integers(0, 20))
def test_bits_are_left_out_and_put_back(mask: int, position: int) -> None:
    digits = [mask >> i & 1 for i in range(22)]
    shorter = digits[:position] + digits[position + 1 :]
    longer = [*digits[:position], 0, *digits[position:]]
    assert skip_bit(mask, position) == sum(bit << i for i, bit in enumerate(shorter))
    assert insert_bit(mask, position) == sum(bit << i for i, bit in enumerate(longer))
    assert skip_bit(insert_bit(mask, position), position) == mask

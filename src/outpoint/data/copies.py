"""Columns that say the same as another one, which no score can tell apart.

Continuous columns are compared after standardising, categorical ones after numbering their levels
by first occurrence. A projection on one fixed random direction brings copies next to each other, so
that the time grows with the number of columns and not with the number of pairs.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from outpoint.arrays import Floats

_ROUNDINGS = 64.0
"""Copies may differ by this many units of the last digit of their largest value."""


def find_copies(values: Floats, continuous: Sequence[bool]) -> list[tuple[int, int]]:
    """Pairs of positions, in order, of columns of one kind that determine each other.

    Columns with missing values are compared if they lack the same ones.
    """
    pairs = []
    missing = np.isnan(values)
    groups: dict[tuple[bool, bytes], list[int]] = {}
    for v, one in enumerate(continuous):
        groups.setdefault((bool(one), missing[:, v].tobytes()), []).append(v)
    for (is_continuous, _), chosen in groups.items():
        find = _linear_copies if is_continuous else _relabelled_copies
        present = values[~missing[:, chosen[0]]][:, chosen]
        pairs += [(chosen[a], chosen[b]) for a, b in find(present)]
    return sorted(pairs)


def _linear_copies(values: Floats) -> list[tuple[int, int]]:
    """Pairs with ``y = a + b x`` up to rounding; constants only if they are equal."""
    constant = (values == values[0]).all(axis=0)
    pairs = _same_bytes(values, np.flatnonzero(constant))
    moving = np.flatnonzero(~constant)
    if moving.size < 2:
        return pairs
    unit, tolerance = _standardize(values[:, moving])
    direction = np.random.default_rng(0).normal(size=values.shape[0])
    place = np.abs(direction @ unit)
    reach = tolerance * np.abs(direction).sum()
    order = np.argsort(place, kind="stable")
    for i, a in enumerate(order):
        for b in order[i + 1 :]:
            if place[b] - place[a] > reach[a] + reach[b]:
                break
            sign = 1.0 if unit[:, a] @ unit[:, b] > 0 else -1.0
            if np.abs(unit[:, a] - sign * unit[:, b]).max() <= tolerance[a] + tolerance[b]:
                pairs.append((int(moving[min(a, b)]), int(moving[max(a, b)])))
    return pairs


def _standardize(values: Floats) -> tuple[Floats, Floats]:
    """Columns with mean 0 and length 1, and how much rounding may have moved their entries."""
    largest = np.abs(values).max(axis=0)
    scaled = values / largest  # squares of huge or tiny values stay finite
    centred = scaled - scaled.mean(axis=0)
    length = np.sqrt((centred**2).sum(axis=0))
    tolerance = _ROUNDINGS * np.finfo(np.float64).eps / length
    return centred / length, tolerance


def _relabelled_copies(codes: Floats) -> list[tuple[int, int]]:
    """Pairs whose levels correspond one to one in the data; constants only if they are equal."""
    canonical = codes.copy()
    for v in range(codes.shape[1]):
        _, first, inverse = np.unique(codes[:, v], return_index=True, return_inverse=True)
        if first.size > 1:
            canonical[:, v] = np.argsort(np.argsort(first))[inverse]
    return _same_bytes(canonical, np.arange(codes.shape[1]))


def _same_bytes(values: Floats, chosen: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    groups: dict[bytes, list[int]] = {}
    for v in chosen:
        groups.setdefault(values[:, v].tobytes(), []).append(int(v))
    return [(a, b) for group in groups.values() for a in group for b in group if a < b]

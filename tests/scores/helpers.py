"""Data sets and access to single families, shared by the tests of scores."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from outpoint.data import Dataset
from outpoint.scores import FamilyScorer
from tests.reference import subsets


def letters(n: int) -> tuple[str, ...]:
    return tuple("abcdefghijklmnopqrstuvwxyz"[:n])


def continuous(values: ArrayLike) -> Dataset:
    values = np.asarray(values, dtype=np.float64)
    return Dataset(letters(values.shape[1]), values)


def categorical(codes: ArrayLike, cardinalities: Sequence[int]) -> Dataset:
    levels = tuple(tuple(f"level {k}" for k in range(r)) for r in cardinalities)
    return Dataset(letters(len(levels)), np.asarray(codes, dtype=np.float64), levels)


def mixed(values: ArrayLike, cardinalities: Sequence[int]) -> Dataset:
    """Columns of both kinds; a cardinality of 0 is that of a continuous one."""
    levels = tuple(tuple(f"level {k}" for k in range(r)) if r else None for r in cardinalities)
    return Dataset(letters(len(levels)), np.asarray(values, dtype=np.float64), levels)


def dependent_mixture(
    rng: np.random.Generator, n_obs: int, cardinalities: Sequence[int]
) -> np.ndarray:
    """Columns of both kinds, each of which follows a latent one that depends on those before."""
    latent = dependent_values(rng, n_obs, len(cardinalities))
    values = latent.copy()
    for v, r in enumerate(cardinalities):
        if r:
            cuts = np.quantile(latent[:, v], np.arange(1, r) / r)
            values[:, v] = np.searchsorted(cuts, latent[:, v])
    return values


def dependent_values(rng: np.random.Generator, n_obs: int, n: int) -> np.ndarray:
    """Gaussian columns of which each depends on some earlier ones, with means away from 0."""
    values = rng.normal(rng.normal(size=n), 1.0, size=(n_obs, n))
    for v in range(1, n):
        values[:, v] += values[:, :v] @ (rng.normal(size=v) * (rng.random(v) < 0.5))
    return values


def dependent_codes(
    rng: np.random.Generator, n_obs: int, cardinalities: Sequence[int]
) -> np.ndarray:
    """Categorical columns, half of the entries being copies of the column before."""
    codes = np.column_stack([rng.integers(0, r, n_obs) for r in cardinalities])
    for v in range(1, len(cardinalities)):
        copied = rng.random(n_obs) < 0.5
        codes[copied, v] = codes[copied, v - 1] % cardinalities[v]
    return codes


def family(scorer: FamilyScorer, child: int, parents: Sequence[int]) -> float:
    rows = np.array(parents, dtype=np.int16).reshape(1, len(parents))
    scores = scorer.families(child, rows)
    assert scores.shape == (1,)
    return float(scores[0])


def all_families(n: int, max_parents: int | None = None) -> list[tuple[int, tuple[int, ...]]]:
    return [(v, s) for v in range(n) for s in subsets(set(range(n)) - {v}, max_parents)]

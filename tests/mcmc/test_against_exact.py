"""Every unbiased sampler against the exact posterior of real-sized data.

Sixteen chains give each edge a mean and a standard error; a floor covers edges so rare that their
error cannot be estimated. With 56 edges of 8 nodes and 15 degrees of freedom, five standard errors
are exceeded by chance in about one of a hundred seeds; the seeds are fixed.
"""

import numpy as np
import pytest

import outpoint as op

N_CHAINS = 16
FLOOR = 0.002
RAW = op.BGe(standardize=False)


def largest_deviation(data: op.Dataset, method: str, steps: int, **options: object) -> float:
    """Largest |error| / (standard error + floor) over all edges."""
    exact = op.learn(data, method="exact", **options).edge_probabilities.to_numpy()
    sampled = op.learn(data, method=method, chains=N_CHAINS, steps=steps, seed=5, **options)
    error = np.abs(sampled.edge_probabilities.to_numpy() - exact)
    standard_error = sampled.chain_edges.std(axis=0, ddof=1) / np.sqrt(N_CHAINS)
    return float((error / (standard_error + FLOOR)).max())


@pytest.mark.parametrize(
    ("method", "steps"),
    [
        ("mcmc", 5_000),
        ("partition", 100_000),
        ("partition+rev", 100_000),
        ("structure+rev", 150_000),
    ],
)
def test_categorical_data(method: str, steps: int) -> None:
    assert largest_deviation(op.datasets.asia(), method, steps) < 5


def test_order_mcmc_is_caught_by_the_same_check() -> None:
    assert largest_deviation(op.datasets.asia(), "order", 50_000) > 10


@pytest.mark.long
@pytest.mark.parametrize(("method", "steps"), [("mcmc", 60_000), ("partition+rev", 4_000_000)])
def test_boston_housing(method: str, steps: int) -> None:
    assert largest_deviation(op.datasets.boston(), method, steps, score=RAW, max_parents=3) < 5

"""What completed tables are sampled without is measured, found where it matters, and told.

Eight variables are solved exactly, too, with which the sampled runs are compared.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint import augmentation
from outpoint.missing import widening
from outpoint.posterior.augmented import AugmentedPosterior
from outpoint.processors import limited_threads
from outpoint.scores.base import count_subsets

TOLERANCE = 0.03
"""About six standard errors of an edge in runs of these lengths."""

SHORT = {"seed": 1, "chains": 2, "progress": False}


@pytest.fixture(autouse=True, scope="module")
def single_thread() -> Iterator[None]:
    with limited_threads(1):
        yield


def copies() -> pd.DataFrame:
    """Near-copies of two variables, and others that follow from them; a tenth is missing."""
    rng = np.random.default_rng(5)
    hidden, values = rng.normal(size=(150, 2)), rng.normal(size=(150, 8))
    values[:, :5] = hidden[:, [0, 1, 0, 1, 0]] + 0.5 * values[:, :5]
    values[:, 5] += values[:, :3].sum(axis=1)
    values[:, 6] += 0.8 * values[:, 5]
    values[:, 7] += 0.6 * values[:, 3]
    return pd.DataFrame(values, columns=list("abcdefgh")).mask(rng.random((150, 8)) < 0.1)


def hub() -> pd.DataFrame:
    """Six parents of one variable, and a child of it; a tenth is missing."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=(150, 8))
    values[:, 6] += values[:, :6].sum(axis=1)
    values[:, 7] += values[:, 6]
    return pd.DataFrame(values, columns=list("abcdefgh")).mask(rng.random((150, 8)) < 0.1)


def sampled(table: pd.DataFrame, steps: int = 300, **options: object) -> AugmentedPosterior:
    post = op.learn(table, method="mcmc", steps=steps, **{**SHORT, **options})
    assert isinstance(post, AugmentedPosterior)
    return post


@pytest.fixture(scope="module")
def exact() -> np.ndarray:
    with limited_threads(1):
        return op.learn(copies(), steps=300, **SHORT).edge_probabilities.to_numpy()


def test_nothing_is_excluded_where_all_are_candidates(exact: np.ndarray) -> None:
    post = sampled(copies())
    assert post.missing_mass is not None
    assert not post.missing_mass.any()
    assert np.abs(post.edge_probabilities.to_numpy() - exact).max() < TOLERANCE
    assert post.converged


def test_the_estimate_is_what_excluded_edges_have(exact: np.ndarray) -> None:
    """One or two edges into each variable are excluded, so that sets are one step away."""
    post = sampled(copies(), n_candidates=6)
    error = np.abs(post.edge_probabilities.to_numpy() - exact).max(axis=0)
    assert post.missing_change is not None
    assert error.max() > 0.05
    assert np.abs(post.missing_change - error).max() < TOLERANCE
    assert not post.converged
    assert "although the chains agree" in post.verdict
    assert "never admitted" in post.verdict


def test_few_candidates_are_told() -> None:
    post = sampled(copies(), 60, n_candidates=3)
    assert post.missing_change is not None
    assert post.missing_change.max() > 0.025
    assert not post.converged


@pytest.fixture
def pairs_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if there were so many variables that only pairs of parents could be listed."""
    monkeypatch.setattr(widening, "FIRST_FAMILIES", 0)


@pytest.mark.usefixtures("pairs_at_first")
def test_a_node_of_many_parents_gets_them() -> None:
    post = sampled(hub(), 60)
    assert (post.edge_probabilities.loc[list("abcdef"), "g"] > 0.99).all()
    assert post.missing_mass is not None
    assert post.missing_mass.max() < 0.01


@pytest.mark.usefixtures("pairs_at_first")
def test_a_node_gets_what_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as many parents would be one family too many, six are not."""
    n = len(hub().columns)
    all_but_one = count_subsets(n - 1, 2) * (n - 1)
    monkeypatch.setattr(widening, "MOST_FAMILIES", all_but_one + count_subsets(n - 1, 6))
    post = sampled(hub(), 60)
    assert (post.edge_probabilities.loc[list("abcdef"), "g"] > 0.99).all()


@pytest.mark.usefixtures("pairs_at_first")
def test_without_widening_the_verdict_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(augmentation, "MOST_WIDENINGS", 0)
    post = sampled(hub(), 60)
    assert (post.edge_probabilities.loc[list("abcdef"), "g"] < 0.99).any()
    assert post.missing_mass is not None
    assert post.missing_mass["g"] > 0.2
    assert not post.converged


def test_a_file_knows_what_was_excluded(tmp_path: Path) -> None:
    post = sampled(copies(), 20, n_candidates=4)
    post.save(tmp_path / "post.npz")
    again = op.load(tmp_path / "post.npz")
    assert again.verdict == post.verdict

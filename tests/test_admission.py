"""Large parent sets that few candidates leave out: found by need, or told of, from end to end."""

from functools import lru_cache

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint.posterior import SampledPosterior
from outpoint.posterior.sampled import MISSING_CHANGE
from outpoint.tables import build

N = 9
LIMIT = N - 1


@lru_cache
def near_copies() -> pd.DataFrame:
    """y depends on three variables, each of which has a double, and there are two others."""
    rng = np.random.default_rng(4)
    base = rng.normal(size=(150, 3))
    doubles = base + 0.1 * rng.normal(size=base.shape)
    others = rng.normal(size=(150, 2))
    y = base.sum(axis=1) + rng.normal(size=150)
    names = ["x0", "x1", "x2", "c0", "c1", "c2", "n0", "n1", "y"]
    return pd.DataFrame(np.column_stack([base, doubles, others, y]), columns=names)


@lru_cache
def exact_edges() -> np.ndarray:
    exact = op.learn(near_copies(), method="exact", max_parents=LIMIT)
    return exact.edge_probabilities.to_numpy()


@pytest.fixture
def few_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only single parents are all scored, and two candidates are usual: as if N were large."""
    monkeypatch.setattr(build, "MAX_FAMILIES", 100)
    monkeypatch.setattr(build, "ALL_CANDIDATES", 5)
    monkeypatch.setattr(build, "USUAL_CANDIDATES", 2)


def sample(n_candidates: int | None) -> tuple[SampledPosterior, float]:
    """A posterior, and its largest error."""
    posterior = op.learn(
        near_copies(),
        method="mcmc",
        max_parents=LIMIT,
        n_candidates=n_candidates,
        steps=8000,
        seed=1,
    )
    assert isinstance(posterior, SampledPosterior)
    error = np.abs(posterior.edge_probabilities.to_numpy() - exact_edges()).max()
    return posterior, float(error)


@pytest.mark.usefixtures("few_sets")
def test_a_node_gets_as_many_candidates_as_it_uses() -> None:
    posterior, error = sample(None)
    numbers = dict(zip(posterior.names, (posterior.candidates >= 0).sum(axis=1), strict=True))
    assert numbers["y"] >= 6, "three variables and their doubles"
    assert min(numbers.values()) < 6
    assert error < 0.05
    assert posterior.missing_change.max() < MISSING_CHANGE


@pytest.mark.usefixtures("few_sets")
def test_what_was_never_admitted_is_told() -> None:
    posterior, error = sample(2)
    assert error > 0.1, "the table lacks what matters"
    assert not posterior.converged
    assert posterior.missing_mass.idxmax() == "y"
    assert posterior.missing_mass["y"] > 0.1
    assert "y (about" in posterior.verdict
    assert "would change the answer" in posterior.verdict

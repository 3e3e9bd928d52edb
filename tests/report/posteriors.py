"""Posteriors to draw: exact and sampled ones of any size within seconds, and names that hurt."""

from functools import cache

import numpy as np
import pandas as pd

import outpoint as op
from outpoint.posterior import ExactPosterior, Posterior, RunInfo, SampledPosterior

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "__proto__",
    "\"double\" & 'single'",
    "$\\frac$",
    "naïve 🙂 日本",
    "long " * 40,
    "tab\tand\nline\u2028end",
    "{{ 7 * 7 }}",
)


@cache
def exact(n: int = 5, seed: int = 1) -> ExactPosterior:
    posterior = op.learn(_data(n, seed), method="exact", seed=seed)
    assert isinstance(posterior, ExactPosterior)
    return posterior


@cache
def sampled(n: int = 5, chains: int = 3, names: tuple[str, ...] = ()) -> SampledPosterior:
    data = _data(n, 1, names)
    posterior = op.learn(
        data,
        method="mcmc",
        chains=chains,
        steps=400,
        draws=60,
        seed=2,
        max_parents=2,
        n_candidates=min(4, n - 1),
    )
    assert isinstance(posterior, SampledPosterior)
    return posterior


def _data(n: int, seed: int, names: tuple[str, ...] = ()) -> op.Dataset:
    rng = np.random.default_rng(seed)
    data = op.simulate(op.random_dag(n, rng, max_parents=2), 4 * n, rng)
    return op.Dataset(names or data.names, data.values, source="simulated")


class Fabricated(Posterior):
    """A posterior made of given draws, with every kind of diagnostic; no run is needed."""

    def __init__(self, draws: np.ndarray, names: tuple[str, ...]) -> None:
        self.info = RunInfo(
            source="fabricated & <b>bold</b>",
            fingerprint="0" * 64,
            n_observations=100,
            score="bge",
            structure_prior="uniform",
            max_parents=3,
            method="mcmc",
            seed=7,
            version="0.0.0",
            elapsed_seconds=1.5,
        )
        self.names = names
        self._adjacencies = draws

    @property
    def map_dag(self) -> op.Dag:
        return op.Dag.from_adjacency(self._adjacencies[0, 0], self.names)

    @property
    def map_log_score(self) -> float:
        return float(self._draws()[1].max())

    @property
    def converged(self) -> bool:
        return False

    @property
    def verdict(self) -> str:
        return "not converged: <i>fabricated</i>."

    def parent_set_probabilities(
        self, child: str | int, *, at_least: float = 1e-6
    ) -> list[tuple[tuple[str, ...], float]]:
        node = self._node(child)
        flat = self._adjacencies.reshape(-1, len(self.names), len(self.names))
        found, counts = np.unique(flat[:, :, node], axis=0, return_counts=True)
        sets = [
            (tuple(self.names[u] for u in np.flatnonzero(one)), count / len(flat))
            for one, count in zip(found, counts.tolist(), strict=True)
        ]
        return sorted((one for one in sets if one[1] >= at_least), key=lambda one: -one[1])

    def diagnostics(self) -> pd.DataFrame:
        mcse = np.full_like(self._edges(), 0.0123)
        frame = self._edge_rows(mcse=mcse, status=np.full(mcse.shape, "ok", dtype=object))
        share = frame["probability"]
        constant = (share == 0) | (share == 1)
        frame["rhat"] = np.where(constant, np.nan, 1 + share / 10)
        frame["ess"] = np.where(constant, np.nan, 1000 * share)
        frame["ess_tail"] = np.where(constant, np.nan, 500 * share)
        frame["status"] = np.where(constant, "constant", "ok")
        return frame

    def _edges(self) -> np.ndarray:
        return self._adjacencies.mean(axis=(0, 1))

    def _ancestors(self) -> np.ndarray:
        return self._edges()

    def _draws(self) -> tuple[np.ndarray, np.ndarray]:
        return self._adjacencies, -self._adjacencies.sum(axis=(2, 3)).astype(float)


@cache
def fabricated(
    n: int = 5, names: tuple[str, ...] = (), *, n_draws: int = 40, seed: int = 0
) -> Fabricated:
    """Two chains of draws: sparse upper triangles, some of whose edges are turned."""
    rng = np.random.default_rng(seed)
    likely = np.triu(rng.random((n, n)) < min(1.0, 4 / n), 1) * rng.choice([0.3, 0.7, 1.0], (n, n))
    draws = rng.random((2, n_draws, n, n)) < likely
    for draw in draws.reshape(-1, n, n)[::3]:  # a topological order of their own
        order = np.arange(n)
        i = rng.integers(n - 1)
        order[[i, i + 1]] = order[[i + 1, i]]
        draw[:] = draw[np.ix_(order, order)]
    return Fabricated(draws, names or tuple(f"v{i}" for i in range(n)))

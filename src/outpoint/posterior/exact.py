"""The posterior computed exactly: no sampling error, and draws as many as one likes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from outpoint.errors import OptionError
from outpoint.exact import ExactSolution
from outpoint.graphs import Dag
from outpoint.posterior.posterior import Booleans, Floats, Posterior, RunInfo

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

DEFAULT_DRAWS = 1000


class ExactPosterior(Posterior):
    """A posterior computed over all DAGs."""

    def __init__(self, info: RunInfo, solution: ExactSolution) -> None:
        self.info = info
        self.solution = solution
        self.table = solution.table
        self._samples: dict[int, tuple[Booleans, Floats]] = {}

    @property
    def map_dag(self) -> Dag:
        """The most probable DAG (one of the best, if several share the best score)."""
        return Dag.from_adjacency(self.solution.best_adjacency, self.names)

    @property
    def map_log_score(self) -> float:
        """Log score, prior included, of the most probable DAG."""
        return self.solution.best_log_score

    @property
    def log_evidence(self) -> float:
        """Log of the sum of all DAGs' scores, prior included."""
        return self.solution.log_evidence

    @property
    def map_probability(self) -> float:
        """Posterior probability of the most probable DAG."""
        return float(np.exp(self.map_log_score - self.log_evidence))

    @property
    def converged(self) -> bool:
        """Always true: an exact posterior has nothing to converge."""
        return True

    @property
    def verdict(self) -> str:
        """How far the numbers can be trusted, in words."""
        limit = self.info.max_parents
        return (
            f"exact: every probability is computed over all DAGs with at most {limit} "
            f"parent{'s' if limit > 1 else ''} per node; no sampling, nothing to converge "
            f"(internal checks agree to {max(self.solution.discrepancy, 1e-16):.0e})."
        )

    def parent_set_probabilities(
        self, child: str | int, *, at_least: float = 1e-6
    ) -> list[tuple[tuple[str, ...], float]]:
        """The parent sets of ``child`` with their probabilities, most probable first."""
        node = self._node(child)
        log_probability = self.solution.log_parent_sets[node]
        chosen = np.flatnonzero(log_probability >= np.log(max(at_least, 1e-300)))
        ranked = chosen[np.argsort(-log_probability[chosen], kind="stable")]
        return [
            (self._named_set(node, mask), float(np.exp(log_probability[mask])))
            for mask in ranked.tolist()
        ]

    def dags(self, n_draws: int = DEFAULT_DRAWS) -> xr.DataArray:
        """Independent draws from the posterior: booleans (chain, draw, parent, child)."""
        return self._as_dags(self._sample(n_draws)[0])

    def iter_dags(self, n_draws: int = DEFAULT_DRAWS) -> Iterator[Dag]:
        """The same draws, one :class:`Dag` after the other."""
        yield from self._as_graphs(self._sample(n_draws)[0])

    def probability(self, feature: Callable[[Dag], Any], n_draws: int = DEFAULT_DRAWS) -> float:
        """Posterior mean of a function of the DAG (true or false, or a number), from draws."""
        return self._mean_of(feature, self.iter_dags(n_draws))

    def diagnostics(self) -> pd.DataFrame:
        """One row per edge, most probable first: probability, mcse, rhat, ess, status.

        An exact probability has no Monte Carlo error, and no chain that could have an R-hat.
        """
        return self._edge_rows(np.zeros_like(self.solution.edges), "exact")

    def __repr__(self) -> str:
        return (
            f"Posterior({self.method}, {len(self.names)} nodes, "
            f"{self.info.n_observations} observations, score {self.info.score}, "
            f"log evidence {self.log_evidence:.3f})"
        )

    def _edges(self) -> Floats:
        return self.solution.edges

    def _ancestors(self) -> Floats:
        return self.solution.ancestors

    def _draws(self) -> tuple[Booleans, Floats]:
        return self._sample(DEFAULT_DRAWS)

    def _sample(self, n_draws: int) -> tuple[Booleans, Floats]:
        """One chain of draws; the same seed and number always give the same draws."""
        if not isinstance(n_draws, int) or isinstance(n_draws, bool) or n_draws < 1:
            raise OptionError(f"n_draws must be a whole number from 1, not {n_draws!r}.")
        if n_draws not in self._samples:
            rng = np.random.default_rng(self.info.seed)
            dags = self.solution.sample(n_draws, rng)
            self._samples[n_draws] = dags[None], self.solution.log_scores_of(dags)[None]
        return self._samples[n_draws]

"""Posterior: what :func:`outpoint.learn` returns, and the answers it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import OptionError
from outpoint.exact import ExactSolution
from outpoint.graphs import Dag

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

DEFAULT_DRAWS = 1000


@dataclass(frozen=True)
class RunInfo:
    """Where a posterior comes from: the data, the model and the run."""

    source: str
    fingerprint: str
    n_observations: int
    score: str
    structure_prior: str
    max_parents: int
    seed: int
    version: str
    elapsed_seconds: float


@dataclass(frozen=True, repr=False, eq=False)
class Posterior:
    """The posterior over DAGs, computed exactly.

    Tables are indexed [parent, child] by column names. ``info`` tells the origin of the result.
    """

    info: RunInfo
    solution: ExactSolution
    method: str = "exact"
    _draws: dict[int, Any] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return self.solution.table.names

    @property
    def edge_probabilities(self) -> pd.DataFrame:
        """Posterior probability of every edge, [parent, child]."""
        return self._square(self.solution.edges, "parent", "child")

    @property
    def ancestor_probabilities(self) -> pd.DataFrame:
        """Posterior probability that the row variable is an ancestor of the column variable."""
        return self._square(self.solution.ancestors, "ancestor", "descendant")

    @cached_property
    def map_dag(self) -> Dag:
        """The most probable DAG (one of the best, if several share the best score)."""
        return Dag.from_adjacency(self.solution.best_adjacency, self.names)

    @property
    def map_log_score(self) -> float:
        """Log score, prior included, of the most probable DAG."""
        return self.solution.best_log_score

    @property
    def map_probability(self) -> float:
        """Posterior probability of the most probable DAG."""
        return float(np.exp(self.map_log_score - self.log_evidence))

    @property
    def log_evidence(self) -> float:
        """Log of the sum of all DAGs' scores, prior included."""
        return self.solution.log_evidence

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
        candidates = self.solution.table.candidates[node]
        chosen = np.flatnonzero(log_probability >= np.log(max(at_least, 1e-300)))
        ranked = chosen[np.argsort(-log_probability[chosen], kind="stable")]
        return [
            (
                tuple(self.names[u] for i, u in enumerate(candidates) if mask >> i & 1),
                float(np.exp(log_probability[mask])),
            )
            for mask in ranked.tolist()
        ]

    def dags(self, n_draws: int = DEFAULT_DRAWS) -> xr.DataArray:
        """Independent draws from the posterior: booleans (chain, draw, parent, child)."""
        import xarray as xr

        names = list(self.names)
        return xr.DataArray(
            self._sample(n_draws)[0][None].copy(),
            dims=("chain", "draw", "parent", "child"),
            coords={"chain": [0], "parent": names, "child": names},
            name="dag",
        )

    @property
    def log_scores(self) -> xr.DataArray:
        """Log scores (chain, draw) of the graphs that :meth:`dags` returns by default."""
        import xarray as xr

        scores = self._sample(DEFAULT_DRAWS)[1]
        return xr.DataArray(
            scores[None].copy(), dims=("chain", "draw"), coords={"chain": [0]}, name="log_score"
        )

    def iter_dags(self, n_draws: int = DEFAULT_DRAWS) -> Iterator[Dag]:
        """The same draws, one :class:`Dag` after the other."""
        for adjacency in self._sample(n_draws)[0]:
            yield Dag.from_adjacency(adjacency, self.names)

    def probability(self, feature: Callable[[Dag], Any], n_draws: int = DEFAULT_DRAWS) -> float:
        """Posterior mean of a function of the DAG (true or false, or a number), from draws."""
        if not callable(feature):
            raise OptionError(f"a feature is a function of a Dag, not {feature!r}.")
        return float(np.mean([float(feature(dag)) for dag in self.iter_dags(n_draws)]))

    def diagnostics(self) -> pd.DataFrame:
        """One row per edge, most probable first: probability, mcse, rhat, ess, status.

        An exact probability has no Monte Carlo error, and no chain that could have an R-hat.
        """
        import pandas as pd

        n = len(self.names)
        parents, children = np.nonzero(~np.eye(n, dtype=np.bool_))
        probability = self.solution.edges[parents, children]
        ranked = np.argsort(-probability, kind="stable")
        return pd.DataFrame(
            {
                "parent": [self.names[u] for u in parents[ranked]],
                "child": [self.names[v] for v in children[ranked]],
                "probability": probability[ranked],
                "mcse": 0.0,
                "rhat": np.nan,
                "ess": np.nan,
                "status": "exact",
            }
        )

    def __repr__(self) -> str:
        return (
            f"Posterior({self.method}, {len(self.names)} nodes, "
            f"{self.info.n_observations} observations, score {self.info.score}, "
            f"log evidence {self.log_evidence:.3f})"
        )

    def _node(self, node: str | int) -> int:
        if node in self.names:
            return self.names.index(str(node))
        if isinstance(node, int) and 0 <= node < len(self.names):
            return node
        raise OptionError(f"{node!r} is not one of the variables.")

    def _square(self, values: NDArray[np.float64], rows: str, columns: str) -> pd.DataFrame:
        import pandas as pd

        names = list(self.names)
        return pd.DataFrame(
            values.copy(),
            index=pd.Index(names, name=rows),
            columns=pd.Index(names, name=columns),
        )

    def _sample(self, n_draws: int) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Draws and their scores; the same seed and number always give the same draws."""
        if not isinstance(n_draws, int) or isinstance(n_draws, bool) or n_draws < 1:
            raise OptionError(f"n_draws must be a whole number from 1, not {n_draws!r}.")
        if n_draws not in self._draws:
            rng = np.random.default_rng(self.info.seed)
            dags = self.solution.sample(n_draws, rng)
            self._draws[n_draws] = dags, self.solution.log_scores_of(dags)
        draws: tuple[NDArray[np.bool_], NDArray[np.float64]] = self._draws[n_draws]
        return draws

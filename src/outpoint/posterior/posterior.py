"""Posterior: what :func:`outpoint.learn` returns, and the answers it gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import OptionError
from outpoint.graphs import Dag
from outpoint.tables import ScoreTable

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class RunInfo:
    """Where a posterior comes from: the data, the model and the run."""

    source: str
    fingerprint: str
    n_observations: int
    score: str
    structure_prior: str
    max_parents: int
    method: str
    seed: int
    version: str
    elapsed_seconds: float


class Posterior(ABC):
    """The posterior over DAGs.

    Tables are indexed [parent, child] by column names. ``info`` tells the origin of the result,
    ``table`` holds the scores it was computed from.
    """

    info: RunInfo
    table: ScoreTable

    @property
    def method(self) -> str:
        """How the posterior was computed."""
        return self.info.method

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return self.table.names

    @property
    def edge_probabilities(self) -> pd.DataFrame:
        """Posterior probability of every edge, [parent, child]."""
        return self._square(self._edges(), "parent", "child")

    @property
    def ancestor_probabilities(self) -> pd.DataFrame:
        """Posterior probability that the row variable is an ancestor of the column variable."""
        return self._square(self._ancestors(), "ancestor", "descendant")

    @property
    @abstractmethod
    def map_dag(self) -> Dag:
        """The most probable DAG (one of the best, if several share the best score)."""

    @property
    @abstractmethod
    def map_log_score(self) -> float:
        """Log score, prior included, of the most probable DAG."""

    @property
    def log_evidence(self) -> float | None:
        """Log of the sum of all DAGs' scores, prior included; None unless exact."""
        return None

    @property
    def map_probability(self) -> float | None:
        """Posterior probability of the most probable DAG; None unless exact."""
        return None

    @property
    @abstractmethod
    def converged(self) -> bool:
        """Whether the numbers can be trusted."""

    @property
    @abstractmethod
    def verdict(self) -> str:
        """How far the numbers can be trusted, in words."""

    @abstractmethod
    def parent_set_probabilities(
        self, child: str | int, *, at_least: float = 1e-6
    ) -> list[tuple[tuple[str, ...], float]]:
        """The parent sets of ``child`` with their probabilities, most probable first."""

    @abstractmethod
    def diagnostics(self) -> pd.DataFrame:
        """One row per edge, most probable first: probability, mcse, rhat, ess, status."""

    @abstractmethod
    def _edges(self) -> Floats:
        """Edge probabilities."""

    @abstractmethod
    def _ancestors(self) -> Floats:
        """Ancestor probabilities."""

    @abstractmethod
    def _draws(self) -> tuple[Booleans, Floats]:
        """Adjacency matrices (chain, draw, parent, child) and log scores (chain, draw)."""

    def dags(self) -> xr.DataArray:
        """Draws from the posterior: booleans (chain, draw, parent, child)."""
        return self._as_dags(self._draws()[0])

    @property
    def log_scores(self) -> xr.DataArray:
        """Log scores (chain, draw) of the graphs that :meth:`dags` returns."""
        import xarray as xr

        scores = self._draws()[1]
        chains = np.arange(len(scores))
        return xr.DataArray(
            scores.copy(), dims=("chain", "draw"), coords={"chain": chains}, name="log_score"
        )

    def iter_dags(self) -> Iterator[Dag]:
        """The same draws, one :class:`Dag` after the other."""
        yield from self._as_graphs(self._draws()[0])

    def probability(self, feature: Callable[[Dag], Any]) -> float:
        """Posterior mean of a function of the DAG (true or false, or a number), from draws."""
        return self._mean_of(feature, self.iter_dags())

    def _mean_of(self, feature: Callable[[Dag], Any], dags: Iterator[Dag]) -> float:
        if not callable(feature):
            raise OptionError(f"a feature is a function of a Dag, not {feature!r}.")
        return float(np.mean([float(feature(dag)) for dag in dags]))

    def _as_graphs(self, adjacencies: Booleans) -> Iterator[Dag]:
        for adjacency in adjacencies.reshape(-1, len(self.names), len(self.names)):
            yield Dag.from_adjacency(adjacency, self.names)

    def _as_dags(self, adjacencies: Booleans) -> xr.DataArray:
        import xarray as xr

        names = list(self.names)
        return xr.DataArray(
            adjacencies.copy(),
            dims=("chain", "draw", "parent", "child"),
            coords={"chain": np.arange(len(adjacencies)), "parent": names, "child": names},
            name="dag",
        )

    def _edge_rows(self, mcse: Floats, status: str) -> pd.DataFrame:
        """The table of :meth:`diagnostics`."""
        import pandas as pd

        n = len(self.names)
        parents, children = np.nonzero(~np.eye(n, dtype=np.bool_))
        probability = self._edges()[parents, children]
        ranked = np.argsort(-probability, kind="stable")
        parents, children = parents[ranked], children[ranked]
        return pd.DataFrame(
            {
                "parent": [self.names[u] for u in parents],
                "child": [self.names[v] for v in children],
                "probability": probability[ranked],
                "mcse": mcse[parents, children],
                "rhat": np.nan,
                "ess": np.nan,
                "status": status,
            }
        )

    def _named_set(self, child: int, mask: int) -> tuple[str, ...]:
        """A parent set, given as a mask over the candidates of ``child``, by names."""
        candidates = self.table.candidates[child]
        return tuple(self.names[u] for i, u in enumerate(candidates) if mask >> i & 1)

    def _node(self, node: str | int) -> int:
        if node in self.names:
            return self.names.index(str(node))
        if isinstance(node, int) and 0 <= node < len(self.names):
            return node
        raise OptionError(f"{node!r} is not one of the variables.")

    def _square(self, values: Floats, rows: str, columns: str) -> pd.DataFrame:
        import pandas as pd

        names = list(self.names)
        return pd.DataFrame(
            values.copy(),
            index=pd.Index(names, name=rows),
            columns=pd.Index(names, name=columns),
        )

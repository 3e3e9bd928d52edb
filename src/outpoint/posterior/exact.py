"""The posterior computed exactly: no sampling error, and any number of draws."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from outpoint.arguments import COUNT, DRAWS, NODE, SHARE, takes
from outpoint.arrays import Booleans, Floats
from outpoint.graphs import Dag
from outpoint.parts import describe_parts
from outpoint.posterior.draws import Draws, WeightedGraphs, tabulate_dags
from outpoint.posterior.estimates import Estimate
from outpoint.posterior.features import Feature, FeatureFunction, ParentSet, Path, Root
from outpoint.posterior.info import RunInfo, describe_limit
from outpoint.posterior.model_answers import FEATURE, WEIGHTS
from outpoint.posterior.posterior import Posterior

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from outpoint.posterior.effects import GaussianModel
    from outpoint.posterior.reweighting import By, WeightedPosterior

KEPT_DRAWS = 1000
"""Draws that are returned unless more are asked for, and that functions of a DAG are averaged
over."""

FEATURE_DRAWS = 10_000
"""Draws behind everything that is averaged by compiled code, where drawing is quick."""


class Solution(Protocol):
    """What the exact engine has found, just computed or read from a file."""

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def candidates(self) -> NDArray[np.int32]: ...
    @property
    def log_evidence(self) -> float: ...
    @property
    def edges(self) -> Floats: ...
    @property
    def ancestors(self) -> Floats: ...
    @property
    def drawn_ancestors(self) -> Booleans | None: ...
    @property
    def part_sizes(self) -> tuple[int, ...]: ...
    @property
    def is_quickly_drawn(self) -> bool: ...
    @property
    def best_adjacency(self) -> Booleans: ...
    @property
    def best_log_score(self) -> float: ...
    @property
    def discrepancy(self) -> float: ...
    @property
    def n_stored(self) -> int | None: ...

    def log_parent_set(self, child: int, parents: Collection[int]) -> float:
        """Log probability that these are the parents of a node."""

    def likely_sets(self, child: int, at_least: float) -> list[tuple[tuple[int, ...], float]]:
        """Parent sets of at least this probability, with its log, most probable first."""

    def draw(self, n_draws: int, seed: int) -> tuple[Booleans, Floats]:
        """Draws (draw, parent, child) and their log scores."""


class ExactPosterior(Posterior):
    """A posterior computed over all DAGs."""

    def __init__(
        self,
        info: RunInfo,
        solution: Solution,
        model: GaussianModel | None = None,
        log_prior_sum: float | None = None,
    ) -> None:
        self.info = info
        self.solution = solution
        self.names = solution.names
        self.candidates = solution.candidates
        self.model = model
        self.log_prior_sum = log_prior_sum
        self._drawn: tuple[Booleans, Floats] | None = None
        self._graphs_by_size: dict[int, WeightedGraphs] = {}

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
        """Log of the sum of all DAGs' scores, with the prior as it is; see :class:`Posterior`."""
        return self.solution.log_evidence

    @property
    def map_probability(self) -> float:
        """Posterior probability of the most probable DAG."""
        return float(np.exp(min(self.map_log_score - self.log_evidence, 0.0)))

    @property
    def converged(self) -> bool:
        """Always true: an exact posterior has nothing to converge."""
        return True

    @property
    def verdict(self) -> str:
        """How far the numbers can be trusted, in words."""
        sizes = self.solution.part_sizes
        parts = f"{describe_parts(sizes)}; " if len(sizes) > 1 else ""
        return (
            f"exact: {parts}every probability is computed over all DAGs{self._limits()}; "
            f"no sampling, nothing to converge "
            f"(internal checks agree to {max(self.solution.discrepancy, 1e-16):.0e})."
        )

    def _limits(self) -> str:
        """Which DAGs are meant, if not all."""
        limits = []
        if self.info.max_parents < len(self.names) - 1:
            most = describe_limit(self.info.max_parents, len(self.names))
            limits.append(f" with {most} per node")
        if self.info.knowledge.keys() - {"edge_prior"}:
            limits.append(" that the background knowledge allows")
        return "".join(limits)

    @takes(child=NODE, at_least=SHARE)
    def parent_set_probabilities(
        self, child: str | int, *, at_least: float = 1e-6
    ) -> list[tuple[tuple[str, ...], float]]:
        """The parent sets of ``child`` with their probabilities, most probable first."""
        likely = self.solution.likely_sets(self._node(child), max(at_least, 1e-300))
        return [
            (tuple(self.names[u] for u in parents), float(np.exp(log_probability)))
            for parents, log_probability in likely
        ]

    @takes(n_draws=DRAWS)
    def dags(self, n_draws: int = KEPT_DRAWS) -> xr.DataArray:
        """Independent draws from the posterior: booleans (chain, draw, parent, child)."""
        return self._as_dags(self._sample(n_draws)[0])

    @takes(n_draws=DRAWS)
    def iter_dags(self, n_draws: int = KEPT_DRAWS) -> Iterator[Dag]:
        """The same draws, one :class:`Dag` after the other."""
        yield from self._as_graphs(self._sample(n_draws)[0])

    @takes(feature=FEATURE, n_draws=DRAWS)
    def probability(
        self, feature: Feature | FeatureFunction | str, n_draws: int | None = None
    ) -> float:
        """Posterior probability of a feature, or posterior mean of a function of the DAG.

        Edges, adjacency, directed paths, parent sets and roots are exact; everything else is an
        average over ``n_draws`` draws (by default 1,000 for functions and beyond 15 variables,
        otherwise 10,000). See :meth:`Posterior.probability` for the features.
        """
        asked = self._parse(feature)
        known = self._known(asked)
        return self._average(asked, self._graphs_for(asked, n_draws)) if known is None else known

    @takes(feature=FEATURE, n_draws=DRAWS)
    def estimate(
        self, feature: Feature | FeatureFunction | str, n_draws: int | None = None
    ) -> Estimate:
        """The same with its Monte Carlo standard error, 0 where the probability is exact."""
        asked = self._parse(feature)
        known = self._known(asked)
        if known is not None:
            return Estimate.exact(known)
        return self._estimate(asked, self._graphs_for(asked, n_draws))

    @takes(n=COUNT)
    def top_dags(self, n: int = 10) -> pd.DataFrame:
        """The most probable DAGs: graph, probability, cumulative, log_score.

        The probabilities are exact. The DAGs are the best one and those among the draws: of
        10,000, one with probability 0.002 is missed once in 10^8 times.
        """
        dags, log_scores = self._sample(self._n_feature_draws)
        best = self.solution.best_adjacency[None, None]
        draws = Draws.from_arrays(
            np.concatenate([dags, best], axis=1),
            np.append(log_scores, self.map_log_score)[None],
        )
        graphs = WeightedGraphs.from_draws(draws)
        probability = np.exp(np.minimum(graphs.log_scores - self.log_evidence, 0.0))
        return tabulate_dags(graphs, self.names, n, probability)

    @takes(by=WEIGHTS, n_draws=DRAWS)
    def reweighted(self, by: By, n_draws: int | None = None) -> WeightedPosterior:
        """Another posterior from ``n_draws`` draws, see :meth:`Posterior.reweighted`."""
        from outpoint.posterior.reweighting import reweight

        return reweight(self, self._graphs_of(n_draws or self._n_feature_draws), by)

    def _known(self, feature: Feature | FeatureFunction) -> float | None:
        if isinstance(feature, Path):
            drawn = self.solution.drawn_ancestors
            if drawn is not None and drawn[feature.source, feature.target]:
                return None
            return float(self.solution.ancestors[feature.source, feature.target])
        if isinstance(feature, Root):
            return float(np.exp(self.solution.log_parent_set(feature.node, ())))
        if isinstance(feature, ParentSet):
            return float(np.exp(self.solution.log_parent_set(feature.child, feature.parents)))
        return super()._known(feature)

    def _graphs_for(
        self, feature: Feature | FeatureFunction, n_draws: int | None
    ) -> WeightedGraphs:
        default = self._n_kept if callable(feature) else self._n_feature_draws
        return self._graphs_of(default if n_draws is None else n_draws)

    def _graphs(self) -> WeightedGraphs:
        return self._graphs_of(self._n_feature_draws)

    @property
    def _n_feature_draws(self) -> int:
        """Draws for features: all that are stored, otherwise many if drawing is quick."""
        many = FEATURE_DRAWS if self.solution.is_quickly_drawn else KEPT_DRAWS
        return self.solution.n_stored or many

    @property
    def _n_kept(self) -> int:
        return min(KEPT_DRAWS, self.solution.n_stored or KEPT_DRAWS)

    def _graphs_of(self, n_draws: int) -> WeightedGraphs:
        draws = self._sample(n_draws)
        if n_draws not in self._graphs_by_size:
            self._graphs_by_size[n_draws] = WeightedGraphs.from_draws(Draws.from_arrays(*draws))
        return self._graphs_by_size[n_draws]

    def diagnostics(self) -> pd.DataFrame:
        """One row per edge, most probable first: probability, mcse, rhat, ess, ess_tail, status.

        An exact probability has no Monte Carlo error, and no chain that could have an R-hat.
        """
        n = len(self.names)
        return self._edge_rows(mcse=np.zeros((n, n)), status=np.full((n, n), "exact", dtype=object))

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

    @property
    def _n_effect_draws(self) -> int:
        return min(super()._n_effect_draws, self._n_feature_draws)

    def _some_dags(self, n_draws: int) -> Iterator[Booleans]:
        n_stored = self.solution.n_stored
        yield self._sample(n_draws if n_stored is None else min(n_draws, n_stored))[0][0]

    def _draws(self) -> tuple[Booleans, Floats]:
        return self._sample(self._n_kept)

    def _sample(self, n_draws: int) -> tuple[Booleans, Floats]:
        """One chain of draws: the first of those that the seed gives."""
        if self._drawn is None or len(self._drawn[1]) < n_draws:
            self._drawn = self.solution.draw(n_draws, self.info.seed)
        dags, log_scores = self._drawn
        return dags[None, :n_draws], log_scores[None, :n_draws]

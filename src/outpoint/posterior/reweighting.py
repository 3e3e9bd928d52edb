"""Another posterior from the same draws, by importance weights (paper, sections 3.2 and 6).

A chain cannot use a prior that does not factorise over the nodes, and order MCMC has one that
nobody asked for: each DAG counts once per linear extension. Both are put right afterwards. Each
draw gets the ratio of the wanted to the sampled probability of its DAG as its weight, and weighted
averages over draws estimate the wanted posterior. They are as good as the weights are even: where
a few draws carry all the weight, the draws do not cover the wanted posterior, and the result says
so instead of giving numbers that look like any others.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from outpoint.arguments import NODE, SHARE, number_from, takes
from outpoint.arrays import Booleans, Floats
from outpoint.errors import OptionError
from outpoint.graphs import Dag, count_members
from outpoint.graphs.blocks import add_ancestors, add_matrices
from outpoint.graphs.extensions import log_linear_extensions
from outpoint.graphs.validation import DAG
from outpoint.posterior.augmented import AugmentedPosterior
from outpoint.posterior.convergence import RUN_LONGER
from outpoint.posterior.diagnostics import Limits, with_rare_events
from outpoint.posterior.draws import WeightedGraphs, name_draws
from outpoint.posterior.estimates import edge_errors, effective_draws
from outpoint.posterior.posterior import Posterior
from outpoint.posterior.sampled import SampledPosterior
from outpoint.posterior.what_if import spread_by_weight

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from outpoint.posterior.what_if import Component

By = Callable[[Dag], float] | Literal["linear_extensions", "equivalence_classes"]

CORRECTION = "linear_extensions"
"""The weights that repair a sampler; all others change the posterior that is wanted."""

MAX_WEIGHT = 0.1
"""Weights have failed if a single draw has more of the total than this."""


class WeightWarning(UserWarning):
    """After weighting, the draws are worth so little that no average can be trusted."""


def reweight(base: Posterior, graphs: WeightedGraphs, by: By) -> WeightedPosterior:
    """The posterior with its draws weighted anew; warns if the weights have failed."""
    log_weight = _log_weight_function(by, base)
    if by == CORRECTION and base.method != "order":
        raise OptionError(
            "dividing by the number of linear extensions corrects what method='order' returns "
            f"and is done first; this posterior is of method {base.method!r}."
        )
    log_factors = np.empty(len(graphs))
    for part, dags in graphs.blocks():
        log_factors[part] = [log_weight(Dag.from_adjacency(dag, base.names)) for dag in dags]
    if np.isnan(log_factors).any() or (log_factors == np.inf).any():
        raise OptionError("a log weight must be a number or -inf; some are NaN or +inf.")
    if (graphs.log_weights + log_factors == -np.inf).all():
        raise OptionError("all draws have weight 0: they do not reach the wanted posterior.")
    name = by if isinstance(by, str) else getattr(by, "__name__", "a function")
    weighted = WeightedPosterior(
        base, graphs.reweighted(log_factors, changes_scores=by != CORRECTION), name, log_weight
    )
    if weighted.weight_failure:
        warnings.warn(weighted.weight_failure, WeightWarning, stacklevel=4)
    return weighted


def _log_weight_function(by: By, base: Posterior) -> Callable[[Dag], float]:
    if by == CORRECTION:
        return lambda dag: -log_linear_extensions(dag)
    if by == "equivalence_classes":
        targets, admissible = base.info.targets, base.admissible
        admits = None if admissible.is_unlimited else admissible
        return lambda dag: -math.log(count_members(dag, targets, admits))
    function = cast(Callable[[Dag], float], by)
    return lambda dag: number_from("the function of log weights", function, dag)


class WeightedPosterior(Posterior):
    """A posterior estimated with importance weights from the draws of another one, ``base``.

    ``dags()`` gives the draws of the base; ``weights`` goes with them, and every other answer
    uses it.
    """

    def __init__(
        self,
        base: Posterior,
        graphs: WeightedGraphs,
        name: str,
        log_weight: Callable[[Dag], float],
    ) -> None:
        self.base = base
        self.info = replace(base.info, method=f"{base.method}, reweighted by {name}")
        self.names = base.names
        self.candidates = base.candidates
        self.model = base.model
        self.network_model = base.network_model
        self.is_complete = base.is_complete
        self.is_scored = base.is_scored
        self.reweighted_by = name
        self._weighted = graphs
        self._log_weight = log_weight

    @cached_property
    def weights(self) -> xr.DataArray:
        """Normalised importance weights (chain, draw) of the DAGs that ``dags()`` returns."""
        return name_draws(self._weighted.draw_weights, "weight")

    @property
    def kish_effective_sample_size(self) -> float:
        """(Σw)² / Σw²: the number of equally weighted draws whose averages vary as much."""
        return self._weighted.kish_size

    @cached_property
    def effective_sample_size(self) -> float:
        """Kish's size times the efficiency of the chains: autocorrelation of weights and scores."""
        return effective_draws(self._weighted)

    @property
    def largest_weight(self) -> float:
        """The largest share of the total weight that a single draw has."""
        return float(self._weighted.unit_weights.max())

    @property
    def weight_failure(self) -> str | None:
        """Why the weights cannot be trusted, or None."""
        size, largest = self.effective_sample_size, self.largest_weight
        if size >= Limits().min_ess and largest <= MAX_WEIGHT:
            return None
        return (
            f"weighted by {self.reweighted_by}, {self._weighted.which.size:,} draws are worth "
            f"{size:.0f} independent ones, and one alone has {largest:.1%} of the weight; draw "
            "more, or sample closer to what you want."
        )

    @property
    def converged(self) -> bool:
        """Whether the weights are even enough and the chains agree."""
        return self.weight_failure is None and self._chain_failure is None

    @property
    def verdict(self) -> str:
        """How far the numbers can be trusted, in words."""
        if self.weight_failure:
            return f"not to be trusted: {self.weight_failure}"
        if self._chain_failure:
            return self._chain_failure
        return (
            f"reweighted by {self.reweighted_by}: {self._weighted.which.size:,} draws are worth "
            f"{self.effective_sample_size:,.0f} independent ones."
        )

    @property
    def _chain_failure(self) -> str | None:
        """What is wrong with the chains; the bias of order MCMC does not count once corrected."""
        corrected = self.reweighted_by == CORRECTION
        if not corrected and not self.base.converged:
            return self.base.verdict
        if len(self._chain_edges) == 1:
            single = "unknown: a single chain cannot show whether it has converged."
            return single if corrected else None
        if isinstance(self.base, SampledPosterior) and self.base.assessment.frozen_chains:
            return self.base.verdict
        difference = float(np.ptp(self._chain_edges, axis=0).max())
        if difference <= Limits().max_difference:
            return None
        return (
            f"not converged: the {len(self._chain_edges)} chains disagree on weighted edge "
            f"probabilities by up to {difference:.2f}; {RUN_LONGER}."
        )

    @property
    def map_dag(self) -> Dag:
        """The best DAG among the draws and the base's best one, under the new weights."""
        return self._best[0]

    @property
    def map_log_score(self) -> float:
        """Log score of that DAG; includes a weight that expresses a prior, but not a correction."""
        return self._best[1]

    @cached_property
    def _best(self) -> tuple[Dag, float]:
        best, log_score = self.base.map_dag, self.base.map_log_score
        if self.reweighted_by != CORRECTION:
            log_score += self._log_weight(best)
        scores = self._weighted.log_scores
        top = int(np.argmax(scores))
        if isinstance(self.base, AugmentedPosterior):  # a DAG has another score for every table
            return self._heaviest
        if scores[top] <= log_score:
            return best, log_score
        return self._dag(top), float(scores[top])

    @property
    def _heaviest(self) -> tuple[Dag, float]:
        """The DAG with most of the weight, and the mean of its log scores."""
        graphs = self._weighted
        top = int(np.argmax(graphs.weights))
        dag = self._dag(top)
        scores = graphs.draws.log_scores[graphs.which == top]
        return dag, float(scores.mean()) + self._log_weight(dag)

    def _dag(self, number: int) -> Dag:
        matrix = self._weighted.adjacencies(np.array([number]))[0]
        return Dag.from_adjacency(matrix, self.names)

    @takes(child=NODE, at_least=SHARE)
    def parent_set_probabilities(
        self, child: str | int, *, at_least: float = 1e-6
    ) -> list[tuple[tuple[str, ...], float]]:
        """The parent sets of ``child`` with their weights in the draws, most probable first."""
        node = self._node(child)
        totals: dict[bytes, float] = {}
        for part, dags in self._weighted.blocks():
            columns = np.ascontiguousarray(dags[:, :, node])
            for column, weight in zip(columns, self._weighted.weights[part], strict=True):
                key = column.tobytes()
                totals[key] = totals.get(key, 0.0) + float(weight)
        ranked = sorted(totals.items(), key=lambda item: -item[1])
        return [
            (tuple(name for name, there in zip(self.names, key, strict=True) if there), total)
            for key, total in ranked
            if total >= at_least
        ]

    @takes(dag=DAG)
    def parameters(self, dag: Dag | None = None) -> dict[str, pd.DataFrame]:
        """The parameters as in the base: given a DAG, weights of DAGs do not matter."""
        return self.base.parameters(self.map_dag if dag is None else dag)

    def diagnostics(self) -> pd.DataFrame:
        """One row per edge, most probable first: probability, mcse, rhat, ess, ess_tail, status.

        The Monte Carlo standard error of an edge is that of :meth:`estimate`, from the weighted
        draws, and ``ess`` the number of independent draws that would have the same.
        """
        edges, n_effective = self._edges(), self.effective_sample_size
        mcse = with_rare_events(edge_errors(self._weighted, edges), edges, n_effective)
        mcse[self.admissible.settled] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            ess = edges * (1.0 - edges) / mcse**2
        status = np.full(mcse.shape, "reweighted", dtype=object)
        return self._edge_rows(mcse=mcse, ess=ess, status=status)

    def __repr__(self) -> str:
        return (
            f"Posterior({self.method}, {len(self.names)} nodes, {self._weighted.which.size:,} "
            f"draws worth {self.effective_sample_size:,.0f})"
        )

    @cached_property
    def _chain_edges(self) -> Floats:
        """Weighted edge probabilities of each chain (chain, parent, child)."""
        rows = self._weighted.chain_weights()
        return np.stack([self._weighted.sum_matrices(add_matrices, row) for row in rows])

    @cached_property
    def _edge_table(self) -> Floats:
        return self._weighted.mean_matrix(add_matrices)

    def _edges(self) -> Floats:
        return self._edge_table

    def _ancestors(self) -> Floats:
        return self._weighted.mean_matrix(add_ancestors)

    def _draws(self) -> tuple[Booleans, Floats]:
        graphs = self._weighted
        dags = graphs.draws.read(np.arange(graphs.which.size))
        return dags.reshape(*graphs.which.shape, *dags.shape[1:]), graphs.log_scores[graphs.which]

    def _some_dags(self, n_draws: int) -> Iterator[Booleans]:
        """Draws as often as they weigh (systematic resampling), so that each counts the same."""
        bounds = np.cumsum(self._weighted.draw_weights)
        places = (np.arange(n_draws) + 0.5) / n_draws * bounds[-1]
        yield self._weighted.draws.read(np.searchsorted(bounds, places))

    def _graphs(self) -> WeightedGraphs:
        return self._weighted

    def _components(self) -> list[Component] | None:
        """Models with their DAGs; of several, each as often as its DAGs weigh."""
        known = super()._components()
        return self._chosen_components if known is None else known

    @cached_property
    def _chosen_components(self) -> list[Component] | None:
        found = self.base._components()
        if found is None:
            return None
        weighted: list[Component] = []
        totals = np.empty(len(found))
        for place, (model, graphs) in enumerate(found):
            dags = graphs.adjacencies(np.arange(len(graphs)))
            factors = [self._log_weight(Dag.from_adjacency(dag, self.names)) for dag in dags]
            own = graphs.reweighted(np.array(factors), changes_scores=True)
            weighted.append((model, own))
            totals[place] = np.logaddexp.reduce(np.log(own.counts) + own.log_weights)
        if (totals == -np.inf).all():
            raise OptionError(
                "all draws of the completed tables that were kept have weight 0: they do "
                "not reach the wanted posterior."
            )
        numbers, counts = spread_by_weight(np.exp(totals - totals.max()), len(found))
        return [weighted[i] for i in np.repeat(numbers, counts)]

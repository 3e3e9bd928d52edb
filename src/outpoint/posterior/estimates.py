"""Posterior means with their Monte Carlo standard errors.

With weights w that add up to one, the mean of f is Σ w f. To first order its error is the mean of
N w (f - Σ w f) over the N draws, so that the standard error of that average, autocorrelation
included, is the standard error of the weighted mean; without weights it is the usual one.
Probabilities near 0 or 1 may depend on what has never been seen; their errors include that
(:func:`~outpoint.posterior.diagnostics.with_rare_events`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from outpoint.arguments import number_from
from outpoint.arrays import Booleans, Floats
from outpoint.graphs import Dag
from outpoint.posterior.diagnostics import effective_sizes, standard_errors, with_rare_events
from outpoint.posterior.draws import BLOCK_BYTES, WeightedGraphs
from outpoint.posterior.features import Feature, FeatureFunction

MIN_DRAWS = 4
"""Fewer draws per chain tell nothing about autocorrelation."""


@dataclass(frozen=True)
class Estimate:
    """A posterior mean.

    ``mcse`` is the Monte Carlo standard error of ``value``, and ``effective_sample_size`` the
    number of independent draws from the posterior that would have the same. ``n_draws`` is the
    number of draws, or of batches of steps, that were averaged, all chains together; None if the
    value is exact. ``status`` is ``"exact"`` (no error), ``"sampled"``, ``"constant"`` (all draws
    have the same value) or ``"few draws"``, which has NaN for both. The spread of constant draws
    says nothing about the error. For what is true or false the error is then that of something too
    rare to have been seen, the inverse of the effective sample size of the draws; for any other
    value it is NaN.
    """

    value: float
    mcse: float
    effective_sample_size: float
    status: str
    n_draws: int | None = None

    @classmethod
    def exact(cls, value: float) -> Estimate:
        """A number without Monte Carlo error."""
        return cls(value, 0.0, float("inf"), "exact")


def evaluate(
    feature: Feature | FeatureFunction, graphs: WeightedGraphs, names: Sequence[str]
) -> Floats:
    """The values of a feature, one per distinct DAG; a function is called once for each."""
    if not callable(feature):
        return graphs.evaluate(feature.evaluate)
    function, what = feature, "the function of a DAG"

    def each(dags: Booleans) -> Floats:
        graphs = (Dag.from_adjacency(dag, names) for dag in dags)
        return np.array([number_from(what, function, graph) for graph in graphs])

    return graphs.evaluate(each)


def estimate_mean(values_of_graphs: Floats, graphs: WeightedGraphs) -> Estimate:
    """The weighted mean of values, given for each distinct DAG."""
    mean = graphs.mean(values_of_graphs)
    values, weights = values_of_graphs[graphs.which], graphs.draw_weights
    if values.shape[1] < MIN_DRAWS:
        return Estimate(mean, np.nan, np.nan, "few draws", values.size)
    is_event = bool(np.isin(values_of_graphs, (0.0, 1.0)).all())
    if np.ptp(values) == 0:
        size = effective_draws(graphs) if is_event else np.nan
        return Estimate(mean, 1.0 / size, size, "constant", values.size)
    mcse = float(standard_errors((values.size * weights * (values - mean))[None])[0])
    if is_event:
        mcse = float(with_rare_events(mcse, mean, effective_draws(graphs)))
    variance = float((weights * (values - mean) ** 2).sum())
    size = variance / mcse**2 if mcse > 0 else np.nan
    return Estimate(mean, mcse, size, "sampled", values.size)


def edge_errors(graphs: WeightedGraphs, edges: Floats) -> Floats:
    """Standard errors [parent, child] of the weighted means ``edges``; NaN if draws are few."""
    n = len(edges)
    if graphs.which.shape[1] < MIN_DRAWS:
        return np.full((n, n), np.nan)
    errors = np.zeros((n, n))
    scale = graphs.which.size * graphs.draw_weights
    at_a_time = max(1, BLOCK_BYTES // (len(graphs) * n))
    for start in range(0, n, at_a_time):
        parents = slice(start, min(start + at_a_time, n))
        present = np.concatenate([dags[:, parents] for _, dags in graphs.blocks()])
        for parent in range(parents.start, parents.stop):
            values = present[:, parent - start].T[:, graphs.which]
            errors[parent] = standard_errors(scale * (values - edges[parent][:, None, None]))
    return errors


def estimate_from_batches(batches: Floats, value: float, n_effective: float) -> Estimate:
    """A probability whose means over batches of steps (chain, batch) are known.

    ``n_effective`` is the effective number of draws.
    """
    is_constant = np.ptp(batches) == 0
    mcse = float(with_rare_events(standard_errors(batches[None])[0], value, n_effective))
    size = n_effective if is_constant else value * (1.0 - value) / mcse**2
    status = "constant" if is_constant else "sampled"
    return Estimate(value, mcse, size, status, batches.size)


def effective_draws(graphs: WeightedGraphs) -> float:
    """The effective number of all draws: Kish's size times the efficiency of the chains."""
    series = (graphs.draw_weights, graphs.draws.log_scores)
    return graphs.kish_size * min(map(relative_efficiency, series))


def relative_efficiency(values: Floats) -> float:
    """The effective over the actual number of draws (chain, draw), at most 1; 1 if all are equal.

    Where draws are too few to tell, they are taken as independent.
    """
    if values.shape[1] < MIN_DRAWS or np.ptp(values) == 0:
        return 1.0
    return min(1.0, float(effective_sizes(values[None])[0]) / values.size)

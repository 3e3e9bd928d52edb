"""Posterior means with their Monte Carlo standard errors.

With weights w that add up to one, the mean of f is Σ w f. To first order its error is the mean of
N w (f - Σ w f) over the N draws, so that the standard error of that average, autocorrelation
included, is the standard error of the weighted mean; without weights it is the usual one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from outpoint.arrays import Booleans, Floats
from outpoint.graphs import Dag
from outpoint.posterior.draws import WeightedGraphs
from outpoint.posterior.features import Feature, FeatureFunction

MIN_DRAWS = 4
"""Fewer draws per chain tell nothing about autocorrelation."""


@dataclass(frozen=True)
class Estimate:
    """A posterior mean.

    ``mcse`` is its Monte Carlo standard error, and ``effective_sample_size`` the number of
    independent draws from the posterior that would have the same. ``status`` is ``"exact"`` (no
    error), ``"sampled"``, ``"constant"`` (all draws have the same value, so their spread says
    nothing about the error) or ``"few draws"``; the last two have NaN for both.
    """

    value: float
    mcse: float
    effective_sample_size: float
    status: str

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
    function = feature

    def each(dags: Booleans) -> Floats:
        return np.array([float(function(Dag.from_adjacency(dag, names))) for dag in dags])

    return graphs.evaluate(each)


def estimate_mean(values_of_graphs: Floats, graphs: WeightedGraphs) -> Estimate:
    """The weighted mean of values, given for each distinct DAG."""
    mean = graphs.mean(values_of_graphs)
    values, weights = values_of_graphs[graphs.which], graphs.draw_weights
    if values.shape[1] < MIN_DRAWS:
        return Estimate(mean, float("nan"), float("nan"), "few draws")
    if np.ptp(values) == 0:
        return Estimate(mean, float("nan"), float("nan"), "constant")
    mcse = standard_error(values.size * weights * (values - mean))
    variance = float((weights * (values - mean) ** 2).sum())
    size = variance / mcse**2 if mcse > 0 else float("nan")
    return Estimate(mean, mcse, size, "sampled")


def standard_error(values: Floats) -> float:
    """Monte Carlo standard error of the mean of values (chain, draw), by arviz-stats."""
    from arviz_stats.base.array import array_stats

    return float(array_stats.mcse(values, chain_axis=0, draw_axis=1, method="mean"))


def relative_efficiency(values: Floats) -> float:
    """The effective over the actual number of draws (chain, draw), at most 1; 1 if all are equal.

    Too few draws to tell are taken as independent.
    """
    from arviz_stats.base.array import array_stats

    if values.shape[1] < MIN_DRAWS or np.ptp(values) == 0:
        return 1.0
    size = float(array_stats.ess(values, chain_axis=0, draw_axis=1, method="mean"))
    return min(1.0, size / values.size)

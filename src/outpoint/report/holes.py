"""What was missing, in which patterns, and what that costs: a section of the report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from outpoint.naming import count_of
from outpoint.posterior import Posterior
from outpoint.posterior.augmented import AugmentedPosterior

N_COLUMNS = 30
N_PATTERNS = 10
N_EDGES = 15
LEAST_UNCERTAIN = 0.01
"""Least p (1 - p) of an edge whose share is listed: other edges are hardly uncertain at all."""


@dataclass(frozen=True)
class MissingValues:
    """Columns, patterns of rows, and edges, with numbers as they are shown."""

    summary: str
    columns: list[tuple[str, str, str]]
    patterns: list[tuple[str, str]]
    edges: list[tuple[str, str, str]]
    left_out: str


def describe_missing(posterior: Posterior) -> MissingValues | None:
    """The section on missing values; None if the table was complete."""
    if not isinstance(posterior, AugmentedPosterior):
        return None
    missing = posterior.holes.data.missing
    n_obs = len(missing)
    n_rows = int(missing.any(axis=1).sum())
    summary = (
        f"{count_of(int(missing.sum()), 'cell')} of {missing.size:,} had no value, and "
        f"{n_rows:,} of {n_obs:,} rows lacked at least one. What was missing is integrated out: "
        f"{posterior.n_chains} chains completed the table {posterior.steps_per_chain:,} times each."
    )
    numbers = missing.sum(axis=0)
    order = [int(v) for v in np.argsort(-numbers, kind="stable") if numbers[v]]
    columns = [
        (posterior.names[v], f"{numbers[v]:,}", f"{numbers[v] / n_obs:.1%}")
        for v in order[:N_COLUMNS]
    ]
    distinct, counts = np.unique(missing, axis=0, return_counts=True)
    ranked = np.argsort(-counts, kind="stable")
    patterns = [
        (
            ", ".join(posterior.names[v] for v in np.flatnonzero(distinct[i])) or "none",
            f"{counts[i]:,}",
        )
        for i in ranked[:N_PATTERNS]
    ]
    rest = [
        f"{len(order) - N_COLUMNS} more columns" if len(order) > N_COLUMNS else "",
        f"{len(counts) - N_PATTERNS} more patterns" if len(counts) > N_PATTERNS else "",
    ]
    left_out = " and ".join(part for part in rest if part)
    return MissingValues(summary, columns, patterns, _costly(posterior), left_out)


def _costly(posterior: AugmentedPosterior) -> list[tuple[str, str, str]]:
    """The edges with the largest shares of uncertainty from holes: name, probability, share."""
    edges = posterior.edge_probabilities.to_numpy()
    shares = posterior.missing_shares.to_numpy()
    weight = np.where(edges * (1 - edges) >= LEAST_UNCERTAIN, shares, -1.0)
    order = np.argsort(-weight, axis=None, kind="stable")[:N_EDGES]
    parents, children = np.unravel_index(order, edges.shape)
    return [
        (
            f"{posterior.names[u]} → {posterior.names[v]}",
            f"{edges[u, v]:.3f}",
            f"{shares[u, v]:.1%}",
        )
        for u, v in zip(parents, children, strict=True)
        if weight[u, v] >= 0
    ]

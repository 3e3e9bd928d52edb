"""The verdict on what chains have recorded, before a posterior is made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outpoint.mcmc import SAMPLERS
from outpoint.posterior.convergence import Assessment, Crossing, assess
from outpoint.posterior.diagnostics import MIN_BATCHES, mean_errors
from outpoint.runs import ChainRecord
from outpoint.tables.parent_sets import ParentSets

WORTH_A_LOOK = 0.005
"""Edges from outside the candidates that are less probable in all chains are not diagnosed."""


def assess_records(
    records: Sequence[ChainRecord],
    names: Sequence[str],
    parent_sets: ParentSets,
    method: str,
) -> Assessment:
    """Judge the chains of a run by the last draws and batches that all of them have."""
    n_draws = min(record.n_draws for record in records)
    children, places = np.nonzero(parent_sets.candidates >= 0)
    parents = parent_sets.candidates[children, places]
    edge_batches = last_batches([record.edge_batches for record in records])
    series = [edge_batches[:, :, children, places]]
    outer = outside_pairs(records)
    if len(outer):
        batches = last_batches([record.outside_batches for record in records])
        series.append(batches[:, :, outer[:, 0], outer[:, 1]])
        parents, children = np.append(parents, outer[:, 0]), np.append(children, outer[:, 1])
    sampler = SAMPLERS[method]
    return assess(
        tuple(series),
        [
            f"{names[u]} -> {names[v]}"
            for u, v in zip(parents.tolist(), children.tolist(), strict=True)
        ],
        np.stack([record.log_score[-n_draws:] for record in records]),
        np.stack(
            [parent_sets.count_members(record.codes[-n_draws:]).sum(axis=1) for record in records]
        ),
        frozen_chains=[chain for chain, record in enumerate(records) if record.is_frozen],
        crossing=_crossing(records) if sampler.has_ladder else None,
        begin_apart=any(
            not np.array_equal(record.start_code, records[0].start_code) for record in records
        ),
        bias=sampler.bias,
    )


def last_batches(batches: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The last batches that all chains have, (chain, batch, ...)."""
    n_batches = min(len(part) for part in batches)
    return np.stack([part[len(part) - n_batches :] for part in batches])


def outside_pairs(records: Sequence[ChainRecord]) -> NDArray[np.intp]:
    """The edges (parent, child) from outside the candidates that are worth a diagnosis.

    Empty for a run that is too short to have a batch of them.
    """
    largest = np.max([record.outside_edges for record in records], axis=0)
    is_long = all(len(record.outside_batches) for record in records)
    return np.argwhere((largest >= WORTH_A_LOOK) & is_long)


@dataclass(frozen=True)
class HotEnd:
    """Mean log weights of the hottest replicas in batches (chain, batch), and how much they vary.

    ``spread`` is the standard deviation of single log weights, 0 for replicas drawn afresh.
    """

    batches: NDArray[np.float64]
    spread: float

    @property
    def largest_gap(self) -> tuple[float, float]:
        """How far two chains are apart, and the standard error of a chain, in ``spread``."""
        means = self.batches.mean(axis=1)
        if self.spread == 0.0:
            return 0.0, 0.0
        error = 0.0
        if self.batches.shape[1] >= MIN_BATCHES:
            error = float(np.sqrt(np.mean(mean_errors(self.batches) ** 2)))
        return float(np.ptp(means) / self.spread), error / self.spread


def _crossing(records: Sequence[ChainRecord]) -> Crossing:
    batches = last_batches([record.hot_batches for record in records])
    if not batches.shape[1]:  # files of earlier versions know the means alone
        batches = np.array([[record.hot_log_weight] for record in records])
    end = HotEnd(batches, max(record.hot_spread for record in records))
    return Crossing(tuple(record.round_trips for record in records), *end.largest_gap)

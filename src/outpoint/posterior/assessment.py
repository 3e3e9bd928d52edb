"""The verdict on what chains have recorded, before a posterior is made of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from outpoint.mcmc import SAMPLERS
from outpoint.posterior.convergence import Assessment, Crossing, assess
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
    """Judge the chains of a run; the last draws and batches that all of them have."""
    n_draws = min(record.n_draws for record in records)
    children, places = np.indices(parent_sets.candidates.shape).reshape(2, -1)
    parents = parent_sets.candidates[children, places]
    series = [last_batches([record.edge_batches for record in records])]
    series[0] = series[0].reshape(*series[0].shape[:2], -1)
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

    None of a run that is too short to have a batch of them.
    """
    largest = np.max([record.outside_edges for record in records], axis=0)
    is_long = all(len(record.outside_batches) for record in records)
    return np.argwhere((largest >= WORTH_A_LOOK) & is_long)


def _crossing(records: Sequence[ChainRecord]) -> Crossing:
    return Crossing(tuple(record.round_trips for record in records), _largest_gap(records))


def _largest_gap(records: Sequence[ChainRecord]) -> float:
    """How far the hottest replicas of two chains are apart, in terms of how much they vary."""
    spread = max(record.hot_spread for record in records)
    means = [record.hot_log_weight for record in records]
    return float(np.ptp(means) / spread) if spread > 0 else 0.0

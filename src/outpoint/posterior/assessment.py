"""The verdict on what chains have recorded, before a posterior is made of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from outpoint.mcmc import SAMPLERS, SWEEP
from outpoint.mcmc.ladder import most_memory
from outpoint.posterior.convergence import Assessment, Crossing, assess
from outpoint.runs import ChainRecord


def assess_records(
    records: Sequence[ChainRecord],
    names: Sequence[str],
    candidates: NDArray[np.int32],
    method: str,
) -> Assessment:
    """Judge the chains of a run; all their draws and batches must be of equal number or more."""
    n_batches = min(len(record.edge_batches) for record in records)
    n_draws = min(record.n_draws for record in records)
    batches = np.stack([record.edge_batches[-n_batches:] for record in records])
    children, places = np.indices(candidates.shape).reshape(2, -1)
    parents = candidates[children, places]
    sampler = SAMPLERS[method]
    return assess(
        batches.reshape(len(records), n_batches, -1),
        [
            f"{names[u]} -> {names[v]}"
            for u, v in zip(parents.tolist(), children.tolist(), strict=True)
        ],
        np.stack([record.log_score[-n_draws:] for record in records]),
        np.stack([np.bitwise_count(record.masks[-n_draws:]).sum(axis=1) for record in records]),
        frozen_chains=[chain for chain, record in enumerate(records) if record.is_frozen],
        crossing=_crossing(records, len(names)) if sampler.has_ladder else None,
        begin_apart=any(
            not np.array_equal(record.start_mask, records[0].start_mask) for record in records
        ),
        bias=sampler.bias,
    )


def _crossing(records: Sequence[ChainRecord], n_nodes: int) -> Crossing:
    return Crossing(
        tuple(record.round_trips for record in records),
        tuple(record.hot_memory <= most_memory(n_nodes, SWEEP) for record in records),
    )

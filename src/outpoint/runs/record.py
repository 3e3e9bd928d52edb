"""What a chain has recorded, as the posterior takes it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from outpoint.mcmc import Chain
from outpoint.mcmc.trace import Draws

DISCARDED = 4
"""One part in so many is left out at the beginning of a chain whose length nobody knew before."""


@dataclass(frozen=True, kw_only=True)
class ChainRecord:
    """Draws, edge probabilities, the best DAG and the counts of one chain.

    Parent sets are masks over candidates. ``edge_batches[b, v, i]`` is the probability, averaged
    over batch b, that the i-th candidate of v is its parent; ``edges`` the average over all visits.
    """

    masks: NDArray[np.uint32]
    log_score: NDArray[np.float64]
    log_weight: NDArray[np.float64]
    edge_batches: NDArray[np.float64]
    edges: NDArray[np.float64]
    best_mask: NDArray[np.uint32]
    best_log_score: float
    attempts: NDArray[np.int64]
    accepted: NDArray[np.int64]
    swap_attempts: NDArray[np.int64]
    swap_accepted: NDArray[np.int64]
    power: NDArray[np.float64]
    n_steps: int
    thin: int

    @property
    def n_draws(self) -> int:
        """Number of kept draws."""
        return len(self.log_score)

    def without_beginning(self) -> ChainRecord:
        """The record without its first quarter, which may still be on its way."""
        first_draw = self.n_draws // DISCARDED
        batches = self.edge_batches[len(self.edge_batches) // DISCARDED :]
        return replace(
            self,
            masks=self.masks[first_draw:],
            log_score=self.log_score[first_draw:],
            log_weight=self.log_weight[first_draw:],
            edge_batches=batches,
            edges=batches.mean(axis=0) if len(batches) else self.edges,
        )


def record_chain(chain: Chain, draws: Draws) -> ChainRecord:
    """The record of a chain so far, with the draws taken from it."""
    trace = chain.trace
    n_visits, batch_size = int(trace.n_edge_sums[0]), int(trace.batch_size[0])
    return ChainRecord(
        masks=draws.masks,
        log_score=draws.log_score,
        log_weight=draws.log_weight,
        edge_batches=trace.edge_sum[: n_visits // batch_size] / batch_size,
        edges=trace.edge_sum.sum(axis=0) / max(1, n_visits),
        best_mask=trace.best_mask.copy(),
        best_log_score=float(trace.best_log_score[0]),
        attempts=trace.attempts.copy(),
        accepted=trace.accepted.copy(),
        swap_attempts=trace.swap_attempts.copy(),
        swap_accepted=trace.swap_accepted.copy(),
        power=chain.power.copy(),
        n_steps=max(0, chain.step - chain.n_warmup),
        thin=chain.thin,
    )

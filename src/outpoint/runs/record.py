"""What a chain has recorded, as the posterior takes it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from outpoint.mcmc import Chain
from outpoint.mcmc.ladder import memory_of
from outpoint.mcmc.moves import MOVES
from outpoint.mcmc.trace import Draws

DISCARDED = 4
"""One part in so many is left out at the beginning of a chain whose length nobody knew before."""


@dataclass(frozen=True, kw_only=True)
class ChainRecord:
    """Draws, edge probabilities, the best DAG and the counts of one chain.

    Parent sets are masks over candidates; ``start_mask`` is where the chain began.
    ``edge_batches[b, v, i]`` is the probability, averaged over batch b, that the i-th candidate of
    v is its parent; ``edges`` the average over all visits. ``attempts`` and ``accepted`` count the
    ``moves``, in their order. ``power`` are those of the replicas, a single 1 if there is no
    ladder; ``swap_attempts`` and ``swap_accepted`` belong to neighbours, and ``hot_memory`` is
    how much of what the hottest replica was is left after a sweep (0 if it is drawn afresh).
    """

    masks: NDArray[np.uint32]
    log_score: NDArray[np.float64]
    log_weight: NDArray[np.float64]
    edge_batches: NDArray[np.float64]
    edges: NDArray[np.float64]
    best_mask: NDArray[np.uint32]
    best_log_score: float
    start_mask: NDArray[np.uint32]
    moves: tuple[str, ...]
    attempts: NDArray[np.int64]
    accepted: NDArray[np.int64]
    power: NDArray[np.float64]
    swap_attempts: NDArray[np.int64]
    swap_accepted: NDArray[np.int64]
    round_trips: int
    hot_memory: float
    n_steps: int
    thin: int

    @property
    def n_draws(self) -> int:
        """Number of kept draws."""
        return len(self.log_score)

    @property
    def is_frozen(self) -> bool:
        """Whether the state never changed."""
        return not (self.accepted.any() or self.swap_accepted.any())

    def with_draws(self, which: slice) -> ChainRecord:
        """The record with some of its draws."""
        return replace(
            self,
            masks=self.masks[which],
            log_score=self.log_score[which],
            log_weight=self.log_weight[which],
        )

    def without_beginning(self) -> ChainRecord:
        """The record without its first quarter, which may still be on its way."""
        batches = self.edge_batches[len(self.edge_batches) // DISCARDED :]
        return replace(
            self.with_draws(slice(self.n_draws // DISCARDED, None)),
            edge_batches=batches,
            edges=batches.mean(axis=0) if len(batches) else self.edges,
        )


def record_chain(chain: Chain, draws: Draws) -> ChainRecord:
    """The record of a chain so far, with the draws taken from it."""
    trace, ladder = chain.trace, chain.ladder
    n_visits, batch_size = int(trace.n_edge_sums[0]), int(trace.batch_size[0])
    none = np.zeros(0, dtype=np.int64)
    return ChainRecord(
        masks=draws.masks,
        log_score=draws.log_score,
        log_weight=draws.log_weight,
        edge_batches=trace.edge_sum[: n_visits // batch_size] / batch_size,
        edges=trace.edge_sum.sum(axis=0) / max(1, n_visits),
        best_mask=trace.best_mask.copy(),
        best_log_score=float(trace.best_log_score[0]),
        start_mask=chain.start,
        moves=MOVES,
        attempts=trace.attempts.copy(),
        accepted=trace.accepted.copy(),
        power=np.ones(1) if ladder is None else ladder.power.copy(),
        swap_attempts=none if ladder is None else ladder.attempts.copy(),
        swap_accepted=none if ladder is None else ladder.accepted.copy(),
        round_trips=0 if ladder is None else int(ladder.round_trips[0]),
        hot_memory=0.0 if ladder is None else float(memory_of(ladder.moments[-1])),
        n_steps=max(0, chain.step - chain.n_warmup),
        thin=chain.thin,
    )

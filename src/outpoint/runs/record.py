"""What a chain has recorded, as the posterior takes it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint.mcmc import Chain
from outpoint.mcmc.ladder import mean_log_weight
from outpoint.mcmc.moves import MOVES
from outpoint.mcmc.replicas import Ladder, hot_batches
from outpoint.mcmc.trace import EDGE_ROWS, OUTSIDE_ROWS, KeptDags

BEGINNING = 4
"""One part in this many is left out at the beginning of a chain of unplanned length."""


@dataclass(frozen=True, kw_only=True)
class ChainRecord:
    """Draws, edge probabilities, the best DAG and the counts of one chain.

    Parent sets are given by their codes (see ``mcmc.sums``); ``start_code`` is where the chain
    began. ``edge_batches[b, v, i]`` is the probability, averaged over batch b, that the i-th
    candidate of v is its parent; ``edges`` the average over all visits.
    ``outside_batches[b, u, v]`` and ``outside_edges[u, v]`` are the same for all other edges, if
    there are any. ``attempts`` and ``accepted`` count the ``moves``, in their order. ``power`` are
    those of the replicas, a single 1 if there is no ladder; ``swap_attempts`` and
    ``swap_accepted`` belong to neighbours. ``hot_log_weight`` and ``hot_spread`` are mean and
    standard deviation of the log weight of the hottest replica (0 if it is drawn afresh);
    ``hot_batches`` are its means in batches of sweeps.
    ``is_cut`` says that the draws depend on where the chain was interrupted (see ``mcmc.chain``).
    """

    codes: NDArray[np.int32]
    log_score: NDArray[np.float64]
    log_weight: NDArray[np.float64]
    edge_batches: NDArray[np.float64]
    edges: NDArray[np.float64]
    outside_batches: NDArray[np.float64]
    outside_edges: NDArray[np.float64]
    best_code: NDArray[np.int32]
    best_log_score: float
    start_code: NDArray[np.int32]
    moves: tuple[str, ...]
    attempts: NDArray[np.int64]
    accepted: NDArray[np.int64]
    power: NDArray[np.float64]
    swap_attempts: NDArray[np.int64]
    swap_accepted: NDArray[np.int64]
    round_trips: int
    hot_log_weight: float
    hot_spread: float
    hot_batches: NDArray[np.float64]
    n_steps: int
    thin: int
    is_cut: bool = False

    @property
    def n_draws(self) -> int:
        """Number of kept draws."""
        return len(self.log_score)

    @property
    def is_frozen(self) -> bool:
        """Whether the state never changed."""
        return not (self.accepted.any() or self.swap_accepted.any())

    def in_memory(self) -> ChainRecord:
        """The record with its draws in memory, so that no file is needed."""
        return replace(
            self,
            codes=np.array(self.codes),
            log_score=np.array(self.log_score),
            log_weight=np.array(self.log_weight),
        )

    def with_draws(self, which: slice) -> ChainRecord:
        """The record with some of its draws."""
        return replace(
            self,
            codes=self.codes[which],
            log_score=self.log_score[which],
            log_weight=self.log_weight[which],
        )

    def without_beginning(self) -> ChainRecord:
        """The record without its first quarter, in which it may not have settled yet."""
        batches = self.edge_batches[len(self.edge_batches) // BEGINNING :]
        outside = self.outside_batches[len(self.outside_batches) // BEGINNING :]
        return replace(
            self.with_draws(slice(self.n_draws // BEGINNING, None)),
            edge_batches=batches,
            edges=batches.mean(axis=0) if len(batches) else self.edges,
            outside_batches=outside,
            outside_edges=outside.mean(axis=0) if len(outside) else self.outside_edges,
            hot_batches=self.hot_batches[len(self.hot_batches) // BEGINNING :],
        )


def record_chain(chain: Chain, draws: KeptDags) -> ChainRecord:
    """The record of a chain so far, with the draws taken from it."""
    trace, ladder = chain.trace, chain.ladder
    n_visits, batch_size = int(trace.n_edge_sums[0]), int(trace.batch_size[0])
    outside_size = batch_size * EDGE_ROWS // OUTSIDE_ROWS
    none = np.zeros(0, dtype=np.int64)
    return ChainRecord(
        codes=draws.codes,
        log_score=draws.log_score,
        log_weight=draws.log_weight,
        edge_batches=trace.edge_sum[: n_visits // batch_size] / batch_size,
        edges=trace.edge_sum.sum(axis=0) / max(1, n_visits),
        outside_batches=trace.outside_sum[: n_visits // outside_size] / outside_size,
        outside_edges=trace.outside_sum.sum(axis=0) / max(1, n_visits),
        best_code=trace.best_code.copy(),
        best_log_score=float(trace.best_log_score[0]),
        start_code=chain.start,
        moves=MOVES,
        attempts=trace.attempts.copy(),
        accepted=trace.accepted.copy(),
        power=np.ones(1) if ladder is None else ladder.power.copy(),
        swap_attempts=none if ladder is None else ladder.attempts.copy(),
        swap_accepted=none if ladder is None else ladder.accepted.copy(),
        round_trips=0 if ladder is None else int(ladder.round_trips[0]),
        **_hot_end(ladder),
        n_steps=max(0, chain.step - chain.n_warmup),
        thin=chain.thin,
        is_cut=chain.is_cut,
    )


def _hot_end(ladder: Ladder | None) -> dict[str, Any]:
    """What is known of the hottest replica, if it takes steps."""
    if ladder is None or ladder.moments[-1, 0] == 0:
        return {"hot_log_weight": 0.0, "hot_spread": 0.0, "hot_batches": np.zeros(0)}
    mean, spread = mean_log_weight(ladder.moments[-1], float(ladder.origin[-1]))
    return {"hot_log_weight": mean, "hot_spread": spread, "hot_batches": hot_batches(ladder)}

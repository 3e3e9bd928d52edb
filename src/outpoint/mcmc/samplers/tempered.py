"""Our sampler: placement without rejection, steps on DAGs, a ladder that builds itself.

Placement (docs/math.md#placement-without-rejection) takes turns with blocks of edge reversals
(docs/math.md#new-edge-reversal) and with blocks that draw the parents of a few nodes together
(:mod:`outpoint.mcmc.moves.families`, docs/math.md#joint-redraws). The warm-up measures the barrier
between the posterior and the hottest replica and builds the ladder from that; see
:mod:`outpoint.mcmc.ladder`. It is also when blocks of reversals are made as long as it takes for a
number of them to be accepted.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import require
from outpoint.graphs.counting import partition_size_law
from outpoint.mcmc.chain import SWEEP, Sampler
from outpoint.mcmc.dag import total_score
from outpoint.mcmc.ladder import (
    MOST_REPLICAS,
    first_powers,
    measure_barrier,
    nearest_rungs,
    space_powers,
    tuning_steps,
)
from outpoint.mcmc.mixes import Settings
from outpoint.mcmc.moves import REV
from outpoint.mcmc.moves.families import ONE_SHARE
from outpoint.mcmc.partition_chain import Plan
from outpoint.mcmc.replicas import Ladder, choose_replicas, make_ladder, set_state
from outpoint.mcmc.samplers.partition import PartitionChain, partition_of
from outpoint.tables.parent_sets import Codes
from outpoint.tables.view import TableView, empty_scores

FIRST_BLOCK = 40
"""Length of the first block of reversals, before it is tuned."""

ACCEPTED_PER_NODE = 0.5
"""Reversals that a tuned block should see accepted, per node."""

LONGEST_BLOCK = 20
"""Most reversals in a tuned block, per node."""

FAMILIES_PER_NODE = 0.5
"""Joint redraws of parents in a block, per node; where there are outside sets there are as many
redraws of one node on top of them."""


class TemperedChain(PartitionChain):
    """A partition chain with tempered replicas."""

    def __init__(
        self, view: TableView, settings: Settings, start: Codes, rng: np.random.Generator
    ) -> None:
        super().__init__(view, settings, start, rng)
        n = len(view.candidates)
        self._block = np.full(1, FIRST_BLOCK)
        share = 1.0 - ONE_SHARE if view.outside.score.size else 1.0
        self._plan = self._plan._replace(families=max(1, int(FAMILIES_PER_NODE * n / share)))
        if settings.hottest == 0.0 and every_partition_is_admissible(view):
            self._plan = self._plan._replace(fresh_sizes=partition_size_law(n))
        power = first_powers(settings.hottest)
        self._hottest = float(power[-1])
        self._rungs = make_ladder(power)
        self._replicas = choose_replicas(self._replicas, np.zeros(len(power), dtype=np.int64))
        starts = start[None] if settings.starts is None else settings.starts
        for replica in range(len(power)):
            set_state(self._replicas, replica, partition_of(view, starts[replica % len(starts)]))
        self._remember_best(starts)

    @property
    def ladder(self) -> Ladder:
        """The powers of the replicas, with what was counted on them."""
        return self._rungs

    @property
    def is_cut(self) -> bool:
        """Whether a sweep of the recorded part was taken in two calls; each of them is counted."""
        n_sweeps = -(-(self.step - self.n_warmup) // SWEEP)
        return self.step > self.n_warmup and self._rungs.moments[0, 0] != n_sweeps

    def _remember_best(self, starts: Codes) -> None:
        """The best DAG met may be one that a search has found, where a replica begins."""
        log_scores = [total_score(self._view, codes) for codes in starts]
        best = int(np.argmax(log_scores))
        self.trace.best_code[:] = starts[best]
        self.trace.best_log_score[0] = log_scores[best]

    def _mix(self, view: TableView, moves: Any, rev: float) -> NDArray[np.float64]:
        if moves is None:
            moves = {"node_gibbs": float(SWEEP), "rev": 1.0, "families": 1.0}
        return super()._mix(view, moves, rev)

    def _plan_tuning(self, n_warmup: int) -> list[int]:
        return tuning_steps(n_warmup, SWEEP)

    def _tune(self) -> None:
        n = len(self._view.candidates)
        rate = (self.trace.accepted[REV] + 1.0) / (self.trace.attempts[REV] + 10.0)
        self._block[0] = int(np.clip(ACCEPTED_PER_NODE * n / rate, 10, LONGEST_BLOCK * n))
        old = self._rungs
        new = space_powers(old.power, measure_barrier(old.rejection, old.attempts))
        self._replicas = choose_replicas(self._replicas, nearest_rungs(new, old.power))
        self._rungs = make_ladder(new)

    def _state_arrays(self) -> dict[str, NDArray[Any]]:
        return super()._state_arrays() | {"block": self._block}

    def _fit(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        n_replicas = snapshot["ladder.power"].size
        require(2 <= n_replicas <= MOST_REPLICAS, f"{n_replicas} replicas")
        self._replicas = choose_replicas(self._replicas, np.zeros(n_replicas, dtype=np.int64))
        self._rungs = make_ladder(np.zeros(n_replicas))

    def _check_state(self) -> None:
        super()._check_state()
        longest = max(FIRST_BLOCK, LONGEST_BLOCK * len(self._view.candidates))
        require(1 <= self._block[0] <= longest, "its blocks of reversals have no length")

    def _kernel_plan(self) -> Plan:
        return super()._kernel_plan()._replace(block=int(self._block[0]))


def every_partition_is_admissible(view: TableView) -> bool:
    """Whether every node may be without parents, and have any other node as its only parent."""
    n = len(view.candidates)
    if view.n_candidates.min() < n - 1:
        return False
    singles = view.dense[view.mask_start[:-1, None] + (1 << np.arange(n - 1))]
    return bool(np.isfinite(empty_scores(view)).all() and np.isfinite(singles).all())


TEMPERED = Sampler(
    name="mcmc",
    summary="placement without rejection, steps on DAGs and tempered replicas: our sampler",
    start=TemperedChain,
    usual_steps=20_000,
    edge_thin=SWEEP,
    goes_on=True,
    takes_moves=True,
    has_ladder=True,
)

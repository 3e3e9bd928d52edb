"""Partition MCMC (paper section 4), alone or with the edge reversal move (section 5)."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import kernel, lend
from outpoint.mcmc import mixes
from outpoint.mcmc.chain import SWEEP, Chain, Sampler, flatten
from outpoint.mcmc.dag import make_dag, set_dag
from outpoint.mcmc.mixes import Settings
from outpoint.mcmc.moves.families import focus_on
from outpoint.mcmc.partition import PartitionState, dag_to_partition, make_partition
from outpoint.mcmc.partition_chain import Plan, run_partition_chain
from outpoint.mcmc.replicas import make_ladder, make_replicas
from outpoint.mcmc.restoring import check_ladder, check_replicas
from outpoint.mcmc.steps import compile_steps
from outpoint.tables.parent_sets import Codes
from outpoint.tables.view import TableView, empty_scores, most_parents

EXCHANGES = 10
"""Exchanges of parts that two neighbouring replicas try at a time."""

NODES_PER_ROUND = 30
"""Nodes for each round of swaps and exchanges after a sweep. States climb a ladder by
exchanges more than by their own steps, and larger networks have more parts."""


class PartitionChain(Chain):
    """A chain on partitions with one replica: the paper's moves, or the user's own."""

    def __init__(
        self,
        view: TableView,
        settings: Settings,
        start: Codes,
        rng: np.random.Generator,
        *,
        rev: float = 0.0,
    ) -> None:
        super().__init__(view, settings, start, rng)
        mean_length = float(np.diff(view.outside.start).mean())
        self._plan = Plan(
            cumulative=self._mix(view, settings.moves, rev),
            block=1,
            families=1,
            focus=focus_on(start[None] if settings.starts is None else settings.starts),
            hot_redraws=mixes.hot_redraws(mean_length),
            sweep=SWEEP,
            fresh_sizes=np.zeros((0, 0)),
            exchanges=EXCHANGES,
            rounds=max(1, len(start) // NODES_PER_ROUND),
            thin=settings.thin,
            edge_thin=settings.edge_thin,
        )
        self._hottest = 1.0
        self._rungs = make_ladder(np.ones(1))
        self._replicas = make_replicas(1, partition_of(view, start))
        self._steps: Any = None
        self._drawn = lend(make_dag(len(start), most_parents(view)))

    def _mix(self, view: TableView, moves: Any, rev: float) -> NDArray[np.float64]:
        if moves is None or isinstance(moves, str):
            paper = mixes.paper_partition_mix(len(view.candidates))
            return mixes.cumulative(
                paper,
                still=mixes.STILL_SHARE,
                rev=rev,
                parents=parents_share(view),
                outside=outside_share(view),
            )
        return mixes.cumulative(
            mixes.user_mix(moves), parents=parents_share(view), outside=outside_share(view)
        )

    def _state_arrays(self) -> dict[str, NDArray[Any]]:
        return flatten("replicas", self._replicas) | flatten("ladder", self._rungs)

    def _check_state(self) -> None:
        check_replicas(self._view, self._replicas)
        check_ladder(self._rungs, self._hottest)

    def _run(self, first_step: int, n_steps: int, recording: bool) -> None:
        plan = self._kernel_plan()
        if self._steps is None:
            steps, self._scratch = compile_steps(
                self._view, self._replicas, self._rungs, plan, self.trace, self._rng
            )
            self._steps = lend(steps)
        run_partition_chain(
            self._lent_view,
            self._replicas,
            self._rungs,
            self._steps,
            self._drawn,
            plan,
            self._lent_trace,
            first_step,
            n_steps,
            recording,
            self._rng,
        )

    def _kernel_plan(self) -> Plan:
        return self._plan._replace(thin=self.thin)


def parents_share(view: TableView) -> float:
    """How often to draw parents anew: only where a node must have parents.

    Without such steps some partitions could not be reached from others there.
    """
    return 0.0 if np.isfinite(empty_scores(view)).all() else mixes.PARENTS_SHARE


def outside_share(view: TableView) -> float:
    """How often to redraw what a node holds: only where there are outside sets."""
    return mixes.OUTSIDE_SHARE if view.outside.score.size else 0.0


def partition_of(view: TableView, codes: Codes) -> PartitionState:
    """The scored partition of the DAG with these parent sets; outside sets are held."""
    state = make_partition(len(codes))
    _set_partition(view, codes, make_dag(len(codes), most_parents(view)), state)
    return state


@kernel
def _set_partition(view, codes, dag, state):
    set_dag(view, dag, codes)
    dag_to_partition(view, dag, state)


PARTITION = Sampler(
    name="partition",
    summary="partition MCMC with the paper's moves",
    start=PartitionChain,
    takes_moves=True,
)
PARTITION_REV = Sampler(
    name="partition+rev",
    summary="partition MCMC with edge reversals, the paper's best",
    start=partial(PartitionChain, rev=mixes.REV_SHARE),
    takes_moves=True,
)

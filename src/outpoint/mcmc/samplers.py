"""The samplers by name, each a chain that can be advanced piece by piece.

``"mcmc"`` is ours: node placement without rejection, blocks of edge reversals, tempered replicas.
The others are the paper's, with its mixes of moves.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import OptionError
from outpoint.kernels import kernel
from outpoint.mcmc import mixes
from outpoint.mcmc.chain import SWEEP, Chain, Settings, flatten
from outpoint.mcmc.dag import find_layers, make_dag, set_parents
from outpoint.mcmc.ladder import default_replicas, make_ladder, respace
from outpoint.mcmc.order_chain import make_order_chain, run_order_chain, score_order
from outpoint.mcmc.partition import (
    PartitionState,
    layers_to_partition,
    make_partition,
    score_partition,
)
from outpoint.mcmc.partition_chain import (
    REV,
    Plan,
    make_replicas,
    make_workspace,
    run_partition_chain,
)
from outpoint.mcmc.structure_chain import (
    make_structure_chain,
    run_structure_chain,
    start_structure_chain,
)
from outpoint.mcmc.sums import log_sum_any, sample_any
from outpoint.tables.view import TableView

METHODS = ("mcmc", "partition", "partition+rev", "order", "structure", "structure+rev")

FIRST_BLOCK = 40
"""Length of the first block of reversals, before it is tuned."""

ACCEPTED_PER_NODE = 0.5
"""Reversals that a tuned block should see accepted, per node."""

Masks = NDArray[np.uint32]


def start_chain(
    view: TableView, settings: Settings, start: Masks, rng: np.random.Generator
) -> Chain:
    """A chain of the chosen method at the DAG with parent sets ``start``."""
    if settings.order_steps:
        start = _start_from_orders(view, settings, start, rng)
    if settings.method in ("structure", "structure+rev"):
        return StructureChain(view, settings, start, rng)
    if settings.method == "order":
        return OrderChain(view, settings, start, rng)
    return PartitionChain(view, settings, start, rng)


def _start_from_orders(
    view: TableView, settings: Settings, start: Masks, rng: np.random.Generator
) -> Masks:
    """A DAG from the order in which a short order chain ends, or the best it has met.

    The first is the paper's suggestion (section 4), the second a stochastic search.
    """
    n_kept = settings.order_steps if settings.best_of_orders else 1
    brief = replace(
        settings,
        method="order",
        moves=None,
        n_warmup=settings.order_steps,
        n_draws=1,
        thin=1,
        edge_thin=n_kept,
    )
    chain = OrderChain(view, brief, start, rng)
    chain.advance(settings.order_steps + n_kept)
    return chain.trace.best_mask


def scattered_start(view: TableView, start: Masks, rng: np.random.Generator) -> Masks:
    """A DAG drawn from a random order, or ``start`` where constraints exclude the order.

    Chains that begin far apart and end up agreeing have found the posterior rather than merely
    stayed where they were.
    """
    masks = np.zeros_like(start)
    _draw_from_order(view, rng.permutation(len(start)), rng, masks)
    return masks if is_possible(view, masks) else start


@kernel
def _draw_from_order(view, order, rng, masks):
    position = np.empty(order.size, dtype=np.int64)
    for place in range(order.size):
        position[order[place]] = place
    for node in range(order.size):
        log_total = log_sum_any(view, node, position, position[node])
        if log_total > -np.inf:
            masks[node] = sample_any(view, node, position, position[node], log_total, rng)


def is_possible(view: TableView, masks: Masks) -> bool:
    """Whether every family of a DAG has a finite score."""
    return bool(np.isfinite(view.dense[np.arange(len(masks)), masks]).all())


class PartitionChain(Chain):
    """Any mix of partition moves, alone or with tempered replicas."""

    def __init__(
        self, view: TableView, settings: Settings, start: Masks, rng: np.random.Generator
    ) -> None:
        n, n_candidates = view.candidates.shape
        needs_parents = not np.isfinite(view.dense[:, 0]).all()
        n_replicas, block, moves = _partition_plan(settings, n, needs_parents)
        power = make_ladder(n_replicas)
        plan = Plan(moves, block, power, SWEEP, settings.thin, settings.edge_thin)
        super().__init__(view, settings, plan, rng)
        self._tunes_block = block > 1
        self._replicas = make_replicas(n_replicas, partition_of(view, start))
        self._work = make_workspace(n, n_candidates)

    def _tune(self, part: int) -> None:
        trace = self.trace
        power = respace(
            self._plan.power, trace.swap_attempts, trace.swap_accepted, gain=1.0 / (1 + part)
        )
        self._plan = self._plan._replace(power=power, block=self._tuned_block())

    def _tuned_block(self) -> int:
        """Long enough for a number of accepted reversals, by their rate so far."""
        if not self._tunes_block:
            return self._plan.block
        n = self._view.candidates.shape[0]
        rate = (self.trace.accepted[REV] + 1.0) / (self.trace.attempts[REV] + 10.0)
        return int(np.clip(ACCEPTED_PER_NODE * n / rate, 10, 20 * n))

    def _state_arrays(self) -> dict[str, NDArray[Any]]:
        return flatten("replicas", self._replicas)

    def _run(self, first_step: int, n_steps: int, recording: bool) -> None:
        run_partition_chain(
            self._view,
            self._replicas,
            self._work,
            self._plan,
            self.trace,
            first_step,
            n_steps,
            recording,
            self._rng,
        )


def _partition_plan(
    settings: Settings, n: int, needs_parents: bool
) -> tuple[int, int, NDArray[np.float64]]:
    """Number of replicas, length of a block of reversals, cumulated move probabilities.

    Where a node must have parents, steps that draw parents anew are mixed in: without them some
    partitions could not be reached from others.
    """
    parents = mixes.PARENTS if needs_parents else 0.0
    moves = settings.moves
    paper = mixes.paper_partition_mix(n)
    is_ours = settings.method == "mcmc"
    if not (moves is None or isinstance(moves, str)):
        n_replicas, block = (default_replicas(n), FIRST_BLOCK) if is_ours else (1, 1)
        return n_replicas, block, mixes.cumulative(mixes.user_mix(moves), parents=parents)
    if is_ours and moves is None:
        ours = {"node_gibbs": float(SWEEP), "rev": 1.0}
        return default_replicas(n), FIRST_BLOCK, mixes.cumulative(ours, parents=parents)
    rev = mixes.REV if settings.method == "partition+rev" else 0.0
    return 1, 1, mixes.cumulative(paper, still=mixes.STILL, rev=rev, parents=parents)


def partition_of(view: TableView, masks: Masks) -> PartitionState:
    """The scored partition of the DAG with these parent sets."""
    state = make_partition(len(masks))
    _set_partition(view, masks, state)
    return state


@kernel
def _set_partition(view, masks, state):
    n, n_candidates = view.candidates.shape
    dag = make_dag(n, n_candidates)
    for node in range(n):
        mask = np.int64(masks[node])
        set_parents(view, dag, node, mask, view.dense[node, mask])
    layer = np.empty(n, dtype=np.int64)
    n_layers = find_layers(dag, layer)
    layers_to_partition(layer, n_layers, state)
    score_partition(view, state)


class OrderChain(Chain):
    """Order MCMC: biased, see :mod:`outpoint.mcmc.order_chain`."""

    def __init__(
        self, view: TableView, settings: Settings, start: Masks, rng: np.random.Generator
    ) -> None:
        n, n_candidates = view.candidates.shape
        moves = mixes.cumulative(mixes.paper_order_mix(n), still=mixes.STILL)
        plan = Plan(moves, 1, np.ones(1), SWEEP, settings.thin, settings.edge_thin)
        super().__init__(view, settings, plan, rng)
        self._chain = make_order_chain(partition_of(view, start).order, n_candidates)
        score_order(view, self._chain)

    def _state_arrays(self) -> dict[str, NDArray[Any]]:
        return flatten("chain", self._chain)

    def _run(self, first_step: int, n_steps: int, recording: bool) -> None:
        run_order_chain(
            self._view,
            self._chain,
            self._plan,
            self.trace,
            first_step,
            n_steps,
            recording,
            self._rng,
        )


class StructureChain(Chain):
    """Structure MCMC, with or without standard reversals and the REV move."""

    def __init__(
        self, view: TableView, settings: Settings, start: Masks, rng: np.random.Generator
    ) -> None:
        n, n_candidates = view.candidates.shape
        rev = mixes.REV if settings.method == "structure+rev" else 0.0
        moves = mixes.cumulative({"edge": 1.0}, rev=rev)
        plan = Plan(moves, 1, np.ones(1), SWEEP, settings.thin, settings.edge_thin)
        super().__init__(view, settings, plan, rng)
        self._limits = (settings.max_parents, settings.edge_reversals)
        self._chain = make_structure_chain(n, n_candidates)
        start_structure_chain(view, self._chain, start, *self._limits)

    def _state_arrays(self) -> dict[str, NDArray[Any]]:
        return flatten("chain", self._chain)

    def _run(self, first_step: int, n_steps: int, recording: bool) -> None:
        run_structure_chain(
            self._view,
            self._chain,
            self._plan,
            *self._limits,
            self.trace,
            first_step,
            n_steps,
            recording,
            self._rng,
        )


def check_method(method: str, moves: Any) -> None:
    """Refuse unknown methods, and moves where they have no meaning."""
    if method not in METHODS:
        raise OptionError(f"unknown method {method!r}: choose one of {', '.join(METHODS)}.")
    if moves is not None and method in ("order", "structure", "structure+rev"):
        raise OptionError(f"moves belongs to the partition samplers, not to method {method!r}.")
    if moves is not None and not (isinstance(moves, str) and moves == "paper"):
        mixes.user_mix(moves)

"""Order MCMC (Friedman & Koller 2003; paper section 3.2): a chain on orders of the nodes.

Each node's parents come from before it in the order. A DAG belongs to every order that is a linear
extension of it, so DAGs with many extensions are visited too often: **the sample is biased**. It is
here for comparison and as a start for the unbiased samplers.

Formulas: docs/math.md#structure-and-order-mcmc.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import require
from outpoint.kernels import borrowed, inlined, kernel, lend
from outpoint.mcmc import mixes
from outpoint.mcmc.chain import Chain, Sampler
from outpoint.mcmc.dag import DagState, make_dag, set_parents
from outpoint.mcmc.metropolis import accepts
from outpoint.mcmc.mixes import Settings
from outpoint.mcmc.moves import STILL, SWAP_ANY
from outpoint.mcmc.restoring import are_close, check_order
from outpoint.mcmc.samplers.partition import partition_of
from outpoint.mcmc.sums import allowed_mask, is_open, log_sum_any, sample_any
from outpoint.mcmc.trace import add_outside_set, next_edge_row, record_dag
from outpoint.tables.logspace import EPSILON
from outpoint.tables.parent_sets import Codes
from outpoint.tables.view import TableView, inside_sum, most_parents


class OrderState(NamedTuple):
    """An order (parents first), each node's place in it and sum over parent sets; scratch space."""

    order: NDArray[np.int64]
    position: NDArray[np.int64]
    log_sum: NDArray[np.float64]
    proposed: NDArray[np.float64]
    dag: DagState


def make_order_chain(order: NDArray[np.int64], most_parents: int) -> OrderState:
    """A chain at ``order``, not scored yet."""
    n = len(order)
    position = np.empty(n, dtype=np.int64)
    position[order] = np.arange(n)
    return OrderState(
        np.array(order, dtype=np.int64),
        position,
        np.zeros(n),
        np.zeros(n),
        make_dag(n, most_parents),
    )


@kernel
def score_order(view, chain):
    """Score all nodes of the order; return its log weight."""
    total = 0.0
    for node in range(chain.order.size):
        chain.log_sum[node] = log_sum_any(view, node, chain.position, chain.position[node])
        total += chain.log_sum[node]
    return total


@kernel
def run_order_chain(
    view, chain, moves, thin, edge_thin, trace, first_step, n_steps, recording, rng
):
    """Take ``n_steps`` steps: swap any two nodes, or two adjacent ones, or stay.

    ``moves`` are the summed probabilities of the moves in the order of ``MOVES``.
    """
    view, chain, moves, trace = borrowed(view), borrowed(chain), borrowed(moves), borrowed(trace)
    n = chain.order.size
    for step in range(first_step + 1, first_step + n_steps + 1):
        pick = rng.random()
        move = 0
        while pick >= moves[move]:
            move += 1
        trace.attempts[move] += 1
        if move != STILL:
            first = int(rng.random() * (n - 1))
            second = first + 1
            if move == SWAP_ANY:
                first = int(rng.random() * n)
                second = int(rng.random() * (n - 1))
                second += second >= first
            trace.accepted[move] += _try_swap(
                view, chain, min(first, second), max(first, second), rng
            )
        if recording:
            if step % edge_thin == 0:
                _add_edges(view, chain, trace)
            if step % thin == 0:
                _record(view, chain, trace, rng)


@inlined
def _swap(chain, first, second):
    upper, lower = chain.order[first], chain.order[second]
    chain.order[first], chain.order[second] = lower, upper
    chain.position[upper], chain.position[lower] = second, first


@inlined
def _try_swap(view, chain, first, second, rng):
    """Swap the nodes at two places; they and the nodes between them get new sums."""
    _swap(chain, first, second)
    change = 0.0
    for place in range(first, second + 1):
        node = chain.order[place]
        chain.proposed[node] = log_sum_any(view, node, chain.position, place)
        change += chain.proposed[node] - chain.log_sum[node]
    if not accepts(change, 0.0, rng):
        _swap(chain, first, second)
        return False
    for place in range(first, second + 1):
        node = chain.order[place]
        chain.log_sum[node] = chain.proposed[node]
    return True


@inlined
def _add_edges(view, chain, trace):
    """Add P(u -> v | order) for all edges."""
    row = next_edge_row(trace)
    for node in range(chain.order.size):
        allowed = allowed_mask(view, node, chain.position, chain.position[node])
        inside = inside_sum(view, node, allowed)
        for i in range(view.n_candidates[node]):
            if allowed >> i & 1:
                without = inside_sum(view, node, allowed & ~(1 << i))
                probability = np.exp(inside - chain.log_sum[node]) - np.exp(
                    without - chain.log_sum[node]
                )
                trace.edge_sum[row, node, i] += max(0.0, probability)
        _add_outside_edges(view, chain, trace, row, node)


@inlined
def _add_outside_edges(view, chain, trace, row, node):
    """Add the edges of the outside sets that the order allows, each by its probability."""
    allowed = allowed_mask(view, node, chain.position, chain.position[node])
    for place in range(view.outside.start[node], view.outside.start[node + 1]):
        share = np.exp(view.outside.score[place] - chain.log_sum[node])
        if share < EPSILON:
            break
        if is_open(view, place, allowed, chain.position, chain.position[node]):
            add_outside_set(trace, view, row, node, place, share)


@inlined
def _record(view, chain, trace, rng):
    """Draw a DAG from the order and keep it."""
    total = 0.0
    for node in range(chain.order.size):
        place, log_sum = chain.position[node], chain.log_sum[node]
        set_parents(
            view, chain.dag, node, sample_any(view, node, chain.position, place, log_sum, rng)
        )
        total += log_sum
    record_dag(trace, chain.dag, total)


class OrderChain(Chain):
    """A chain on orders as a sampler runs it."""

    def __init__(
        self, view: TableView, settings: Settings, start: Codes, rng: np.random.Generator
    ) -> None:
        super().__init__(view, settings, start, rng)
        n = len(view.candidates)
        self._moves = mixes.cumulative(mixes.paper_order_mix(n), still=mixes.STILL_SHARE)
        self._state = make_order_chain(partition_of(view, start).order, most_parents(view))
        self._lent_state = lend(self._state)
        score_order(view, self._state)

    def _state_arrays(self) -> dict[str, NDArray[Any]]:
        return {name: getattr(self._state, name) for name in ("order", "position", "log_sum")}

    def _check_state(self) -> None:
        state = self._state
        check_order(state.order)
        is_inverse = np.array_equal(state.position[state.order], np.arange(len(state.order)))
        require(is_inverse, "a node has the wrong place in the order")
        log_sum = state.log_sum.copy()
        score_order(self._view, state)
        require(are_close(log_sum, state.log_sum), "the weight of an order is wrong")
        state.log_sum[:] = log_sum

    def _run(self, first_step: int, n_steps: int, recording: bool) -> None:
        run_order_chain(
            self._lent_view,
            self._lent_state,
            self._moves,
            self.thin,
            self._edge_thin,
            self._lent_trace,
            first_step,
            n_steps,
            recording,
            self._rng,
        )


def end_of_order_chain(
    view: TableView, settings: Settings, start: Codes, rng: np.random.Generator
) -> Codes:
    """A DAG from the order in which a short order chain ends (the paper's start, section 4)."""
    brief = replace(settings, n_warmup=settings.order_steps, n_draws=1, thin=1, edge_thin=1)
    chain = OrderChain(view, brief, start, rng)
    chain.advance(settings.order_steps + 1)
    return chain.trace.best_code


ORDER = Sampler(
    name="order",
    summary="order MCMC, for comparison: biased",
    start=OrderChain,
    bias=(
        "Order MCMC is biased towards DAGs with many linear extensions, however long it runs: use "
        "method 'mcmc' for the posterior."
    ),
)

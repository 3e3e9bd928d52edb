"""Order MCMC (paper section 3.2): fast, and biased."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import require
from outpoint.kernels import lend
from outpoint.mcmc import mixes
from outpoint.mcmc.chain import Chain
from outpoint.mcmc.order_chain import make_order_chain, run_order_chain, score_order
from outpoint.mcmc.restoring import are_close, check_order
from outpoint.mcmc.samplers.base import Sampler
from outpoint.mcmc.samplers.partition import partition_of
from outpoint.mcmc.settings import Settings
from outpoint.tables.parent_sets import Codes
from outpoint.tables.view import TableView, most_parents


class OrderChain(Chain):
    """A chain on orders, see :mod:`outpoint.mcmc.order_chain`."""

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
        require(is_inverse, "a node has another place in the order")
        log_sum = state.log_sum.copy()
        score_order(self._view, state)
        require(are_close(log_sum, state.log_sum), "the weight of an order is another one")
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

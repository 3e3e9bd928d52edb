"""Order MCMC (paper section 3.2): fast, and biased."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint.mcmc import mixes
from outpoint.mcmc.chain import Chain, flatten
from outpoint.mcmc.order_chain import make_order_chain, run_order_chain, score_order
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
        self._edge_thin = settings.edge_thin
        self._state = make_order_chain(partition_of(view, start).order, most_parents(view))
        score_order(view, self._state)

    def _state_arrays(self) -> dict[str, NDArray[Any]]:
        return flatten("chain", self._state)

    def _run(self, first_step: int, n_steps: int, recording: bool) -> None:
        run_order_chain(
            self._view,
            self._state,
            self._moves,
            self.thin,
            self._edge_thin,
            self.trace,
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

"""Everything that decides what the chains of a run do."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Masks = NDArray[np.uint32]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The sampler, where its chains start, what is tuned, and what is kept.

    The first chain begins at the DAG with parent sets ``start``; with ``scatter`` the others begin
    at DAGs drawn from random orders that allow the ``required`` edges. With ``order_steps`` each
    chain begins where an order chain of so many steps ends.

    The first ``n_warmup`` steps tune and are not recorded. A draw is kept every ``thin`` steps;
    whenever there are ``2 * n_draws``, every second one is dropped, and fewer are kept from then
    on.
    """

    method: str
    start: Masks
    max_parents: int
    moves: Any = None
    edge_reversals: bool = True
    scatter: bool = False
    required: NDArray[np.bool_] | None = None
    order_steps: int = 0
    n_chains: int = 1
    seed: int = 0
    n_warmup: int = 0
    n_draws: int = 1000
    thin: int = 1
    edge_thin: int = 1

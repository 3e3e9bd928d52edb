"""Everything that decides what the chains of a run do."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from outpoint.tables.parent_sets import Codes

Moves = Mapping[str, float] | Literal["paper"]
"""Weights of partition moves, or the paper's."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The sampler, where its chains start, what is tuned, and what is kept.

    The first chain begins at the DAG with parent sets ``start``; with ``scatter`` the others begin
    at DAGs drawn from random orders that allow the ``required`` edges. With ``order_steps`` each
    chain begins where an order chain of so many steps ends.

    Tempered replicas reach down to the power ``hottest``. With ``starts`` each of them, chain after
    chain, begins at a DAG of its own as far as there are enough.

    The first ``n_warmup`` steps tune and are not recorded. A draw is kept every ``thin`` steps;
    whenever there are ``2 * n_draws``, every second one is dropped, and fewer are kept from then
    on.
    """

    method: str
    start: Codes
    max_parents: int
    moves: Moves | None = None
    edge_reversals: bool = True
    scatter: bool = False
    required: NDArray[np.bool_] | None = None
    order_steps: int = 0
    hottest: float = 0.0
    starts: Codes | None = None
    n_chains: int = 1
    seed: int = 0
    n_warmup: int = 0
    n_draws: int = 1000
    thin: int = 1
    edge_thin: int = 1

"""The samplers by name: one file each, one line here.

``"mcmc"`` is ours; the others are the paper's, with its mixes of moves.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from outpoint.errors import OptionError
from outpoint.graphs.order import random_order
from outpoint.kernels import kernel
from outpoint.mcmc import mixes
from outpoint.mcmc.chain import Chain, Sampler
from outpoint.mcmc.ladder import FIRST_REPLICAS
from outpoint.mcmc.mixes import Settings
from outpoint.mcmc.order_chain import ORDER, end_of_order_chain
from outpoint.mcmc.samplers.partition import PARTITION, PARTITION_REV
from outpoint.mcmc.samplers.tempered import TEMPERED
from outpoint.mcmc.structure_chain import STRUCTURE, STRUCTURE_REV
from outpoint.mcmc.sums import log_sum_any, sample_any
from outpoint.tables.parent_sets import Codes
from outpoint.tables.view import TableView

SAMPLERS = {
    sampler.name: sampler
    for sampler in (TEMPERED, PARTITION, PARTITION_REV, ORDER, STRUCTURE, STRUCTURE_REV)
}


def check_method(method: str, moves: Any) -> Sampler:
    """The sampler of this name; refuses unknown ones, and moves where they have no meaning."""
    if method not in SAMPLERS:
        raise OptionError(f"unknown method {method!r}: choose one of {', '.join(SAMPLERS)}.")
    sampler = SAMPLERS[method]
    if moves is not None and not sampler.takes_moves:
        raise OptionError(f"moves belongs to the partition samplers, not to method {method!r}.")
    if moves is not None and not (isinstance(moves, str) and moves == "paper"):
        mixes.user_mix(moves)
    return sampler


def make_chain(view: TableView, settings: Settings, index: int = 0) -> Chain:
    """The chain with this number, at its start; each has a random stream of its own."""
    stream = np.random.SeedSequence(settings.seed).spawn(settings.n_chains)[index]
    rng = np.random.default_rng(stream)
    start = settings.start
    if settings.starts is not None:
        own = np.roll(settings.starts, -index * FIRST_REPLICAS, axis=0)
        settings, start = replace(settings, starts=own), own[0]
    elif settings.scatter and index > 0:
        start = scattered_start(view, settings, rng)
    if settings.order_steps:
        start = end_of_order_chain(view, settings, start, rng)
    return SAMPLERS[settings.method].start(view, settings, start, rng)


def scattered_start(view: TableView, settings: Settings, rng: np.random.Generator) -> Codes:
    """A DAG drawn from a random order that allows the required edges.

    Chains that begin far apart and end up agreeing have found the posterior rather than merely
    stayed where they were. A score of the user's own may exclude every DAG of the order; the chain
    then begins at the common start.
    """
    codes = np.zeros_like(settings.start)
    n = len(codes)
    required = np.zeros((n, n), bool) if settings.required is None else settings.required
    _draw_from_order(view, random_order(required, rng), rng, codes)
    return codes if is_possible(view, codes) else settings.start


@kernel
def _draw_from_order(view, order, rng, codes):
    position = np.empty(order.size, dtype=np.int64)
    for place in range(order.size):
        position[order[place]] = place
    for node in range(order.size):
        log_total = log_sum_any(view, node, position, position[node])
        if log_total > -np.inf:
            codes[node] = sample_any(view, node, position, position[node], log_total, rng)


def is_possible(view: TableView, codes: Codes) -> bool:
    """Whether every family of a DAG has a finite score; outside sets always have."""
    inside = np.flatnonzero(codes >= 0)
    return bool(np.isfinite(view.dense[view.mask_start[inside] + codes[inside]]).all())

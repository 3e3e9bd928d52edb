"""Split a layer in two, or join two adjacent layers (paper section 4.4, algorithm 1).

A partition with layer sizes k_i has m - 1 joins and 2^{k_i} - 2 splits of each layer, and one of
all these is proposed uniformly.

Formulas: docs/math.md#split-and-join.
"""

import numpy as np

from outpoint.kernels import inlined
from outpoint.mcmc.partition import copy_partition

MAX_BITS = 50
"""Layers up to this size draw the split as one random integer, larger ones node by node."""


@inlined
def count_split_join(state):
    """Number of neighbours, as a float: layers may be large."""
    count = state.n_layers[0] - 1.0
    for level in range(state.n_layers[0]):
        count += 2.0 ** (state.start[level + 1] - state.start[level]) - 2.0
    return count


@inlined
def propose_split_join(state, proposal, rng):
    """Propose one of all joins and splits, uniformly."""
    n_neighbours = count_split_join(state)
    if n_neighbours == 0.0:
        return 0.0, -1, -1
    copy_partition(state, proposal)
    pick = rng.random() * n_neighbours
    if pick < state.n_layers[0] - 1:
        begin, end = _join(proposal, int(pick))
    else:
        pick -= state.n_layers[0] - 1
        level = 0
        while level < state.n_layers[0] - 1:
            splits = 2.0 ** (state.start[level + 1] - state.start[level]) - 2.0
            if pick < splits:
                break
            pick -= splits
            level += 1
        # Rounding at the very end of the range can only reach a layer of one node here.
        while state.start[level + 1] - state.start[level] < 2:
            level -= 1
        begin, end = _split(state, proposal, level, rng)
    return np.log(n_neighbours / count_split_join(proposal)), begin, end


@inlined
def _join(proposal, level):
    """Join ``level`` with the next layer; the latter's nodes and those after it change."""
    n_layers = proposal.n_layers[0]
    start = proposal.start
    begin = start[level + 1]
    end = start[min(level + 3, n_layers)]
    for place in range(begin, proposal.order.size):
        proposal.layer[proposal.order[place]] -= 1
    for later in range(level + 1, n_layers):
        start[later] = start[later + 1]
    proposal.n_layers[0] = n_layers - 1
    return begin, end


@inlined
def _split(state, proposal, level, rng):
    """Move a random non-empty proper subset of ``level`` into a new layer right after it."""
    n_layers = state.n_layers[0]
    first, last = state.start[level], state.start[level + 1]
    size = last - first
    n_staying = 0
    while n_staying == 0 or n_staying == size:
        n_staying = 0
        n_moving = 0
        bits = 1 + int(rng.random() * (2.0**size - 2.0)) if size <= MAX_BITS else 0
        for i in range(size):
            moves = bits >> i & 1 if size <= MAX_BITS else rng.random() < 0.5
            if moves:
                n_moving += 1
                proposal.order[last - n_moving] = state.order[first + i]
            else:
                proposal.order[first + n_staying] = state.order[first + i]
                n_staying += 1
    begin = first + n_staying
    for place in range(begin, proposal.order.size):
        proposal.layer[proposal.order[place]] += 1
    for later in range(n_layers, level, -1):
        proposal.start[later + 1] = proposal.start[later]
    proposal.start[level + 1] = begin
    proposal.n_layers[0] = n_layers + 1
    return begin, proposal.start[min(level + 3, n_layers + 1)]

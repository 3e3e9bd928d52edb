"""Swap two nodes of different layers, or of adjacent layers (paper section 4.7).

The layer sizes stay, and with them the number of neighbours: the proposal ratio is 1.

Formulas: docs/math.md#swaps.
"""

from outpoint.kernels import inlined
from outpoint.mcmc.partition import copy_partition


@inlined
def propose_swap_any(state, proposal, rng):
    """Swap two nodes of different layers, uniformly among all such pairs."""
    n = state.order.size
    if state.n_layers[0] == 1:
        return 0.0, -1, -1
    first = second = 0
    while state.layer[state.order[first]] == state.layer[state.order[second]]:
        first = int(rng.random() * n)
        second = int(rng.random() * n)
    begin, end = _swap(state, proposal, min(first, second), max(first, second))
    return 0.0, begin, end


@inlined
def propose_swap_adjacent(state, proposal, rng):
    """Swap two nodes of adjacent layers, uniformly among all such pairs."""
    n_layers = state.n_layers[0]
    if n_layers == 1:
        return 0.0, -1, -1
    start = state.start
    n_pairs = 0
    for level in range(n_layers - 1):
        n_pairs += (start[level + 1] - start[level]) * (start[level + 2] - start[level + 1])
    pick = int(rng.random() * n_pairs)
    level = 0
    while True:
        size = start[level + 1] - start[level]
        next_size = start[level + 2] - start[level + 1]
        if pick < size * next_size:
            break
        pick -= size * next_size
        level += 1
    first = start[level] + pick // next_size
    second = start[level + 1] + pick % next_size
    begin, end = _swap(state, proposal, first, second)
    return 0.0, begin, end


@inlined
def _swap(state, proposal, first, second):
    """Swap the nodes at two places; the upper one's successor goes to the end of its layer."""
    copy_partition(state, proposal)
    upper, lower = state.order[first], state.order[second]
    upper_level, lower_level = state.layer[upper], state.layer[lower]
    last = state.start[upper_level + 1] - 1
    proposal.order[first] = proposal.order[last]
    proposal.order[last] = lower
    proposal.order[second] = upper
    proposal.layer[upper] = lower_level
    proposal.layer[lower] = upper_level
    return last, state.start[min(lower_level + 2, state.n_layers[0])]

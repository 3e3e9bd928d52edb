"""Taking one node out of a partition and putting it back somewhere else.

Move one node into another layer or into a gap between layers (paper section 4.6).

Some of these moves lead to the same partition: either node of a layer of two put into the gap on
the far side of the other; a node alone in its layer put into the gap next to it; two adjacent
single nodes joining, or one hopping over the other. Each such neighbour is allowed from one side
only, so that every distinct neighbour counts once.

Formulas: docs/math.md#node-move.
"""

import numpy as np

from outpoint.kernels import inlined


@inlined
def relocate(state, node, target, is_new, out):
    """Write to ``out`` the partition ``state`` with ``node`` taken out and put back.

    Among the layers that remain without the node, it joins layer ``target``, or forms a new
    layer right before layer ``target`` if ``is_new``. It stands last in its layer.
    """
    place = 0
    level = 0
    remaining = 0
    for old in range(state.n_layers[0]):
        first, last = state.start[old], state.start[old + 1]
        if last - first == 1 and state.order[first] == node:
            continue
        if is_new and remaining == target:
            place, level = _put_alone(node, place, level, out)
        out.start[level] = place
        for i in range(first, last):
            other = state.order[i]
            if other != node:
                out.order[place] = other
                out.layer[other] = level
                place += 1
        if not is_new and remaining == target:
            out.order[place] = node
            out.layer[node] = level
            place += 1
        level += 1
        remaining += 1
    if is_new and remaining == target:
        place, level = _put_alone(node, place, level, out)
    out.start[level] = place
    out.n_layers[0] = level


@inlined
def _put_alone(node, place, level, out):
    out.start[level] = place
    out.order[place] = node
    out.layer[node] = level
    return place + 1, level + 1


@inlined
def count_targets(state, level):
    """Numbers of layers and of gaps that a node of this layer may go to."""
    n_layers = state.n_layers[0]
    size = state.start[level + 1] - state.start[level]
    if size >= 3:
        return n_layers - 1, n_layers + 1
    if size == 2:
        return n_layers - 1, n_layers
    if is_followed_by_single(state, level):
        return n_layers - 2, n_layers - 2
    return n_layers - 1, n_layers - 1


@inlined
def is_followed_by_single(state, level):
    """Whether the next layer exists and has one node."""
    return level + 1 < state.n_layers[0] and state.start[level + 2] - state.start[level + 1] == 1


@inlined
def count_node_moves(state):
    """Number of distinct neighbours."""
    count = 0
    for level in range(state.n_layers[0]):
        joins, gaps = count_targets(state, level)
        count += (state.start[level + 1] - state.start[level]) * (joins + gaps)
    return count


@inlined
def propose_node_move(state, proposal, rng):
    """Propose one of all distinct relocations of a node, uniformly."""
    n_neighbours = count_node_moves(state)
    if n_neighbours == 0:
        return 0.0, -1, -1
    pick = int(rng.random() * n_neighbours)
    level = 0
    joins, gaps = count_targets(state, level)
    while pick >= (state.start[level + 1] - state.start[level]) * (joins + gaps):
        pick -= (state.start[level + 1] - state.start[level]) * (joins + gaps)
        level += 1
        joins, gaps = count_targets(state, level)
    node = state.order[state.start[level] + pick // (joins + gaps)]
    pick %= joins + gaps
    is_new = pick >= joins
    target = _gap_target(state, level, pick - joins) if is_new else _join_target(state, level, pick)
    relocate(state, node, target, is_new, proposal)
    begin, end = _changed_places(state, proposal, node, level)
    return np.log(n_neighbours / count_node_moves(proposal)), begin, end


@inlined
def _join_target(state, level, pick):
    """The ``pick``-th layer to join, numbered among the layers left without the node."""
    is_single = state.start[level + 1] - state.start[level] == 1
    if is_single:
        # The own layer is gone; the layer after it is skipped if it is a single node too.
        if is_followed_by_single(state, level) and pick >= level:
            return pick + 1
        return pick
    return pick if pick < level else pick + 1


@inlined
def _gap_target(state, level, pick):
    """The ``pick``-th gap, as the number of remaining layers before it."""
    size = state.start[level + 1] - state.start[level]
    if size >= 3:
        return pick
    if size == 2:
        return pick if pick <= level else pick + 1
    skipped = 2 if is_followed_by_single(state, level) else 1
    return pick if pick < level else pick + skipped


@inlined
def _changed_places(state, proposal, node, old_level):
    """Places in the proposal's order from the first to the last node with other sets to sum."""
    new_level = proposal.layer[node]
    new_place = proposal.start[new_level + 1] - 1
    last_old_place = state.start[old_level + 1] - 1
    if new_place <= last_old_place:
        return new_place, state.start[min(old_level + 2, state.n_layers[0])]
    return last_old_place, proposal.start[min(new_level + 2, proposal.n_layers[0])]

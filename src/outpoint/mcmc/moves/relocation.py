"""Taking one node out of a partition and putting it back somewhere else."""

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

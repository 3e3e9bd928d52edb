"""The nodes of one adjacency matrix in topological order, compiled."""

import numpy as np

from outpoint.kernels import inlined


@inlined
def sort_nodes(dag, order):
    """Fill ``order`` with the nodes of ``dag`` [parent, child], parents first.

    Returns whether there is such an order, that is no cycle.
    """
    n = order.size
    n_waiting = np.zeros(n, dtype=np.int64)
    for u in range(n):
        for v in range(n):
            n_waiting[v] += dag[u, v]
    n_placed = 0
    for v in range(n):
        if n_waiting[v] == 0:
            order[n_placed] = v
            n_placed += 1
    done = 0
    while done < n_placed:
        u = order[done]
        done += 1
        for v in range(n):
            if dag[u, v]:
                n_waiting[v] -= 1
                if n_waiting[v] == 0:
                    order[n_placed] = v
                    n_placed += 1
    return n_placed == n

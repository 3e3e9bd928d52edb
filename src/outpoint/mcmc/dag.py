"""DAGs as the state of a chain: parent lists, local scores, layers."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import inlined, jitable, kernel
from outpoint.tables.view import TableView, inside_score

EXCLUDED = np.int64(-(1 << 40))
"""Code of a parent set that is neither inside nor in the list of outside sets."""


class DagState(NamedTuple):
    """Parents of each node, as a list of ``n_parents[v]`` and as a code; local log scores.

    The code of an inside set is its mask, that of an outside set is negative (see ``mcmc.sums``).
    """

    parents: NDArray[np.int64]
    n_parents: NDArray[np.int64]
    code: NDArray[np.int64]
    log_score: NDArray[np.float64]


@jitable
def make_dag(n, max_parents):
    """The empty DAG, not scored yet."""
    return DagState(
        np.zeros((n, max_parents + 1), dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n),
    )


@inlined
def set_parents(view, dag, node, code):
    """Give ``node`` the parents with this code."""
    size = 0
    if code >= 0:
        for i in range(view.n_candidates[node]):
            if code >> i & 1:
                dag.parents[node, size] = view.candidates[node, i]
                size += 1
        dag.log_score[node] = inside_score(view, node, code)
    else:
        for k in range(view.outside.members.shape[1]):
            if view.outside.members[~code, k] >= 0:
                dag.parents[node, size] = view.outside.members[~code, k]
                size += 1
        dag.log_score[node] = view.outside.score[~code]
    dag.n_parents[node] = size
    dag.code[node] = code


@inlined
def set_dag(view, dag, codes):
    """Give all nodes the parents with these codes."""
    for node in range(codes.size):
        set_parents(view, dag, node, np.int64(codes[node]))


@inlined
def changed_code(view, dag, node, lost, gained):
    """The code of the parents of ``node`` without ``lost`` and with ``gained``, if not -1."""
    mask = np.int64(0)
    n_inside = size = 0
    for i in range(dag.n_parents[node] + 1):
        u = dag.parents[node, i] if i < dag.n_parents[node] else gained
        if u >= 0 and u != lost:
            size += 1
            if view.position[node, u] >= 0:
                mask |= np.int64(1) << view.position[node, u]
                n_inside += 1
    if n_inside == size:
        return mask
    for place in range(view.outside.start[node], view.outside.start[node + 1]):
        n_found = n_members = 0
        for k in range(view.outside.members.shape[1]):
            u = view.outside.members[place, k]
            if u >= 0:
                n_members += 1
                n_found += u == gained or (u != lost and has_parent(dag, node, u))
        if n_found == size and n_members == size:
            return ~np.int64(place)
    return EXCLUDED


@inlined
def has_parent(dag, node, u):
    """Whether u is a parent of ``node``."""
    found = False
    for i in range(dag.n_parents[node]):
        found = found or dag.parents[node, i] == u
    return found


@inlined
def code_score(view, node, code):
    """The score of ``node`` with the parents of this code."""
    if code >= 0:
        return inside_score(view, node, code)
    return -np.inf if code == EXCLUDED else view.outside.score[~code]


def total_score(view: TableView, codes: NDArray[Any]) -> float:
    """The log score of the DAG with these parent sets, which must exist."""
    return float(_total_score(view, codes.astype(np.int64)))


@kernel
def _total_score(view, codes):
    total = 0.0
    for node in range(codes.size):
        total += code_score(view, node, codes[node])
    return total


@inlined
def dag_score(dag):
    """The log score of a DAG, from the scores of its nodes."""
    total = 0.0
    for node in range(dag.log_score.size):
        total += dag.log_score[node]
    return total


@inlined
def copy_dag(source, target):
    """Make ``target`` equal to ``source``."""
    for node in range(source.n_parents.size):
        for i in range(source.n_parents[node]):
            target.parents[node, i] = source.parents[node, i]
        target.n_parents[node] = source.n_parents[node]
        target.code[node] = source.code[node]
        target.log_score[node] = source.log_score[node]


@inlined
def find_layers(dag, order, layer):
    """The layer of each node: 0 without parents, else one more than its highest parent.

    ``order`` has every node once, and this is quick where most parents stand before their children.
    Returns the number of layers, or -1 if there is a cycle.
    """
    n = dag.n_parents.size
    for node in range(n):
        layer[node] = -1
    n_done = 0
    n_layers = 0
    while n_done < n:
        n_before = n_done
        for place in range(n):
            node = order[place]
            if layer[node] < 0:
                highest = -1
                for i in range(dag.n_parents[node]):
                    above = layer[dag.parents[node, i]]
                    if above < 0:
                        highest = n
                        break
                    highest = max(highest, above)
                if highest < n:
                    layer[node] = highest + 1
                    n_layers = max(n_layers, highest + 2)
                    n_done += 1
        if n_done == n_before:
            return -1
    return n_layers

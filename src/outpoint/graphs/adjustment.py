"""Adjustment sets of many DAGs: compiled loops over blocks of matrices (block, parent, child).

A set Z adjusts for the effect of x on y if summing p(y | x, z) p(z) over its values gives
p(y | do(x)) in every model of the DAG. By the complete criterion (Shpitser, VanderWeele & Robins,
2010; Perković et al., 2018) that is so if Z holds no descendant of a node on a directed path from
x to y, x apart, and separates x from y in the back-door graph, which lacks the first edges of
these paths (van der Zander, Liśkiewicz & Textor, 2019). Loading this module loads the compiler.
Formulas: docs/math.md#adjustment-sets.
"""

from typing import NamedTuple

import numpy as np

from outpoint.arrays import Booleans
from outpoint.kernels import kernel

PARENTS, OPTIMAL, FEWER_PARENTS, FEWER_OPTIMAL = range(4)


class Proposals(NamedTuple):
    """Valid sets of each DAG, of four kinds: ``members`` (block, kind, node), ``exist`` (block,
    kind).

    The parents of the cause; the optimal set, whose estimates vary least (Henckel, Perković &
    Maathuis, 2022), where there is a directed path; and each of them without what can be left out.
    """

    members: Booleans
    exist: Booleans


def find_adjusted(dags: Booleans, cause: int, effect: int, members: Booleans) -> Booleans:
    """In each DAG, whether the ``members`` (node) adjust for the effect of one node on another."""
    out = np.zeros(len(dags), dtype=np.bool_)
    _find_adjusted(np.ascontiguousarray(dags), cause, effect, members, out)
    return out


def propose_adjustments(dags: Booleans, cause: int, effect: int) -> Proposals:
    """Sets that adjust for the effect of one node on another, in each DAG."""
    n = dags.shape[1]
    members = np.zeros((len(dags), 4, n), dtype=np.bool_)
    exist = np.zeros((len(dags), 4), dtype=np.bool_)
    _propose(np.ascontiguousarray(dags), cause, effect, members, exist)
    return Proposals(members, exist)


@kernel
def _find_adjusted(dags, x, y, members, out):
    n = members.size
    graph = np.empty((n, n), dtype=np.bool_)
    causal = np.empty(n, dtype=np.bool_)
    forbidden = np.empty(n, dtype=np.bool_)
    for k in range(out.size):
        _cut_causal(dags[k], x, y, graph, causal, forbidden)
        allowed = True
        for v in range(n):
            allowed = allowed and not (members[v] and forbidden[v])
        out[k] = allowed and _separates(graph, x, y, members)


@kernel
def _propose(dags, x, y, members, exist):
    n = dags.shape[1]
    graph = np.empty((n, n), dtype=np.bool_)
    causal = np.empty(n, dtype=np.bool_)
    forbidden = np.empty(n, dtype=np.bool_)
    for k in range(dags.shape[0]):
        if dags[k, y, x]:
            continue  # nothing blocks that edge
        _cut_causal(dags[k], x, y, graph, causal, forbidden)
        exist[k, PARENTS] = exist[k, FEWER_PARENTS] = True
        exist[k, OPTIMAL] = exist[k, FEWER_OPTIMAL] = causal[y]
        for u in range(n):
            members[k, PARENTS, u] = dags[k, u, x]
            for v in range(n):
                if causal[v] and dags[k, u, v] and u != x and not forbidden[u]:
                    members[k, OPTIMAL, u] = True
        for kind in (PARENTS, OPTIMAL):
            members[k, kind + 2] = members[k, kind]
            if exist[k, kind]:
                _leave_out(graph, x, y, members[k, kind + 2])


@kernel
def _leave_out(graph, x, y, members):
    """Leave out each node that is not needed, so that no smaller set within the rest adjusts.

    The members are ancestors of x or y, so that all their subsets are judged by the same moral
    graph, where a set that holds a separating one separates too.
    """
    for v in range(members.size):
        if members[v]:
            members[v] = False
            members[v] = not _separates(graph, x, y, members)


@kernel
def _cut_causal(dag, x, y, graph, causal, forbidden):
    """The back-door graph; the nodes on directed paths from x to y, and all their descendants."""
    n = causal.size
    graph[:] = dag
    below = np.zeros(n, dtype=np.bool_)
    above = np.zeros(n, dtype=np.bool_)
    below[x] = above[y] = True
    _close(dag, below, True)
    _close(dag, above, False)
    for v in range(n):
        causal[v] = forbidden[v] = below[v] and above[v] and v != x
        if causal[v]:
            graph[x, v] = False
    _close(dag, forbidden, True)


@kernel
def _close(graph, marked, downwards):
    """Mark the descendants, or the ancestors, of all marked nodes."""
    n = marked.size
    stack = np.empty(n, dtype=np.int64)
    size = 0
    for v in range(n):
        if marked[v]:
            stack[size] = v
            size += 1
    while size:
        size -= 1
        u = stack[size]
        for v in range(n):
            linked = graph[u, v] if downwards else graph[v, u]
            if linked and not marked[v]:
                marked[v] = True
                stack[size] = v
                size += 1


@kernel
def _separates(graph, x, y, members):
    """Whether the members d-separate x from y, by walking all open paths from x.

    A walk stands at a node having come along an edge into it (0) or out of it (1). It goes on from
    a node outside the set, but not from one arrow head to another, which takes a node with a
    descendant in the set.
    """
    n = members.size
    opens = members.copy()
    _close(graph, opens, False)
    seen = np.zeros((n, 2), dtype=np.bool_)
    stack = np.empty(2 * n, dtype=np.int64)
    stack[0] = 2 * x + 1
    seen[x, 1] = True
    size = 1
    while size:
        size -= 1
        v = stack[size] >> 1
        out_of = stack[size] & 1
        if v == y:
            return False
        goes_down = not members[v]
        goes_up = goes_down if out_of else opens[v]
        for u in range(n):
            if goes_down and graph[v, u] and not seen[u, 0]:
                seen[u, 0] = True
                stack[size] = 2 * u
                size += 1
            if goes_up and graph[u, v] and not seen[u, 1]:
                seen[u, 1] = True
                stack[size] = 2 * u + 1
                size += 1
    return True

"""Many DAGs at once: compiled loops over blocks of adjacency matrices (block, parent, child).

A posterior is held as hundreds of thousands of DAGs, too many to be made into values one by one.
The functions here answer for a whole block: the CPDAG of each DAG, whether a path leads from one
node to another, and weighted sums of adjacency, CPDAG, ancestor and Markov blanket matrices. DAGs
have few edges, so the kernels see the matrices as one list of edges, sorted by DAG and parent.
They take for granted that every matrix of a block is acyclic, and loading this module loads the
compiler.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats
from outpoint.kernels import borrowed, inlined, kernel


@inlined
def sort_nodes(dag, order, n_waiting):
    """Fill ``order`` with the nodes of ``dag`` [parent, child], parents first.

    Returns whether there is such an order, that is, no cycle; ``n_waiting`` is scratch.
    """
    n = order.size
    for v in range(n):
        n_waiting[v] = 0
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


class EdgeList(NamedTuple):
    """The edges of all matrices of a block; row r = graph * n + parent has start[r]:start[r+1]."""

    start: NDArray[np.int64]
    child: NDArray[np.int64]


class Scratch(NamedTuple):
    """Scratch space for the work on one graph."""

    order: NDArray[np.int64]
    waiting: NDArray[np.int64]
    n_parents: NDArray[np.int64]
    parents: NDArray[np.int64]  # [child, place]
    marks: NDArray[np.int64]


def _make_scratch(n: int) -> Scratch:
    lists = [np.zeros(n, dtype=np.int64) for _ in range(3)]
    return Scratch(*lists, *(np.zeros((n, n), dtype=np.int64) for _ in range(2)))


def compute_cpdags(dags: Booleans, separated: Booleans | None = None) -> Booleans:
    """The CPDAG of each DAG: [a, b] for a -> b, both ways for an undirected a - b.

    Edges between nodes that are ``separated`` by the targets of experiments get a direction, too.
    """
    out = np.zeros(dags.shape, dtype=np.bool_)
    known = np.zeros(dags.shape[1:], dtype=np.bool_) if separated is None else separated
    _compute_cpdags(_list_edges(dags), known, _make_scratch(dags.shape[1]), out)
    return out


def find_paths(dags: Booleans, source: int, target: int) -> Booleans:
    """Whether a directed path leads from one node to another, in each DAG."""
    out = np.zeros(len(dags), dtype=np.bool_)
    _find_paths(_list_edges(dags), source, target, dags.shape[1], out)
    return out


def add_matrices(matrices: Booleans, weights: Floats, total: Floats) -> None:
    """Add the matrices, each times its weight, to ``total``."""
    _add_matrices(_list_edges(matrices), weights, total)


def add_cpdags(cpdags: Booleans, weights: Floats, compelled: Floats, undirected: Floats) -> None:
    """Add the directed and the undirected edges of CPDAGs, times their weights, to two totals."""
    _add_cpdags(_list_edges(cpdags), cpdags, weights, compelled, undirected)


def add_ancestors(dags: Booleans, weights: Floats, total: Floats) -> None:
    """Add the ancestor matrices [ancestor, descendant], each times its weight, to ``total``."""
    _add_ancestors(_list_edges(dags), weights, total)


def add_blankets(dags: Booleans, weights: Floats, total: Floats) -> None:
    """Add the (symmetric) matrices of Markov blankets, each times its weight, to ``total``."""
    _add_blankets(_list_edges(dags), weights, _make_scratch(dags.shape[1]), total)


def _list_edges(matrices: Booleans) -> EdgeList:
    n = matrices.shape[1]
    row, child = np.divmod(np.flatnonzero(matrices), max(n, 1))
    start = np.zeros(len(matrices) * n + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=len(matrices) * n), out=start[1:])
    return EdgeList(start, child)


@inlined
def _sort_nodes(edges, first_row, order, n_unplaced):
    """Fill ``order`` with the nodes of one graph, parents first; ``n_unplaced`` is scratch."""
    n = order.size
    for v in range(n):
        n_unplaced[v] = 0
    for e in range(edges.start[first_row], edges.start[first_row + n]):
        n_unplaced[edges.child[e]] += 1
    size = 0
    for v in range(n):
        if n_unplaced[v] == 0:
            order[size] = v
            size += 1
    for i in range(n):
        row = first_row + order[i]
        for e in range(edges.start[row], edges.start[row + 1]):
            v = edges.child[e]
            n_unplaced[v] -= 1
            if n_unplaced[v] == 0:
                order[size] = v
                size += 1


@kernel
def _compute_cpdags(edges, separated, scratch, out):
    """Chickering's labelling, as in ``cpdag``: the last parent of a node decides its edges.

    In ``out`` first every edge of the DAG is marked one way, and those that turn out to be
    reversible are marked the other way too when all of them are known.
    """
    edges, scratch = borrowed(edges), borrowed(scratch)
    n = out.shape[1]
    order, parents, n_parents = scratch.order, scratch.parents, scratch.n_parents
    compelled = scratch.marks  # [child, place among its parents]
    for k in range(out.shape[0]):
        _sort_nodes(edges, k * n, order, scratch.waiting)
        for v in range(n):
            n_parents[v] = 0
        for i in range(n):  # in this order the last parent comes last
            u = order[i]
            for e in range(edges.start[k * n + u], edges.start[k * n + u + 1]):
                v = edges.child[e]
                parents[v, n_parents[v]] = u
                n_parents[v] += 1
                out[k, u, v] = True
        for i in range(n):
            if n_parents[order[i]]:
                _label_edges_into(order[i], k, out, separated, parents, n_parents, compelled)
        for v in range(n):
            for j in range(n_parents[v]):
                if compelled[v, j] == 0:
                    out[k, v, parents[v, j]] = True


@inlined
def _label_edges_into(y, k, out, separated, parents, n_parents, compelled):
    last = parents[y, n_parents[y] - 1]
    decided = separated[last, y]
    for j in range(n_parents[last]):
        decided = decided or (compelled[last, j] != 0 and not out[k, parents[last, j], y])
    for j in range(n_parents[y] - 1):
        decided = decided or not out[k, parents[y, j], last]
    for j in range(n_parents[y]):
        compelled[y, j] = decided
    if decided:
        return
    for j in range(n_parents[y] - 1):  # then the others are parents of the last one as well
        for i in range(n_parents[last]):
            if parents[last, i] == parents[y, j]:
                compelled[y, j] = compelled[last, i]


@kernel
def _find_paths(edges, source, target, n, out):
    stack = np.empty(n, dtype=np.int64)
    seen = np.empty(n, dtype=np.bool_)
    for k in range(out.size):
        seen[:] = False
        stack[0] = source
        size = 1
        while size and not out[k]:
            size -= 1
            row = k * n + stack[size]
            for e in range(edges.start[row], edges.start[row + 1]):
                v = edges.child[e]
                if not seen[v]:
                    seen[v] = True
                    stack[size] = v
                    size += 1
            out[k] = seen[target]


@kernel
def _add_matrices(edges, weights, total):
    n = total.shape[0]
    for k in range(weights.size):
        for u in range(n):
            for e in range(edges.start[k * n + u], edges.start[k * n + u + 1]):
                total[u, edges.child[e]] += weights[k]


@kernel
def _add_cpdags(edges, cpdags, weights, compelled, undirected):
    n = compelled.shape[0]
    for k in range(weights.size):
        for u in range(n):
            for e in range(edges.start[k * n + u], edges.start[k * n + u + 1]):
                v = edges.child[e]
                if cpdags[k, v, u]:
                    undirected[u, v] += weights[k]
                else:
                    compelled[u, v] += weights[k]


@kernel
def _add_ancestors(edges, weights, total):
    n = total.shape[0]
    order = np.empty(n, dtype=np.int64)
    scratch = np.empty(n, dtype=np.int64)
    n_words = (n + 63) // 64
    above = np.empty((n, n_words), dtype=np.uint64)  # the ancestors of each node, as bits
    for k in range(weights.size):
        _sort_nodes(edges, k * n, order, scratch)
        for u in range(n):
            for word in range(n_words):
                above[u, word] = 0
        for i in range(n):
            u = order[i]
            for e in range(edges.start[k * n + u], edges.start[k * n + u + 1]):
                v = edges.child[e]
                for word in range(n_words):
                    above[v, word] |= above[u, word]
                above[v, u >> 6] |= np.uint64(1) << np.uint64(u & 63)
        for v in range(n):
            for word in range(n_words):
                bits = above[v, word]
                u = 64 * word
                while bits:
                    if bits & np.uint64(1):
                        total[u, v] += weights[k]
                    bits >>= np.uint64(1)
                    u += 1


@kernel
def _add_blankets(edges, weights, scratch, total):
    """Parents, children, and those who share a child; a pair counts once however related."""
    edges, scratch = borrowed(edges), borrowed(scratch)
    n = total.shape[0]
    n_parents, parents = scratch.n_parents, scratch.parents
    seen_in = scratch.marks  # [smaller, larger]: graphs up to the last counted, none at first
    for k in range(weights.size):
        for v in range(n):
            n_parents[v] = 0
        for u in range(n):
            for e in range(edges.start[k * n + u], edges.start[k * n + u + 1]):
                v = edges.child[e]
                parents[v, n_parents[v]] = u
                n_parents[v] += 1
        for v in range(n):
            for i in range(n_parents[v]):
                a = parents[v, i]
                for j in range(i, n_parents[v]):
                    b = v if j == i else parents[v, j]
                    low, high = (a, b) if a < b else (b, a)
                    if seen_in[low, high] <= k:
                        seen_in[low, high] = k + 1
                        total[a, b] += weights[k]
                        total[b, a] += weights[k]

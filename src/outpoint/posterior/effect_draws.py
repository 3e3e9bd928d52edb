"""Compiled: coefficients drawn from their posterior given a DAG, and their total effects."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats
from outpoint.graphs.blocks import sort_nodes
from outpoint.kernels import borrowed, inlined, kernel


class Block(NamedTuple):
    """DAGs (dag, parent, child) whose effects are drawn, and all that this takes.

    ``factor[group[v]]`` is the triangular factor of R for node v (any if that is -1, then v has no
    parents), and ``units`` is what effects are multiplied by. Of the random numbers ``gammas``
    (dag, repeat, node) has one for each variance, ``normals`` one for each coefficient, in order.
    """

    dags: Booleans
    weights: Floats
    factor: Floats
    group: NDArray[np.int64]
    units: Floats
    gammas: Floats
    normals: Floats


class Scratch(NamedTuple):
    """Room for what is worked out for one DAG."""

    order: NDArray[np.int64]
    waiting: NDArray[np.int64]
    parents: NDArray[np.int64]
    columns: Floats
    triangle: Floats
    triangles: Floats  # of every node, for its parents in this DAG and then itself
    coefficients: Floats
    total: Floats


def add_effects(block: Block, out: NDArray[np.float32], means: Floats, paths: Floats) -> bool:
    """Fill ``out`` (dag, repeat, cause, effect); add to the weighted sums of means and paths.

    Stops and returns false at a graph with a cycle.
    """
    n = len(block.units)
    room = 1 + int(block.dags.sum(axis=1).max(initial=0))  # n of n x n would be gigabytes
    order, waiting, parents = np.zeros((3, n), dtype=np.int64)
    columns, triangle, coefficients, total = np.zeros((4, n, n))
    triangles = np.zeros((n, room, room))
    scratch = Scratch(order, waiting, parents, columns, triangle, triangles, coefficients, total)
    return bool(_add_effects(block, scratch, out, means, paths))


@kernel
def _add_effects(block, scratch, out, means, paths):
    """The first pass for each DAG has the mean coefficients, the others draw them.

    A family that the DAG before has too is not factorised again.
    """
    block, scratch = borrowed(block), borrowed(scratch)
    order, parents, triangle = scratch.order, scratch.parents, scratch.triangle
    coefficients, total = scratch.coefficients, scratch.total
    n = order.size
    n_used = 0
    for d in range(block.dags.shape[0]):
        dag = block.dags[d]
        if not sort_nodes(dag, order, scratch.waiting):
            return False
        for repeat in range(-1, out.shape[1]):
            for v in range(n):
                n_parents = _list_parents(dag, v, parents)
                factorised = scratch.triangles[v]
                if repeat < 0:
                    if d == 0 or not _have_same_parents(block.dags[d - 1], dag, v):
                        factor = block.factor[block.group[v]]
                        _orthogonalise(factor, parents, n_parents, v, scratch.columns, factorised)
                    sigma = 0.0
                else:
                    scale = abs(factorised[n_parents, n_parents])
                    sigma = scale / np.sqrt(2.0 * block.gammas[d, repeat, v])
                for i in range(n_parents):
                    for j in range(n_parents + 1):
                        triangle[i, j] = factorised[i, j]
                    if repeat >= 0:
                        triangle[i, n_parents] += sigma * block.normals[n_used]
                        n_used += 1
                _solve(triangle, parents, n_parents, v, coefficients)
            _fill_total(dag, order, coefficients, total)
            for u in range(n):
                for v in range(n):
                    if repeat < 0:
                        means[u, v] += block.weights[d] * total[u, v] * block.units[u, v]
                    else:
                        out[d, repeat, u, v] = total[u, v] * block.units[u, v]
        _add_paths(dag, order, block.weights[d], total, paths)
    return True


@inlined
def _have_same_parents(first, second, v):
    """Whether a node has the same parents in two DAGs."""
    are_same = True
    for u in range(first.shape[0]):
        are_same = are_same and first[u, v] == second[u, v]
    return are_same


@inlined
def _list_parents(dag, v, parents):
    count = 0
    for u in range(parents.size):
        if dag[u, v]:
            parents[count] = u
            count += 1
    return count


@inlined
def _orthogonalise(factor, parents, n_parents, v, columns, triangle):
    """The triangular factor of R on the parents and then v, by modified Gram-Schmidt."""
    n = factor.shape[0]
    for i in range(n_parents + 1):
        node = parents[i] if i < n_parents else v
        for k in range(n):
            columns[i, k] = factor[k, node]
    for i in range(n_parents + 1):
        norm = 0.0
        for k in range(n):
            norm += columns[i, k] * columns[i, k]
        norm = np.sqrt(norm)
        triangle[i, i] = norm
        for j in range(i + 1, n_parents + 1):
            product = 0.0
            for k in range(n):
                product += columns[i, k] * columns[j, k]
            product /= norm
            triangle[i, j] = product
            for k in range(n):
                columns[j, k] -= product * columns[i, k] / norm


@inlined
def _solve(triangle, parents, n_parents, v, coefficients):
    """Coefficients of v's parents: the triangle's last column against the rest."""
    for i in range(n_parents - 1, -1, -1):
        value = triangle[i, n_parents]
        for j in range(i + 1, n_parents):
            value -= triangle[i, j] * coefficients[parents[j], v]
        coefficients[parents[i], v] = value / triangle[i, i]


@inlined
def _fill_total(dag, order, coefficients, total):
    """(I - B)^-1, column by column along the order."""
    n = order.size
    for u in range(n):
        for v in range(n):
            total[u, v] = 0.0
    for place in range(n):
        v = order[place]
        total[v, v] = 1.0
        for p in range(n):
            if dag[p, v]:
                for u in range(n):
                    total[u, v] += total[u, p] * coefficients[p, v]


@inlined
def _add_paths(dag, order, weight, reach, paths):
    """Add ``weight`` where a path leads from one node to another; overwrites ``reach``."""
    n = order.size
    for u in range(n):
        for v in range(n):
            reach[u, v] = 0.0
    for place in range(n):
        v = order[place]
        for p in range(n):
            if dag[p, v]:
                reach[p, v] = 1.0
                for u in range(n):
                    reach[u, v] = max(reach[u, v], reach[u, p])
    for u in range(n):
        for v in range(n):
            paths[u, v] += weight * reach[u, v]

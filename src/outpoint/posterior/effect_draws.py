"""Compiled: coefficients drawn from their posterior given a DAG, and their total effects."""

import numpy as np

from outpoint.graphs.blocks import sort_nodes
from outpoint.kernels import inlined, kernel


@kernel
def add_effects(dags, weights, factor, group, units, gammas, normals, out, means, paths):
    """Fill ``out`` (dag, repeat, cause, effect); add to the weighted sums of means and paths.

    ``factor[group[v]]`` is the triangular factor of R for node v (any if that is -1, then v has no
    parents), and ``units`` is what effects are multiplied with. Of the random numbers ``gammas``
    (dag, repeat, node) has one for each variance, ``normals`` one for each coefficient, in order.
    A family that the DAG before has too is not factorised again. Stops and returns false at a graph
    with a cycle.
    """
    n = factor.shape[1]
    order = np.empty(n, dtype=np.int64)
    parents = np.empty(n, dtype=np.int64)
    columns = np.empty((n, n))
    triangle = np.zeros((n, n))
    centre = np.empty((n, n))
    drawn = np.empty((n, n))
    total = np.empty((n, n))
    room = _largest_family(dags)  # n of n x n would be gigabytes
    triangles = np.zeros((n, room, room))
    n_used = 0
    for d in range(dags.shape[0]):
        if not sort_nodes(dags[d], order):
            return False
        for v in range(n):
            if d > 0 and _have_same_parents(dags[d - 1], dags[d], v):
                continue
            n_parents = _list_parents(dags[d], v, parents)
            _orthogonalise(factor[group[v]], parents, n_parents, v, columns, triangles[v])
            _solve(triangles[v], parents, n_parents, v, centre)
        _fill_total(dags[d], order, centre, total)
        for u in range(n):
            for v in range(n):
                means[u, v] += weights[d] * total[u, v] * units[u, v]
        for repeat in range(out.shape[1]):
            for v in range(n):
                n_parents = _list_parents(dags[d], v, parents)
                scale = abs(triangles[v, n_parents, n_parents])
                sigma = scale / np.sqrt(2.0 * gammas[d, repeat, v])
                for i in range(n_parents):
                    for j in range(n_parents):
                        triangle[i, j] = triangles[v, i, j]
                    triangle[i, n_parents] = triangles[v, i, n_parents]
                    triangle[i, n_parents] += sigma * normals[n_used]
                    n_used += 1
                _solve(triangle, parents, n_parents, v, drawn)
            _fill_total(dags[d], order, drawn, total)
            for u in range(n):
                for v in range(n):
                    out[d, repeat, u, v] = total[u, v] * units[u, v]
        _add_paths(dags[d], order, weights[d], total, paths)
    return True


@inlined
def _have_same_parents(first, second, v):
    """Whether a node has the same parents in two DAGs."""
    are_same = True
    for u in range(first.shape[0]):
        are_same = are_same and first[u, v] == second[u, v]
    return are_same


@inlined
def _largest_family(dags):
    """The most parents of a node, and the node."""
    largest = 0
    for d in range(dags.shape[0]):
        for v in range(dags.shape[1]):
            size = 1
            for u in range(dags.shape[1]):
                size += dags[d, u, v]
            largest = max(largest, size)
    return largest


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

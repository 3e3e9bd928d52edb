"""What the two recursions over pairs of sets have in common: how the pairs are laid out.

Both sum over all sets B and all sets S of nodes outside B, 3^n pairs, and this is where the time of
the exact engine goes. The nodes are divided into *inner* ones (the low bits of a set's number) and
*outer* ones. While the outer part of B is held fixed, that of B + S runs through its supersets:
these are numbered without gaps and become the columns of a table whose rows are the inner parts.
The terms of one inner part then stand in a row, contiguous in memory, and every inner loop is
plain arithmetic on a few rows.

All terms are scaled by the best order of a set (:class:`Scales`). The more nodes S has, the smaller
is a term relative to that order: a row whose first term has vanished has vanished altogether.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Floats
from outpoint.exact.scaled import Scaled
from outpoint.kernels import inlined, kernel
from outpoint.tables.bits import skip_bit

NEGLIGIBLE = -1200.0
"""Binary exponent, relative to the evidence, of sets that cannot change any probability.

The weight of all DAGs exceeds that of the best order by at most 2^100 on either side of a set, so
what is left out stays below 2^-1000.
"""

Masks = NDArray[np.int64]


class Scales(NamedTuple):
    """Binary exponents of best orders, by set of nodes.

    ``before[B]`` is that of the nodes of B alone, ``after[B]`` that of all others after them, and
    ``relevance[B]`` both together relative to the best order of all nodes.
    """

    before: Floats
    after: Floats
    relevance: Floats


def scale_by_best_orders(weights: Scaled) -> Scales:
    """The exponents of the best orders on both sides of every set."""
    n = len(weights.exponent)
    before, after = np.full(1 << n, -np.inf), np.full(1 << n, -np.inf)
    _best_orders(weights.exponent, before, after)
    return Scales(before, after, before + after - before[-1])


@kernel
def _best_orders(exponent, before, after):
    n = exponent.shape[0]
    full = (1 << n) - 1
    before[0] = 0.0
    after[full] = 0.0
    for mask in range(full):
        for node in range(n):
            if not mask >> node & 1:
                larger = mask | 1 << node
                weight = exponent[node, skip_bit(mask, node)]
                before[larger] = max(before[larger], before[mask] + weight)
    for mask in range(full - 1, -1, -1):
        for node in range(n):
            if not mask >> node & 1:
                weight = exponent[node, skip_bit(mask, node)]
                after[mask] = max(after[mask], after[mask | 1 << node] + weight)


def masks_by_size(n: int) -> list[Masks]:
    """All sets of ``n`` nodes as bit masks, grouped by size."""
    masks = np.arange(1 << n, dtype=np.int64)
    sizes = np.bitwise_count(masks)
    return [masks[sizes == size] for size in range(n + 1)]


def count_terms(outers: Masks, n_inner: int, n: int) -> float:
    """How many pairs of sets have one of these outer parts, all of one size, in the first."""
    n_free = n - n_inner - int(np.bitwise_count(outers[0]))
    return len(outers) * 2.0**n_free * 3.0**n_inner


@inlined
def list_supersets(base, first, last, out):
    """The unions of ``base`` and every set of further nodes of ``first..last-1``; their number."""
    out[0] = base
    size = 1
    for node in range(first, last):
        if not base >> node & 1:
            for s in range(size):
                out[size + s] = out[s] | 1 << node
            size *= 2
    return size


@inlined
def list_products(mantissa, exponent, base, first, last, product, power):
    """Extend the first entries to ``prod_{i in S} -w_i(base)``, S in the order of supersets."""
    size = 1
    for node in range(first, last):
        if not base >> node & 1:
            place = skip_bit(base, node)
            factor, shift = -mantissa[node, place], exponent[node, place]
            for s in range(size):
                product[size + s] = factor * product[s]
                power[size + s] = power[s] + shift
            size *= 2


@inlined
def gather_columns(values, columns, table):
    """``table[inner, j]`` becomes the value of the set with this inner part and outer part j."""
    for j in range(table.shape[1]):
        for inner in range(table.shape[0]):
            table[inner, j] = values[columns[j] | inner]

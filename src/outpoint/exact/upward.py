"""g(U), the weight of the nodes U when all others are available to them as parents.

By the nodes P = V - U that are placed, and with the layer R placed next:
``g(V - P) = sum_R (-1)^(|R|+1) g(V - P - R) prod_{i in R} w_i(P)``, P from large
to small. The last, P = {}, is the evidence again. The terms with v in R, all others being included
or not as they like, sum to ``w_v(P) gamma_v(P)``, where gamma_v(P) is the weight of all nodes
outside P and v given that they descend from v. Formulas: docs/math.md#the-exact-posterior.
"""

import numpy as np

from outpoint.arrays import Floats
from outpoint.exact.grid import (
    NEGLIGIBLE,
    Masks,
    Scales,
    count_terms,
    gather_columns,
    list_products,
    list_supersets,
    masks_by_size,
)
from outpoint.exact.scaled import BIAS, FLOOR, Scaled, biased_power
from outpoint.kernels import inlined, kernel, run_chunked
from outpoint.progress import Advance
from outpoint.tables.bits import skip_bit

N_PARTS = 16
"""Most pieces of a step that run side by side; each has tables of its own."""


def sum_upward(
    weights: Scaled, scales: Scales, downward: Scaled, advance: Advance
) -> tuple[Scaled, Floats]:
    """g of every complement, and the probabilities of sets of non-descendants.

    The first is by the nodes placed, P. The second, ``[v, P]`` with P numbered without v, is the
    probability ``h(P) w_v(P) gamma_v(P) / Z`` that P is what does not descend from v.
    """
    n = len(weights.mantissa)
    n_inner = n // 2
    total = Scaled(np.zeros(1 << n), scales.after)
    total.mantissa[-1] = 1.0
    descents = np.zeros((n, 1 << (n - 1)))
    for outers in reversed(masks_by_size(n - n_inner)):
        _complete_all(outers, n_inner, weights, scales, downward, total, descents, advance)
    return total, descents


def _complete_all(
    outers: Masks,
    n_inner: int,
    weights: Scaled,
    scales: Scales,
    downward: Scaled,
    total: Scaled,
    descents: Floats,
    advance: Advance,
) -> None:
    """Complete the sets with these outer parts, all of one size."""
    n_terms = count_terms(outers, n_inner, len(weights.mantissa)) / len(outers)

    def work(start: int, stop: int) -> None:
        some = outers[start:stop]
        _complete(*weights, scales.relevance, some, n_inner, downward.mantissa, *total, descents)

    run_chunked(
        work,
        len(outers),
        min_chunk=-(-len(outers) // N_PARTS),
        chunks_per_thread=N_PARTS,
        done=lambda n_outers: advance(n_outers * n_terms),
    )


@kernel
def _complete(factor, shift, relevance, outers, n_inner, before, mantissa, exponent, descents):
    """g of the complements of all sets with one of these outer parts, from larger sets.

    The sums over the columns of each row, and over the rows of each column, hold all that is
    wanted; sums over rows are kept by the upper and the lower half of their inner nodes.
    """
    n = factor.shape[0]
    n_rows = 1 << n_inner
    columns = np.empty(1 << (n - n_inner), dtype=np.int64)
    n_columns = list_supersets(outers[0] << n_inner, n_inner, n, columns)
    scale = np.empty((n_rows, n_columns))
    values = np.empty((n_rows, n_columns))
    product, power = np.empty(n_columns), np.empty(n_columns)
    row_product, row_power = np.empty(n_rows), np.empty(n_rows)
    rows = np.empty(n_rows, dtype=np.int64)
    upper = np.empty((1 << (n_inner + 1) // 2, n_columns))
    lower = np.empty((1 << n_inner // 2, n_columns))
    terms = np.empty(max(n_rows, n_columns))
    scratch = np.empty(max(n_rows, n_columns))
    free = np.empty(n, dtype=np.int64)
    for outer in outers:
        list_supersets(outer << n_inner, n_inner, n, columns)
        gather_columns(exponent, columns, scale)
        gather_columns(mantissa, columns, values)
        for inner in range(n_rows - 1, -1, -1):
            base = outer << n_inner | inner
            if base == (1 << n) - 1 or relevance[base] < NEGLIGIBLE:
                continue
            product[0], power[0] = 1.0, 0.0
            list_products(factor, shift, base, n_inner, n, product, power)
            row_product[0], row_power[0] = 1.0, BIAS - exponent[base]
            list_products(factor, shift, base, 0, n_inner, row_product, row_power)
            list_supersets(inner, 0, n_inner, rows)
            n_free, n_free_inner = _list_free(base, n, n_inner, free)
            n_lower = n_free_inner // 2
            n_upper = n_free_inner - n_lower
            upper[: 1 << n_upper] = 0.0
            lower[: 1 << n_lower] = 0.0
            for s in range(1 << n_free_inner):
                row, high, low = rows[s], s >> n_lower, s & ((1 << n_lower) - 1)
                if row_power[s] + scale[row, 0] > FLOOR:
                    for j in range(n_columns):
                        ratio = biased_power(power[j] + scale[row, j] + row_power[s])
                        term = row_product[s] * values[row, j] * ratio
                        upper[high, j] += term
                        lower[low, j] += term
            unit = before[base] / before[-1] * biased_power(relevance[base] + BIAS)
            _sum_columns(lower, n_lower, product, scratch, terms)
            _record(terms, base, free[:n_lower], unit, scratch, descents)
            _sum_columns(upper, n_upper, product, scratch, terms)
            _record(terms, base, free[n_lower:n_free_inner], unit, scratch, descents)
            _sum_rows(upper, n_upper, product, terms)
            _record(terms, base, free[n_free_inner:n_free], unit, scratch, descents)
            mantissa[base] = values[inner, 0] = -terms[0]


@inlined
def _list_free(base, n, n_inner, free):
    """List the nodes outside ``base``; their number, and that of the inner ones."""
    n_free = n_free_inner = 0
    for node in range(n):
        if not base >> node & 1:
            free[n_free] = node
            n_free += 1
            n_free_inner += node < n_inner
    return n_free, n_free_inner


@inlined
def _sum_columns(table, n_bits, product, scratch, terms):
    """``terms[i] = sum_j product[j] table[i, j]`` for the first ``2**n_bits`` rows."""
    for i in range(1 << n_bits):
        for j in range(product.size):
            scratch[j] = product[j] * table[i, j]
        terms[i] = _sum(scratch, product.size)


@inlined
def _sum_rows(table, n_bits, product, terms):
    """``terms[j] = product[j] sum_i table[i, j]`` over the first ``2**n_bits`` rows."""
    for j in range(product.size):
        terms[j] = table[0, j]
    for i in range(1, 1 << n_bits):
        for j in range(product.size):
            terms[j] += table[i, j]
    for j in range(product.size):
        terms[j] *= product[j]


@inlined
def _record(terms, base, nodes, unit, scratch, descents):
    """Store the sum over the sets with each of ``nodes``, in units of ``-unit``.

    The first term becomes the sum of all.
    """
    for i in range(nodes.size - 1, -1, -1):
        half = 1 << i
        for k in range(half):
            scratch[k] = terms[half + k]
            terms[k] += terms[half + k]
        node = nodes[i]
        descents[node, skip_bit(base, node)] = max(0.0, -_sum(scratch, half) * unit)


@inlined
def _sum(values, size):
    """The sum of ``size`` values, a power of two, by halves; destroys them."""
    while size > 4:
        size //= 2
        for k in range(size):
            values[k] += values[size + k]
    if size == 4:
        return (values[0] + values[2]) + (values[1] + values[3])
    return values[0] + values[1] if size == 2 else values[0]

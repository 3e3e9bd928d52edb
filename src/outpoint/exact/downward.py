"""h(U), the weight of all DAGs on the nodes U alone, by inclusion and exclusion of their sinks.

``h(B + S) += (-1)^(|S|+1) h(B) prod_{i in S} w_i(B)``, B from small to large. The
last, h(V), is the evidence. Formulas: docs/math.md#the-exact-posterior.
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

N_ACCUMULATORS = 8
"""Partial sums, a fixed number so that the result does not depend on the threads."""


def sum_downward(weights: Scaled, scales: Scales, advance: Advance) -> Scaled:
    """h of every set; ``advance`` is told how many of the 3^n terms were added."""
    n = len(weights.mantissa)
    n_inner = n // 2
    total = Scaled(np.zeros(1 << n), scales.before)
    partial_sums = np.zeros((N_ACCUMULATORS, 1 << n))
    partial_sums[0, 0] = 1.0
    for outers in masks_by_size(n - n_inner):
        _add_terms_of(outers, n_inner, weights, scales, total, partial_sums, advance)
    return total


def _add_terms_of(
    outers: Masks,
    n_inner: int,
    weights: Scaled,
    scales: Scales,
    total: Scaled,
    partial_sums: Floats,
    advance: Advance,
) -> None:
    """Complete h of all sets with these outer parts, all of one size, and add their terms."""
    n = len(weights.mantissa)
    parts = [part for part in np.array_split(outers, N_ACCUMULATORS) if len(part)]
    n_terms = count_terms(outers, n_inner, n) / len(parts)

    def work(start: int, stop: int) -> None:
        for i in range(start, stop):
            _add_layers(*weights, scales.relevance, parts[i], n_inner, *total, partial_sums, i)

    run_chunked(work, len(parts), done=lambda n_parts: advance(n_parts * n_terms))


@kernel
def _add_layers(factor, shift, relevance, outers, n_inner, mantissa, exponent, partial_sums, part):
    """Complete h of sets in the order of their numbers, and add their terms to larger sets."""
    n = factor.shape[0]
    n_rows = 1 << n_inner
    columns = np.empty(1 << (n - n_inner), dtype=np.int64)
    n_columns = list_supersets(outers[0] << n_inner, n_inner, n, columns)
    scale = np.empty((n_rows, n_columns))
    sums = np.empty((n_rows, n_columns))
    product, power = np.empty(n_columns), np.empty(n_columns)
    row_product, row_power = np.empty(n_rows), np.empty(n_rows)
    rows = np.empty(n_rows, dtype=np.int64)
    for outer in outers:
        list_supersets(outer << n_inner, n_inner, n, columns)
        gather_columns(exponent, columns, scale)
        sums[:] = 0.0
        for inner in range(n_rows):
            base = outer << n_inner | inner
            total = sums[inner, 0]
            for i in range(partial_sums.shape[0]):
                total += partial_sums[i, base]
            mantissa[base] = total
            if total == 0.0 or relevance[base] < NEGLIGIBLE:
                continue
            product[0], power[0] = 1.0, 0.0
            list_products(factor, shift, base, n_inner, n, product, power)
            row_product[0], row_power[0] = -total, exponent[base] + BIAS
            list_products(factor, shift, base, 0, n_inner, row_product, row_power)
            for s in range(list_supersets(inner, 0, n_inner, rows)):
                if row_power[s] - scale[rows[s], 0] > FLOOR:
                    _add_row(rows[s], row_product[s], row_power[s], product, power, scale, sums)
        for j in range(1, n_columns):
            for inner in range(n_rows):
                partial_sums[part, columns[j] | inner] += sums[inner, j]


@inlined
def _add_row(row, row_product, row_power, product, power, scale, sums):
    for j in range(product.size):
        ratio = biased_power(power[j] - scale[row, j] + row_power)
        sums[row, j] += row_product * product[j] * ratio

"""The two recursions over pairs of sets, whose last terms are both the evidence.

Both sum over all sets B and all sets S of nodes outside B, 3^n pairs, and this is where the time of
the exact engine goes. The nodes are divided into *inner* ones (the low bits of a set's number) and
*outer* ones. While the outer part of B is held fixed, that of B + S runs through its supersets:
these are numbered without gaps and become the columns of a table whose rows are the inner parts.
The terms of one inner part then stand in a row, contiguous in memory, and every inner loop is plain
arithmetic on a few rows.

All terms are scaled by the best order of a set (:class:`Scales`). The more nodes S has, the smaller
is a term relative to that order: a row whose first term has vanished has vanished altogether.

The first finds h(U), the weight of all DAGs on the nodes U alone, by inclusion and exclusion of
their sinks: ``h(B + S) += (-1)^(|S|+1) h(B) prod_{i in S} w_i(B)``, B from small to large. The
last, h(V), is the evidence. Formulas: docs/math.md#the-exact-posterior.

The second finds g(U), the weight of the nodes U when all others are available to them as parents.
By the nodes P = V - U that are placed, and with the layer R placed next:
``g(V - P) = sum_R (-1)^(|R|+1) g(V - P - R) prod_{i in R} w_i(P)``, P from large to small. The
last, P = {}, is the evidence again. The terms with v in R, all others being included or not, sum to
``w_v(P) gamma_v(P)``, where gamma_v(P) is the weight of all nodes outside P and v given that they
descend from v. Formulas: docs/math.md#the-exact-posterior.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Floats
from outpoint.exact.scaled import BIAS, FLOOR, Scaled, biased_power
from outpoint.kernels import inlined, kernel, run_chunked
from outpoint.progress import Advance
from outpoint.tables.logspace import skip_bit

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


@inlined
def _clear(table, n_rows):
    for i in range(n_rows):
        for j in range(table.shape[1]):
            table[i, j] = 0.0


N_ACCUMULATORS = 8
"""Partial sums, a fixed number so that the result does not depend on the threads."""


def sum_dags_on_sets(weights: Scaled, scales: Scales, advance: Advance) -> Scaled:
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
        _clear(sums, n_rows)
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


N_PARTS = 16
"""Most pieces of a step that run side by side; each has tables of its own."""


def sum_dags_after_sets(
    weights: Scaled, scales: Scales, on_sets: Scaled, advance: Advance
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
        _complete_all(outers, n_inner, weights, scales, on_sets, total, descents, advance)
    return total, descents


def _complete_all(
    outers: Masks,
    n_inner: int,
    weights: Scaled,
    scales: Scales,
    on_sets: Scaled,
    total: Scaled,
    descents: Floats,
    advance: Advance,
) -> None:
    """Complete the sets with these outer parts, all of one size."""
    n_terms = count_terms(outers, n_inner, len(weights.mantissa)) / len(outers)

    def work(start: int, stop: int) -> None:
        some = outers[start:stop]
        _complete(*weights, scales.relevance, some, n_inner, on_sets.mantissa, *total, descents)

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
            _clear(upper, 1 << n_upper)
            _clear(lower, 1 << n_lower)
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
            _record(terms, base, free, 0, n_lower, unit, scratch, descents)
            _sum_columns(upper, n_upper, product, scratch, terms)
            _record(terms, base, free, n_lower, n_free_inner, unit, scratch, descents)
            _sum_rows(upper, n_upper, product, terms)
            _record(terms, base, free, n_free_inner, n_free, unit, scratch, descents)
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
def _record(terms, base, nodes, first, last, unit, scratch, descents):
    """Store the sum over the sets with each of ``nodes[first:last]``, in units of ``-unit``.

    The first term becomes the sum of all.
    """
    for i in range(last - 1, first - 1, -1):
        half = 1 << (i - first)
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

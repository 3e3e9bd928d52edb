"""The sums of the exact engine: numbers with exponents of their own, two recursions over sets.

The weight of all DAGs on a set of nodes differs between sets by thousands of log units, but the
sums of this package never subtract what is not of comparable size: precision is not the problem,
range is. So every weight is a double of moderate size times a power of two, whose exponent is a
whole number kept in a double of its own: sums of exponents are exact, cannot overflow, and are
turned into the power itself without leaving the vector registers.

``w_v(U)`` is the sum of exp(score) over the parent sets of v within U. It grows with U, and so does
its exponent: adding the sum of a smaller set to that of a larger one only ever scales down, and
what then becomes 0 could not have mattered.

The last terms of both recursions are the evidence. Both sum over all sets B and all sets S of nodes
outside B, 3^n pairs, and this is where the time of the exact engine goes. The nodes are divided
into *inner* ones (the low bits of a set's number) and *outer* ones. While the outer part of B is
held fixed, that of B + S runs through its supersets: these are numbered without gaps and become the
columns of a table whose rows are the inner parts. The terms of one inner part then stand in a row,
contiguous in memory, and every inner loop is plain arithmetic on a few rows.

All terms are scaled by the best order of a set (:class:`Scales`). The more nodes S has, the smaller
is a term relative to that order: a row whose first term has vanished has vanished altogether.

h(U) is the weight of all DAGs on the nodes U alone, by inclusion and exclusion of their sinks:
``h(B + S) += (-1)^(|S|+1) h(B) prod_{i in S} w_i(B)``, B from small to large. The last, h(V), is
the evidence.

g(U) is the weight of the nodes U when all others are available to them as parents. By the nodes
P = V - U that are placed, and with the layer R placed next:
``g(V - P) = sum_R (-1)^(|R|+1) g(V - P - R) prod_{i in R} w_i(P)``, P from large to small. The
last, P = {}, is the evidence again. The terms with v in R, all others being included or not as they
like, sum to ``w_v(P) gamma_v(P)``, where gamma_v(P) is the weight of all nodes outside P and v
given that they descend from v. Formulas: docs/math.md#the-exact-posterior.
"""

from collections.abc import Callable
from math import frexp
from typing import Any, NamedTuple, cast

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from outpoint.arrays import Floats
from outpoint.kernels import inlined, kernel, run_chunked
from outpoint.progress import Advance
from outpoint.tables.logspace import skip_bit

LOG_2 = float(np.log(2.0))
LOG_2_HIGH = 46516319 * 2.0**-26
LOG_2_LOW = 1.2996506893889889e-08
"""Log 2 in two parts, of which the first, times an exponent below 2^27, is exact."""

IMPOSSIBLE = -(2.0**40)
"""Exponent of 0. A number, so that differences of exponents always are; sums of 28 stay exact."""

BIAS = 2.0**52 + 1023.0
FLOOR = 2.0**52
"""``FLOOR`` and ``BIAS`` stand for the powers 0 and 1, see :func:`biased_power`."""


class Scaled(NamedTuple):
    """Numbers ``mantissa * 2**exponent``; the exponents are whole."""

    mantissa: Floats
    exponent: Floats

    def log(self, place: int) -> float:
        """Natural log of one entry."""
        with np.errstate(divide="ignore"):
            return float(np.log(self.mantissa[place]) + self.exponent[place] * LOG_2)


def _shifted_bits(typing_context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = context.get_value_type(types.uint64)
        place = context.get_constant(types.uint64, 52)
        bits = builder.shl(builder.bitcast(arguments[0], word), place)
        return builder.bitcast(bits, context.get_value_type(types.float64))

    return types.float64(types.float64), generate


def _shift_bits(value: float) -> float:
    return float((np.float64(value).view(np.uint64) << np.uint64(52)).view(np.float64))


_exponent_from_low_bits: Callable[[float], float] = (
    _shift_bits if numba.config.DISABLE_JIT else cast(Any, intrinsic(_shifted_bits))
)


@inlined
def biased_power(biased):
    """``2**q`` for ``biased = BIAS + q`` with q at most 0; 0 if q is below -1022.

    The lowest bits of ``2**52 + m`` are the whole number m, and a double whose exponent field is m
    is ``2**(m - 1023)``: one maximum and one shift, which compilers turn into vector code.
    """
    return _exponent_from_low_bits(max(biased, FLOOR))


@inlined
def log_mantissa(log_value, exponent):
    """``log_value - exponent log(2)``, without the rounding errors of a large product."""
    return (log_value - exponent * LOG_2_HIGH) - exponent * LOG_2_LOW


CACHED = 1 << 13
"""Entries on which all sums over the lowest members are done before the next ones are read."""


def sum_scores(scores: Floats, maxima: Floats) -> Scaled:
    """``w_v(U)`` for all U, from scores by mask and their maxima over subsets.

    The mantissas are in [0.5, 1), or 0 with the exponent ``IMPOSSIBLE``; the exponents grow with U.
    """
    weights = Scaled(np.empty_like(scores), np.empty_like(scores))

    def work(start: int, stop: int) -> None:
        for node in range(start, stop):
            _sum_node(scores[node], maxima[node], weights.mantissa[node], weights.exponent[node])

    run_chunked(work, len(scores))
    return weights


@kernel
def _sum_node(scores, maxima, mantissa, exponent):
    for mask in range(scores.size):
        exponent[mask] = max(np.rint(maxima[mask] / LOG_2), IMPOSSIBLE)
        mantissa[mask] = np.exp(log_mantissa(scores[mask], exponent[mask]))
    block = min(CACHED, scores.size)
    for start in range(0, scores.size, block):
        _sum_steps(mantissa, exponent, start, start + block, 1, True)
    _sum_steps(mantissa, exponent, 0, scores.size, block, True)
    for mask in range(scores.size):
        if mantissa[mask] == 0.0:
            exponent[mask] = IMPOSSIBLE
        else:
            mantissa[mask], shift = frexp(mantissa[mask])
            exponent[mask] += shift


@kernel
def sum_over_larger(values, exponent):
    """In place: ``values[S]`` becomes the sum of ``values[P] 2^(exponent[S] - exponent[P])``.

    P runs over all sets that contain S.
    """
    block = min(CACHED, values.size)
    for start in range(0, values.size, block):
        _sum_steps(values, exponent, start, start + block, 1, False)
    _sum_steps(values, exponent, 0, values.size, block, False)


@inlined
def _sum_steps(values, exponent, start, stop, step, upward):
    """Add the halves of all pairs ``step`` apart, twice ``step`` apart, ... of a range."""
    while step < stop - start:
        for pair in range(start, stop, 2 * step):
            for low in range(pair, pair + step):
                ratio = biased_power(exponent[low] - exponent[low + step] + BIAS)
                if upward:
                    values[low + step] += values[low] * ratio
                else:
                    values[low] += values[low + step] * ratio
        step *= 2


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

"""The root-layer recursions: weights of all DAGs on every set of nodes (MATH section 6).

``h(U)`` is the weight of all DAGs on U alone; ``g(U)`` the weight of U's nodes when all other
nodes are available to them as parents. Both are inclusion-exclusion sums over a layer of nodes,
and both end in the total weight Z = h(V) = g(V), which is the evidence and a check. On the way
to g come the weights ``gamma_v(P)``: everything outside P and v, given that all of it descends
from v. All sums are scaled set by set (see :mod:`outpoint.exact.scaled`): by the best order, of
which every summed term is a fraction or a small multiple.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.exact.scaled import LOG_2, power_of_two, split_log
from outpoint.kernels import kernel, run_chunked
from outpoint.tables.bits import skip_bit

N_ACCUMULATORS = 8
"""Partial sums of h, a fixed number so that the result does not depend on the threads."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Masks = NDArray[np.int64]
Progress = Callable[[float], None]


class Scaled(NamedTuple):
    """One number per set of nodes: ``mantissa * 2**exponent``."""

    mantissa: Floats
    exponent: Ints

    def log(self, subset: int) -> float:
        """Natural log of one entry."""
        with np.errstate(divide="ignore"):
            return float(np.log(self.mantissa[subset]) + self.exponent[subset] * LOG_2)


def masks_by_size(n: int) -> list[Masks]:
    """All sets of ``n`` nodes as bit masks, grouped by size."""
    masks = np.arange(1 << n, dtype=np.int64)
    sizes = np.bitwise_count(masks)
    return [masks[sizes == size] for size in range(n + 1)]


def sum_downward(log_sums: Floats, levels: list[Masks], progress: Progress) -> Scaled:
    """h: ``h(B + S) += (-1)^(|S|+1) h(B) prod_{i in S} w_i(B)``, B from small to large."""
    n = len(log_sums)
    total = _scaled_by_best_order(log_sums, downward=True)
    partial_sums = np.zeros((N_ACCUMULATORS, 1 << n))
    for size in range(n):
        parts = np.array_split(levels[size], N_ACCUMULATORS)
        work = 2.0 ** (n - size) * len(levels[size]) / N_ACCUMULATORS
        run_chunked(
            partial(_add_parts, log_sums, parts, total, partial_sums),
            N_ACCUMULATORS,
            done=partial(_advance, progress, work),
        )
        above = levels[size + 1]
        total.mantissa[above] = partial_sums[:, above].sum(axis=0)
    return total


def _add_parts(
    log_sums: Floats, parts: list[Masks], total: Scaled, partial_sums: Floats, start: int, stop: int
) -> None:
    for part in range(start, stop):
        _add_layers(log_sums, parts[part], total.mantissa, total.exponent, partial_sums[part])


def sum_upward(log_sums: Floats, levels: list[Masks], progress: Progress) -> tuple[Scaled, Floats]:
    """g, and log gamma_v(P) for every v outside P (indexed like the scores of v)."""
    n = len(log_sums)
    total = _scaled_by_best_order(log_sums, downward=False)
    log_gamma = np.full((n, 1 << (n - 1)), -np.inf)
    for size in range(1, n + 1):
        masks = levels[size]
        run_chunked(
            partial(_complete, log_sums, masks, total.mantissa, total.exponent, log_gamma),
            len(masks),
            chunks_per_thread=8,
            done=partial(_advance, progress, 2.0 ** (size + 1)),
        )
    return total, log_gamma


def _scaled_by_best_order(log_sums: Floats, *, downward: bool) -> Scaled:
    """Room for one number per set, all 0 but that of the empty set, with fixed exponents."""
    n = len(log_sums)
    total = Scaled(np.zeros(1 << n), np.zeros(1 << n, dtype=np.int32))
    total.mantissa[0] = 1.0
    _best_orders(log_sums, downward, total.exponent)
    return total


def _advance(progress: Progress, work_per_item: float, n_items: int) -> None:
    progress(work_per_item * n_items)


@kernel
def _best_orders(log_sums, downward, exponent):
    """Binary exponent of the best order's weight on each set; 0 where there is no order."""
    n = log_sums.shape[0]
    full = (1 << n) - 1
    best = np.full(1 << n, -np.inf)
    best[0] = 0.0
    for mask in range(1, 1 << n):
        for node in range(n):
            bit = 1 << node
            if mask & bit:
                available = mask ^ bit if downward else full ^ mask
                weight = log_sums[node, skip_bit(available, node)] + best[mask ^ bit]
                best[mask] = max(best[mask], weight)
        if best[mask] > -np.inf:
            exponent[mask] = int(np.rint(best[mask] / LOG_2))


@kernel
def _add_layers(log_sums, masks, mantissa, exponent, partial):
    """Add to ``partial`` every term of the h recursion that starts from one of ``masks``."""
    n = log_sums.shape[0]
    product = np.empty(1 << n)
    power = np.empty(1 << n, dtype=np.int32)
    target = np.empty(1 << n, dtype=np.int32)
    for base in masks:
        if mantissa[base] == 0.0:
            continue
        product[0] = -mantissa[base]
        power[0] = exponent[base]
        target[0] = base
        size = 1
        for node in range(n):
            bit = 1 << node
            if base & bit:
                continue
            factor, shift = split_log(log_sums[node, skip_bit(base, node)])
            for s in range(size):
                product[size + s] = -factor * product[s]
                power[size + s] = power[s] + shift
                target[size + s] = target[s] | bit
            size *= 2
        for s in range(1, size):
            goal = target[s]
            partial[goal] += product[s] * power_of_two(power[s] - exponent[goal])


class Workspace(NamedTuple):
    """Scratch arrays of one thread for the sums over the subsets of a set."""

    x: Floats
    power: Ints
    subset: Ints
    nodes: NDArray[np.int64]
    factors: Floats
    shifts: NDArray[np.int64]


@kernel
def make_workspace(n):
    """Scratch arrays for sets of up to ``n`` nodes."""
    return Workspace(
        np.empty(1 << n),
        np.empty(1 << n, dtype=np.int32),
        np.empty(1 << n, dtype=np.int32),
        np.empty(n, dtype=np.int64),
        np.empty(n),
        np.empty(n, dtype=np.int64),
    )


@kernel
def load_completions(log_sums, mask, mantissa, exponent, work):
    """Set ``x[Y] = g(Y) prod_{i in mask - Y} 2^shift_i / 2^exponent[mask]`` for Y within ``mask``.

    Y is numbered by its place among the nodes of ``mask``; ``factors[i] * 2**shifts[i]`` is the
    sum w_i over parent sets within the complement of ``mask``. Returns the size of ``mask``.
    """
    n = log_sums.shape[0]
    placed = ((1 << n) - 1) ^ mask
    count = 0
    total = 0
    for node in range(n):
        if mask & (1 << node):
            factor, shift = split_log(log_sums[node, skip_bit(placed, node)])
            work.nodes[count], work.factors[count], work.shifts[count] = node, factor, shift
            total += shift
            count += 1
    work.power[0] = total - exponent[mask]
    work.subset[0] = 0
    size = 1
    for i in range(count):
        shift = work.shifts[i]
        bit = 1 << work.nodes[i]
        for y in range(size):
            work.power[size + y] = work.power[y] - shift
            work.subset[size + y] = work.subset[y] | bit
        size *= 2
    for y in range(size):
        below = work.subset[y]
        work.x[y] = mantissa[below] * power_of_two(work.power[y] + exponent[below])
    return count


@kernel
def _complete(log_sums, masks, mantissa, exponent, log_gamma, start, stop):
    """g of each set in ``masks[start:stop]`` from its subsets, and gamma of its complement.

    With P the complement, the scaled g(Y) of all Y is folded away one node at a time: keeping
    node i among the nodes still to come takes x[Y + i], placing it next to P takes -w_i(P) x[Y].
    Folding all nodes but v gives gamma_v(P); folding all gives 0, which determines g itself.
    """
    n = log_sums.shape[0]
    full = (1 << n) - 1
    work = make_workspace(n)
    x, nodes, factors, shifts = work.x, work.nodes, work.factors, work.shifts
    scratch = np.empty(1 << (n - 1))
    for mask in masks[start:stop]:
        placed = full ^ mask
        count = load_completions(log_sums, mask, mantissa, exponent, work)
        x[(1 << count) - 1] = 0.0
        for i in range(count - 1, -1, -1):
            half = 1 << i
            # Leave node i out of the fold: its own place stays empty (Y without i).
            left_out = _fold_all(x, factors, i, scratch)
            if left_out > 0.0 and factors[i] > 0.0:
                log_gamma[nodes[i], skip_bit(placed, nodes[i])] = (
                    np.log(left_out) + (exponent[mask] - shifts[i]) * LOG_2
                )
            for y in range(half):
                x[y] = x[half + y] - factors[i] * x[y]
        mantissa[mask] = -x[0]


@kernel
def _fold_all(x, factors, count, scratch):
    """Fold the nodes ``0..count-1`` of ``x`` away without changing ``x``."""
    if count == 0:
        return x[0]
    half = 1 << (count - 1)
    for y in range(half):
        scratch[y] = x[half + y] - factors[count - 1] * x[y]
    for i in range(count - 2, -1, -1):
        half = 1 << i
        for y in range(half):
            scratch[y] = scratch[half + y] - factors[i] * scratch[y]
    return scratch[0]

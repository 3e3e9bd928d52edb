"""Logs of numbers of linear extensions, compiled, as reweighting order MCMC needs thousands.

The sweep over down-sets is that of ``order.count_linear_extensions``, component by component and
size by size. A down-set is one 64-bit word here and its number of orders a double; all terms are
positive, so the log is right to rounding. Each size is held in a hash table that doubles when it is
half full. Components of more than 63 nodes are left to the exact integers.
"""

from math import comb, log

import numpy as np

from outpoint.errors import TooLargeError
from outpoint.graphs.dag import Dag
from outpoint.graphs.layers import compute_parent_masks, iterate_bits
from outpoint.graphs.order import count_linear_extensions, find_components
from outpoint.kernels import kernel
from outpoint.naming import option

MAX_NODES = 63
MAX_SETS = 1 << 22
"""Most down-sets of one size; with two sizes at a time they take 256 MB."""


def log_linear_extensions(dag: Dag, *, max_sets: int = MAX_SETS) -> float:
    """Log of the number of orders compatible with a DAG.

    Raises TooLargeError when more than `max_sets` down-sets of one size would be held.
    """
    parent_masks = compute_parent_masks(dag.adjacency)
    components = find_components(parent_masks)
    if any(component.bit_count() > MAX_NODES for component in components):
        return log(count_linear_extensions(dag))
    total, placed = 0.0, 0
    for component in components:
        nodes = list(iterate_bits(component))
        own = dag.adjacency[np.ix_(nodes, nodes)]
        masks = np.array(compute_parent_masks(own), dtype=np.uint64)
        log_count = _sweep(masks, max_sets)
        if np.isnan(log_count):
            raise TooLargeError(
                f"counting the orders of a DAG with {dag.n_nodes} nodes needs more than {max_sets} "
                f"sets at once: sample with {option('method', 'mcmc')}, which needs no "
                "such correction."
            )
        placed += len(nodes)
        total += log(comb(placed, len(nodes))) + log_count
    return total


@kernel
def _sweep(parents, max_sets):
    """Log number of orders of a connected DAG; NaN if that needs too many down-sets."""
    n = parents.size
    keys, counts = np.zeros(64, dtype=np.uint64), np.zeros(64)
    counts[0] = 1.0  # an entry is in use if its count is positive
    log_scale = 0.0
    for _ in range(n):
        larger_keys, larger_counts = np.zeros(64, dtype=np.uint64), np.zeros(64)
        size = 0
        for i in range(keys.size):
            if counts[i] == 0.0:
                continue
            for v in range(n):
                bit = np.uint64(1) << np.uint64(v)
                if keys[i] & bit or parents[v] & ~keys[i]:
                    continue
                size += _add(larger_keys, larger_counts, keys[i] | bit, counts[i])
                if 2 * size > larger_keys.size:
                    if size > max_sets:
                        return np.nan
                    larger_keys, larger_counts = _grow(larger_keys, larger_counts)
        top = larger_counts.max()
        log_scale += np.log(top)
        keys, counts = larger_keys, larger_counts / top
    return log_scale


@kernel
def _add(keys, counts, key, count):
    """Add to the entry of a key; return 1 if the key is new, else 0."""
    last = np.uint64(keys.size - 1)
    place = (key * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(20)) & last
    while counts[place] != 0.0 and keys[place] != key:
        place = (place + np.uint64(1)) & last
    is_new = counts[place] == 0.0
    keys[place] = key
    counts[place] += count
    return np.int64(is_new)


@kernel
def _grow(keys, counts):
    larger_keys, larger_counts = np.zeros(4 * keys.size, dtype=np.uint64), np.zeros(4 * keys.size)
    for i in range(keys.size):
        if counts[i] != 0.0:
            _add(larger_keys, larger_counts, keys[i], counts[i])
    return larger_keys, larger_counts

"""Labelled partitions as the state of a chain (paper section 4).

The nodes stand in ``order``, layer after layer from the outpoints; layer l is
``order[start[l]:start[l + 1]]``, and within a layer the order means nothing, which moves use to
keep the nodes that need a new score in one stretch. ``log_tau[v]`` is the log sum over the parent
sets that v may have; their total is the log posterior weight of the partition.

Beyond about 20 nodes not all parent sets fit into tables of sums. Those that do not are *held*, one
at a time: ``held[v]`` is the place of an outside set that v has, or ``INSIDE``; then its sum is one
over all inside sets. Summed over what can be held, the weights are those of the partitions over
all parent sets, so nothing is left out. Formulas: docs/math.md#held-outside-sets.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import inlined, jitable
from outpoint.mcmc.dag import find_layers, set_parents
from outpoint.mcmc.sums import INSIDE, log_tau, sample_meeting


class PartitionState(NamedTuple):
    """A labelled partition; ``n_layers`` has one entry, so that kernels can change it."""

    order: NDArray[np.int64]
    layer: NDArray[np.int64]
    start: NDArray[np.int64]
    n_layers: NDArray[np.int64]
    log_tau: NDArray[np.float64]
    held: NDArray[np.int64]


@jitable
def make_partition(n):
    """The partition with a single layer, not scored yet."""
    start = np.zeros(n + 1, dtype=np.int64)
    start[1] = n
    return PartitionState(
        np.arange(n),
        np.zeros(n, dtype=np.int64),
        start,
        np.ones(1, dtype=np.int64),
        np.zeros(n),
        np.full(n, INSIDE),
    )


@inlined
def copy_layers(source, target):
    """Give ``target`` the layers of ``source``."""
    n = source.order.size
    for i in range(n):
        target.order[i] = source.order[i]
        target.layer[i] = source.layer[i]
    for level in range(source.n_layers[0] + 1):
        target.start[level] = source.start[level]
    target.n_layers[0] = source.n_layers[0]


@inlined
def copy_partition(source, target):
    """Make ``target`` equal to ``source``."""
    copy_layers(source, target)
    for node in range(source.order.size):
        target.log_tau[node] = source.log_tau[node]
        target.held[node] = source.held[node]


@inlined
def layers_to_partition(layer, n_layers, state):
    """Set the partition from the layer of each node."""
    n = layer.size
    start = state.start
    state.n_layers[0] = n_layers
    for level in range(n_layers + 1):
        start[level] = 0
    for node in range(n):
        start[layer[node]] += 1
    end = 0
    for level in range(n_layers + 1):
        end += start[level]
        start[level] = end
    for node in range(n - 1, -1, -1):  # each layer is filled from its end
        level = layer[node]
        start[level] -= 1
        state.order[start[level]] = node
        state.layer[node] = level


@inlined
def dag_to_partition(view, dag, state):
    """Make ``state`` the partition of a DAG, scored; outside sets are held."""
    n_layers = find_layers(dag, state.order, state.layer)
    layers_to_partition(state.layer, n_layers, state)
    hold_outside(dag, state)
    score_partition(view, state)


@inlined
def hold_outside(dag, state):
    """Let nodes with outside sets hold them."""
    for node in range(state.held.size):
        state.held[node] = ~dag.code[node] if dag.code[node] < 0 else INSIDE


@inlined
def score_nodes(view, state, first, last):
    """Score the nodes at places ``first..last`` of the order; return the change of their sum."""
    change = 0.0
    for place in range(first, last):
        node = state.order[place]
        new = log_tau(view, node, state.layer, state.layer[node], state.held[node])
        change += new - state.log_tau[node]
        state.log_tau[node] = new
    return change


@inlined
def score_partition(view, state):
    """Score all nodes; return the log weight of the partition."""
    score_nodes(view, state, 0, state.order.size)
    return log_posterior_weight(state)


@inlined
def log_posterior_weight(state):
    """The log posterior weight of a scored partition."""
    total = 0.0
    for node in range(state.log_tau.size):
        total += state.log_tau[node]
    return total


@inlined
def score_changed(view, old, state):
    """Score the nodes of ``state``, looking only at those that may weigh another than in ``old``.

    Those are the nodes of another layer, with a candidate in another layer, or with another held
    set. A held set must fit, as those of a DAG do in its partition.
    """
    for node in range(state.layer.size):
        is_changed = state.held[node] != old.held[node] or state.layer[node] != old.layer[node]
        for i in range(view.n_candidates[node] if not is_changed else 0):
            u = view.candidates[node, i]
            is_changed |= state.layer[u] != old.layer[u]
        if is_changed:
            level = state.layer[node]
            state.log_tau[node] = log_tau(view, node, state.layer, level, state.held[node])
        else:
            state.log_tau[node] = old.log_tau[node]


@inlined
def sample_dag(view, state, rng, dag):
    """Draw a DAG from the partition, each node's parents by their scores (paper section 4.5)."""
    for node in range(state.order.size):
        if state.held[node] != INSIDE:
            set_parents(view, dag, node, ~state.held[node])
        else:
            level, log_total = state.layer[node], state.log_tau[node]
            mask = sample_meeting(view, node, state.layer, level, log_total, rng)
            set_parents(view, dag, node, mask)

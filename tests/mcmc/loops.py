"""Compiled loops around single kernels, and states to start them from."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import kernel
from outpoint.mcmc.dag import (
    DagState,
    copy_dag,
    find_layers,
    make_dag,
    set_parents,
)
from outpoint.mcmc.edges import list_edges, make_listed_edges, mark_below
from outpoint.mcmc.moves import MOVES, SPLIT_JOIN
from outpoint.mcmc.moves.node_gibbs import make_placement, place_node
from outpoint.mcmc.moves.node_move import count_node_moves
from outpoint.mcmc.moves.proposals import propose, try_move
from outpoint.mcmc.moves.rev import reverse_edge
from outpoint.mcmc.moves.split_join import count_split_join, propose_split_join
from outpoint.mcmc.partition import (
    PartitionState,
    copy_partition,
    make_partition,
    sample_dag,
    score_nodes,
    score_partition,
)
from outpoint.mcmc.replicas import draw_partition, swap_replicas
from outpoint.tables.view import TableView, inside_score
from tests.mcmc.laws import MOVE_NAMES, Layers, levels, parent_sets, partitions

MOVE_NUMBER = {name: MOVES.index(name) for name in MOVE_NAMES}
INVALID, WRONG_RANGE, WRONG_CHANGE, CHANGED_STATE = 1, 2, 4, 8


# States


def set_layers(state: PartitionState, layers: Layers, rng: np.random.Generator) -> None:
    """Write a partition, the nodes of each layer in random order, log_tau unset."""
    state.layer[:] = levels(layers)
    state.order[:] = np.concatenate([rng.permutation(layer) for layer in layers])
    state.start[:] = -9
    state.start[: len(layers) + 1] = np.cumsum([0, *map(len, layers)])
    state.n_layers[0] = len(layers)
    state.log_tau[:] = np.nan


def make_state(layers: Layers, rng: np.random.Generator) -> PartitionState:
    state = make_partition(sum(map(len, layers)))
    set_layers(state, layers, rng)
    return state


@kernel
def score(view, state):
    return score_partition(view, state)


def scored_state(view: TableView, layers: Layers, rng: np.random.Generator) -> PartitionState:
    state = make_state(layers, rng)
    state.log_tau[:] = 0.0
    score(view, state)
    return state


def code_table(n: int) -> NDArray[np.int64]:
    """From a code of ``layer_code`` to the index of the partition, -1 if there is none."""
    out = np.full(n**n, -1)
    for i, layers in enumerate(partitions(n)):
        out[sum(level * n**v for v, level in enumerate(levels(layers)))] = i
    return out


@kernel
def layer_code(state):
    n = state.order.size
    code = 0
    for v in range(n - 1, -1, -1):
        code = code * n + state.layer[v]
    return code


@kernel
def is_valid(state):
    """Whether order, layer and start describe the same partition."""
    n = state.order.size
    n_layers = state.n_layers[0]
    if n_layers < 1 or n_layers > n or state.start[0] != 0 or state.start[n_layers] != n:
        return False
    seen = np.zeros(n, dtype=np.int64)
    for level in range(n_layers):
        if state.start[level + 1] <= state.start[level]:
            return False
        for place in range(state.start[level], state.start[level + 1]):
            v = state.order[place]
            if v < 0 or v >= n or state.layer[v] != level:
                return False
            seen[v] += 1
    return bool(np.all(seen == 1))


@kernel
def is_close(a, b):
    return a == b or abs(a - b) < 1e-12 * max(1.0, abs(a))


@kernel
def differs(a, b):
    """Whether two partitions differ in any array; log_tau to rounding."""
    n = a.order.size
    if a.n_layers[0] != b.n_layers[0]:
        return True
    for i in range(n):
        if a.order[i] != b.order[i] or a.layer[i] != b.layer[i] or a.held[i] != b.held[i]:
            return True
        if not is_close(a.log_tau[i], b.log_tau[i]):
            return True
    return False


# Proposals


@kernel
def count_neighbours(state, move):
    return count_split_join(state) if move == SPLIT_JOIN else float(count_node_moves(state))


@kernel
def draw_proposals(view, state, move, rng, codes, log_ratios, changes, flaws):
    """Propose again and again from one scored state; code -1 says that there was no neighbour."""
    n = state.order.size
    before, proposal, full = make_partition(n), make_partition(n), make_partition(n)
    copy_partition(state, before)
    for draw in range(codes.size):
        for i in range(n):  # what the last proposal left must not matter
            proposal.order[i] = proposal.layer[i] = proposal.start[i] = -9
            proposal.log_tau[i] = np.nan
        proposal.start[n] = proposal.n_layers[0] = -9
        log_ratios[draw], begin, end = propose(move, state, proposal, rng)
        flaws[draw] = CHANGED_STATE if differs(before, state) else 0
        codes[draw] = -1
        changes[draw] = 0.0
        if begin < 0:
            continue
        if not is_valid(proposal) or begin >= end or end > n:
            flaws[draw] |= INVALID
            continue
        codes[draw] = layer_code(proposal)
        for v in range(n):
            proposal.log_tau[v] = state.log_tau[v]
        changes[draw] = score_nodes(view, proposal, begin, end)
        copy_partition(proposal, full)
        for v in range(n):
            full.log_tau[v] = 0.0
        score_partition(view, full)
        if differs(full, proposal):
            flaws[draw] |= WRONG_RANGE
        total = 0.0
        for v in range(n):
            total += full.log_tau[v] - state.log_tau[v]
        if not is_close(total, changes[draw]):
            flaws[draw] |= WRONG_CHANGE


@kernel
def draw_splits(state, rng, counts, sizes, log_ratios):
    """Count how often each node leaves the first layer; return whether all was valid."""
    n = state.order.size
    proposal = make_partition(n)
    for draw in range(sizes.size):
        log_ratios[draw], begin, _ = propose_split_join(state, proposal, rng)
        if not is_valid(proposal) or begin != proposal.start[1]:
            return False
        sizes[draw] = 0
        for v in range(n):
            if state.layer[v] == 0 and proposal.layer[v] == 1:
                counts[v] += 1
                sizes[draw] += 1
    return True


# Steps


@kernel
def count_moves(view, start, move, power, n_draws, rng, table, counts):
    """One Metropolis step from ``start``, again and again; returns whether log_tau stayed right."""
    n = start.order.size
    state, proposal, full = make_partition(n), make_partition(n), make_partition(n)
    fine = True
    for _ in range(n_draws):
        copy_partition(start, state)
        accepted = try_move(view, state, proposal, move, power, rng)
        copy_partition(state, full)
        score_partition(view, full)
        code = layer_code(state)
        fine &= is_valid(state) and not differs(full, state)
        fine &= accepted == (code != layer_code(start))
        counts[table[code]] += 1
    return fine


@kernel
def count_placements(view, start, node, power, n_draws, rng, table, counts, weights):
    """Place a node, again and again; ``weights`` are those of its last time.

    Returns whether the states stayed right, and were said to have changed when they had.
    """
    n = start.order.size
    state, full = make_partition(n), make_partition(n)
    scratch = make_placement(n)
    fine = True
    for _ in range(n_draws):
        copy_partition(start, state)
        moved = place_node(view, state, node, power, scratch, rng)
        fine &= moved == (layer_code(state) != layer_code(start))
        copy_partition(state, full)
        for v in range(n):
            full.log_tau[v] = 0.0
        score_partition(view, full)
        fine &= is_valid(state) and not differs(full, state)
        counts[table[layer_code(state)]] += 1
    weights[:] = scratch.log_weight
    return fine


@kernel
def count_swaps(view, replicas, ladder, parity, n_draws, rng, counts):
    """Swap steps from the same slots; counts[r] are the swaps of r and r + 1."""
    slot = replicas.slot.copy()
    for _ in range(n_draws):
        swap_replicas(view, replicas, ladder, parity, rng)
        count_and_put_back(slot, replicas, counts)


@kernel
def count_and_put_back(slot, replicas, counts):
    for r in range(slot.size - 1):
        counts[r] += replicas.slot[r] == slot[r + 1] and replicas.slot[r + 1] == slot[r]
    replicas.slot[:] = slot


@kernel
def count_fresh(n, sizes, n_draws, rng, table, counts):
    """Fresh partitions by their index; returns whether they were valid."""
    state = make_partition(n)
    fine = True
    for _ in range(n_draws):
        draw_partition(state, sizes, rng)
        fine &= is_valid(state)
        counts[table[layer_code(state)]] += 1
    return fine


@kernel
def count_first_layers(n, sizes, n_draws, rng, by_size, by_node):
    """How large first layers are, and who is in them; returns whether partitions were valid."""
    state = make_partition(n)
    fine = True
    for _ in range(n_draws):
        draw_partition(state, sizes, rng)
        fine &= is_valid(state)
        by_size[state.start[1]] += 1
        for place in range(state.start[1]):
            by_node[state.order[place]] += 1
    return fine


# DAGs


@kernel
def set_dag(view, dag, masks):
    for v in range(masks.size):
        set_parents(view, dag, v, masks[v])


def set_code(view: TableView, child: int, parents: Iterable[int]) -> int:
    """The code of a parent set: its mask of candidates, or ``~place`` in the list of the others."""
    members = set(parents)
    if members <= set(view.candidates[child].tolist()):
        return sum(1 << int(view.position[child, u]) for u in members)
    for place in range(view.outside.start[child], view.outside.start[child + 1]):
        if set(view.outside.members[place].tolist()) - {-1} == members:
            return ~place
    raise KeyError((child, members))


def candidate_masks(view: TableView, dag: int) -> NDArray[np.int64]:
    """The code of each node's parents; a mask of its candidates where there is nothing outside."""
    n = len(view.candidates)
    return np.array([set_code(view, v, s) for v, s in enumerate(parent_sets(n)[dag])])


def make_dag_state(view: TableView, dag: int) -> DagState:
    state = make_dag(*view.candidates.shape)
    set_dag(view, state, candidate_masks(view, dag))
    return state


def dag_codes(view: TableView, possible: NDArray[np.bool_]) -> dict[int, int]:
    """From a code of ``dag_code`` to the index of the DAG."""
    width = view.candidates.shape[1]
    out = {}
    for dag in np.flatnonzero(possible).tolist():
        masks = candidate_masks(view, dag)
        out[sum(int(mask) << (v * width) for v, mask in enumerate(masks))] = dag
    return out


@kernel
def dag_code(view, dag):
    code = np.int64(0)
    for v in range(dag.code.size):
        code |= dag.code[v] << (v * view.candidates.shape[1])
    return code


@kernel
def is_consistent(view, dag):
    """Whether lists, masks and scores say the same."""
    for v in range(dag.code.size):
        mask = 0
        for i in range(dag.n_parents[v]):
            mask |= 1 << view.position[v, dag.parents[v, i]]
        if mask != dag.code[v] or dag.log_score[v] != inside_score(view, v, mask):
            return False
    return True


@kernel
def draw_reversals(view, start, rng, codes):
    """One REV step from ``start``, again and again; returns whether the states stayed right."""
    n = start.code.size
    dag = make_dag(n, view.candidates.shape[1])
    scratch = make_listed_edges(n, view.candidates.shape[1])
    fine = True
    for draw in range(codes.size):
        copy_dag(start, dag)
        list_edges(dag, scratch)
        accepted = reverse_edge(view, dag, scratch, rng)
        codes[draw] = dag_code(view, dag)
        fine &= is_consistent(view, dag)
        fine &= accepted or codes[draw] == dag_code(view, start)
    return fine


@kernel
def draw_dags(view, state, rng, codes):
    """DAGs from one partition; returns whether they were consistent."""
    dag = make_dag(state.order.size, view.candidates.shape[1])
    fine = True
    for draw in range(codes.size):
        sample_dag(view, state, rng, dag)
        codes[draw] = dag_code(view, dag)
        fine &= is_consistent(view, dag)
    return fine


@kernel
def layers_of(dag, order, layer):
    return find_layers(dag, order, layer)


@kernel
def block_below(dag, root, blocked):
    listed = make_listed_edges(blocked.size, blocked.size)
    list_edges(dag, listed)
    listed.stamp[0] = 1
    mark_below(listed, root, root, root, blocked)


@kernel
def copy_state(source, target):
    copy_partition(source, target)

"""Draw the parents of a few nodes anew, together, given those of all others: a Gibbs step on DAGs.

The chosen nodes lose their parents. Let D_j be the j-th of them with its descendants in what is
left. New parents of all of them make no cycle if and only if the graph among the chosen nodes with
j -> i wherever the parents of i meet D_j has none (a cycle must pass a chosen node, and from one to
the next it runs through descendants of the first). Such a graph has layers like any DAG, and every
way to put the chosen nodes into layers has the weight

    prod_i tau_i(E_i, T_i):

the sum over the parent sets of i that meet no D_j but those of earlier layers, E_i, and at least
one of the layer right before, T_i. So layers are drawn by their weights, of which there are 75 for
four and 4,683 for six nodes, then the parents of each node from its sum, and nothing is rejected.
(Goudie & Mukherjee, JMLR 2016, draw parents of a few nodes together by listing sets.)

Nodes are chosen by a walk that does not depend on the DAG: it begins more often at nodes whose
parents differ between the DAGs that searches have found, and goes from a chosen node to one of its
candidates, or to a node that it is a candidate of, by what they matter to each other. Inside sets
only are drawn; chosen nodes with outside sets keep these, so that the way back begins with the same
nodes.

Formulas: docs/math.md#joint-redraws.
"""

from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Floats
from outpoint.kernels import borrowed, inlined, kernel
from outpoint.mcmc.dag import set_parents
from outpoint.mcmc.edges import list_edges
from outpoint.mcmc.moves.blocks import (
    LEAST_BLOCK_POWER,
    DagBlock,
    begin_block,
    end_block,
    make_dag_block,
)
from outpoint.mcmc.moves.parents import resample_parents
from outpoint.mcmc.moves.step import Step
from outpoint.mcmc.sums import draw_inside, log_meeting, sample_within
from outpoint.mcmc.trace import remember_best
from outpoint.tables.logspace import log_add
from outpoint.tables.parent_sets import Codes
from outpoint.tables.view import TableView, inside_sum

USUAL_NODES, MOST_NODES = 4, 6
"""Most nodes whose parents are drawn together, and most where there are outside sets, in larger
networks. Six take six times as long as four, which is a tenth of all the time there. On a network
of 107 variables, two sharp modes differed in the parents of six nodes, and replicas went from one
to the other five times as often as with four or five."""

LEAST_LOG_WAY = -40.0
"""Log weight, relative to the best one, below which a way changes no sum of doubles."""

HOT_FAMILIES = 0.3
"""Joint redraws in a block of a replica at power b, times (1 - b)², but at least one. Three of them
were accepted in 1 of 5 blocks at power 0.5, and in 1 of 20 at 0.3, where single ones do more."""

ONE_SHARE = 0.5
"""Share of redraws that are of one node's parents, where there are outside sets."""

LEAST_FOCUS = 0.1
"""Weight with which a walk begins at a node on whose parents all searched DAGs agree; that of one
on which they do not is the share of those that differ from most, and this."""

LEAST_WEIGHT = 0.02
"""Weight of a candidate that hardly matters, relative to one that is needed."""


class Relatives(NamedTuple):
    """Where the walk goes from v: to ``nodes[start[v]:start[v + 1]]``, shares summed up."""

    start: NDArray[np.int64]
    nodes: NDArray[np.int64]
    cumulative: NDArray[np.float64]


class JointRedraw(NamedTuple):
    """Scratch space, and the layers that up to ``most`` nodes can have.

    Ways ``first_way[k]`` to ``first_way[k + 1]`` put k nodes into layers; in way w node i stands
    behind the nodes ``earlier[w, i]``, of which ``previous[w, i]`` right before it. ``below[u]`` is
    the mask of the chosen nodes above u, behind the ``stamp`` of the step it belongs to.
    ``met[i, T]`` is the mask of the candidates of i that are in D_j for any j in T.
    """

    most: int
    relatives: Relatives
    first_way: NDArray[np.int64]
    earlier: NDArray[np.int64]
    previous: NDArray[np.int64]
    chosen: NDArray[np.int64]
    below: NDArray[np.int64]
    stamp: NDArray[np.int64]
    met: NDArray[np.int64]
    log_tau: NDArray[np.float64]
    log_way: NDArray[np.float64]


def make_joint_redraw(view: TableView) -> JointRedraw:
    """Scratch space for DAGs over this table."""
    n = len(view.candidates)
    most = MOST_NODES if view.outside.score.size else USUAL_NODES
    first_way, earlier, previous = _list_ways(most)
    n_masks = 1 << most
    return JointRedraw(
        most,
        _find_relatives(view),
        first_way,
        earlier,
        previous,
        np.zeros(most, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros((most, n_masks), dtype=np.int64),
        np.zeros((most, n_masks, n_masks)),
        np.zeros(len(earlier)),
    )


def focus_on(starts: Codes) -> Floats:
    """The probabilities that a walk begins at each node, summed up, by the DAGs chains begin at."""
    agreeing = [np.unique(own, return_counts=True)[1].max() for own in starts.T]
    weight = LEAST_FOCUS + 1.0 - np.array(agreeing) / len(starts)
    return np.asarray(np.cumsum(weight) / weight.sum())


@cache
def _list_ways(most: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """All ways to put 0, 1, ..., ``most`` nodes into layers without a gap."""
    first = [0]
    earlier, previous = [], []
    for size in range(most + 1):
        for layer in product(range(size), repeat=size):
            if set(layer) == set(range(max(layer, default=-1) + 1)) and size > 0:
                before = [[other < own for other in layer] for own in layer]
                right_before = [[other == own - 1 for other in layer] for own in layer]
                earlier.append([_mask(row) for row in before] + [0] * (most - size))
                previous.append([_mask(row) for row in right_before] + [0] * (most - size))
        first.append(len(earlier))
    return np.array(first), np.array(earlier), np.array(previous)


def _mask(members: list[bool]) -> int:
    return sum(1 << i for i, is_member in enumerate(members) if is_member)


def _find_relatives(view: TableView) -> Relatives:
    """Weights by how much of the sum over a node's inside sets is in sets with the other node."""
    n = len(view.candidates)
    weight = np.zeros((n, n))
    for child, number in enumerate(view.n_candidates.tolist()):
        total = view.log_sums[view.mask_start[child + 1] - 1]
        total = total if total > -np.inf else 0.0  # there may be outside sets only
        with_each = view.omega[view.omega_start[child] : view.omega_start[child + 1]]
        share = np.exp(with_each.reshape(number, -1)[:, -1] - total)
        weight[child, view.candidates[child, :number]] = np.maximum(share, LEAST_WEIGHT)
    weight = np.maximum(weight, weight.T)
    node, other = np.nonzero(weight)
    start = np.searchsorted(node, np.arange(n + 1))
    sums = np.concatenate([np.cumsum(row[row > 0]) / row.sum() for row in weight])
    return Relatives(start, other, sums)


@inlined
def redraw_families(view, dag, listed, scratch, focus, rng):
    """Redraw parents of up to ``scratch.most`` nodes of ``dag``; returns whether any has changed.

    The edges of ``dag`` must have been ``listed``; they still are afterwards.
    """
    size = _without_held(dag, scratch.chosen, _choose(scratch, focus, rng))
    _mark_descendants(listed, scratch, size)
    _sum_sets(view, scratch, size)
    way = _draw_way(scratch, size, rng)
    is_changed = False
    for i in range(size):
        node = scratch.chosen[i]
        mask = _draw_set(view, scratch, size, way, i, rng)
        if mask != dag.code[node]:
            set_parents(view, dag, node, mask)
            is_changed = True
    if is_changed:
        list_edges(dag, listed)
    return is_changed


@inlined
def _choose(scratch, focus, rng):
    """Walk from a node to relatives; returns how many different nodes were met."""
    relatives, chosen = scratch.relatives, scratch.chosen
    chosen[0] = min(np.searchsorted(focus, rng.random(), side="right"), focus.size - 1)
    size = 1
    for _ in range(scratch.most - 1):
        node = chosen[int(rng.random() * size)]
        uniform = rng.random()
        place = relatives.start[node]
        last = relatives.start[node + 1] - 1
        while place < last and uniform >= relatives.cumulative[place]:
            place += 1
        if not _is_chosen(chosen, size, relatives.nodes[place]):
            chosen[size] = relatives.nodes[place]
            size += 1
    return size


@inlined
def _without_held(dag, chosen, size):
    """Leave out the chosen nodes with outside sets; returns how many are left."""
    n_left = 0
    for i in range(size):
        if dag.code[chosen[i]] >= 0:
            chosen[n_left] = chosen[i]
            n_left += 1
    return n_left


@inlined
def _is_chosen(chosen, size, node):
    """Whether ``node`` is among the first ``size`` chosen ones."""
    found = False
    for i in range(size):
        found = found or chosen[i] == node
    return found


@inlined
def _mark_descendants(listed, scratch, size):
    """Mark what is below each chosen node, on ways that enter no other."""
    below, waiting, chosen = scratch.below, listed.waiting, scratch.chosen
    scratch.stamp[0] += 1
    blank = scratch.stamp[0] << MOST_NODES
    for j in range(size):
        bit = 1 << j
        below[chosen[j]] = blank | bit
        waiting[0] = chosen[j]
        n_waiting = 1
        while n_waiting > 0:
            n_waiting -= 1
            u = waiting[n_waiting]
            for i in range(listed.child_start[u], listed.child_start[u + 1]):
                child = listed.children[i]
                if _is_chosen(chosen, size, child):
                    continue
                if below[child] < blank:
                    below[child] = blank
                if below[child] & bit == 0:
                    below[child] |= bit
                    waiting[n_waiting] = child
                    n_waiting += 1


@inlined
def _sum_sets(view, scratch, size):
    """Fill ``met``, and the sums ``log_tau[i, E, T]`` for all E and T that can be."""
    met, log_tau = scratch.met, scratch.log_tau
    everyone = (1 << size) - 1
    for i in range(size):
        node = scratch.chosen[i]
        _find_met(view, scratch, size, i)
        log_tau[i, 0, 0] = inside_sum(view, node, _allowed(view, scratch, size, i, 0))
        for earlier in range(1, everyone + 1):
            if earlier >> i & 1:
                continue
            allowed = _allowed(view, scratch, size, i, earlier)
            previous = 0
            log_tau[i, earlier, 0] = -np.inf
            while previous != earlier:
                previous = (previous - earlier) & earlier  # the next larger part of it
                fewer = previous & (previous - 1)
                unmet = allowed & ~met[i, fewer]
                newly_met = met[i, previous] & unmet
                log_sum = log_tau[i, earlier, fewer]
                if newly_met != 0:
                    log_sum = log_add(log_sum, log_meeting(view, node, unmet, newly_met))
                log_tau[i, earlier, previous] = log_sum


@inlined
def _find_met(view, scratch, size, i):
    """Fill ``met[i]``: first for single nodes, then for all others from smaller ones."""
    node, met, blank = scratch.chosen[i], scratch.met, scratch.stamp[0] << MOST_NODES
    for members in range(1 << size):
        met[i, members] = 0
    for position in range(view.n_candidates[node]):
        above = scratch.below[view.candidates[node, position]]
        if above >= blank:
            for j in range(size):
                met[i, 1 << j] |= (above >> j & 1) << position
    for members in range(1 << size):
        fewer = members & (members - 1)
        met[i, members] |= met[i, fewer] | met[i, members ^ fewer]


@inlined
def _allowed(view, scratch, size, i, earlier):
    """The candidates of i that are below none but the ``earlier`` nodes."""
    n_candidates = view.n_candidates[scratch.chosen[i]]
    return ((1 << n_candidates) - 1) & ~scratch.met[i, ((1 << size) - 1) & ~earlier]


@inlined
def _draw_way(scratch, size, rng):
    """Layers of the chosen nodes, by their weights."""
    first, last = scratch.first_way[size], scratch.first_way[size + 1]
    log_way = scratch.log_way
    top = -np.inf
    for way in range(first, last):
        total = 0.0
        for i in range(size):
            total += scratch.log_tau[i, scratch.earlier[way, i], scratch.previous[way, i]]
        log_way[way] = total
        top = max(top, total)
    total = 0.0
    for way in range(first, last):
        log_way[way] -= top
        if log_way[way] > LEAST_LOG_WAY:
            total += np.exp(log_way[way])
    left = rng.random() * total
    drawn = first
    for way in range(first, last):
        if log_way[way] > LEAST_LOG_WAY:
            drawn = way
            left -= np.exp(log_way[way])
            if left < 0.0:
                break
    return drawn


@inlined
def _draw_set(view, scratch, size, way, i, rng):
    """Parents of the i-th chosen node, given the layers."""
    node, earlier, previous = scratch.chosen[i], scratch.earlier[way, i], scratch.previous[way, i]
    allowed = _allowed(view, scratch, size, i, earlier)
    log_total = scratch.log_tau[i, earlier, previous]
    if earlier == 0:
        return draw_inside(view, view.ranked, node, node, allowed, log_total, rng.random())
    met = scratch.met[i, previous] & allowed
    return sample_within(view, node, allowed, met, log_total, rng)


class Redraws(NamedTuple):
    """Scratch space of blocks of joint redraws."""

    block: DagBlock
    joint: JointRedraw


def make_redraws(view: TableView) -> Redraws:
    """Scratch space for DAGs over this table."""
    return Redraws(make_dag_block(view), make_joint_redraw(view))


@inlined
def redraw_together(view, state, scratch, block, focus, power, is_cold, trace, rng):
    """Draw a DAG, redraw parents of a few nodes together ``block`` times, and go on from it.

    Walks begin at nodes by the summed probabilities ``focus``. Joint redraws know inside sets only,
    so where there are others some redraws are of one node, from all sets. Returns how many were
    made, and how many of them changed anything.
    """
    if power < LEAST_BLOCK_POWER:
        return 0, 0
    dag, listed = scratch.block.dag, scratch.block.listed
    begin_block(view, state, scratch.block, rng)
    gap = (1.0 - power) ** 2
    n_tries = block if block * gap <= HOT_FAMILIES else max(1, int(HOT_FAMILIES / gap))
    n_changed = 0
    for _ in range(n_tries):
        if view.outside.score.size > 0 and rng.random() < ONE_SHARE:
            node = int(rng.random() * state.order.size)
            is_changed = resample_parents(view, dag, listed, node, rng)
        else:
            is_changed = redraw_families(view, dag, listed, scratch.joint, focus, rng)
        if is_changed:
            n_changed += 1
            if is_cold:
                remember_best(trace, dag)
    if n_changed > 0:
        end_block(view, state, scratch.block, power, is_cold, rng)
    return n_tries, n_changed


@kernel
def take_redraws(move, view, state, scratch, plan, power, is_cold, trace, rng):
    """One step: a block of joint redraws."""
    view, state, scratch, trace = (
        borrowed(view),
        borrowed(state),
        borrowed(scratch),
        borrowed(trace),
    )
    return redraw_together(
        view, state, scratch, plan.families, plan.focus, power, is_cold, trace, rng
    )


FAMILIES_TOGETHER = Step("families", take_redraws, make_redraws)

"""Structure MCMC (Madigan & York 1995, Giudici & Castelo 2003; paper section 3.1 and appendix A).

The neighbours of a DAG are itself, the DAGs with one edge less, with one edge more (acyclic, and
at most ``max_parents`` parents), and optionally those with one edge turned around. One of them is
proposed uniformly; the ratio of the neighbourhood sizes enters the acceptance. Steps of the REV
move can be mixed in.

Formulas: docs/math.md#structure-and-order-mcmc.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import require
from outpoint.kernels import borrowed, inlined, kernel, lend
from outpoint.mcmc import mixes
from outpoint.mcmc.chain import Chain, Sampler
from outpoint.mcmc.dag import (
    DagState,
    changed_code,
    code_score,
    copy_dag,
    dag_score,
    has_parent,
    make_dag,
    set_dag,
    set_parents,
    total_score,
)
from outpoint.mcmc.edges import ListedEdges, list_edges, make_listed_edges
from outpoint.mcmc.metropolis import log_uniform
from outpoint.mcmc.mixes import Settings
from outpoint.mcmc.moves import EDGE, REV
from outpoint.mcmc.moves.rev import reverse_edge
from outpoint.mcmc.restoring import check_codes
from outpoint.mcmc.trace import add_edges_of_dag, record_dag, remember_best
from outpoint.tables.parent_sets import Codes
from outpoint.tables.view import TableView, most_parents


class Neighbourhood(NamedTuple):
    """Who can be reached from a DAG by changing one edge.

    ``reach[u]`` holds the descendants of u as bits of 64-bit words; ``additions[v]`` counts the
    parents that v could get, ``reversals[v]`` its incoming edges that could be turned. In
    ``order`` parents stand before their children; ``is_placed`` is scratch space for it.
    """

    reach: NDArray[np.uint64]
    additions: NDArray[np.int64]
    reversals: NDArray[np.int64]
    order: NDArray[np.int64]
    is_placed: NDArray[np.bool_]


class StructureState(NamedTuple):
    """A DAG, its neighbourhood and the size of that; the same for a proposal; scratch space."""

    dag: DagState
    near: Neighbourhood
    n_neighbours: NDArray[np.int64]
    proposal: DagState
    proposal_near: Neighbourhood
    listed: ListedEdges


def make_neighbourhood(n: int) -> Neighbourhood:
    """Room for the neighbourhood of a DAG."""
    return Neighbourhood(
        np.zeros((n, -(-n // 64)), dtype=np.uint64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.arange(n),
        np.zeros(n, dtype=np.bool_),
    )


def make_structure_chain(n_nodes: int, most_parents: int) -> StructureState:
    """A chain at the empty DAG, not scored yet."""
    return StructureState(
        make_dag(n_nodes, most_parents),
        make_neighbourhood(n_nodes),
        np.zeros(1, dtype=np.int64),
        make_dag(n_nodes, most_parents),
        make_neighbourhood(n_nodes),
        make_listed_edges(n_nodes, most_parents),
    )


@kernel
def start_structure_chain(view, chain, codes, max_parents, with_reversals):
    """Put the chain at the DAG with these parent sets."""
    set_dag(view, chain.dag, codes)
    chain.n_neighbours[0] = _count(chain.dag, chain.near, max_parents, with_reversals)


@kernel
def run_structure_chain(
    view,
    chain,
    rev,
    max_parents,
    with_reversals,
    thin,
    edge_thin,
    trace,
    first_step,
    n_steps,
    recording,
    rng,
):
    """Take ``n_steps`` steps, a share ``rev`` of them by the REV move."""
    view, chain, trace = borrowed(view), borrowed(chain), borrowed(trace)
    for step in range(first_step + 1, first_step + n_steps + 1):
        if rng.random() < rev:
            trace.attempts[REV] += 1
            list_edges(chain.dag, chain.listed)
            if reverse_edge(view, chain.dag, chain.listed, rng):
                trace.accepted[REV] += 1
                remember_best(trace, chain.dag)
                chain.n_neighbours[0] = _count(chain.dag, chain.near, max_parents, with_reversals)
        else:
            trace.attempts[EDGE] += 1
            if _try_edge(view, chain, max_parents, with_reversals, rng):
                trace.accepted[EDGE] += 1
                remember_best(trace, chain.dag)
        if recording:
            if step % edge_thin == 0:
                add_edges_of_dag(trace, view, chain.dag)
            if step % thin == 0:
                record_dag(trace, chain.dag, dag_score(chain.dag))


@inlined
def has_bit(reach, row, node):
    """Whether ``node`` is in the set of this row."""
    return (reach[row, node >> 6] >> np.uint64(node & 63)) & np.uint64(1) != np.uint64(0)


@inlined
def sort_nodes(dag, near):
    """Bring ``near.order`` into an order in which parents stand before their children."""
    order, is_placed = near.order, near.is_placed
    n = order.size
    for node in range(n):
        is_placed[node] = False
    n_placed = 0
    while n_placed < n:
        for place in range(n_placed, n):
            node = order[place]
            is_next = True
            for i in range(dag.n_parents[node]):
                if not is_placed[dag.parents[node, i]]:
                    is_next = False
                    break
            if is_next:
                order[place] = order[n_placed]
                order[n_placed] = node
                is_placed[node] = True
                n_placed += 1


@inlined
def fill_reach(dag, near):
    """Descendants of every node, from the last in order to the first."""
    sort_nodes(dag, near)
    n, n_words = near.reach.shape
    for node in range(n):
        for word in range(n_words):
            near.reach[node, word] = np.uint64(0)
    for place in range(n - 1, -1, -1):
        node = near.order[place]
        for i in range(dag.n_parents[node]):
            parent = dag.parents[node, i]
            for word in range(n_words):
                near.reach[parent, word] |= near.reach[node, word]
            near.reach[parent, node >> 6] |= np.uint64(1) << np.uint64(node & 63)


@inlined
def can_add(dag, near, node, u):
    """Whether u may become a parent of ``node`` (the number of parents apart)."""
    return u != node and not has_bit(near.reach, node, u) and not has_parent(dag, node, u)


@inlined
def can_reverse(dag, near, node, i, max_parents):
    """Whether the edge from the i-th parent of ``node`` can be turned around."""
    parent = dag.parents[node, i]
    if dag.n_parents[parent] >= max_parents:
        return False
    for other in range(dag.n_parents[node]):
        if other != i and has_bit(near.reach, parent, dag.parents[node, other]):
            return False
    return True


@inlined
def _count(dag, near, max_parents, with_reversals):
    """Fill the neighbourhood; return its size, the DAG itself included."""
    fill_reach(dag, near)
    n = dag.n_parents.size
    total = 1
    for node in range(n):
        additions = reversals = 0
        if dag.n_parents[node] < max_parents:
            for u in range(n):
                additions += can_add(dag, near, node, u)
        if with_reversals:
            for i in range(dag.n_parents[node]):
                reversals += can_reverse(dag, near, node, i, max_parents)
        near.additions[node], near.reversals[node] = additions, reversals
        total += dag.n_parents[node] + additions + reversals
    return total


@inlined
def _pick_change(dag, near, max_parents, pick):
    """The child, the parent it loses or -1, the one it gains or -1, whether the edge is turned."""
    node = 0
    while True:
        here = dag.n_parents[node] + near.additions[node] + near.reversals[node]
        if pick < here:
            break
        pick -= here
        node += 1
    if pick < dag.n_parents[node]:
        return node, dag.parents[node, pick], -1, False
    pick -= dag.n_parents[node]
    if pick < near.additions[node]:
        u = -1
        while pick >= 0:
            u += 1
            pick -= can_add(dag, near, node, u)
        return node, -1, u, False
    pick -= near.additions[node]
    i = -1
    while pick >= 0:
        i += 1
        pick -= can_reverse(dag, near, node, i, max_parents)
    return node, dag.parents[node, i], -1, True


@inlined
def _try_edge(view, chain, max_parents, with_reversals, rng):
    """Propose a neighbour, uniformly; returns whether the DAG has changed."""
    dag, proposal = chain.dag, chain.proposal
    n_neighbours = chain.n_neighbours[0]
    pick = int(rng.random() * n_neighbours) - 1
    if pick < 0:
        return False
    node, lost, gained, is_turned = _pick_change(dag, chain.near, max_parents, pick)
    code = changed_code(view, dag, node, lost, gained)
    change = code_score(view, node, code) - dag.log_score[node]
    other_code = np.int64(0)
    if is_turned:
        other_code = changed_code(view, dag, lost, -1, node)
        change += code_score(view, lost, other_code) - dag.log_score[lost]
    threshold = log_uniform(rng) - change - np.log(n_neighbours)
    # A neighbourhood has at least one member; where that is not enough, none will be.
    if not threshold < 0.0:
        return False
    copy_dag(dag, proposal)
    set_parents(view, proposal, node, code)
    if is_turned:
        set_parents(view, proposal, lost, other_code)
    n_proposed = _count(proposal, chain.proposal_near, max_parents, with_reversals)
    if not threshold < -np.log(n_proposed):
        return False
    copy_dag(proposal, dag)
    chain.n_neighbours[0] = n_proposed
    _copy_neighbourhood(chain.proposal_near, chain.near)
    return True


@inlined
def _copy_neighbourhood(source, target):
    for node in range(source.order.size):
        for word in range(source.reach.shape[1]):
            target.reach[node, word] = source.reach[node, word]
        target.additions[node] = source.additions[node]
        target.reversals[node] = source.reversals[node]


class StructureChain(Chain):
    """A chain on DAGs, with or without standard reversals and the REV move."""

    def __init__(
        self,
        view: TableView,
        settings: Settings,
        start: Codes,
        rng: np.random.Generator,
        *,
        rev: float = 0.0,
    ) -> None:
        super().__init__(view, settings, start, rng)
        self._rev = rev
        self._limits = (settings.max_parents, settings.edge_reversals)
        self._state = make_structure_chain(len(view.candidates), most_parents(view))
        self._lent_state = lend(self._state)
        start_structure_chain(view, self._state, start, *self._limits)

    def _state_arrays(self) -> dict[str, NDArray[Any]]:
        return {"code": self._state.dag.code}

    def _check_state(self) -> None:
        codes = self._state.dag.code.copy()
        check_codes(self._view, codes[None])
        require(np.isfinite(total_score(self._view, codes)), "its DAG has no score")
        start_structure_chain(self._view, self._state, codes, *self._limits)

    def _run(self, first_step: int, n_steps: int, recording: bool) -> None:
        run_structure_chain(
            self._lent_view,
            self._lent_state,
            self._rev,
            *self._limits,
            self.thin,
            self._edge_thin,
            self._lent_trace,
            first_step,
            n_steps,
            recording,
            self._rng,
        )


STRUCTURE = Sampler(
    name="structure",
    summary="structure MCMC: one edge at a time",
    start=StructureChain,
)
STRUCTURE_REV = Sampler(
    name="structure+rev",
    summary="structure MCMC with edge reversals",
    start=partial(StructureChain, rev=mixes.REV_SHARE),
)

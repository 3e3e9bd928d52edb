"""The moves that propose a partition, which is accepted or not.

``propose_...(state, proposal, rng)`` writes a neighbour of ``state`` to ``proposal`` and returns
``(log_proposal_ratio, begin, end)``: log #nbd(state) - log #nbd(proposal), and the places of the
proposal's order whose nodes need a new score. ``begin < 0`` says that there is no neighbour; the
chain then stays where it is, and the step counts.
"""

from outpoint.kernels import borrowed, inlined, kernel
from outpoint.mcmc.metropolis import accepts
from outpoint.mcmc.moves import NODE_MOVE, SPLIT_JOIN, SWAP_ANY
from outpoint.mcmc.moves.node_move import propose_node_move
from outpoint.mcmc.moves.split_join import propose_split_join
from outpoint.mcmc.moves.step import Step, once
from outpoint.mcmc.moves.swap import propose_swap_adjacent, propose_swap_any
from outpoint.mcmc.partition import PartitionState, copy_partition, make_partition, score_nodes
from outpoint.tables.view import TableView


@inlined
def propose(move, state, proposal, rng):
    """Propose by the move of this number."""
    if move == SPLIT_JOIN:
        return propose_split_join(state, proposal, rng)
    if move == NODE_MOVE:
        return propose_node_move(state, proposal, rng)
    if move == SWAP_ANY:
        return propose_swap_any(state, proposal, rng)
    return propose_swap_adjacent(state, proposal, rng)


@inlined
def try_move(view, state, proposal, move, power, rng):
    """Propose a move, accept or reject it; returns whether it was accepted."""
    log_ratio, begin, end = propose(move, state, proposal, rng)
    if begin < 0:
        return False
    for node in range(state.log_tau.size):
        proposal.log_tau[node] = state.log_tau[node]
        proposal.held[node] = state.held[node]
    change = score_nodes(view, proposal, begin, end)
    if not accepts(power * change, log_ratio, rng):
        return False
    copy_partition(proposal, state)
    return True


@kernel
def take_proposed(move, view, state, scratch, plan, power, is_cold, trace, rng):
    """One step by a move that is accepted or not."""
    view, state, scratch = borrowed(view), borrowed(state), borrowed(scratch)
    return once(try_move(view, state, scratch, move, power, rng))


def _make_scratch(view: TableView) -> PartitionState:
    return make_partition(len(view.candidates))


PROPOSED = tuple(
    Step(name, take_proposed, _make_scratch)
    for name in ("split_join", "node_move", "swap_any", "swap_adjacent")
)

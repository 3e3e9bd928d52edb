"""The moves of all chains: a file for each, their names and numbers, and who proposes which.

A partition move ``propose_...(state, proposal, rng)`` only proposes: it writes a neighbour of
``state`` to ``proposal`` and returns ``(log_proposal_ratio, begin, end)``: log #nbd(state) -
log #nbd(proposal), and the places of the proposal's order whose nodes need a new score.
``begin < 0`` says that there is no neighbour; the chain then stays where it is, and the step
counts. Placement and redrawing outside sets need no acceptance; the steps on DAGs (``rev``,
``edge``, ``parents``, ``families``) keep the posterior over DAGs by themselves.
"""

from outpoint.kernels import inlined
from outpoint.mcmc.moves.node_move import propose_node_move
from outpoint.mcmc.moves.split_join import propose_split_join
from outpoint.mcmc.moves.swap import propose_swap_adjacent, propose_swap_any

MOVES = (
    "still",
    "split_join",
    "node_move",
    "swap_any",
    "swap_adjacent",
    "node_gibbs",
    "rev",
    "edge",
    "parents",
    "outside",
    "families",
)
"""Everything a chain can do in a step, in the order of the counts."""

(
    STILL,
    SPLIT_JOIN,
    NODE_MOVE,
    SWAP_ANY,
    SWAP_ADJACENT,
    NODE_GIBBS,
    REV,
    EDGE,
    PARENTS,
    OUTSIDE,
    FAMILIES,
) = range(len(MOVES))

PARTITION_MOVES = tuple(name for name in MOVES if name not in ("still", "edge", "outside"))
"""What a user may give a weight."""


@inlined
def propose(move, state, proposal, rng):
    """Propose by one of the moves that have to be accepted."""
    if move == SPLIT_JOIN:
        return propose_split_join(state, proposal, rng)
    if move == NODE_MOVE:
        return propose_node_move(state, proposal, rng)
    if move == SWAP_ANY:
        return propose_swap_any(state, proposal, rng)
    return propose_swap_adjacent(state, proposal, rng)

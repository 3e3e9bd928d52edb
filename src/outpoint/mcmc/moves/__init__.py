"""The moves of all chains: their names and numbers here, each of them in a file of its own.

Two kinds of files: ``propose_...(state, proposal, rng)`` only proposes a partition, to be accepted
or rejected (:mod:`outpoint.mcmc.moves.proposals`); any other move is a step that keeps the
posterior by itself. What a chain makes of either is a :class:`~outpoint.mcmc.moves.step.Step`.
"""

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

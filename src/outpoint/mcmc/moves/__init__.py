"""Moves: each file proposes, and only proposes.

A partition move ``propose_...(state, proposal, rng)`` writes a neighbour of ``state`` to
``proposal`` and returns ``(log_proposal_ratio, begin, end)``: log #nbd(state) - log #nbd(proposal),
and the places of the proposal's order whose nodes need a new score. ``begin < 0`` says that
there is no neighbour; the chain then stays where it is, and the step counts.
"""

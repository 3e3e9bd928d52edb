"""Markov chains over DAGs: the samplers of the paper, and a tempered combination of their moves."""

from outpoint.mcmc.chain import ROOM, SWEEP, Chain, Sampler
from outpoint.mcmc.mixes import Moves, Settings
from outpoint.mcmc.samplers import SAMPLERS, check_method, is_possible, make_chain

__all__ = [
    "ROOM",
    "SAMPLERS",
    "SWEEP",
    "Chain",
    "Moves",
    "Sampler",
    "Settings",
    "check_method",
    "is_possible",
    "make_chain",
]

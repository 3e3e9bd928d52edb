"""Markov chains over DAGs: the samplers of the paper, and the combination that beats them."""

from outpoint.mcmc.chain import SWEEP, Chain, Settings
from outpoint.mcmc.samplers import METHODS, check_method, is_possible, start_chain

__all__ = [
    "METHODS",
    "SWEEP",
    "Chain",
    "Settings",
    "check_method",
    "is_possible",
    "start_chain",
]

"""Accepting and rejecting, for every sampler of the package.

A proposal from x to y is accepted with probability min(1, r), where

    log r = log pi(y) - log pi(x) + log q(x | y) - log q(y | x).

Moves supply the last two terms as ``log_proposal_ratio``.
"""

import numpy as np

from outpoint.kernels import inlined


@inlined
def accepts(log_target_ratio, log_proposal_ratio, rng):
    """Whether a proposal is accepted; one uniform is drawn, whatever the ratio."""
    return log_uniform(rng) < log_target_ratio + log_proposal_ratio


@inlined
def log_uniform(rng):
    """Log of a uniform on (0, 1]: what log r is compared with.

    Drawn on its own, it lets a sampler stop early: a bound on log r that lies below it has
    decided the rejection, and the rest of the ratio need not be computed.
    """
    return np.log(1.0 - rng.random())

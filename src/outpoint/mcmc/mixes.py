"""Everything that decides what the chains of a run do.

That includes which moves a chain makes, and how often: by the paper's mixes, by ours, or by the
user's own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import OptionError
from outpoint.mcmc.moves import MOVES, PARTITION_MOVES
from outpoint.tables.parent_sets import Codes

Moves = Mapping[str, float] | Literal["paper"]
"""Weights of partition moves, or the paper's."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The sampler, where its chains start, what is tuned, and what is kept.

    The first chain begins at the DAG with parent sets ``start``; with ``scatter`` the others begin
    at DAGs drawn from random orders that allow the ``required`` edges. With ``order_steps`` each
    chain begins where an order chain of that length ends.

    Tempered replicas reach down to the power ``hottest``. With ``starts`` each of them, chain after
    chain, begins at a DAG of its own as far as there are enough.

    The first ``n_warmup`` steps tune and are not recorded. A draw is kept every ``thin`` steps;
    whenever there are ``2 * n_draws``, every second one is dropped, and fewer are kept from then
    on.
    """

    method: str
    start: Codes
    max_parents: int
    moves: Moves | None = None
    edge_reversals: bool = True
    scatter: bool = False
    required: NDArray[np.bool_] | None = None
    order_steps: int = 0
    hottest: float = 0.0
    starts: Codes | None = None
    n_chains: int = 1
    seed: int = 0
    n_warmup: int = 0
    n_draws: int = 1000
    thin: int = 1
    edge_thin: int = 1


STILL_SHARE = 0.01
REV_SHARE = 0.07
OUTSIDE_SHARE = 0.15
"""Share of steps that redraw place and parent sets of a node, where there are outside sets."""

SHORT_LIST = 640
"""Outside sets of a node, on average, up to which hot replicas go through all of them."""

PARENTS_SHARE = 0.05
"""Share of steps that draw a node's parents anew, where required edges make them necessary."""


def larger_move_share(n_nodes: int) -> float:
    """How often the larger of two moves is made so that both take the same time (appendix A).

    The paper's 6n / (n^2 + 10n - 24) exceeds 1 below 4 nodes; 3/4 is its value at 4.
    """
    if n_nodes < 4:
        return 0.75
    return 6 * n_nodes / (n_nodes**2 + 10 * n_nodes - 24)


def paper_partition_mix(n_nodes: int) -> dict[str, float]:
    """Partition to permutation moves 3:2, within each class the larger move less often."""
    large = larger_move_share(n_nodes)
    return {
        "split_join": 0.6 * (1 - large),
        "node_move": 0.6 * large,
        "swap_any": 0.4 * large,
        "swap_adjacent": 0.4 * (1 - large),
    }


def paper_order_mix(n_nodes: int) -> dict[str, float]:
    """Swaps of any two and of adjacent nodes."""
    large = larger_move_share(n_nodes)
    return {"swap_any": large, "swap_adjacent": 1 - large}


def hot_redraws(mean_length: float) -> float:
    """Share of their redraws that hot replicas make, which go through most of a list."""
    return min(1.0, SHORT_LIST / max(mean_length, 1.0))


def user_mix(moves: Moves) -> dict[str, float]:
    """Check a user's weights of partition moves."""
    if not isinstance(moves, Mapping):
        raise OptionError(f'moves must be "paper" or a dict of weights, not {moves!r}.')
    unknown = [name for name in moves if name not in PARTITION_MOVES]
    if unknown:
        raise OptionError(f"unknown move {unknown[0]!r}: choose from {', '.join(PARTITION_MOVES)}.")
    weights = {}
    for name, weight in moves.items():
        if isinstance(weight, bool) or not isinstance(weight, int | float | np.number):
            raise OptionError(f"the weight of {name} must be a number, not {weight!r}.")
        if not 0 <= weight < np.inf:
            raise OptionError(f"the weight of {name} must not be negative or infinite.")
        weights[name] = float(weight)
    if not any(weights.get(name) for name in ("split_join", "node_move", "node_gibbs")):
        raise OptionError(
            "swaps and reversals alone cannot get everywhere: "
            "give split_join, node_move or node_gibbs a weight."
        )
    return weights


def cumulative(
    weights: Mapping[str, float],
    *,
    still: float = 0.0,
    rev: float = 0.0,
    parents: float = 0.0,
    outside: float = 0.0,
) -> NDArray[np.float64]:
    """Summed probabilities in the order of ``MOVES``.

    ``outside`` takes its share of all steps, ``parents`` of what is left, then ``rev``, ``still``.
    """
    largest = max(weights.values())
    weights = {name: weight / largest for name, weight in weights.items()}
    total = sum(weights.values())
    left = (1 - outside) * (1 - parents) * (1 - rev)
    share = {name: left * (1 - still) * weight / total for name, weight in weights.items()}
    share["still"] = share.get("still", 0.0) + left * still
    share["rev"] = share.get("rev", 0.0) + (1 - outside) * (1 - parents) * rev
    share["parents"] = share.get("parents", 0.0) + (1 - outside) * parents
    share["outside"] = outside
    sums = np.cumsum([share.get(name, 0.0) for name in MOVES])
    return sums / sums[-1]

"""The draws of an effect by structure: in which DAGs there is none, and how large it is elsewhere.

Effects are grouped by the parents of the cause. These decide what confounds it: given them, all
DAGs with a path have much the same effect, so that groups that differ show where it depends on
arrows that the data leave open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats
from outpoint.posterior.effects import CausalEffects

MOST_GROUPS = 5
"""Parent sets of a cause that are shown apart; those of the others are put together."""


@dataclass(frozen=True)
class Group:
    """Draws with the same ``parents`` of the cause, by number; None for all other ones together."""

    parents: tuple[int, ...] | None
    share: float
    mean: float
    lower: float
    upper: float


@dataclass(frozen=True)
class PairGroups:
    """One effect: the probability that there is none, its spread, and its groups with a path."""

    cause: str
    effect: str
    no_path: float
    groups: tuple[Group, ...]


def group_by_parents(
    effects: CausalEffects, names: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> list[PairGroups]:
    """The groups of some effects."""
    if effects.dags is None:
        return []
    n_draws = len(effects.samples)
    weights = effects.weights if effects.weights is not None else np.full(n_draws, 1.0 / n_draws)
    dags = np.repeat(effects.dags, n_draws // len(effects.dags), axis=0)
    tails = (1 - effects.level) / 2, (1 + effects.level) / 2
    numbered = {
        cause: np.unique(dags[:, :, names.index(cause)], axis=0, return_inverse=True)
        for cause in dict.fromkeys(cause for cause, _ in pairs)
    }
    found = []
    for cause, effect in pairs:
        values = effects.draws(cause, effect).astype(np.float64)
        reached = values != 0
        groups = _groups(*numbered[cause], values, weights * reached, tails)
        no_path = max(0.0, 1.0 - float(weights[reached].sum()))
        found.append(PairGroups(cause, effect, no_path, groups))
    return found


def _groups(
    sets: Booleans,
    number: NDArray[np.intp],
    values: Floats,
    weights: Floats,
    tails: tuple[float, float],
) -> tuple[Group, ...]:
    """The heaviest parent sets, given with that of each draw by number, and the rest."""
    number = number.reshape(-1)
    totals = np.bincount(number, weights=weights, minlength=len(sets))
    ranked = [one for one in np.argsort(-totals, kind="stable").tolist() if totals[one] > 0]
    chosen = [
        _group(tuple(np.flatnonzero(sets[one]).tolist()), number == one, values, weights, tails)
        for one in ranked[:MOST_GROUPS]
    ]
    rest = np.isin(number, ranked[MOST_GROUPS:])
    if (weights[rest] > 0).any():
        chosen.append(_group(None, rest, values, weights, tails))
    return tuple(chosen)


def _group(
    parents: tuple[int, ...] | None,
    inside: Booleans,
    values: Floats,
    weights: Floats,
    tails: tuple[float, float],
) -> Group:
    own = inside & (weights > 0)
    limits = np.quantile(
        values[own], list(tails), method="inverted_cdf", weights=weights[own]
    ).tolist()
    mean = float(np.average(values[own], weights=weights[own]))
    return Group(parents, float(weights[own].sum()), mean, *limits)

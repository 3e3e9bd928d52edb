"""More candidates and larger parent sets for the nodes that need them.

Most nodes have few parents, and the scores of all sets of their candidates are made anew for every
completed table: a limit for all nodes would be too low for a few or too slow for the others. Short
chains from the first tables tell around their DAGs what is excluded (:mod:`.excluded`), and nodes
of which something matters get the candidates and the size of sets that they ask for. Chains then go
on from there, until nothing is asked for any more or there would be too many families or sums.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats
from outpoint.missing.chain import LOOK_EVERY, AugmentedChain
from outpoint.missing.exclusion import Exclusion
from outpoint.scores.base import count_subsets
from outpoint.tables.parent_sets import count_candidates

FIRST_FAMILIES = 20_000
MOST_FAMILIES = 150_000
"""Families that are scored for every completed table: at first, and at most."""

MOST_SUMS = 500_000
"""Sums over sets of candidates that are made for every completed table at most, 2^k for a node with
k of them: a few nodes can have many candidates."""

MOST_OWN = 16
"""Most candidates of a node that asks for more."""

LOOKS = 3
"""Looks of a chain in one round."""

WORTH_IT = 0.0125
"""Change of an edge by excluded sets from which on a node gets more, half of what the verdict lets
pass; share of the posterior from which on a parent becomes a candidate or larger sets listed."""

UNTOLD = 0.1
"""Share of the posterior in excluded sets from which on a node gets more whatever changes."""


class Beginning(NamedTuple):
    """Where chains begin: candidates and limits of nodes, and DAGs and tables, none if exact.

    ``pilots`` is how much was tried before: tables, and rounds of widening as half a one each.
    """

    candidates: NDArray[np.int32]
    limits: NDArray[np.int32]
    dags: list[Booleans]
    tables: list[Floats]
    pilots: float


def first_limits(
    n_nodes: int, width: int, required: Booleans, max_parents: int
) -> NDArray[np.int32]:
    """As many parents as can be scored again and again; at least those that are required."""
    limit = 2
    while limit < width and n_nodes * count_subsets(width, limit + 1) <= FIRST_FAMILIES:
        limit += 1
    limits = np.maximum(min(limit, max_parents), required.sum(axis=0))
    return np.asarray(limits.astype(np.int32))


def widen(
    begin: Beginning,
    chains: list[AugmentedChain],
    required: Booleans,
    max_parents: int,
    *,
    adds_candidates: bool,
) -> Beginning | None:
    """More for the nodes that need it, by short runs of these chains; None if none needs any.

    Of candidates that are too many, those that are used least are given up.
    """
    for chain in chains:
        chain.advance(1 + (LOOKS - 1) * LOOK_EVERY)
    found = sum((chain.excluded for chain in chains), Exclusion.none(len(begin.candidates)))
    missing = found.missing
    states = [chain.state for chain in chains]
    use = np.mean([np.mean(chain.edges, axis=0) for chain in chains], axis=0)
    changes = missing.changes(use)
    needs = np.maximum(changes / WORTH_IT, missing.mass / UNTOLD)
    larger = found.larger / (found.n_looks + found.mass)
    kept = required | np.any([dag for dag, _ in states], axis=0)
    worth = np.where(kept, np.inf, np.maximum(use, missing.edges))
    candidates, limits = begin.candidates, begin.limits.copy()
    for v in np.argsort(-needs, kind="stable")[: int((needs >= 1.0).sum())]:
        own = candidates[v][candidates[v] >= 0]
        if adds_candidates:
            both = np.union1d(own, np.flatnonzero(missing.edges[:, v] >= WORTH_IT))
            best = np.argsort(-worth[both, v], kind="stable")[: max(MOST_OWN, len(own))]
            own = np.sort(both[best])
        wanted = limits[v] * (2 if larger[v] >= WORTH_IT else 1)
        wanted = max(int(limits[v]), min(wanted, max_parents, len(own)))
        tried = _with_row(candidates, int(v), own)
        for limit in range(wanted, int(limits[v]) - 1, -1):
            now = np.where(np.arange(len(limits)) == v, limit, limits)
            if _count_families(tried, now) <= MOST_FAMILIES and _count_sums(tried) <= MOST_SUMS:
                candidates, limits = tried, now
                break
    if np.array_equal(candidates, begin.candidates) and np.array_equal(limits, begin.limits):
        return None
    return begin._replace(
        candidates=candidates,
        limits=limits.astype(np.int32),
        dags=[dag for dag, _ in states],
        tables=[values for _, values in states],
    )


def _with_row(
    candidates: NDArray[np.int32], node: int, own: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Lists of candidates, one of them replaced."""
    width = max(candidates.shape[1], len(own))
    out = np.full((len(candidates), width), -1, dtype=np.int32)
    out[:, : candidates.shape[1]] = candidates
    out[node] = -1
    out[node, : len(own)] = own
    return out


def _count_families(candidates: NDArray[np.int32], limits: NDArray[np.int32]) -> int:
    """How many families there are."""
    numbers = count_candidates(candidates).tolist()
    return sum(count_subsets(k, min(k, int(m))) for k, m in zip(numbers, limits, strict=True))


def _count_sums(candidates: NDArray[np.int32]) -> int:
    """How many sets of candidates there are."""
    return sum(2**k for k in count_candidates(candidates).tolist())

"""Parent sets that leave the candidates, best first.

All admissible sets of at most ``scored_parents`` nodes are looked at, and beyond that size those
with a single member outside the candidates, so that no edge is ever excluded. What cannot matter is
left out, see :mod:`outpoint.tables.pruning`.

Formulas: docs/math.md#inside-and-outside-sets.

In tempered replicas outside sets lose weight, so that their number does not win over their scores.

To the power b a node's inside sets weigh (sum of exp s)^b, all together. An outside set is held by
itself and would weigh exp(b s): over a long list that adds up to much more than the sum to the
power b, and hot replicas would fill up with such sets. Each loses

    penalty(b) = log(sum of exp(b s)) - b log(sum of exp s) + (1 - b)^4 ``FADING``,

over the outside sets of the node, so that all of them together weigh as if they were one sum, and
fade out where b is low. At b = 1 nothing is lost, at b = 0 log(number of sets) + ``FADING``. Where
a few sets are far better than the others little is lost between: modes of the posterior that hold
several of them have a way through the hot replicas.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Floats
from outpoint.kernels import inlined, run_chunked
from outpoint.scores import FamilyScorer, StructurePrior
from outpoint.scores.base import Members, Scores, subsets_of_size
from outpoint.tables.dense import frozen, log_tails, starts
from outpoint.tables.logspace import best_subsets
from outpoint.tables.pruning import MOST_LOST, SetsByRank, log_ratios, padded, prune


class OutsideSets(NamedTuple):
    """Sets with a member outside the candidates, best first; short rows are padded with -1.

    The sets of node v stand at ``start[v]..start[v + 1]``; ``inside`` is the mask of their members
    among the candidates, ``log_tail`` the log sum of each score and all after it.
    """

    start: NDArray[np.int64]
    members: NDArray[np.int16]
    inside: NDArray[np.int32]
    score: NDArray[np.float64]
    log_tail: NDArray[np.float64]


def no_outside(n_nodes: int) -> OutsideSets:
    """Empty lists of outside sets."""
    none = np.zeros(0)
    start = np.zeros(n_nodes + 1, dtype=np.int64)
    members, inside = np.zeros((0, 1), dtype=np.int16), np.zeros(0, dtype=np.int32)
    return frozen(OutsideSets(start, members, inside, none, none.copy()))


class OwnSets(NamedTuple):
    """The outside sets of one node, best first, and a bound on the mass of those left out.

    ``key`` says which candidates they are outside of, and what might be left out.
    """

    key: tuple[bytes, float]
    members: Members
    score: Scores
    lost: float


def list_outside(
    families: Scores,
    scored_parents: int,
    candidates: NDArray[np.int32],
    larger: "Callable[[int], LargerSets] | None" = None,
    *,
    in_threads: bool = True,
    is_pruned: bool = True,
    only_winners: bool = False,
    known: dict[int, OwnSets] | None = None,
) -> tuple[OutsideSets, float]:
    """The outside sets of every node, and a bound on the posterior mass of those left out.

    ``larger`` scores the sets of a node with more than ``scored_parents`` members, see
    :func:`score_larger`; without ``in_threads`` it is called from this thread only, as a user's own
    score must be. With ``only_winners`` just sets that can be in a best DAG are listed, and the
    bound says nothing. What is ``known`` of a node is used again if it has the same candidates, and
    replaced otherwise.
    """
    n = len(families)
    sets = SetsByRank.up_to(n - 1, scored_parents)
    most_lost = 1.0 if only_winners else MOST_LOST / n if is_pruned else 0.0
    known = {} if known is None else known
    keys = [(candidates[child].tobytes(), most_lost) for child in range(n)]
    stale = [child for child in range(n) if child not in known or known[child].key != keys[child]]

    def work(begin: int, end: int) -> None:
        for child in stale[begin:end]:
            parents = sets.members_for(child)
            kept, lost = _choose(child, families[child], sets, parents, candidates, most_lost)
            found, own = parents[kept], families[child, kept]
            if larger is not None:
                more, more_lost = larger(child).pruned(most_lost)
                width = more.members.shape[1]
                found = np.concatenate([padded(found, width), more.members])
                own = np.concatenate([own, more.score])
                lost += more_lost
            ranked = np.argsort(-own, kind="stable")
            known[child] = OwnSets(keys[child], found[ranked], own[ranked], lost)

    if larger is None or in_threads:
        run_chunked(work, len(stale))
    else:
        work(0, len(stale))
    width = max(1, *(known[child].members.shape[1] for child in range(n)))
    members = [padded(known[child].members, width) for child in range(n)]
    inside = [_inside_masks(own, members[child]) for child, own in enumerate(candidates)]
    scores = [known[child].score for child in range(n)]
    start, score = starts(scores), np.concatenate(scores)
    listed = OutsideSets(
        start,
        np.concatenate(members),
        np.concatenate(inside),
        score,
        log_tails(start, score),
    )
    return frozen(listed), min(1.0, sum(known[child].lost for child in range(n)))


def _inside_masks(candidates: NDArray[np.int32], members: Members) -> NDArray[np.int32]:
    """For each set the mask of its members among the candidates of its node."""
    candidates = candidates[candidates >= 0]
    highest = max(candidates.max(initial=0), members.max(initial=0))
    bits = np.zeros(highest + 2, dtype=np.int32)
    bits[candidates] = 1 << np.arange(len(candidates), dtype=np.int32)
    return np.bitwise_or.reduce(bits[members], axis=1, dtype=np.int32)  # padding finds the last, 0


def _choose(
    child: int,
    scores: Scores,
    sets: SetsByRank,
    parents: Members,
    candidates: NDArray[np.int32],
    most_lost: float,
) -> tuple[NDArray[np.int64], float]:
    """Places of the scored sets of one node to list, and a bound on what the others had."""
    is_candidate = np.zeros(len(candidates) + 1, dtype=np.bool_)
    is_candidate[candidates[child]] = True
    is_candidate[-1] = True  # padding of either
    outside = np.flatnonzero(~is_candidate[parents].all(axis=1) & (scores > -np.inf))
    best, which = sets.best_subsets(child, scores, parents)
    pruned = prune(log_ratios(scores[outside], best[outside]), which[outside] + 1, most_lost)
    return outside[pruned.keep], pruned.lost


class LargerSets(NamedTuple):
    """Sets of one node with one member outside the candidates.

    ``subset`` is the mask of the best one among the subsets of their other members, and
    ``best_inside`` its score.
    """

    members: Members
    score: Scores
    best_inside: Scores
    subset: NDArray[np.int64]

    def pruned(self, most_lost: float) -> "tuple[LargerSets, float]":
        """Those to list, and a bound on what the others had."""
        finite = self.score > -np.inf
        sets = LargerSets._make([array[finite] for array in self])
        chosen = prune(log_ratios(sets.score, sets.best_inside), sets.subset, most_lost)
        return LargerSets._make([array[chosen.keep] for array in sets]), chosen.lost


def score_larger(
    child: int,
    candidates: NDArray[np.int32],
    dense: NDArray[np.float64],
    scorer: FamilyScorer,
    prior: StructurePrior,
    sizes: range,
) -> LargerSets:
    """Score the sets of the given sizes that have one member outside the ``candidates`` of a node.

    They are compared with the best subset of their inside members only, which is enough for a
    bound; ``dense`` has the scores of these by mask.
    """
    candidates = candidates[candidates >= 0]
    best = best_subsets(dense)
    others = np.setdiff1d(np.arange(scorer.n_nodes), [*candidates, child])
    parts: list[LargerSets] = []
    for size in sizes[: max(1, len(candidates) + 2 - sizes.start)]:
        positions = subsets_of_size(len(candidates), size - 1)
        masks = (1 << positions.astype(np.int64)).sum(axis=1)
        inside = np.repeat(candidates[positions], len(others), axis=0)
        outer = np.tile(others, len(positions))[:, None]
        members = np.sort(np.concatenate([inside, outer], axis=1), axis=1).astype(np.int16)
        score = scorer.families(child, members) + prior.log_weights(child, members)
        subset = np.repeat(best[masks], len(others))
        parts.append(LargerSets(padded(members, max(sizes)), score, dense[subset], subset))
    return LargerSets._make([np.concatenate(columns) for columns in zip(*parts, strict=True)])


FADING = 8.0
"""At power 0 the odds of holding an outside set are e to the minus this. With 2, hottest replicas
hold some, and weigh what these weigh for as long as they stay: chains take long to agree on it."""

STEEPNESS = 4
"""Keeps the fading to low powers: between, sets that modes differ in have to be held."""

N_POWERS = 17
"""Powers at which penalties are computed; between them they are interpolated."""


def penalty_curves(outside: OutsideSets) -> Floats:
    """``[v, i]``: the penalty of outside sets of v at the power i / (``N_POWERS`` - 1)."""
    powers = np.linspace(0.0, 1.0, N_POWERS)
    n_nodes = len(outside.start) - 1
    curves = np.zeros((n_nodes, N_POWERS))
    for node in range(n_nodes):
        score = outside.score[outside.start[node] : outside.start[node + 1]]
        if score.size:
            below = score - score.max()
            log_sums = np.array([np.log(np.exp(power * below).sum()) for power in powers])
            curves[node] = log_sums - powers * log_sums[-1] + (1.0 - powers) ** STEEPNESS * FADING
    return curves


@inlined
def outside_penalty(curves, node, power):
    """The penalty of outside sets of ``node`` at this power."""
    last = curves.shape[1] - 1
    place = min(int(power * last), last - 1)
    part = power * last - place
    return (1.0 - part) * curves[node, place] + part * curves[node, place + 1]

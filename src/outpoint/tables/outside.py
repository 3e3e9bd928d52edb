"""Parent sets that leave the candidates, best first.

All admissible sets of at most ``scored_parents`` nodes are looked at, and beyond that size those
with a single member outside the candidates, so that no edge is ever excluded. What cannot matter is
left out, see :mod:`outpoint.tables.pruning`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import run_chunked
from outpoint.scores import FamilyScorer, StructurePrior
from outpoint.scores.families import Members, Scores, subsets_of_size
from outpoint.tables.pruning import MOST_LOST, SetsByRank, log_ratios, padded, prune
from outpoint.tables.ranked import frozen, log_tails, starts


class OutsideSets(NamedTuple):
    """Sets with a member outside the candidates, best first; short rows are padded with -1.

    The sets of node v stand at ``start[v]..start[v + 1]``; ``log_tail`` is the log sum of each
    score and all after it.
    """

    start: NDArray[np.int64]
    members: NDArray[np.int16]
    score: NDArray[np.float64]
    log_tail: NDArray[np.float64]


def no_outside(n_nodes: int) -> OutsideSets:
    """Nothing outside."""
    none = np.zeros(0)
    start = np.zeros(n_nodes + 1, dtype=np.int64)
    return frozen(OutsideSets(start, np.zeros((0, 1), dtype=np.int16), none, none.copy()))


def list_outside(
    families: Scores,
    scored_parents: int,
    candidates: NDArray[np.int32],
    larger: "list[LargerSets] | None" = None,
    *,
    is_pruned: bool = True,
    only_winners: bool = False,
) -> tuple[OutsideSets, float]:
    """The outside sets of every node, and a bound on the posterior mass of those left out.

    ``larger`` are sets of more than ``scored_parents`` members, see :func:`score_larger`. With
    ``only_winners`` just sets that can be in a best DAG are listed, and the bound says nothing.
    """
    n = len(families)
    width = max([scored_parents, 1, *(part.members.shape[1] for part in larger or [])])
    sets = SetsByRank.up_to(n - 1, scored_parents)
    members: list[Members] = [sets.members[:0]] * n
    scores: list[Scores] = [np.zeros(0)] * n
    lost = np.zeros(n)
    most_lost = 1.0 if only_winners else MOST_LOST / n if is_pruned else 0.0

    def work(begin: int, end: int) -> None:
        for child in range(begin, end):
            parents = sets.members_for(child)
            kept, lost[child] = _choose(
                child, families[child], sets, parents, candidates, most_lost
            )
            found, own = padded(parents[kept], width), families[child, kept]
            if larger:
                more, more_lost = larger[child].pruned(most_lost)
                found = np.concatenate([found, padded(more.members, width)])
                own = np.concatenate([own, more.score])
                lost[child] += more_lost
            ranked = np.argsort(-own, kind="stable")
            members[child], scores[child] = found[ranked], own[ranked]

    run_chunked(work, n)
    start = starts(scores)
    score = np.concatenate(scores)
    listed = OutsideSets(start, np.concatenate(members), score, log_tails(start, score))
    return frozen(listed), min(1.0, float(lost.sum()))


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
    is_candidate[-1] = True  # padding
    outside = np.flatnonzero(~is_candidate[parents].all(axis=1) & (scores > -np.inf))
    best, which = sets.best_subsets(child, scores, parents)
    pruned = prune(log_ratios(scores[outside], best[outside]), which[outside] + 1, most_lost)
    return outside[pruned.keep], pruned.lost


class LargerSets(NamedTuple):
    """Sets of one node with one member outside the candidates, and the mask of the others."""

    members: Members
    score: Scores
    best_inside: Scores
    inside: NDArray[np.int64]

    def pruned(self, most_lost: float) -> "tuple[LargerSets, float]":
        """Those to list, and a bound on what the others had."""
        finite = self.score > -np.inf
        sets = LargerSets._make([array[finite] for array in self])
        chosen = prune(log_ratios(sets.score, sets.best_inside), sets.inside, most_lost)
        return LargerSets._make([array[chosen.keep] for array in sets]), chosen.lost


def score_larger(
    candidates: NDArray[np.int32],
    maxima: NDArray[np.float64],
    scorer: FamilyScorer,
    prior: StructurePrior,
    sizes: range,
) -> list[LargerSets]:
    """Score, for each node, sets of the given sizes with one member outside its candidates.

    They are compared with the best subset of their inside members only, which is enough for a
    bound; ``maxima`` has the scores of these.
    """
    n, n_candidates = candidates.shape
    parts = []
    for child in range(n):
        own = candidates[child]
        others = np.setdiff1d(np.arange(n), [*own, child])
        lists: list[LargerSets] = []
        for size in sizes:
            positions = subsets_of_size(n_candidates, size - 1)
            masks = (1 << positions.astype(np.int64)).sum(axis=1)
            inside = np.repeat(own[positions], len(others), axis=0)
            outer = np.tile(others, len(positions))[:, None]
            members = np.sort(np.concatenate([inside, outer], axis=1), axis=1).astype(np.int16)
            score = scorer.families(child, members) + prior.log_weights(child, members)
            repeated = np.repeat(masks, len(others))
            lists.append(LargerSets(members, score, maxima[child, repeated], repeated))
        width = max(sizes)
        parts.append(
            LargerSets(
                np.concatenate([padded(part.members, width) for part in lists]),
                *(np.concatenate([part[i] for part in lists]) for i in (1, 2, 3)),
            )
        )
    return parts

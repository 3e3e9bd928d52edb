"""The scores that sampled parts see: the parents before them are summed out, or maximised over.

For a node v of the sampled parts, A are the parents among them and B those in exact parts:
``s_T(v, A) = log sum over B of exp s(v, A + B)``, where the limit on parents holds for A and B
together. These are scores of families like any other, so that whatever samples or searches can do
with a score, it can do with them. Formulas: docs/math.md#exact-by-parts.

From DAGs on the sampled nodes the way leads back to all parents: those in exact parts are drawn, or
are the best ones. ``P(Pa_v = A + B | A) = exp(s(v, A + B) - s_T(v, A))``. Formulas:
docs/math.md#exact-by-parts.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats, Integers
from outpoint.parts.families import PER_TASK
from outpoint.scores import FamilyScorer, StructurePrior
from outpoint.scores.base import Members, Scores, count_subsets, subsets_of_size

FEW_WITHIN = 4
"""Sets of fewer members are all scored; larger ones as far as that can be afforded."""


@dataclass(frozen=True, eq=False)
class Expansion:
    """All parent sets with the same members among the sampled nodes, and their scores.

    ``earlier`` are the nodes that the others can be; ``members[i]`` says which of them set i has.
    """

    earlier: Integers
    members: Booleans
    scores: Floats

    @property
    def probabilities(self) -> Floats:
        """Probabilities of the sets, given the members among the sampled nodes."""
        weights = np.exp(self.scores - self.scores.max())
        return np.asarray(weights / weights.sum())


class FoldedScorer(FamilyScorer):
    """Scores of the families of ``nodes``, numbered from 0, prior included.

    With ``best`` they are maxima instead of sums over the parents that are not among ``nodes``.
    """

    def __init__(
        self,
        scorer: FamilyScorer,
        prior: StructurePrior,
        nodes: Integers,
        possible: Booleans,
        max_parents: int,
        *,
        best: bool = False,
    ) -> None:
        self.n_nodes = len(nodes)
        self.nodes = nodes
        self.possible_edges = possible[np.ix_(nodes, nodes)]
        self.max_parents = max_parents
        self._scorer, self._prior = scorer, prior
        self._reduce = np.maximum if best else np.logaddexp
        others = np.setdiff1d(np.arange(len(possible)), nodes)
        self._earlier = [others[possible[others, v]] for v in nodes]
        most = max(map(len, self._earlier))
        n_summed = count_subsets(most, max(0, min(most, max_parents - FEW_WITHIN)))
        self.affordable = max(1, scorer.affordable // n_summed)

    @property
    def prior_within(self) -> StructurePrior:
        """What is left of the prior, as the scores include it: edges that must or cannot be."""
        assert self.possible_edges is not None
        return StructurePrior(
            np.zeros(self.n_nodes),
            np.where(self.possible_edges, 0.0, -np.inf),
            self._prior.required[np.ix_(self.nodes, self.nodes)],
        )

    def families(self, child: int, parents: NDArray[np.integer]) -> Scores:
        """Scores of ``child`` with each row of ``parents``."""
        out = np.full(len(parents), -np.inf)
        for earlier in self._sets_before(child, parents.shape[1]):
            n_rows = max(1, PER_TASK // len(earlier))
            for start in range(0, len(parents), n_rows):
                rows = parents[start : start + n_rows]
                scores = self._score(child, rows, earlier).reshape(len(rows), -1)
                own = out[start : start + n_rows]
                own[:] = self._reduce(own, self._reduce.reduce(scores, axis=1))
        return out

    def expand(self, child: int, parents: NDArray[np.integer]) -> Expansion:
        """The sets of ``child`` whose members among the nodes are ``parents``."""
        nodes = self._earlier[child]
        members, scores = [], []
        for earlier in self._sets_before(child, len(parents)):
            members.append(np.zeros((len(earlier), len(nodes)), dtype=np.bool_))
            places = np.searchsorted(nodes, earlier)
            members[-1][np.arange(len(earlier))[:, None], places] = True
            scores.append(self._score(child, parents[None], earlier))
        return Expansion(nodes, np.concatenate(members), np.concatenate(scores))

    def _sets_before(self, child: int, n_within: int) -> Iterator[Members]:
        """The sets of earlier nodes that there is room for beside the parents within the part."""
        nodes = self._earlier[child]
        for size in range(min(self.max_parents - n_within, len(nodes)) + 1):
            yield nodes[subsets_of_size(len(nodes), size)]

    def _score(self, child: int, within: NDArray[np.integer], earlier: Members) -> Scores:
        """Every row of one with every row of the other, the rows of ``within`` outermost."""
        node = int(self.nodes[child])
        first = np.repeat(self.nodes[within], len(earlier), axis=0)
        second = np.tile(earlier, (len(within), 1))
        sets = np.sort(np.hstack([first, second]), axis=1).astype(np.int16)
        return self._scorer.families(node, sets) + self._prior.log_weights(node, sets)


@dataclass(frozen=True, eq=False)
class Unfolded:
    """The parents of one node in some DAGs, drawn and best, with the scores of the families.

    ``drawn`` and ``best`` are booleans (DAG, parent). ``probabilities`` (DAG, earlier node) are
    those of the edges from the nodes ``earlier`` given the parents among the sampled nodes.
    """

    node: int
    drawn: Booleans
    scores: Floats
    best: Booleans
    best_scores: Floats
    earlier: Integers
    probabilities: Floats


def unfold(
    folded: FoldedScorer, child: int, dags: Booleans, n_nodes: int, rng: np.random.Generator
) -> Unfolded:
    """All parents of a node of the sampled parts in ``dags`` (DAG, parent, child) on them."""
    columns, which = np.unique(dags[:, :, child], axis=0, return_inverse=True)
    n_dags = len(dags)
    drawn, best = (np.zeros((n_dags, n_nodes), dtype=np.bool_) for _ in range(2))
    scores, best_scores = np.zeros(n_dags), np.zeros(n_dags)
    uniform = rng.random(n_dags)
    earlier, shares = np.zeros(0, dtype=np.intp), []
    for number, column in enumerate(columns):
        rows = np.flatnonzero(which.reshape(-1) == number)
        sets = folded.expand(child, np.flatnonzero(column))
        earlier, probabilities = sets.earlier, sets.probabilities
        sums = np.cumsum(probabilities)
        chosen = np.searchsorted(sums[:-1], uniform[rows] * sums[-1], side="right")
        top = int(sets.scores.argmax())
        for out, own, places in ((drawn, scores, chosen), (best, best_scores, [top])):
            out[np.ix_(rows, earlier)] = sets.members[places]
            out[np.ix_(rows, folded.nodes[column])] = True
            own[rows] = sets.scores[places]
        shares.append(probabilities @ sets.members)
    return Unfolded(
        node=int(folded.nodes[child]),
        drawn=drawn,
        scores=scores,
        best=best,
        best_scores=best_scores,
        earlier=earlier,
        probabilities=np.array(shares)[which.reshape(-1)],
    )

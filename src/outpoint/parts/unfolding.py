"""From DAGs on the sampled nodes back to all parents: those in exact parts are drawn, or the best.

``P(Pa_v = A + B | A) = exp(s(v, A + B) - s_T(v, A))``. Formulas: docs/math.md#exact-by-parts.
"""

from dataclasses import dataclass

import numpy as np

from outpoint.arrays import Booleans, Floats, Integers
from outpoint.parts.folding import FoldedScorer


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

"""The best DAG by parts: the same as the sum, with maxima over the parents before a part."""

from collections.abc import Sequence
from concurrent.futures import Executor

import numpy as np

from outpoint.arrays import Booleans, Floats
from outpoint.exact import find_optima
from outpoint.parts.families import NodeFamilies, score_node
from outpoint.parts.folding import FoldedScorer
from outpoint.parts.part import make_table
from outpoint.parts.split import Split
from outpoint.parts.unfolding import unfold
from outpoint.scores import FamilyScorer, StructurePrior
from outpoint.tables.best import tie_tolerance


def find_parts_optima(
    scorer: FamilyScorer,
    prior: StructurePrior,
    split: Split,
    max_parents: int,
    rng: np.random.Generator,
    n_tries: int,
    pool: Executor | None = None,
) -> tuple[list[Booleans], float]:
    """The best DAG, further ones that tie with it, and their log score, as ``find_optima`` does."""
    n = len(split.possible)
    found = [np.zeros((n, n), dtype=np.bool_) for _ in range(n_tries + 1)]
    total = 0.0
    for nodes in split.parts:
        families = [
            score_node(int(v), nodes, split.possible[:, v], scorer, prior, max_parents, pool)
            for v in nodes
        ]
        inner, log_score = _optima_within(families, rng, n_tries)
        total += log_score
        if log_score == -np.inf:
            continue
        for number, dag in enumerate(found):
            own = inner[0 if number == 0 else int(rng.integers(len(inner)))]
            _add_parents(families, own, dag, None if number == 0 else rng)
    unique = {dag.tobytes(): dag for dag in found}
    return list(unique.values()), total


def complete_best(
    folded: FoldedScorer, dags: Booleans, exact: Booleans
) -> tuple[list[Booleans], Floats]:
    """DAGs (DAG, parent, child) on the searched nodes, with the best parents before these.

    The edges into all other nodes are those of ``exact``. With the log scores of the families of
    the searched nodes.
    """
    whole, log_scores = np.repeat(exact[None], len(dags), axis=0), np.zeros(len(dags))
    for child in range(folded.n_nodes):
        own = unfold(folded, child, dags, len(exact), np.random.default_rng(0))
        whole[:, :, own.node] = own.best
        log_scores += own.best_scores
    return list(whole), log_scores


def best_of_part(families: Sequence[NodeFamilies], adjacency: Booleans) -> float:
    """Add the edges of a best DAG into a part to ``adjacency``; returns their log score."""
    inner, log_score = _optima_within(families, np.random.default_rng(0), 0)
    _add_parents(families, inner[0], adjacency, None)
    return log_score


def _optima_within(
    families: Sequence[NodeFamilies], rng: np.random.Generator, n_tries: int
) -> tuple[list[Booleans], float]:
    """The edges within a part of best DAGs, and their log score."""
    dense = np.stack([one.fold_best() for one in families])
    if len(families) == 1:
        return [np.zeros((1, 1), dtype=np.bool_)], float(dense[0, 0])
    return find_optima(make_table(dense), rng, n_tries)


def _add_parents(
    families: Sequence[NodeFamilies],
    inner: Booleans,
    adjacency: Booleans,
    rng: np.random.Generator | None,
) -> None:
    """The best sets with these members within the part; of those that tie one is drawn."""
    for i, own in enumerate(families):
        mask = int(np.delete(inner[:, i], i) @ (1 << np.arange(own.n_inner)))
        numbers = np.flatnonzero(own.masks == mask)
        scores = own.scores[numbers]
        tied = numbers[scores >= scores.max() - tie_tolerance(float(scores.max()))]
        chosen = numbers[[scores.argmax()]] if rng is None else rng.choice(tied, 1)
        own.fill_edges(chosen, adjacency[None, :, own.child])

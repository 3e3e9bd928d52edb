"""Score tables with known content, and the plain sums they are compared with."""

from dataclasses import dataclass
from math import inf

import numpy as np

from outpoint.data import Dataset
from outpoint.scores import CustomScore, Knowledge, build_prior
from outpoint.tables import ScoreTable, build_table
from tests.reference import subsets


def node_names(n: int) -> tuple[str, ...]:
    return tuple(f"v{i}" for i in range(n))


@dataclass(frozen=True)
class KnownTable:
    """A table together with a dictionary of the score, prior included, of every family."""

    table: ScoreTable
    scores: dict[tuple[int, tuple[int, ...]], float]

    def score(self, child: int, parents: tuple[int, ...]) -> float:
        """The score of a family, -inf for one that is not admissible."""
        return self.scores.get((child, tuple(parents)), -inf)


def random_table(
    n: int,
    max_parents: int,
    n_candidates: int | None = None,
    *,
    spread: float = 1.0,
    seed: int = 0,
    is_pruned: bool = False,
    structure_prior: str = "uniform",
    only_winners: bool = False,
    **knowledge: object,
) -> KnownTable:
    """Independent normal scores with standard deviation ``spread`` for every family."""
    rng = np.random.default_rng(seed)
    names = node_names(n)
    drawn = {
        (v, s): float(rng.normal(scale=spread))
        for v in range(n)
        for s in subsets(set(range(n)) - {v}, max_parents)
    }
    prior = build_prior(
        names,
        structure_prior=structure_prior,
        max_parents=max_parents,
        knowledge=Knowledge(**knowledge),  # type: ignore[arg-type]
    )
    scorer = CustomScore(lambda child, parents: drawn[child, parents]).bind(
        Dataset(names, np.zeros((1, n)))
    )
    table = build_table(
        names,
        scorer,
        prior,
        max_parents=max_parents,
        n_candidates=n_candidates,
        is_pruned=is_pruned,
        only_winners=only_winners,
    )
    scores = {(v, s): score + prior.log_weight(v, s) for (v, s), score in drawn.items()}
    return KnownTable(table, scores)

"""Small problems on which the exact engine is compared with a listing of all DAGs."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import outpoint as op
from outpoint.exact import ExactSolution, solve
from outpoint.scores import FamilyScorer, StructurePrior, build_prior
from outpoint.tables import build_table
from tests.reference import ReferencePosterior, enumerate_posterior


@dataclass(frozen=True)
class Problem:
    """A scorer and a prior on a few nodes."""

    names: tuple[str, ...]
    scorer: FamilyScorer
    prior: StructurePrior
    max_parents: int

    def solve(self) -> ExactSolution:
        table = build_table(
            self.names,
            self.scorer,
            self.prior,
            max_parents=self.max_parents,
            n_candidates=len(self.names) - 1,
        )
        return solve(table)

    def enumerate(self) -> ReferencePosterior:
        def score(child: int, parents: tuple[int, ...]) -> float:
            if len(parents) > self.max_parents:
                return -np.inf
            family = self.scorer.families(child, np.array([parents], dtype=np.int16))
            return float(family[0]) + self.prior.log_weight(child, parents)

        return enumerate_posterior(len(self.names), score)


def names_of(n: int) -> tuple[str, ...]:
    return tuple("abcdefghi"[:n])


def gaussian(n: int = 5, *, seed: int = 1, max_parents: int | None = None, **prior) -> Problem:
    rng = np.random.default_rng(seed)
    dag = op.random_dag(n, rng, names=names_of(n))
    data = op.simulate(dag, 60, rng, coefficients=(0.3, 1.0))
    return _problem(op.BGe(standardize=False).bind(data), data.names, max_parents, **prior)


def categorical(n: int = 5, *, seed: int = 2, max_parents: int | None = None, **prior) -> Problem:
    rng = np.random.default_rng(seed)
    dag = op.random_dag(n, rng, names=names_of(n))
    data = op.simulate(dag, 80, rng, kind="categorical", levels=rng.integers(2, 4, n).tolist())
    return _problem(op.BDeu().bind(data), data.names, max_parents, **prior)


def random_scores(
    n: int = 5, *, spread: float = 1.0, seed: int = 3, max_parents: int | None = None, **prior
) -> Problem:
    rng = np.random.default_rng(seed)
    table = spread * rng.standard_normal((n, 1 << n))
    return custom(
        n, lambda v, parents: table[v, sum(1 << u for u in parents)], max_parents, **prior
    )


def custom(
    n: int, function: Callable[..., float], max_parents: int | None = None, **prior
) -> Problem:
    names = names_of(n)
    data = op.Dataset(names, np.zeros((1, n)))
    return _problem(op.CustomScore(function).bind(data), names, max_parents, **prior)


def _problem(
    scorer: FamilyScorer,
    names: tuple[str, ...],
    max_parents: int | None,
    structure_prior: str = "uniform",
    **knowledge,
) -> Problem:
    limit = len(names) - 1 if max_parents is None else max_parents
    prior = build_prior(
        names,
        structure_prior=structure_prior,
        knowledge=op.Knowledge(**knowledge),
        max_parents=limit,
    )
    return Problem(names, scorer, prior, limit)

"""Posteriors whose truth is known by listing all DAGs, for the tests of answers."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

import outpoint as op
from outpoint.graphs import Dag
from outpoint.posterior.draws import Draws, WeightedGraphs
from tests.reference import ReferencePosterior, enumerate_posterior


@dataclass(frozen=True)
class Listed:
    """A score on a few nodes, its posterior by the package and by listing."""

    names: tuple[str, ...]
    score: Callable[[int, tuple[int, ...]], float]
    truth: ReferencePosterior

    @cached_property
    def dags(self) -> list[Dag]:
        return [Dag.from_adjacency(matrix, self.names) for matrix in self.truth.adjacencies]

    def learn(self, method: str = "exact", **options) -> op.Posterior:
        data = op.Dataset(self.names, np.zeros((1, len(self.names))))
        score = op.CustomScore(self.score)
        return op.learn(data, score, method, structure_prior="uniform", **options)

    def mean(self, function: Callable[[Dag], float]) -> float:
        """Posterior mean of a function by listing."""
        values = np.array([float(function(dag)) for dag in self.dags])
        return float(values @ self.truth.probabilities)


@lru_cache
def random_problem(n: int, spread: float = 1.0, seed: int = 5) -> Listed:
    names = tuple("abcde"[:n])
    table = spread * np.random.default_rng(seed).standard_normal((n, 1 << n))

    def score(child: int, parents: tuple[int, ...]) -> float:
        return float(table[child, sum(1 << u for u in parents)])

    return Listed(names, score, enumerate_posterior(n, score))


@lru_cache
def edges_problem(n: int = 3) -> Listed:
    """The log score is the number of edges."""

    def score(child: int, parents: tuple[int, ...]) -> float:
        return float(len(parents))

    return Listed(tuple("abcde"[:n]), score, enumerate_posterior(n, score))


def all_graphs(problem: Listed) -> WeightedGraphs:
    """All DAGs, each 'drawn' once and weighted by its posterior probability: no sampling error."""
    truth = problem.truth
    draws = Draws.from_arrays(truth.adjacencies[None], truth.log_weights[None])
    return WeightedGraphs.from_draws(draws).reweighted(truth.log_weights, changes_scores=False)

"""Posteriors of tables with holes against sums and integrals over everything that is missing.

The chain is the package's own; where cells are levels, all completed tables are solved beforehand,
so that it can take thousands of steps. Seeds are fixed; tolerances are at least five standard
errors of the chain's means, and the wrong variants are off by more.
"""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import outpoint as op
from outpoint.missing.categorical import draw_levels
from outpoint.processors import limited_threads
from outpoint.scores import BDeu, BGe, Blocks, ConditionalGaussian, LocalScore
from tests.missing.gold import Completions, integrate_gaussian, make_mixed, make_table

TOLERANCE = 0.02
EVIDENCE_TOLERANCE = 0.07
N_TABLES = 2500


@pytest.fixture(autouse=True)
def single_thread() -> Iterator[None]:
    with limited_threads(1):
        yield


@pytest.fixture(scope="module")
def problem() -> Completions:
    with limited_threads(1):
        return Completions(make_table(2, 12, 7), BDeu())


def errors(
    problem: Completions, n_tables: int, redraw: Callable[..., None] | None = None
) -> tuple[float, float]:
    """The largest error of an edge, and that of the mean log evidence of completed tables."""
    (edges, evidence), (found, mean) = problem.answers(), problem.sampled(n_tables, 3, redraw)
    return float(np.abs(found - edges).max()), abs(mean - evidence)


def test_categorical_sum_over_all_completions(problem: Completions) -> None:
    of_edges, of_evidence = errors(problem, N_TABLES)
    assert of_edges < TOLERANCE
    assert of_evidence < EVIDENCE_TOLERANCE


def wrong_redraw(problem: Completions, kind: str) -> Callable[..., None]:
    """A deliberately wrong draw of all missing cells."""
    cells, missing = np.argwhere(problem.data.missing), problem.data.missing
    sizes = np.array([len(levels or ()) for levels in problem.data.levels])

    def at_mean(codes: np.ndarray, dag: np.ndarray, rng: np.random.Generator) -> None:
        """Parameters at their posterior means, to which the old levels have contributed."""
        before = codes.copy()

        def factor(node: int, row: int) -> float:
            parents = np.flatnonzero(dag[:, node])
            same = (before[:, parents] == codes[row, parents]).all(axis=1)
            prior = 1.0 / np.prod(sizes[parents])
            hits = (same & (before[:, node] == codes[row, node])).sum()
            return float((hits + prior / sizes[node]) / (same.sum() + prior))

        for row, node in cells:
            weights = []
            for level in range(sizes[node]):
                codes[row, node] = level
                family = [node, *np.flatnonzero(dag[node])]
                weights.append(np.prod([factor(one, row) for one in family]))
            codes[row, node] = rng.choice(len(weights), p=np.array(weights) / sum(weights))

    def redraw(values: np.ndarray, dag: np.ndarray, rng: np.random.Generator) -> None:
        codes = values.astype(np.int64)
        if kind == "parameters at their mean":
            at_mean(codes, dag, rng)
        else:
            own = dag.copy()
            if kind == "without children":
                own[np.unique(cells[:, 1])] = False
            draw_levels(
                codes, problem.cells.unknowns, own, ~np.zeros_like(missing), sizes, 1.0, rng
            )
            if kind == "a level is never drawn":
                codes[missing] = 0
        values[missing] = codes[missing]

    return redraw


@pytest.mark.parametrize(
    "kind", ["parameters at their mean", "without children", "a level is never drawn"]
)
def test_wrong_variants_are_caught(problem: Completions, kind: str) -> None:
    n_tables = 700 if kind == "parameters at their mean" else N_TABLES
    of_edges, of_evidence = errors(problem, n_tables, wrong_redraw(problem, kind))
    assert of_edges > 2 * TOLERANCE or of_evidence > 2 * EVIDENCE_TOLERANCE


@pytest.mark.long
@pytest.mark.parametrize(
    ("seed", "n_missing", "sizes"),
    [
        (1, 9, (2, 2, 2, 2)),
        (2, 12, (2, 2, 2, 2)),
        (3, 6, (2, 3, 2, 3)),
        (4, 10, (2, 2, 2, 2)),
        (5, 8, (2, 2, 2, 2)),
    ],
)
def test_more_tables(seed: int, n_missing: int, sizes: tuple[int, ...]) -> None:
    problem = Completions(make_table(seed, 16, n_missing, sizes), BDeu())
    assert errors(problem, 20_000)[0] < 0.01


@pytest.mark.parametrize(
    ("score", "n_tables"), [(Blocks(), 1000), (ConditionalGaussian(), 500)], ids=["blocks", "cg"]
)
def test_mixed_sum_over_levels(score: LocalScore, n_tables: int) -> None:
    assert errors(Completions(make_mixed(4), score), n_tables)[0] < 0.04


@pytest.mark.long
@pytest.mark.parametrize("score", [Blocks(), ConditionalGaussian()], ids=lambda score: score.name)
@pytest.mark.parametrize("seed", [5, 6])
def test_more_mixed_tables(score: LocalScore, seed: int) -> None:
    assert errors(Completions(make_mixed(seed), score), 10_000)[0] < 0.01


@pytest.mark.parametrize(
    ("score", "seed"),
    [
        (BGe(), 2),
        (BGe(), 3),
        pytest.param(ConditionalGaussian(), 2, marks=pytest.mark.long),
        pytest.param(ConditionalGaussian(), 3, marks=pytest.mark.long),
    ],
    ids=["bge-2", "bge-3", "conditional-gaussian-2", "conditional-gaussian-3"],
)
def test_gaussian_integral(score: LocalScore, seed: int) -> None:
    """Numbers alone: both scores are the same there, but their cells are drawn differently."""
    data, gold = integrate_gaussian(seed, n_points=21)
    post = op.learn(data, score, seed=3, warmup=20, steps=300, threads=1)
    assert np.abs(post.edge_probabilities.to_numpy() - gold).max() < 1.5 * TOLERANCE


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4, 9))
def test_more_gaussian_integrals(seed: int) -> None:
    data, gold = integrate_gaussian(seed)
    post = op.learn(data, seed=3, steps=8000)
    assert np.abs(post.edge_probabilities.to_numpy() - gold).max() < 0.01

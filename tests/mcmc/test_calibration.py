"""Simulation-based calibration: DAGs from the prior, tables and data from the model, then learn.

Over such replications the true DAG is one more draw from the posterior. So an edge is there, on
average, as often as the posterior says; and the rank of the true DAG's statistic among independent
draws is uniform (ties broken at random). Three binary nodes, 20 observations, BDeu.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest
from scipy import stats

import outpoint as op
from outpoint.posterior import ExactPosterior
from tests.grids import first
from tests.reference import all_dags

NAMES = ("a", "b", "c")
N_OBS = 20
ESS = 3.0
N_RANKED = 15
FALSE_ALARM = 1e-4
SCORE = op.BDeu(equivalent_sample_size=ESS)


def draw_problem(rng: np.random.Generator) -> tuple[np.ndarray, op.Dataset]:
    """A DAG from the uniform prior, Dirichlet(e / (q r)) tables, and observations."""
    dag = all_dags(3)[rng.integers(25)]
    values = np.zeros((N_OBS, 3))
    for v in op.Dag.from_adjacency(dag, NAMES).partition().layers:
        for child in v:
            parents = np.flatnonzero(dag[:, child])
            q = 2 ** len(parents)
            chance = rng.dirichlet([ESS / (2 * q)] * 2, size=q)[:, 1]
            row = (values[:, parents] @ (1 << np.arange(len(parents)))).astype(int)
            values[:, child] = rng.random(N_OBS) < chance[row]
    return dag, op.Dataset(NAMES, values, (("0", "1"),) * 3)


def run(method: str, data: op.Dataset, seed: int, edge_prior: float | None = None) -> op.Posterior:
    """A short run: 15 draws, 100 steps apart."""
    length = {"chains": 1, "steps": 100 * N_RANKED, "warmup": 300, "draws": N_RANKED}
    return op.learn(
        data,
        SCORE,
        method,
        structure_prior="uniform",
        edge_prior=edge_prior,
        seed=seed,
        allow_degenerate=True,
        **({} if method == "exact" else length),
    )


Statistic = Callable[[np.ndarray, float], float]
STATISTICS: dict[str, Statistic] = {
    "edges": lambda dag, log_score: float(dag.sum()),
    "score": lambda dag, log_score: round(log_score, 6),
    "roots": lambda dag, log_score: float((~dag.any(axis=0)).sum()),
    "a before c": lambda dag, log_score: float(dag[0, 2]) + 0.5 * float(dag[2, 0]),
}


@lru_cache
def replicate(
    method: str, n_runs: int, edge_prior: float | None = None
) -> tuple[np.ndarray, dict[str, list[int]]]:
    """Edges minus their probabilities [run, edge], and ranks of the true DAGs by statistic."""
    rng = np.random.default_rng(2024)
    gaps, ranks = [], {name: [] for name in STATISTICS}
    for seed in range(n_runs):
        dag, data = draw_problem(rng)
        posterior = run(method, data, seed, edge_prior)
        truth = op.Dag.from_adjacency(dag, NAMES)
        model = {"structure_prior": "uniform", "edge_prior": edge_prior}
        log_score = op.log_score(data, truth, SCORE, **model, allow_degenerate=True)
        gaps.append((dag - posterior.edge_probabilities.to_numpy())[~np.eye(3, dtype=bool)])
        if isinstance(posterior, ExactPosterior):
            draws, log_scores = posterior.solution.draw(N_RANKED, seed)
        else:
            draws = posterior.dags().to_numpy()[0]
            log_scores = posterior.log_scores.to_numpy()[0]
        assert len(draws) == N_RANKED
        for name, statistic in STATISTICS.items():
            own = statistic(dag, log_score)
            others = np.array(list(map(statistic, draws, log_scores)))
            ties = int((others == own).sum())
            ranks[name].append(int((others < own).sum()) + int(rng.integers(ties + 1)))
    return np.array(gaps), ranks


def check_edges(gaps: np.ndarray) -> None:
    """Indicator minus probability is 0 on average, within 4 standard errors.

    For each edge, and for their number, in which a common bias adds up.
    """
    gaps = np.column_stack([gaps, gaps.sum(axis=1)])
    error = gaps.std(axis=0, ddof=1) / np.sqrt(len(gaps))
    assert (np.abs(gaps.mean(axis=0)) < 4 * error).all()


def check_ranks(ranks: dict[str, list[int]]) -> None:
    """Ranks 0 .. 15 in four bins, chi-square, ``FALSE_ALARM`` over all statistics."""
    for name, own in ranks.items():
        counts = np.bincount(np.array(own) * 4 // (N_RANKED + 1), minlength=4)
        p_value = stats.chisquare(counts).pvalue
        assert p_value > FALSE_ALARM / len(ranks), f"{name}: {counts}, p = {p_value:.1e}"


def test_calibrated():
    gaps, ranks = replicate("mcmc", 400)
    check_edges(gaps)
    check_ranks(ranks)


@pytest.mark.long
@pytest.mark.parametrize(
    "method", ["mcmc", "partition", "partition+rev", "structure", "structure+rev", "exact"]
)
def test_calibrated_over_many_runs(method):
    gaps, ranks = replicate(method, 4000)
    check_edges(gaps)
    check_ranks(ranks)


@pytest.mark.long
def test_order_mcmc_is_not_calibrated():
    """Half as many runs are enough to see it."""
    gaps, ranks = replicate("order", 400)
    with pytest.raises(AssertionError):
        check_edges(gaps)
    with pytest.raises(AssertionError):
        check_ranks(ranks)


@pytest.mark.parametrize("method", first(["exact", "mcmc"]))
def test_another_prior_than_that_of_the_dags_is_found_out(method):
    gaps, ranks = replicate(method, 400, edge_prior=0.7)
    with pytest.raises(AssertionError):
        check_edges(gaps)
    with pytest.raises(AssertionError):
        check_ranks(ranks)

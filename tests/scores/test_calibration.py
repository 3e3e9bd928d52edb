"""Simulation-based calibration of the scores themselves: DAGs, parameters and data from the prior.

A DAG is drawn from those that the score allows, all alike; the parameters of each family from the
prior that the score implies; then 25 rows. Over such replications an edge is there, on average, as
often as its posterior probability says. For each of six edges and for their number, the mean of
(indicator - probability) is within 4 standard errors of 0: a false alarm in at most 7 of 15,800
cases for each score. Posteriors are sums over all 25 DAGs.
"""

from collections.abc import Callable

import numpy as np
import pytest

from outpoint.scores import BDeu, BGe, ConditionalGaussian, FamilyScorer
from outpoint.scores.blocks import Blocks
from outpoint.scores.gaussian import GaussianScorer
from tests.grids import first
from tests.reference import all_dags

from .helpers import categorical, continuous, family, mixed
from .priors import draw_blocks, draw_conditional

N_OBS = 25
N_RUNS = 400
ALPHA_MU = 0.7
ESS = 3.0
MIXED = [0, 2, 0]
DAGS = all_dags(3)
OBSERVED = np.zeros((N_OBS, 3), dtype=bool)
"""Nothing is set from outside."""


def bge_problem(rng: np.random.Generator, dag: np.ndarray, off: float) -> FamilyScorer:
    score = BGe(alpha_mu=ALPHA_MU * off, standardize=False)
    return score.bind(continuous(draw_blocks(rng, dag, [1, 1, 1], OBSERVED, ALPHA_MU)))


def blocks_problem(rng: np.random.Generator, dag: np.ndarray, off: float) -> FamilyScorer:
    """The Gaussian model of blocks on its own columns: real numbers, not coded levels."""
    sizes = [1, 2, 3]
    prior = Blocks(alpha_mu=ALPHA_MU * off, standardize=False)
    start = np.cumsum([0, *sizes])
    values = draw_blocks(rng, dag, sizes, OBSERVED, ALPHA_MU)
    return GaussianScorer(values, start, prior, np.ones(3))


def bdeu_problem(rng: np.random.Generator, dag: np.ndarray, off: float) -> FamilyScorer:
    levels = [2, 3, 2]
    codes = draw_conditional(rng, dag, levels, OBSERVED, ALPHA_MU, ESS)
    score = BDeu(equivalent_sample_size=ESS * off)
    return score.bind(categorical(codes, levels), allow_degenerate=True)


def conditional_problem(rng: np.random.Generator, dag: np.ndarray, off: float) -> FamilyScorer:
    """Two continuous nodes and a categorical one, whose states have parameters of their own."""
    values = draw_conditional(rng, dag, MIXED, OBSERVED, ALPHA_MU, ESS)
    score = ConditionalGaussian(
        alpha_mu=ALPHA_MU * off, equivalent_sample_size=ESS, standardize=False
    )
    return score.bind(mixed(values, MIXED), allow_degenerate=True)


Problem = Callable[[np.random.Generator, np.ndarray, float], FamilyScorer]
PROBLEMS: dict[str, Problem] = {
    "bge": bge_problem,
    "bdeu": bdeu_problem,
    "blocks": blocks_problem,
    "conditional-gaussian": conditional_problem,
}


def edge_gaps(name: str, off: float = 1.0, n_runs: int = N_RUNS) -> np.ndarray:
    """Edges minus their probabilities, and their sums, for every replication."""
    rng = np.random.default_rng(7)
    dags = DAGS
    if name == "conditional-gaussian":
        dags = DAGS[~DAGS[:, [0, 2], 1].any(axis=1)]
    gaps = []
    for _ in range(n_runs):
        dag = dags[rng.integers(len(dags))]
        scorer = PROBLEMS[name](rng, dag, off)
        known = {
            (v, bits): family(scorer, v, [u for u in range(3) if bits >> u & 1])
            for v in range(3)
            for bits in range(8)
            if not bits >> v & 1
        }
        logs = np.array([sum(known[v, int(g[:, v] @ [1, 2, 4])] for v in range(3)) for g in dags])
        weights = np.exp(logs - logs.max())
        edges = np.tensordot(weights / weights.sum(), dags, axes=1)
        gaps.append((dag - edges)[~np.eye(3, dtype=bool)])
    found = np.array(gaps)
    return np.column_stack([found, found.sum(axis=1)])


def is_calibrated(gaps: np.ndarray) -> bool:
    error = gaps.std(axis=0, ddof=1) / np.sqrt(len(gaps))
    return bool((np.abs(gaps.mean(axis=0)) <= 4 * error).all())


@pytest.mark.parametrize("name", first(PROBLEMS, 2))
def test_probabilities_are_those_of_the_prior(name: str) -> None:
    assert is_calibrated(edge_gaps(name))


@pytest.mark.parametrize("name", first(PROBLEMS, 2))
def test_another_prior_than_that_of_the_data_is_found_out(name: str) -> None:
    assert not is_calibrated(edge_gaps(name, off=0.01))


@pytest.mark.long
@pytest.mark.parametrize("name", PROBLEMS)
def test_over_many_runs(name: str) -> None:
    assert is_calibrated(edge_gaps(name, n_runs=6000))

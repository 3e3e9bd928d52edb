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
from scipy import stats

from outpoint.scores import BDeu, BGe, ConditionalGaussian, FamilyScorer
from outpoint.scores.blocks import Blocks
from outpoint.scores.gaussian import GaussianScorer
from tests.reference import all_dags

from .helpers import categorical, continuous, family, mixed

N_OBS = 25
N_RUNS = 400
ALPHA_MU = 0.7
ESS = 3.0
DAGS = all_dags(3)


def order_of(dag: np.ndarray) -> list[int]:
    """The nodes, each after its parents."""
    ancestors = np.linalg.inv(np.eye(3) - dag)  # entries count paths
    return np.argsort(ancestors.sum(axis=0), kind="stable").tolist()


def draw_regression(
    rng: np.random.Generator, given: np.ndarray, own: list[int], parents: list[int], m: int
) -> np.ndarray:
    """Values of the columns ``own`` given those of ``parents``, with parameters from the prior.

    All m columns have a covariance from the inverse Wishart distribution with n + alpha_mu + 1
    degrees of freedom, and a mean with alpha_mu times that precision; what the family needs is
    taken from them.
    """
    alpha_w = m + ALPHA_MU + 1
    t = ALPHA_MU * (alpha_w - m - 1) / (ALPHA_MU + 1)
    covariance = np.atleast_2d(stats.invwishart.rvs(alpha_w, t * np.eye(m), random_state=rng))
    mean = rng.multivariate_normal(np.zeros(m), covariance / ALPHA_MU)
    slopes = np.linalg.solve(covariance[np.ix_(parents, parents)], covariance[np.ix_(parents, own)])
    rest = covariance[np.ix_(own, own)] - covariance[np.ix_(own, parents)] @ slopes
    centre = mean[own] + (given - mean[parents]) @ slopes
    return centre + rng.multivariate_normal(np.zeros(len(own)), rest, size=len(given))


def draw_levels(
    rng: np.random.Generator, codes: np.ndarray, parent_levels: list[int], n_levels: int
) -> np.ndarray:
    """Levels of a node given the codes of its parents, with a table from BDeu's prior."""
    q = int(np.prod(parent_levels, dtype=int))
    tables = rng.dirichlet([ESS / (q * n_levels)] * n_levels, size=q)
    state = np.zeros(len(codes), dtype=int)
    for column, size in zip(codes.T, parent_levels, strict=True):
        state = state * size + column.astype(int)
    return np.array([rng.choice(n_levels, p=tables[k]) for k in state])


def draw_blocks(rng: np.random.Generator, dag: np.ndarray, sizes: list[int]) -> np.ndarray:
    """Gaussian columns, of which node v owns ``sizes[v]``."""
    start = np.cumsum([0, *sizes])
    columns = [list(range(start[v], start[v + 1])) for v in range(3)]
    values = np.zeros((N_OBS, start[-1]))
    for v in order_of(dag):
        parents = [c for u in np.flatnonzero(dag[:, v]) for c in columns[u]]
        given = values[:, parents]
        values[:, columns[v]] = draw_regression(rng, given, columns[v], parents, int(start[-1]))
    return values


def bge_problem(rng: np.random.Generator, dag: np.ndarray, off: float) -> FamilyScorer:
    score = BGe(alpha_mu=ALPHA_MU * off, standardize=False)
    return score.bind(continuous(draw_blocks(rng, dag, [1, 1, 1])))


def blocks_problem(rng: np.random.Generator, dag: np.ndarray, off: float) -> FamilyScorer:
    """The Gaussian model of blocks on its own columns: real numbers, not coded levels."""
    sizes = [1, 2, 3]
    prior = Blocks(alpha_mu=ALPHA_MU * off, standardize=False)
    start = np.cumsum([0, *sizes])
    return GaussianScorer(draw_blocks(rng, dag, sizes), start, prior, np.ones(3))


def bdeu_problem(rng: np.random.Generator, dag: np.ndarray, off: float) -> FamilyScorer:
    levels = [2, 3, 2]
    codes = np.zeros((N_OBS, 3))
    for v in order_of(dag):
        parents = np.flatnonzero(dag[:, v])
        sizes = [levels[u] for u in parents]
        codes[:, v] = draw_levels(rng, codes[:, parents], sizes, levels[v])
    score = BDeu(equivalent_sample_size=ESS * off)
    return score.bind(categorical(codes, levels), allow_degenerate=True)


MIXED = [0, 2, 0]


def conditional_problem(rng: np.random.Generator, dag: np.ndarray, off: float) -> FamilyScorer:
    """Two continuous nodes and a categorical one, whose states have parameters of their own."""
    values = np.zeros((N_OBS, 3))
    number = {0: 0, 2: 1}
    for v in order_of(dag):
        if v == 1:
            values[:, 1] = draw_levels(rng, np.zeros((N_OBS, 0)), [], 2)
            continue
        parents = [u for u in number if dag[u, v]]
        states = values[:, 1] if dag[1, v] else np.zeros(N_OBS)
        for state in (0, 1):
            rows = states == state
            given = values[np.ix_(rows, parents)]
            places = [number[u] for u in parents]
            values[rows, v] = draw_regression(rng, given, [number[v]], places, 2)[:, 0]
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


@pytest.mark.parametrize("name", PROBLEMS)
def test_probabilities_are_those_of_the_prior(name: str) -> None:
    assert is_calibrated(edge_gaps(name))


@pytest.mark.parametrize("name", PROBLEMS)
def test_another_prior_than_that_of_the_data_is_found_out(name: str) -> None:
    assert not is_calibrated(edge_gaps(name, off=0.01))


@pytest.mark.long
@pytest.mark.parametrize("name", PROBLEMS)
def test_over_many_runs(name: str) -> None:
    assert is_calibrated(edge_gaps(name, n_runs=6000))

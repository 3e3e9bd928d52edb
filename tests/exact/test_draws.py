"""Perfect draws: their frequencies are the posterior, draw by draw independent."""

import numpy as np
import pytest
from scipy import stats

from tests.exact import problems

FALSE_ALARM = 1e-4
"""Probability, over seeds, that a correct sampler fails one of these checks; seeds are fixed."""

N_DRAWS = 20_000

PROBLEMS = {
    "bge": lambda: problems.gaussian(4),
    "bdeu": lambda: problems.categorical(4),
    "random": lambda: problems.random_scores(4),
    "constant": lambda: problems.custom(4, lambda v, parents: 0.0),
    "nearly empty": lambda: problems.custom(4, lambda v, parents: -4.0 * len(parents)),
    "constrained": lambda: problems.random_scores(
        4, max_parents=2, required=[("a", "b")], forbidden=[("c", "d")]
    ),
}


def p_value(dags, adjacencies, probabilities):
    """Chi-square test of the frequencies of all DAGs, rare ones pooled."""
    n = adjacencies.shape[1]
    bits = 1 << np.arange(n * n)
    index = {int(code): i for i, code in enumerate(adjacencies.reshape(-1, n * n) @ bits)}
    found = [index[int(code)] for code in dags.reshape(-1, n * n) @ bits]
    counts = np.bincount(found, minlength=len(probabilities))
    if counts[probabilities == 0].any():
        return 0.0
    expected = probabilities * len(dags)
    rare = expected < 10
    observed = [*counts[~rare], counts[rare].sum()]
    wanted = [*expected[~rare], expected[rare].sum()]
    if wanted[-1] == 0:
        observed, wanted = observed[:-1], wanted[:-1]
    return stats.chisquare(observed, wanted, sum_check=False).pvalue


@pytest.mark.parametrize("name", PROBLEMS)
def test_frequencies_are_the_posterior(name):
    problem = PROBLEMS[name]()
    reference = problem.enumerate()
    dags = problem.solve().sample(N_DRAWS, np.random.default_rng(11))
    assert p_value(dags, reference.adjacencies, reference.probabilities) > FALSE_ALARM


def test_the_check_catches_wrong_samplers():
    """Order-MCMC's bias, and draws that forget that a layer must touch the one before."""
    problem = PROBLEMS["random"]()
    reference = problem.enumerate()
    rng = np.random.default_rng(12)
    extensions = np.array([_linear_extensions(dag) for dag in reference.adjacencies])
    biased = reference.probabilities * extensions
    chosen = rng.choice(len(biased), N_DRAWS, p=biased / biased.sum())
    wrong = reference.adjacencies[chosen]
    assert p_value(wrong, reference.adjacencies, reference.probabilities) < FALSE_ALARM
    # A small error: one edge in twenty is forgotten.
    dags = problem.solve().sample(N_DRAWS, rng)
    dags &= rng.random(dags.shape) > 0.05
    assert p_value(dags, reference.adjacencies, reference.probabilities) < FALSE_ALARM


def _linear_extensions(adjacency):
    if len(adjacency) == 0:
        return 1
    sources = np.flatnonzero(~adjacency.any(axis=0))
    keep = np.arange(len(adjacency))
    return sum(_linear_extensions(adjacency[np.ix_(keep != s, keep != s)]) for s in sources)


def test_draws_are_independent():
    """Successive draws: the lag-one correlation of edges is that of white noise."""
    dags = PROBLEMS["bge"]().solve().sample(N_DRAWS, np.random.default_rng(13)).astype(float)
    edges = dags.reshape(N_DRAWS, -1)
    edges = edges[:, edges.std(axis=0) > 0.05]
    edges = (edges - edges.mean(axis=0)) / edges.std(axis=0)
    lag_one = (edges[1:] * edges[:-1]).mean(axis=0)
    # About a dozen edges; six standard errors put the false alarm rate far below 1e-4.
    assert np.abs(lag_one).max() < 6 / np.sqrt(N_DRAWS)


def test_same_seed_same_draws_whatever_the_threads(monkeypatch):
    from outpoint import kernels

    problem = PROBLEMS["bge"]()
    many = problem.solve().sample(130, np.random.default_rng(5))
    monkeypatch.setattr(kernels, "n_threads", lambda: 1)
    one = problem.solve().sample(130, np.random.default_rng(5))
    assert np.array_equal(one, many)
    other = problem.solve().sample(130, np.random.default_rng(6))
    assert not np.array_equal(one, other)

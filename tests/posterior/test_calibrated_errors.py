"""Standard errors are as large as errors: over many seeds, (estimate - truth) / mcse has sd 1.

``benchmarks/calibration.py`` has the problems, the samplers, the kinds of numbers and the truth, a
listing of all DAGs. Forty seeds, in the long set, must be within its limits, 0.9 and 1.15; twelve
within 0.7 and 1.35.

Seeds are fixed. With forty the root mean squares of samplers and kinds of numbers have a standard
deviation of 0.035 around 0.98. Other seeds would leave the limits for twelve about once in 10,000
times, and one or two of the 144 of the long set would be outside those for forty.
"""

from collections.abc import Callable

import numpy as np
import pytest
from benchmarks.calibration import (
    LENGTHS,
    LIMITS,
    PAIRS,
    ROWS,
    SAMPLERS,
    edges_of,
    fewer_edges,
    rms,
    runs,
    standardised_errors,
    truths,
)

import outpoint as op
from outpoint.arrays import Floats
from outpoint.mcmc.trace import spread_edges
from outpoint.posterior import SampledPosterior

FEW = (0.7, 1.35)

CASES = [
    (problem, method, options) for problem in ROWS for options in LENGTHS for method in SAMPLERS
]


def judge(found: dict[str, Floats], limits: tuple[float, float]) -> None:
    outside = {kind: rms(z) for kind, z in found.items() if not limits[0] < rms(z) < limits[1]}
    assert len(found) == 4
    assert not outside


@pytest.mark.parametrize("method", ["mcmc", "structure", "order"])
def test_few_seeds(method):
    judge(standardised_errors("open", method, 12, steps=5000), FEW)


@pytest.mark.long
@pytest.mark.parametrize(("problem", "method", "options"), CASES)
def test_many_seeds(problem, method, options):
    judge(standardised_errors(problem, method, 40, **options), LIMITS)


def test_values_recorded_less_often_than_the_error_says_are_caught():
    """Wrong: every tenth batch makes the value, all of them make the error."""
    found = []
    for post in runs("open", "mcmc", 6, steps=5000):
        errors = edges_of(post, truths("open", "posterior")[0])
        seldom = [post._edge_batches(*pair)[:, ::10].mean() for pair in PAIRS]
        found.append(errors._replace(values=np.array(seldom)).standardised)
    assert rms(np.concatenate(found)) > FEW[1]


def test_errors_between_chains_alone_are_caught():
    """Wrong: with three degrees of freedom errors are often far too small."""
    found = []
    for post in runs("open", "mcmc", 12, steps=5000):
        weighted = post.reweighted(fewer_edges)
        spread = weighted._chain_edges.std(axis=0, ddof=1) / np.sqrt(post.n_chains)
        errors = edges_of(weighted, truths("open", "fewer edges")[0])
        found.append(errors._replace(mcse=spread[tuple(np.transpose(PAIRS))]).standardised)
    assert rms(np.concatenate(found)) > FEW[1]


@pytest.mark.parametrize("method", ["mcmc", "partition", "structure", "order"])
def test_edges_are_recorded_as_often_as_draws(method):
    """So that they are never less precise than counting draws, however few steps there are."""
    for steps, draws in ((400, 100), (3000, 1000), (2000, 2000)):
        post = next(runs("open", method, 1, steps=steps, draws=draws, warmup=100))
        record = post.records[0]
        n_visits = len(record.edge_batches)
        assert record.n_steps == steps
        assert n_visits > 0.5 * min(draws, 512), "batches are merged in pairs beyond 512"
        assert record.thin == max(1, steps // draws)


@pytest.mark.parametrize("feature", ["a -> b", "b -> a", "a -- c", "not a -> b"])
def test_the_error_is_that_of_the_number_shown(feature):
    post = next(runs("open", "mcmc", 1, steps=5000))
    found = post.estimate(feature)
    assert found.value == post.probability(feature)
    assert found.status == "sampled"
    assert found.n_draws == sum(len(record.edge_batches) for record in post.records)
    if "--" not in feature:
        rows = post.diagnostics().set_index(["parent", "child"])["mcse"]
        edge = tuple(feature.removeprefix("not ").split(" -> "))
        assert found.mcse == pytest.approx(rows[edge], rel=1e-12)
    drawn = post.estimate(lambda dag: dag.has_edge("a", "b"))
    assert drawn.n_draws == post.n_chains * post.n_draws
    if feature == "a -> b":
        assert found.mcse < drawn.mcse, "noise within partitions is averaged away"


def rare_z_scores(error: Callable[[SampledPosterior], Floats]) -> Floats:
    """Standardised errors of all edges in 20 short runs under a prior that makes edges rare.

    An edge occurs about twice in such a run, and not at all in every fifth.
    """
    sample = op.Dataset(tuple("abcd"), np.zeros((1, 4)))
    score = op.CustomScore(lambda child, parents: -5.5 * len(parents))
    options = {"score": score, "structure_prior": "uniform"}
    exact = op.learn(sample, method="exact", seed=1, **options).edge_probabilities.to_numpy()
    some = ~np.eye(4, dtype=bool)
    assert 0.003 < exact[some].min() <= exact[some].max() < 0.005
    out = []
    for seed in range(20):
        post = op.learn(sample, method="structure", steps=400, draws=400, seed=seed, **options)
        found = post.edge_probabilities.to_numpy()
        out.append((found - exact)[some] / np.maximum(error(post)[some], 1e-6))
    return np.array(out)


def shown_errors(post: SampledPosterior) -> Floats:
    table = post.diagnostics().pivot(index="parent", columns="child", values="mcse")
    return table.fillna(0.0).to_numpy()


def spread_alone(post: SampledPosterior) -> Floats:
    """Wrong: what was never seen seems to be known for certain."""
    edges = post.assessment.edges.mcse.reshape(4, 3)
    return spread_edges(edges, post.candidates)


def test_errors_of_rare_edges():
    """A bound, so nothing is asked from below; wrong errors are off by orders of magnitude."""
    z = rare_z_scores(shown_errors)
    assert np.sqrt((z**2).mean()) < LIMITS[1]
    assert np.abs(z).max() < 5
    assert np.abs(rare_z_scores(spread_alone)).max() > 100

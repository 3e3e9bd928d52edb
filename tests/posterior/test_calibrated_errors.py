"""Standard errors are as large as errors: over many seeds, (estimate - truth) / mcse has sd 1.

The truth is the exact posterior of six variables. Root mean squares are taken over all edges (or
features) of at least 2 % and at most 98 %, and over seeds, which are fixed. Forty seeds, in the
long set, must be within 0.9 and 1.15. Twelve must be within 0.75 and 1.35: if the edges of a run
are worth ten independent ones, the root mean square has a standard error of 0.065, and other seeds
would fail about once in 10,000 times.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from math import e

import numpy as np
import pytest

import outpoint as op
from outpoint.arrays import Floats
from outpoint.graphs import Dag
from outpoint.mcmc.trace import spread_edges
from outpoint.posterior import Posterior, SampledPosterior
from outpoint.posterior.diagnostics import RARE

N = 6
FEW, MANY = (0.75, 1.35), (0.9, 1.15)
SAMPLERS = ("mcmc", "partition", "partition+rev", "structure", "structure+rev")

Errors = tuple[Floats, Floats, Floats]
"""Estimates, their standard errors and the truth."""


@lru_cache
def data() -> op.Dataset:
    rng = np.random.default_rng(7)
    values = rng.normal(size=(60, N))
    for v in range(1, N):
        values[:, v] += 0.4 * values[:, v - 1]
    return op.Dataset(tuple("abcdef"), values)


@lru_cache
def truth(edge_prior: float = 0.5) -> Posterior:
    return op.learn(
        data(), "bge", "exact", structure_prior="uniform", edge_prior=edge_prior, seed=1
    )


def runs(method: str, n_seeds: int, **options: int) -> Iterator[SampledPosterior]:
    for seed in range(n_seeds):
        post = op.learn(data(), "bge", method, structure_prior="uniform", seed=seed, **options)
        assert isinstance(post, SampledPosterior)
        yield post


def edges_of(post: Posterior, exact: Posterior) -> Errors:
    """What :meth:`diagnostics` says of all edges."""
    table = post.diagnostics()
    places = [(data().names.index(u), data().names.index(v)) for u, v in
              zip(table["parent"], table["child"], strict=True)]  # fmt: skip
    known = exact.edge_probabilities.to_numpy()[tuple(np.array(places).T)]
    return table["probability"].to_numpy(), table["mcse"].to_numpy(), known


def paths_of(post: Posterior, exact: Posterior) -> Errors:
    """What :meth:`estimate` says of features that only draws tell."""
    texts = [f"{u} -> ... -> {v}" for u, v in ("ab", "bc", "ca", "de", "fd", "ef")]
    found = [post.estimate(text) for text in texts]
    values, errors = np.array([(one.value, one.mcse) for one in found]).T
    return values, errors, np.array([exact.probability(text) for text in texts])


def fewer_edges(dag: Dag) -> float:
    """What an edge prior of 1 to e does, for draws."""
    return -1.0 * dag.n_edges


def rms_of(errors: Iterator[Errors]) -> float:
    """The root mean square of all standardised errors."""
    values, mcse, known = (np.concatenate(parts) for parts in zip(*errors, strict=True))
    usual = (known > RARE) & (known < 1 - RARE)
    assert usual.sum() > 100
    z = (values - known)[usual] / mcse[usual]
    return float(np.sqrt((z**2).mean()))


def edges_and_paths(method: str, n_seeds: int, **options: int) -> tuple[float, float]:
    posts = list(runs(method, n_seeds, **options))
    edges = rms_of(edges_of(post, truth()) for post in posts)
    return edges, rms_of(paths_of(post, truth()) for post in posts * 2)


CASES = [
    (method, options)
    for options in ({"steps": 5000}, {"steps": 40_000}, {"steps": 20_000, "draws": 10_000})
    for method in SAMPLERS
]


@pytest.mark.parametrize("method", ["mcmc", "structure"])
def test_few_seeds(method):
    for rms in edges_and_paths(method, 12, steps=5000):
        assert FEW[0] < rms < FEW[1]


@pytest.mark.long
@pytest.mark.parametrize(("method", "options"), CASES)
def test_many_seeds(method, options):
    for rms in edges_and_paths(method, 40, **options):
        assert MANY[0] < rms < MANY[1]


def reweighted(method: str, n_seeds: int, **options: int) -> float:
    by: Callable[[Dag], float] | str = "linear_extensions" if method == "order" else fewer_edges
    exact = truth() if method == "order" else truth(1 / (1 + e))
    return rms_of(edges_of(post.reweighted(by), exact) for post in runs(method, n_seeds, **options))


def test_few_seeds_reweighted():
    assert FEW[0] < reweighted("order", 12, steps=5000) < FEW[1]


@pytest.mark.long
@pytest.mark.parametrize("steps", [5000, 40_000])
@pytest.mark.parametrize("method", ["mcmc", "partition", "structure", "order"])
def test_many_seeds_reweighted(method, steps):
    assert MANY[0] < reweighted(method, 40, steps=steps) < MANY[1]


def test_values_recorded_less_often_than_the_error_says_are_caught():
    """Wrong: every tenth batch makes the value, all of them make the error."""

    def seldom(post: SampledPosterior) -> Errors:
        shown, errors, known = edges_of(post, truth())
        values = shown.copy()
        table = post.diagnostics()
        for place, (u, v) in enumerate(zip(table["parent"], table["child"], strict=True)):
            parent, child = data().names.index(u), data().names.index(v)
            values[place] = post._edge_batches(parent, child)[:, ::10].mean()
        return values, errors, known

    assert rms_of(seldom(post) for post in runs("mcmc", 6, steps=5000)) > FEW[1]


def test_errors_between_chains_alone_are_caught():
    """Wrong: with three degrees of freedom errors are often far too small."""

    def between(post: SampledPosterior) -> Errors:
        weighted = post.reweighted(fewer_edges)
        spread = weighted._chain_edges.std(axis=0, ddof=1) / np.sqrt(post.n_chains)
        some = ~np.eye(N, dtype=bool)
        exact = truth(1 / (1 + e)).edge_probabilities.to_numpy()
        return weighted.edge_probabilities.to_numpy()[some], spread[some], exact[some]

    assert rms_of(between(post) for post in runs("mcmc", 12, steps=5000)) > FEW[1]


@pytest.mark.parametrize("method", ["mcmc", "partition", "structure", "order"])
def test_edges_are_recorded_as_often_as_draws(method):
    """So that they are never less precise than counting draws, however few steps there are."""
    for steps, draws in ((400, 100), (3000, 1000), (2000, 2000)):
        post = next(runs(method, 1, steps=steps, draws=draws, warmup=100))
        record = post.records[0]
        n_visits = len(record.edge_batches)
        assert record.n_steps == steps
        assert n_visits > 0.5 * min(draws, 512), "batches are merged in pairs beyond 512"
        assert record.thin == max(1, steps // draws)


@pytest.mark.parametrize("feature", ["a -> b", "b -> a", "a -- c", "not a -> b"])
def test_the_error_is_that_of_the_number_shown(feature):
    post = next(runs("mcmc", 1, steps=5000))
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
    assert np.sqrt((z**2).mean()) < MANY[1]
    assert np.abs(z).max() < 5
    assert np.abs(rare_z_scores(spread_alone)).max() > 100

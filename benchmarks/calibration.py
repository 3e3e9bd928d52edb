"""Are standard errors as large as errors? (estimate - truth) / mcse over many seeds has sd 1.

Two problems of five variables, a chain of weak relations seen 60 and 400 times, are learned by
every sampler in short and in long runs. What they say of edges (``diagnostics``) and of features
(``estimate``: all paths, and the number of edges), and what they say after ``reweighted``, is
compared with a listing of all DAGs. Order MCMC is expected to have the law that it is known to have
instead of the posterior, and is reweighted to the posterior; all others to a prior that likes edges
less.

The root mean square of standardised errors should be between 0.9 and 1.15, and 5 % of them beyond
2. Probabilities below 2 % and above 98 % are left out: their errors are bounds, which
``tests/posterior/test_calibrated_errors.py`` looks at.
"""

from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from itertools import permutations, product
from typing import NamedTuple

import numpy as np
from tests.reference import (
    ReferencePosterior,
    all_dags,
    ancestor_matrices,
    bge_family_score,
    enumerate_posterior,
)

import outpoint as op
from outpoint.arrays import Floats
from outpoint.graphs.extensions import log_linear_extensions
from outpoint.posterior import Posterior, SampledPosterior
from outpoint.posterior.diagnostics import RARE

NAMES = tuple("abcde")
PAIRS = tuple(permutations(range(len(NAMES)), 2))
PARENTS, CHILDREN = np.transpose(PAIRS)
ROWS = {"open": 60, "settled": 400}
SAMPLERS = ("mcmc", "partition", "partition+rev", "order", "structure", "structure+rev")
LENGTHS = ({"steps": 5000}, {"steps": 40_000}, {"steps": 20_000, "draws": 10_000})
LIMITS = (0.9, 1.15)


class Errors(NamedTuple):
    """Estimates, their standard errors and the truth."""

    values: Floats
    mcse: Floats
    truth: Floats

    @property
    def standardised(self) -> Floats:
        """Without probabilities that are rare or nearly certain."""
        is_usual = (self.truth > RARE) & (np.abs(1.0 - self.truth) > RARE)
        return ((self.values - self.truth) / self.mcse)[is_usual]


def rms(standardised: Floats) -> float:
    """The root mean square, which should be 1."""
    return float(np.sqrt((standardised**2).mean()))


def fewer_edges(dag: op.Dag) -> float:
    """What an edge prior of 1 to e does, for draws."""
    return -1.0 * dag.n_edges


@lru_cache
def data(problem: str) -> op.Dataset:
    """A chain of weak relations."""
    rng = np.random.default_rng(7)
    values = rng.normal(size=(ROWS[problem], len(NAMES)))
    for v in range(1, len(NAMES)):
        values[:, v] += 0.4 * values[:, v - 1]
    return op.Dataset(NAMES, values)


@lru_cache
def listed(problem: str) -> ReferencePosterior:
    """All DAGs with their scores, computed without the package."""
    values = data(problem).values
    return enumerate_posterior(len(NAMES), lambda v, parents: bge_family_score(values, v, parents))


def log_orders() -> Floats:
    """Logs of the numbers of linear extensions of all DAGs: order MCMC counts each of them."""
    graphs = (op.Dag.from_adjacency(dag, NAMES) for dag in all_dags(len(NAMES)))
    return np.array([log_linear_extensions(graph) for graph in graphs])


LOG_FACTORS = {
    "posterior": lambda: 0.0,
    "order": log_orders,
    "fewer edges": lambda: -1.0 * all_dags(len(NAMES)).sum(axis=(1, 2)),
}
"""What DAGs weigh under a law, relative to the posterior."""


@lru_cache
def truths(problem: str, law: str) -> tuple[Floats, Floats]:
    """The edges, and the features: all paths, and the number of edges."""
    log_weights = listed(problem).log_weights + LOG_FACTORS[law]()
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    edges = np.tensordot(weights, all_dags(len(NAMES)), axes=1)
    paths = np.tensordot(weights, ancestor_matrices(len(NAMES)), axes=1)
    return edges[PARENTS, CHILDREN], np.append(paths[PARENTS, CHILDREN], edges.sum())


def edges_of(post: Posterior, truth: Floats) -> Errors:
    """What :meth:`diagnostics` says."""
    table = post.diagnostics().set_index(["parent", "child"])
    rows = table.loc[[(NAMES[u], NAMES[v]) for u, v in PAIRS]]
    return Errors(rows["probability"].to_numpy(), rows["mcse"].to_numpy(), truth)


def features_of(post: Posterior, truth: Floats) -> Errors:
    """What :meth:`estimate` says of what only draws tell."""
    paths = [f"{NAMES[u]} -> ... -> {NAMES[v]}" for u, v in PAIRS]
    found = [post.estimate(feature) for feature in (*paths, lambda dag: dag.n_edges)]
    values, mcse = np.array([(one.value, one.mcse) for one in found]).T
    return Errors(values, mcse, truth)


def runs(problem: str, method: str, n_seeds: int, **options: int) -> Iterator[SampledPosterior]:
    """Runs with these seeds and otherwise the same options."""
    score = op.BGe(standardize=False)
    for seed in range(n_seeds):
        post = op.learn(
            data(problem), score, method, structure_prior="uniform", seed=seed, **options
        )
        assert isinstance(post, SampledPosterior)
        yield post


def reweighted(post: SampledPosterior) -> tuple[Posterior, str]:
    """Order MCMC without its bias, others with fewer edges; and the law that they then have."""
    if post.method == "order":
        return post.reweighted("linear_extensions"), "posterior"
    return post.reweighted(fewer_edges), "fewer edges"


def standardised_errors(
    problem: str, method: str, n_seeds: int, **options: int
) -> dict[str, Floats]:
    """The standardised errors of all runs, for every kind of number."""
    found: dict[str, list[Floats]] = defaultdict(list)
    for post in runs(problem, method, n_seeds, **options):
        plain = (post, "order" if method == "order" else "posterior")
        for prefix, (judged, law) in (("", plain), ("reweighted ", reweighted(post))):
            edges, features = truths(problem, law)
            found[f"{prefix}edges"].append(edges_of(judged, edges).standardised)
            found[f"{prefix}features"].append(features_of(judged, features).standardised)
    return {kind: np.concatenate(parts) for kind, parts in found.items()}


def main(arguments: list[str]) -> None:
    """Arguments: number of seeds (default 40), samplers (default all)."""
    n_seeds = int(arguments[0]) if arguments else 40
    print("problem  sampler         steps   draws  numbers                 sd  beyond 2")
    for problem, options, method in product(ROWS, LENGTHS, arguments[1:] or SAMPLERS):
        for kind, z in standardised_errors(problem, method, n_seeds, **options).items():
            sd, beyond = rms(z), float((np.abs(z) > 2).mean())
            print(
                f"{problem:<8} {method:<14} {options['steps']:>6} {options.get('draws', 1000):>7}"
                f"  {kind:<20} {sd:>5.2f} {beyond:>9.1%}"
                f"{'' if LIMITS[0] < sd < LIMITS[1] else '  OUTSIDE'}",
                flush=True,
            )

"""Beyond 20 variables: accuracy with few candidates, and whole networks.

``restricted``: problems with exact answers, sampled over few candidates; ``random`` begins with
candidates drawn at random. ``networks``: benchmark networks and sparse Gaussian ones, several seeds
each, seconds with everything from the file on. The cost of a step is in ``scaling``.
"""

import resource
import time
from pathlib import Path

import numpy as np

import outpoint as op
from benchmarks.problems import PAPER_PRIOR, PAPER_SCORE, gaussian
from outpoint.experiments.problems import paper_file

PARTS = ("restricted", "random", "networks")
RESTRICTED = (("boston", 3, 4), ("boston", 3, 6), (18, 5, 8), (18, 5, 10), (20, 5, 8), (20, 5, 10))
NETWORKS = ("alarm1k.dat", "hail1k.dat", "path1k.dat", "pigs1k.dat")


def main(arguments: list[str]) -> None:
    """Arguments: parts (default all), names of networks (default all), seeds (default 2)."""
    parts = [name for name in arguments if name in PARTS] or PARTS
    n_seeds = int(arguments[-1]) if arguments and arguments[-1].isdigit() else 2
    only = [name for name in arguments if name not in PARTS and not name.isdigit()]
    for part in parts:
        {
            "restricted": lambda: _restricted(n_seeds, at_random=False),
            "random": lambda: _restricted(n_seeds, at_random=True),
            "networks": lambda: _networks(n_seeds, only),
        }[part]()


def sparse_gaussian(n_nodes: int, seed: int, n_obs: int = 500) -> tuple[op.Dataset, op.Dag]:
    """A random DAG with a mean in-degree of 1.5 and coefficients of 0.4 to 1, and data from it."""
    rng = np.random.default_rng(seed)
    dag = op.random_dag(n_nodes, rng, law="erdos_renyi", edge_probability=3 / (n_nodes - 1))
    return op.simulate(dag, n_obs, rng, coefficients=(0.4, 1.0)), dag


def _restricted(n_seeds: int, *, at_random: bool) -> None:
    print("data      candidates  seed  seconds  steps    error   verdict")
    for which, max_parents, n_candidates in RESTRICTED:
        data = op.datasets.boston() if which == "boston" else gaussian(which, 200, 5)
        exact = op.learn(
            data,
            PAPER_SCORE,
            method="exact",
            max_parents=max_parents,
            seed=0,
            structure_prior=PAPER_PRIOR,
        )
        for seed in range(n_seeds):
            given = _any_candidates(data, n_candidates, seed) if at_random else None
            begun = time.perf_counter()
            post = op.learn(
                data,
                PAPER_SCORE,
                method="mcmc",
                max_parents=max_parents,
                n_candidates=n_candidates,
                candidates=given,
                structure_prior=PAPER_PRIOR,
                seed=seed,
            )
            seconds = time.perf_counter() - begun
            error = np.abs(post.edge_probabilities - exact.edge_probabilities).to_numpy().max()
            print(
                f"{which!s:<9} {n_candidates:>10} {seed:>5} {seconds:>8.1f} "
                f"{post.steps_per_chain:>7} {error:>7.3f}   {post.verdict.split(':')[0]}",
                flush=True,
            )


def _any_candidates(data: op.Dataset, n_candidates: int, seed: int) -> dict[str, list[str]]:
    rng = np.random.default_rng(seed)
    return {
        child: rng.choice(
            [u for u in data.names if u != child], n_candidates, replace=False
        ).tolist()
        for child in data.names
    }


def _networks(n_seeds: int, only: list[str]) -> None:
    print("data            seed  seconds  steps    best score   trips  memory  verdict")
    for name in NETWORKS:
        path = paper_file(name)
        if path is not None and (not only or name in only):
            options = {"structure_prior": "fair", "max_parents": 3, "allow_degenerate": True}
            _compare_seeds(name, path, n_seeds, score=op.BDeu(), **options)
    for n_nodes in (40, 100):
        name = f"gaussian {n_nodes}"
        if not only or name in only:
            data, dag = sparse_gaussian(n_nodes, 1)
            _compare_seeds(name, data, n_seeds, dag, score=PAPER_SCORE, structure_prior="fair")


def _compare_seeds(
    name: str, data: op.Dataset | Path, n_seeds: int, dag: op.Dag | None = None, **options: object
) -> None:
    edges = []
    for seed in range(n_seeds):
        begun = time.perf_counter()
        post = op.learn(data, method="mcmc", seed=seed, **options)
        seconds = time.perf_counter() - begun
        edges.append(post.edge_probabilities.to_numpy())
        print(
            f"{name:<15} {seed:>4} {seconds:>8.1f} {post.steps_per_chain:>7} "
            f"{post.map_log_score:>12.3f} {sum(post.round_trips):>6} {_peak():>5.1f}GB  "
            f"{post.verdict[:90]}",
            flush=True,
        )
        if dag is not None:
            truth = dag.reorder(post.names).adjacency
            auc = skeleton_auc(edges[-1], truth)
            print(f"{'':<20} area under the curve of the skeleton {auc:.3f}")
    if n_seeds > 1:
        print(f"{'':<20} largest difference between seeds {np.ptp(edges, axis=0).max():.3f}")


def skeleton_auc(edges: np.ndarray, truth: np.ndarray) -> float:
    """Probability that an adjacent pair has a higher probability than one that is not."""
    upper = np.triu_indices(len(truth), 1)
    found = (edges + edges.T)[upper]
    is_edge = (truth | truth.T)[upper]
    order = np.sort(found[~is_edge])
    wins = np.searchsorted(order, found[is_edge], "left") + np.searchsorted(
        order, found[is_edge], "right"
    )
    return float(wins.mean() / (2 * len(order)))


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20

"""Large parent sets beyond 20 variables: what tables over candidates admit, against exact answers.

Eleven problems with 21 or 22 variables in which some nodes have many parents, or parents that
nearly identical columns can stand in for. Each is computed exactly (about a minute of processor
time and the memory that ``exact/feasibility.py`` states) and sampled with the defaults. Every edge
should be within 0.05, or the verdict not "converged".
"""

import time
from collections.abc import Callable

import numpy as np
import pandas as pd

import outpoint as op
from outpoint.posterior import SampledPosterior

MOST_ERROR = 0.05


def near_copies(
    seed: int,
    n_pairs: int = 8,
    n_others: int = 4,
    n_obs: int = 400,
    jitter: float = 0.1,
    effect: float = 0.8,
    noise: float = 2.0,
) -> pd.DataFrame:
    """Pairs of columns (x, x + jitter), others of noise, and y, a sum over the first of each."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(n_obs, n_pairs))
    columns = {}
    for i in range(n_pairs):
        columns[f"x{i}"] = base[:, i]
        columns[f"c{i}"] = base[:, i] + jitter * rng.normal(size=n_obs)
    for i in range(n_others):
        columns[f"n{i}"] = rng.normal(size=n_obs)
    columns["y"] = effect * base.sum(axis=1) + noise * rng.normal(size=n_obs)
    return pd.DataFrame(columns)


def hub(
    seed: int,
    n_nodes: int,
    n_parents: int,
    n_obs: int = 400,
    effect: float = 0.5,
    noise: float = 1.0,
    *,
    are_related: bool = True,
) -> pd.DataFrame:
    """y with many parents, which stand in short chains if they ``are_related``."""
    rng = np.random.default_rng(seed)
    others = rng.normal(size=(n_obs, n_nodes - 1))
    for j in range(1, n_nodes - 1):
        if are_related and j % 3:
            others[:, j] += 0.6 * others[:, j - 1]
    sizes = effect * rng.uniform(0.5, 1.5, n_parents) * rng.choice([-1, 1], n_parents)
    y = others[:, :n_parents] @ sizes + noise * rng.normal(size=n_obs)
    table = pd.DataFrame(others, columns=[f"x{i}" for i in range(n_nodes - 1)])
    return table.assign(y=y)


def two_hubs(seed: int, n_nodes: int, n_parents: int, n_obs: int) -> pd.DataFrame:
    """Two nodes with many parents, some of them in common."""
    rng = np.random.default_rng(seed)
    others = rng.normal(size=(n_obs, n_nodes - 2))
    table = pd.DataFrame(others, columns=[f"x{i}" for i in range(n_nodes - 2)])
    first = 0.4 * others[:, :n_parents].sum(axis=1) + 1.5 * rng.normal(size=n_obs)
    second = 0.4 * others[:, -n_parents:].sum(axis=1) + 1.5 * rng.normal(size=n_obs)
    return table.assign(y=first, w=second)


PROBLEMS: dict[str, Callable[[], pd.DataFrame]] = {
    "copies-8": lambda: near_copies(1),
    "copies-9": lambda: near_copies(3, n_pairs=9, n_others=3, n_obs=300),
    "copies-loose": lambda: near_copies(6, jitter=0.3, n_obs=250),
    "copies-7": lambda: near_copies(8, n_pairs=7, n_others=6, effect=0.5, noise=1.5),
    "copies-10": lambda: near_copies(10, n_pairs=10, n_others=0, n_obs=500, effect=0.6),
    "hub-12": lambda: hub(7, 22, 12, n_obs=250, effect=0.25, are_related=False),
    "hub-13": lambda: hub(11, 21, 13, n_obs=200, effect=0.4, noise=1.2),
    "hub-14": lambda: hub(2, 21, 14),
    "hub-16": lambda: hub(4, 21, 16, n_obs=300, effect=0.35, noise=1.5),
    "hub-16-strong": lambda: hub(9, 22, 16, n_obs=1000, effect=0.6),
    "two-hubs": lambda: two_hubs(5, 22, 12, n_obs=500),
}


def main(arguments: list[str]) -> None:
    """Arguments: names of problems (default all)."""
    print("problem        seconds  candidates  missing      error  verdict")
    for name in arguments or PROBLEMS:
        data = PROBLEMS[name]()
        exact = op.learn(data, method="exact", seed=1)
        begun = time.process_time()
        post = op.learn(data, method="mcmc", seed=1)
        seconds = time.process_time() - begun
        assert isinstance(post, SampledPosterior)
        error = np.abs(post.edge_probabilities - exact.edge_probabilities).to_numpy().max()
        most = (post.candidates >= 0).sum(axis=1).max()
        missing = post.missing_mass
        wrong = "  FALSE" if post.converged and error > MOST_ERROR else ""
        print(
            f"{name:<14} {seconds:>7.0f} {most:>11} {missing.max():>8.4f} {missing.idxmax():>3} "
            f"{error:>6.3f}  {post.verdict.split(':')[0]}{wrong}",
            flush=True,
        )

"""Networks of 44 to 107 variables with all defaults: time until converged, and whether seeds agree.

The networks are those of the bnlearn repository that pgmpy brings along, Gaussian and categorical;
500 and 1,000 rows are drawn from them. Everything is compiled beforehand.
"""

import json
import time
from importlib.resources import files

import numpy as np
import pandas as pd

import outpoint as op
from benchmarks.peers.networks import reference_network
from benchmarks.problems import compile_kernels
from outpoint.posterior import SampledPosterior

GAUSSIAN = ("magic-niab", "ecoli70", "magic-irri", "arth150")
CATEGORICAL = ("hepar2", "win95pts")
GAUSSIAN_ROWS = 500


def main(arguments: list[str]) -> None:
    """Arguments: names of networks (default all), the number of seeds (default 2)."""
    n_seeds = int(arguments[-1]) if arguments and arguments[-1].isdigit() else 2
    names = [name for name in arguments if not name.isdigit()] or (*GAUSSIAN, *CATEGORICAL)
    compile_kernels()
    print("network      variables  seed  seconds  processor s    steps  not admitted  verdict")
    for name in names:
        _compare_seeds(name, gaussian(name) if name in GAUSSIAN else categorical(name), n_seeds)


def gaussian(name: str, seed: int = 1) -> pd.DataFrame:
    """Rows drawn from a Gaussian network of pgmpy."""
    text = files("pgmpy").joinpath("utils", "example_models", f"{name}.json").read_text()
    network = json.loads(text)
    rng = np.random.default_rng(seed)
    columns: dict[str, np.ndarray] = {}
    for child in op.Dag.from_edges(network["nodes"], network["arcs"]).topological_order:
        given = network["cpds"][child]
        effects = {parent: value[0] for parent, value in given["coefficients"].items()}
        mean = effects.pop("(Intercept)") + sum(
            effect * columns[parent] for parent, effect in effects.items()
        )
        columns[child] = mean + np.sqrt(given["variance"][0]) * rng.normal(size=GAUSSIAN_ROWS)
    return pd.DataFrame(columns)[network["nodes"]]


def categorical(name: str) -> pd.DataFrame:
    """Rows drawn from a categorical network of pgmpy."""
    return reference_network(name).data


def _compare_seeds(name: str, data: pd.DataFrame, n_seeds: int) -> None:
    """Learn with several seeds, and print what each took and how far they are apart."""
    edges = []
    for seed in range(1, n_seeds + 1):
        begun = time.perf_counter(), time.process_time()
        post = op.learn(data, seed=seed, progress=False)
        took = time.perf_counter() - begun[0], time.process_time() - begun[1]
        assert isinstance(post, SampledPosterior)
        edges.append(post.edge_probabilities.to_numpy())
        print(
            f"{name:<12} {len(post.names):>9} {seed:>5} {took[0]:>8.0f} {took[1]:>12.0f} "
            f"{post.steps_per_chain:>8} {post.missing_mass.max():>13.4f}  {post.verdict[:160]}",
            flush=True,
        )
    if n_seeds > 1:
        print(f"{'':<22} largest difference between seeds {np.ptp(edges, axis=0).max():.3f}")

"""Tables of both kinds: how well edges are recovered, next to making all columns one kind.

Random DAGs with 1.5 edges per node; every second variable is categorical, with 2 to 5 levels; 500
rows (see ``outpoint.data.simulate`` for the model, which is none of the scores'). The table shows,
as means over the data sets, the area under the ROC curve of edges, directed and as a skeleton, for
the posteriors of our two scores for both kinds, of BDeu with every continuous column cut into three
levels, and of BGe with the codes of levels taken as numbers; and the seconds of scoring and
sampling (or summing over all DAGs, for 10 variables).
"""

import time
from collections.abc import Callable

import numpy as np

import outpoint as op

SIZES = (10, 20, 30)
N_OBS = 500
MAX_PARENTS = 3
STEPS = 20_000


def as_numbers(data: op.Dataset) -> op.Dataset:
    """The codes of all levels as if they were measured."""
    return op.Dataset(data.names, data.values)


WAYS: dict[str, tuple[Callable[[op.Dataset], op.Dataset], str]] = {
    "blocks": (lambda data: data, "blocks"),
    "conditional Gaussian": (lambda data: data, "conditional-gaussian"),
    "all cut into levels, BDeu": (lambda data: data.discretized(3), "bdeu"),
    "codes as numbers, BGe": (as_numbers, "bge"),
}


def main(arguments: list[str]) -> None:
    """Arguments: number of data sets of each size (default 10), then sizes."""
    n_sets = int(arguments[0]) if arguments else 10
    sizes = [int(word) for word in arguments[1:]] or SIZES
    print("variables  score                      edges  skeleton  seconds")
    for n_nodes in sizes:
        rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in WAYS}
        for seed in range(n_sets):
            dag, data = problem(n_nodes, seed)
            for name, (change, score) in WAYS.items():
                rows[name].append(_recover(dag, change(data), score, seed))
        for name, found in rows.items():
            edges, skeleton, seconds = np.mean(found, axis=0)
            print(
                f"{n_nodes:>9}  {name:<25}  {edges:5.3f}  {skeleton:8.3f}  {seconds:7.1f}",
                flush=True,
            )


def problem(n_nodes: int, seed: int) -> tuple[op.Dag, op.Dataset]:
    """A random DAG and rows of both kinds; coefficients from 0.5 to 1.5 of either sign."""
    rng = np.random.default_rng([n_nodes, seed])
    edge_probability = 3.0 / (n_nodes - 1)
    dag = op.random_dag(n_nodes, rng, law="erdos_renyi", edge_probability=edge_probability)
    signs = rng.choice([-1.0, 1.0], size=(n_nodes, n_nodes))
    weights = np.where(dag.adjacency, signs * rng.uniform(0.5, 1.5, (n_nodes, n_nodes)), 0.0)
    levels = [None if v % 2 == 0 else int(rng.integers(2, 6)) for v in range(n_nodes)]
    return dag, op.simulate(dag, N_OBS, rng, kind="mixed", coefficients=weights, levels=levels)


def _recover(dag: op.Dag, data: op.Dataset, score: str, seed: int) -> tuple[float, float, float]:
    """Areas under the curve of edges and of the skeleton, and seconds."""
    start = time.perf_counter()
    posterior = op.learn(
        data,
        score,
        method="exact" if data.n_nodes <= 10 else "mcmc",
        max_parents=MAX_PARENTS,
        structure_prior="uniform",
        steps=None if data.n_nodes <= 10 else STEPS,
        seed=seed,
        allow_degenerate=True,
    )
    seconds = time.perf_counter() - start
    found = posterior.compare(dag)
    return found.directed.auroc, found.skeleton.auroc, seconds

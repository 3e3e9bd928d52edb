"""The data the benchmarks run on.

The paper's own files are used where ``OUTPOINT_PAPER_DATA`` names their directory; otherwise
data of the same size are simulated by the paper's recipe.
"""

import numpy as np

import outpoint as op
from outpoint.data import load_dataset
from outpoint.experiments.problems import paper_file

PAPER_SCORE = op.BGe(standardize=False)
"""BGe of raw columns: comparisons with the paper's numbers, and with other programs, need it."""
PAPER_PRIOR = "uniform"
"""The structure prior that the paper's numbers have."""


def gaussian(n_nodes: int, n_obs: int, max_parents: int) -> op.Dataset:
    """The paper's simulated data of this size, or a fresh simulation like it."""
    path = paper_file(f"sim{n_nodes}.csv")
    if path is not None:
        return load_dataset(path)
    rng = np.random.default_rng(n_nodes)
    dag = op.random_dag(n_nodes, rng, law="paper", max_parents=max_parents)
    return op.simulate(dag, n_obs, rng, coefficients=(0.5, 1.5))


def solvable() -> list[tuple[str, op.Dataset, int]]:
    """The paper's problems, whose exact answers are known: name, data, most parents."""
    return [
        ("boston", op.datasets.boston(), 3),
        ("14 nodes", gaussian(14, 500, 6), 6),
        ("18 nodes", gaussian(18, 200, 5), 5),
        ("20 nodes", gaussian(20, 200, 5), 5),
    ]


def alarm() -> op.Dataset:
    """ALARM (37 nodes, 1,000 rows), or categorical data of its size."""
    path = paper_file("alarm1k.dat")
    if path is not None:
        return load_dataset(path)
    rng = np.random.default_rng(37)
    dag = op.random_dag(37, rng, law="erdos_renyi", edge_probability=46 / 666)
    levels = rng.integers(2, 5, size=37).tolist()
    return op.simulate(dag, 1000, rng, kind="categorical", levels=levels)


def with_observed_levels(data: op.Dataset) -> op.Dataset:
    """Categorical data without the levels that never occur, which BDeu counts as well."""
    values, levels = data.values.copy(), []
    for column, labels in enumerate(data.levels):
        observed, values[:, column] = np.unique(values[:, column], return_inverse=True)
        levels.append(tuple(labels[int(code)] for code in observed) if labels else None)
    return op.Dataset(data.names, values, tuple(levels), data.source)


def compile_kernels() -> None:
    """Compile what other processes are about to be measured with; they find it in the cache."""
    for n_nodes in (6, 24):  # with all others as candidates, and with few
        for kind in ("gaussian", "categorical"):
            dag = op.random_dag(n_nodes, 1, law="erdos_renyi", edge_probability=0.1)
            data = op.simulate(dag, 200, 1, kind=kind)
            for method in ("mcmc", "exact") if n_nodes == 6 else ("mcmc",):
                steps = 200 if method == "mcmc" else None
                op.learn(data, method=method, max_parents=3, steps=steps, seed=1)

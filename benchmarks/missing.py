"""Tables with holes: how far the posterior is from that of the full table.

Random Gaussian DAGs over 6 variables with 1.5 edges per node, 300 rows, of which 5, 10, 30 and 50 %
of all cells are taken away at random. The distance is the sum, over pairs of variables, of the
absolute difference between the probabilities that they are connected, to the exact posterior of
the full table; shown are means over tables, and standard deviations between them. Next to
integrating missing values out: the complete rows only, and one imputation by chained equations
(Bayesian linear regressions of every column on all others, in turns), whose distance is the mean
over several that are taken alone. The figure goes to ``docs/images/missing.png``.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import outpoint as op

N_NODES, N_OBS = 6, 300
SHARES = (0.05, 0.1, 0.3, 0.5)
N_COMPLETED = 250
"""Completed tables of each of two chains."""

IMPUTATIONS = 10
"""Imputations of each table, every one of which is taken for the full table."""

TURNS = 20
"""Times that chained equations go through all columns."""

WAYS = ("integrated out", "complete rows", "one imputation")
IMAGE = Path(__file__).parents[1] / "docs" / "images" / "missing.png"


def main(arguments: list[str]) -> None:
    """Argument: number of tables, at least two (default 10)."""
    n_tables = int(arguments[0]) if arguments else 10
    found = np.full((len(SHARES), n_tables, len(WAYS)), np.nan)
    for seed in range(n_tables):
        rng = np.random.default_rng([N_NODES, seed])
        dag = op.random_dag(N_NODES, rng, law="erdos_renyi", edge_probability=3 / (N_NODES - 1))
        full = op.simulate(dag, N_OBS, rng).values
        order = rng.random(full.shape)
        truth = skeleton(full, seed)
        for i, share in enumerate(SHARES):
            holes = np.where(order < share, np.nan, full)
            there = holes[~np.isnan(holes).any(axis=1)]
            imputed = [impute(holes, rng) for _ in range(IMPUTATIONS)]
            for j, tables in enumerate(([holes], [there], imputed)):
                gaps = [np.abs(skeleton(table, seed) - truth).sum() for table in tables]
                found[i, seed, j] = np.mean(gaps)
    print("missing  rows complete  " + "  ".join(f"{way:>16}" for way in WAYS))
    for share, rows in zip(SHARES, found, strict=True):
        cells = [f"{one.mean():.2f} ± {one.std(ddof=1):.2f}" for one in rows.T]
        shown = "  ".join(f"{cell:>16}" for cell in cells)
        print(f"{share:>7.0%}  {(1 - share) ** N_NODES:>13.0%}  {shown}")
    draw(found).savefig(IMAGE, dpi=150)


def skeleton(values: np.ndarray, seed: int) -> np.ndarray:
    """The probabilities that two variables are connected."""
    names = tuple(f"x{v}" for v in range(values.shape[1]))
    data = op.Dataset(names, values)
    post = op.learn(data, "bge", seed=seed, chains=2, steps=N_COMPLETED, progress=False)
    edges = post.edge_probabilities.to_numpy()
    return np.triu(edges + edges.T)


def impute(holes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One table completed by chained equations."""
    gone = np.isnan(holes)
    values = np.where(gone, np.nanmean(holes, axis=0), holes)
    for _ in range(TURNS):
        for v in np.flatnonzero(gone.any(axis=0)):
            others = np.column_stack([np.ones(len(values)), np.delete(values, v, axis=1)])
            rows = ~gone[:, v]
            inverse = np.linalg.inv(others[rows].T @ others[rows])
            mean = inverse @ others[rows].T @ values[rows, v]
            squares = ((values[rows, v] - others[rows] @ mean) ** 2).sum()
            variance = squares / rng.chisquare(rows.sum() - others.shape[1])
            slopes = rng.multivariate_normal(mean, variance * inverse)
            noise = np.sqrt(variance) * rng.standard_normal((~rows).sum())
            values[~rows, v] = others[~rows] @ slopes + noise
    return values


def draw(found: np.ndarray) -> Figure:
    """Mean distances by the share of missing cells, with standard deviations between tables."""
    figure = Figure(figsize=(6.0, 3.6), layout="constrained")
    axes = figure.subplots()
    for j, (way, colour) in enumerate(zip(WAYS, ("#0072b2", "#d55e00", "#666666"), strict=True)):
        means, spread = found[:, :, j].mean(axis=1), found[:, :, j].std(axis=1, ddof=1)
        x = 100 * np.array(SHARES) + 0.4 * (j - 1)
        axes.errorbar(x, means, spread, marker="o", capsize=3, color=colour, label=way)
    axes.set(xlabel="missing cells, %", ylabel="distance to the full table's posterior")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure

"""Held-out log predictive density: the averaged model next to single graphs.

Five public tables, ten random splits of each. Rows that were not learned from are predicted by the
average over DAGs, by the best DAG alone, by the DAG with all edges and by that with none, all with
the same score and its posterior of the parameters. Two thirds of the rows are learned from, or 50
of them, where structures are far less certain. The table shows the mean log density per row, as
difference to the averaged model (below 0: worse), with the standard error over the splits.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

import outpoint as op
from benchmarks.pages import DOCS, markdown, replace_blocks

N_SPLITS = 10
FEW_ROWS = 50
PAGE = DOCS / "prediction.md"
GRAPHS = ("best DAG", "all edges", "no edges")


class Outcome(NamedTuple):
    """Mean log densities per row: of the average, then of each single graph."""

    averaged: float
    single: tuple[float, ...]


def tables() -> Iterator[tuple[str, op.Dataset]]:
    """Those of scikit-learn, with the class as a category, and the bundled ones."""
    from sklearn import datasets

    for name in ("iris", "wine", "diabetes"):
        found = getattr(datasets, f"load_{name}")(as_frame=True)
        frame: pd.DataFrame = found.frame
        if name != "diabetes":
            frame = frame.assign(target=np.array(found.target_names)[frame["target"]])
        yield name, op.load_dataset(frame)
    yield "boston", op.datasets.boston()
    yield "asia", op.datasets.asia()


def compare(data: op.Dataset, n_rows: int, seed: int) -> Outcome:
    """One split: learn from so many rows and predict the others."""
    order = np.random.default_rng(seed).permutation(data.n_obs)
    learned, held = (
        op.Dataset(data.names, data.values[rows], data.levels)
        for rows in (order[:n_rows], order[n_rows:])
    )
    posterior = op.learn(learned, seed=seed, allow_degenerate=True)
    model, n = posterior.network_model, data.n_nodes
    assert model is not None
    graphs = (posterior.map_dag.adjacency, np.triu(np.ones((n, n)), 1) > 0, np.zeros((n, n)) > 0)
    single = tuple(float(model.log_predictive(one, held.values).mean()) for one in graphs)
    return Outcome(float(posterior.log_predictive(held).mean()), single)


def main(arguments: list[str]) -> None:
    """Arguments: number of splits (default 10, which also writes the page), then tables."""
    n_splits = int(arguments[0]) if arguments else N_SPLITS
    rows = []
    for name, data in tables():
        if arguments[1:] and name not in arguments[1:]:
            continue
        for n_rows in (2 * data.n_obs // 3, FEW_ROWS):
            found = [compare(data, n_rows, seed) for seed in range(n_splits)]
            own = np.mean([one.averaged for one in found])
            gaps = np.array([np.subtract(one.single, one.averaged) for one in found])
            errors = gaps.std(axis=0, ddof=1) / np.sqrt(n_splits) if n_splits > 1 else gaps[0] * 0
            cells = [
                f"{gap:+.3f} ± {error:.3f}"
                for gap, error in zip(gaps.mean(axis=0), errors, strict=True)
            ]
            rows.append([f"{name}, {data.n_nodes} variables", str(n_rows), f"{own:.3f}", *cells])
            print("  ".join(rows[-1]), flush=True)
    if not arguments:
        header = ["table", "rows learned from", "averaged", *GRAPHS]
        replace_blocks(PAGE, {"predictive": markdown(header, rows)})
        print(f"written to {PAGE}", file=sys.stderr)

"""Made-up tables of every kind and of both methods, which have everything compiled beforehand."""

from pathlib import Path

import numpy as np
import pandas as pd

FEW, MANY = 5, 22
"""Columns for a posterior that is summed, and one that is sampled."""

HOLES = 0.05
"""The share of cells that are missing where some are."""


def write_examples(folder: Path) -> list[Path]:
    """Write tables of numbers, of categories and of both, each without and with holes."""
    rng = np.random.default_rng(1)
    files = []
    for n_columns in (FEW, MANY):
        for kind in ("numbers", "categories", "both"):
            table = _example(rng, n_columns, kind)
            holes = rng.random(table.shape) < HOLES
            for name, example in (kind, table), (f"{kind}-with-holes", table.mask(holes)):
                files.append(folder / f"{name}-{n_columns}.csv")
                example.to_csv(files[-1], index=False)
    return files


def _example(rng: np.random.Generator, n_columns: int, kind: str) -> pd.DataFrame:
    """Columns that depend on the one before."""
    values = rng.normal(size=(200, n_columns))
    for column in range(1, n_columns):
        values[:, column] += values[:, column - 1]
    table = pd.DataFrame(values, columns=[f"x{number}" for number in range(n_columns)])
    levels = {"numbers": 0, "both": n_columns // 2, "categories": n_columns}[kind]
    for name in table.columns[:levels]:
        table[name] = np.digitize(table[name], (-1, 1)).astype(str)
        table[name] = table[name].map({"0": "low", "1": "middle", "2": "high"})
    return table

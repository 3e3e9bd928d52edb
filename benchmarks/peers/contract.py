"""What every program of the comparison is given, and what it gives back.

A program is a command. In its template, ``{data}`` stands for a CSV table, ``{scores}`` for a
``.jkl`` file of the log scores of all parent sets with the prior in them, ``{max_parents}``,
``{seed}`` and ``{seconds}``, the processor time it may use, for numbers. It writes the
probabilities of the edges to ``{edges}``, a CSV table with the columns parent, child and
probability; edges it leaves out have probability 0. The last line it prints says how much it did.
"""

import argparse
import csv
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import outpoint as op
from outpoint.scores import FamilyScorer, LocalScore, build_prior

HEADER = ("parent", "child", "probability")


class FairScore:
    """A score with the fair structure prior added, for programs that take scores alone."""

    name = "fair"

    def __init__(self, score: LocalScore) -> None:
        self.score = score

    def bind(self, data: op.Dataset, *, allow_degenerate: bool = False) -> "FairScorer":
        """Bind the score to data."""
        return FairScorer(data, self.score.bind(data, allow_degenerate=allow_degenerate))


class FairScorer(FamilyScorer):
    """Scores of families with the log weights of the fair prior."""

    def __init__(self, data: op.Dataset, scorer: FamilyScorer) -> None:
        self.n_nodes = data.n_nodes
        self._scorer = scorer
        self._prior = build_prior(data.names, structure_prior="fair")

    def families(self, child: int, parents: NDArray[np.integer]) -> NDArray[np.float64]:
        """Scores of ``child`` with each row of ``parents``."""
        return self._scorer.families(child, parents) + self._prior.log_weights(child, parents)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The arguments of a program written for this comparison."""
    parser = argparse.ArgumentParser()
    parser.add_argument("input", type=Path, help="the data, or their scores")
    parser.add_argument("edges", type=Path)
    parser.add_argument("--method", default="mcmc")
    parser.add_argument("--max-parents", type=_limit)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=math.inf)
    return parser.parse_args(arguments)


def _limit(text: str) -> int | None:
    return None if text == "None" else int(text)


def write_edges(path: Path, names: Sequence[str], edges: NDArray[np.floating]) -> None:
    """Write probabilities [parent, child]."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for parent, child in np.argwhere(edges > 0):
            writer.writerow([names[parent], names[child], repr(float(edges[parent, child]))])


def read_edges(path: Path, names: Sequence[str]) -> NDArray[np.float64]:
    """Probabilities [parent, child] of the edges that a program has written."""
    number = {name: v for v, name in enumerate(names)}
    edges = np.zeros((len(names), len(names)))
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            edges[number[row["parent"]], number[row["child"]]] = float(row["probability"])
    if not (np.isfinite(edges).all() and edges.min() >= 0 and edges.max() <= 1 + 1e-9):
        raise ValueError("not probabilities")
    return edges

"""The data sets of the paper, with its limits on parents and its chain lengths (appendix A).

Boston Housing is bundled. The simulated sets are the paper's own files where the environment
variable ``OUTPOINT_PAPER_DATA`` names their directory. Otherwise they are simulated by the paper's
recipe with seeds of our own: coefficients 2 and, as regressions in the paper's files show, noise of
variance 0.2.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import outpoint as op

PAPER_DATA = "OUTPOINT_PAPER_DATA"
PRIOR = "uniform"
"""The structure prior of all the paper's experiments."""
COEFFICIENT = 2.0
NOISE_VARIANCE = 0.2

NAMES = ("structure", "structure+rev", "order", "partition", "partition+rev")
"""The paper's samplers, in the order of its step budgets."""

NO_REVERSALS = " without reversals"
"""Suffix of the name of a structure sampler that only adds and deletes edges."""

OURS = "mcmc"
OUR_STEPS = 5_000
"""Recorded steps of our sampler; a quarter as many before them warm it up."""

THREE_STEPS = 10_000
"""Steps on three nodes, an example without a chain length in the paper."""

FIVE_NODE_EDGES = (
    ("x1", "x2"),
    ("x3", "x2"),
    ("x4", "x2"),
    ("x5", "x2"),
    ("x3", "x4"),
    ("x5", "x4"),
)
"""The DAG of the paper's first figure."""


@dataclass(frozen=True)
class Problem:
    """Data, the score of their DAGs, and the number of steps of each sampler by name.

    ``truth`` is the DAG the data were simulated from; ``is_published`` says whether the paper's
    runs were made on these very data; ``region`` is a range of relative log scores that the paper
    found order MCMC to visit too often.
    """

    name: str
    title: str
    data: op.Dataset
    score: Any
    max_parents: int
    steps: Mapping[str, int]
    truth: op.Dag | None = None
    is_published: bool = False
    region: tuple[float, float] | None = None

    @property
    def true_log_score(self) -> float | None:
        """The log score of the DAG that generated the data."""
        if self.truth is None:
            return None
        return op.log_score(self.data, self.truth, self.score, structure_prior=PRIOR)


def three_nodes() -> Problem:
    """Three nodes whose log score is the number of edges: all 25 DAGs can be written down."""
    steps = dict.fromkeys((*NAMES, OURS), THREE_STEPS)
    return Problem(
        "three-nodes",
        "three nodes, log score = number of edges",
        op.Dataset(("x1", "x2", "x3"), np.eye(3)),
        op.CustomScore(lambda child, parents: float(len(parents))),
        2,
        steps,
    )


def five_nodes() -> Problem:
    """The simulated example: 100 rows from the DAG of the first figure."""
    steps = _steps(50_000, 40_000, 20_000, 10_000, 9_000)
    for name in ("structure", "structure+rev"):
        steps[name + NO_REVERSALS] = steps[name]
    dag = op.Dag.from_edges([f"x{i}" for i in range(1, 6)], FIVE_NODE_EDGES)
    return _simulated("five-nodes", 100, 4, steps, dag)


def boston() -> Problem:
    """Boston Housing, with the Charles River indicator coded 1 and 2 as in the paper."""
    return Problem(
        "boston",
        "Boston Housing",
        op.datasets.boston(),
        op.BGe(standardize=False),
        3,
        _steps(1_000_000, 500_000, 150_000, 60_000, 56_000),
        is_published=True,
        region=(-14.0, -10.0),
    )


def _more_connected(n_nodes: int, n_obs: int, max_parents: int, steps: dict[str, int]) -> Problem:
    """A simulation from a random DAG with many edges."""
    rng = np.random.default_rng(n_nodes)
    dag = op.random_dag(n_nodes, rng, law="paper", max_parents=max_parents)
    return _simulated(f"sim{n_nodes}", n_obs, max_parents, steps, dag)


def _simulated(
    name: str, n_obs: int, max_parents: int, steps: dict[str, int], dag: op.Dag
) -> Problem:
    """The paper's data and DAG of this size, or a simulation from ``dag`` like them."""
    n_nodes = len(dag.names)
    title = f"simulated data on {n_nodes} nodes"
    raw = op.BGe(standardize=False)
    path = paper_file(f"sim{n_nodes}.csv")
    if path is not None:
        data = op.load_dataset(path)
        truth = op.read_dag(path.with_name(f"sim{n_nodes}_dag.csv"), names=data.names)
        return Problem(name, title, data, raw, max_parents, steps, truth, is_published=True)
    data = op.simulate(
        dag,
        n_obs,
        np.random.default_rng([n_nodes, n_obs]),
        coefficients=COEFFICIENT,
        noise_sd=NOISE_VARIANCE**0.5,
    )
    return Problem(name, title, data, raw, max_parents, steps, dag)


def _steps(*paper: int) -> dict[str, int]:
    return dict(zip(NAMES, paper, strict=True)) | {OURS: OUR_STEPS}


def paper_file(name: str) -> Path | None:
    """A file of the paper's own data, or None if they are not here."""
    folder = os.environ.get(PAPER_DATA)
    path = Path(folder) / name if folder else None
    return path if path is not None and path.exists() else None


LARGER = _steps(1_000_000, 1_000_000, 140_000, 70_000, 60_000)

PROBLEMS: dict[str, Callable[[], Problem]] = {
    "three-nodes": three_nodes,
    "five-nodes": five_nodes,
    "boston": boston,
    "sim14": partial(
        _more_connected, 14, 500, 6, _steps(1_000_000, 500_000, 70_000, 35_000, 32_000)
    ),
    "sim18": partial(_more_connected, 18, 200, 5, LARGER),
    "sim20": partial(_more_connected, 20, 200, 5, LARGER),
}
"""The experiments by name, each made when it is asked for."""

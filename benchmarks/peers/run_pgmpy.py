"""Hill climbing of pgmpy on bootstrap samples of a table, and how often each edge appears.

The score it climbs is outpoint's, with the fair prior, so that all programs have the same.
"""

import time
from collections.abc import Hashable

import numpy as np
import pandas as pd
from pgmpy.causal_discovery import HillClimbSearch
from pgmpy.structure_score import BaseStructureScore

import outpoint as op
from benchmarks.peers.contract import FairScore, parse, write_edges
from outpoint.data import load_dataset
from outpoint.scores import FamilyScorer, resolve_score


class OutpointScore(BaseStructureScore):
    """Scores of outpoint for pgmpy."""

    def __init__(self, frame: pd.DataFrame, scorer: FamilyScorer) -> None:
        super().__init__(frame)
        self._number = {name: v for v, name in enumerate(frame.columns)}
        self._scorer = scorer

    def _local_score(self, variable: Hashable, parents: tuple[Hashable, ...]) -> float:
        row = np.array([sorted(self._number[u] for u in parents)], dtype=np.int64)
        return float(self._scorer.families(self._number[variable], row.reshape(1, -1))[0])


def main() -> None:
    """Climb on one bootstrap sample after the other until the time is up, at least once."""
    task = parse()
    data = load_dataset(task.input)
    score = FairScore(resolve_score("auto", data))
    rng = np.random.default_rng(task.seed)
    counts = np.zeros((data.n_nodes, data.n_nodes))
    n_samples = 0
    while n_samples == 0 or time.process_time() < task.seconds:
        counts += climb(resample(data, rng), score, task.max_parents)
        n_samples += 1
    write_edges(task.edges, data.names, counts / n_samples)
    print(f"{n_samples} bootstrap sample{'s' * (n_samples > 1)}")


def resample(data: op.Dataset, rng: np.random.Generator) -> op.Dataset:
    """As many rows, drawn with replacement."""
    rows = rng.integers(data.n_obs, size=data.n_obs)
    return op.Dataset(data.names, data.values[rows], data.levels, data.source)


def climb(data: op.Dataset, score: FairScore, max_parents: int | None) -> np.ndarray:
    """The CPDAG of the DAG that hill climbing ends in, [parent, child].

    Which way it turned an edge that can be turned is an accident; such an edge counts half for
    either direction.
    """
    frame = pd.DataFrame(data.values, columns=list(data.names))
    search = HillClimbSearch(
        scoring_method=OutpointScore(frame, score.bind(data, allow_degenerate=True)),
        max_indegree=max_parents,
        return_type="dag",
        show_progress=False,
    )
    dag = op.Dag.from_edges(data.names, search.fit(frame).causal_graph_.edges())
    cpdag = dag.cpdag().adjacency
    return np.where(cpdag & cpdag.T, 0.5, cpdag)


if __name__ == "__main__":
    main()

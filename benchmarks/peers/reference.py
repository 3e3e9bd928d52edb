"""What answers are compared with: the exact posterior, or long runs of ours where there is none.

The edges of long runs are kept in ``benchmarks/results/reference``, and read from there by later
comparisons; delete a file to have its runs taken anew.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.pages import RESULTS
from benchmarks.peers.comparison import Row, judge
from benchmarks.peers.contract import read_edges, write_edges
from benchmarks.peers.networks import Network
from benchmarks.peers.programs import EXACT, LONG, run_program

FOLDER = RESULTS / "reference"
SEEDS = [101, 102]
"""Those of the long runs: no other run has them."""


def find_reference(
    network: Network, programs: Mapping[str, str], folder: Path = FOLDER
) -> tuple[NDArray[np.float64] | None, Row | None]:
    """The edges to compare with, and the row of the program that has found them just now.

    Two long runs are averaged; their row says how far they are apart. Networks that are judged by
    the DAG they come from have no reference.
    """
    kept = folder / f"{network.name}.csv"
    if network.has_exact:
        exact = run_program(programs[EXACT], network, seed=1, seconds=0)
        return exact.edges, judge(network, EXACT, [1], [exact], exact.edges)
    if network.max_parents is None:
        return None, None
    if kept.exists():
        return read_edges(kept, list(network.data.columns)), None
    runs = [run_program(programs[LONG], network, seed=seed, seconds=0) for seed in SEEDS]
    answers = [run.edges for run in runs if run.edges is not None]
    if len(answers) < len(runs):
        return None, judge(network, LONG, SEEDS, runs, None)
    reference = np.mean(answers, axis=0)
    folder.mkdir(exist_ok=True)
    write_edges(kept, list(network.data.columns), reference)
    return reference, judge(network, LONG, SEEDS, runs, reference)

"""The programs of the comparison as commands, and one run of one of them."""

import shlex
import sys
import tempfile
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import outpoint as op
from benchmarks.measuring import measure
from benchmarks.peers.contract import FairScore, read_edges
from benchmarks.peers.networks import Network

LIMIT = 900.0
"""Seconds after which a program is ended."""

LONG_STEPS = 100_000
"""Steps of each chain of the long runs that stand for the posterior where it is not known."""

EXACT = "outpoint, exact"
LONG = "outpoint, long run"
SAMPLED = "outpoint"
_MODULE = "{python} -m benchmarks.peers"
PROGRAMS = {  # what it is called, and its command: see contract.py
    EXACT: f"{_MODULE}.run_outpoint {{data}} {{edges}} --method exact"
    " --max-parents {max_parents} --seed {seed}",
    LONG: f"{_MODULE}.run_outpoint {{data}} {{edges}} --max-parents {{max_parents}}"
    f" --seed {{seed}} --steps {LONG_STEPS}",
    SAMPLED: f"{_MODULE}.run_outpoint {{data}} {{edges}} --max-parents {{max_parents}}"
    " --seed {seed}",
    "sumu": f"{_MODULE}.run_sumu {{scores}} {{edges}} --seed {{seed}} --seconds {{seconds}}",
    "pgmpy": f"{_MODULE}.run_pgmpy {{data}} {{edges}} --max-parents {{max_parents}}"
    " --seed {seed} --seconds {seconds}",
}
NEEDS = {"sumu": "sumu", "pgmpy": "pgmpy"}
"""Packages without which a program is not run."""


class Run(NamedTuple):
    """What one run of a program gave and took; ``seconds`` include the scoring of families."""

    edges: NDArray[np.float64] | None
    seconds: float
    processor_seconds: float
    peak_bytes: int
    work: str
    failure: str | None


def missing(program: str) -> str | None:
    """The package that a program needs and that is not installed, if there is one."""
    package = NEEDS.get(program)
    return package if package is not None and find_spec(package) is None else None


def run_program(
    template: str, network: Network, *, seed: int, seconds: float, limit: float = LIMIT
) -> Run:
    """Run the command of a template on a network and read the edges it has written."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        values: dict[str, object] = {
            "python": sys.executable,
            "data": folder / "data.csv",
            "scores": folder / "scores.jkl",
            "edges": folder / "edges.csv",
            "max_parents": network.max_parents,
            "seed": seed,
            "seconds": round(seconds, 1),
        }
        network.data.to_csv(folder / "data.csv", index=False)
        scoring = _write_scores(folder, network) if "{scores}" in template else (0.0, 0.0)
        measured = measure(fill_in(template, values), limit=limit)
        names = list(network.data.columns)
        edges, failure = None, measured.failure
        if failure is None:
            try:
                edges = read_edges(folder / "edges.csv", names)
            except (OSError, KeyError, ValueError) as error:
                failure = f"no edges that can be read: {error}"
        return Run(
            edges,
            measured.seconds + scoring[0],
            measured.processor_seconds + scoring[1],
            measured.peak_bytes,
            (measured.printed.strip().splitlines() or [""])[-1],
            failure,
        )


def fill_in(template: str, values: Mapping[str, object]) -> list[str]:
    """The words of a command, with values in the place of their names."""
    return [word.format_map(values) for word in shlex.split(template)]


def _write_scores(folder: Path, network: Network) -> tuple[float, float]:
    begun = time.perf_counter(), time.process_time()
    data = op.load_dataset(folder / "data.csv")
    score = FairScore(op.BDeu() if data.is_categorical else op.BGe())
    op.write_jkl(folder / "scores.jkl", data, score, network.max_parents, allow_degenerate=True)
    return time.perf_counter() - begun[0], time.process_time() - begun[1]

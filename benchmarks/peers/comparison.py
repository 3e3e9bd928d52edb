"""Every program on every network with several seeds, and what came of it."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchmarks.large import skeleton_auc
from benchmarks.peers.networks import Network
from benchmarks.peers.programs import EXACT, SAMPLED, Run, missing, run_program

FAILED = 0.1
"""A seed has failed if a probability is off by more than this."""

LEAST_SECONDS = 5.0
"""Processor time that every program gets at least."""


@dataclass
class Row:
    """A program on a network. Lists have an entry for each seed that gave an answer.

    ``largest`` and ``mean`` are errors against the exact posterior; where there is none they are
    distances from the other seeds, the largest over the pairs.
    """

    network: str
    program: str
    seeds: list[int]
    largest: list[float] = field(default_factory=list)
    mean: list[float] = field(default_factory=list)
    auc: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    processor_seconds: list[float] = field(default_factory=list)
    peak_megabytes: list[float] = field(default_factory=list)
    work: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, object]:
        """For a file."""
        return asdict(self)


def compare(network: Network, programs: Mapping[str, str], seeds: list[int]) -> Iterator[Row]:
    """One row for each program. Our sampler goes first: the others get the time it took."""
    exact = None
    seconds = LEAST_SECONDS
    if network.has_exact and EXACT in programs:
        run = run_program(programs[EXACT], network, seed=1, seconds=seconds)
        exact = run.edges
        yield _row(network, EXACT, [1], [run], exact)
    for name, template in programs.items():
        if name == EXACT:
            continue
        if package := missing(name):
            yield Row(network.name, name, seeds, failures={"all": f"{package} is not installed"})
            continue
        runs = [run_program(template, network, seed=seed, seconds=seconds) for seed in seeds]
        if name == SAMPLED:
            took = [run.processor_seconds for run in runs]
            seconds = max(LEAST_SECONDS, float(np.median(took)))
        yield _row(network, name, seeds, runs, exact)


def _row(
    network: Network,
    program: str,
    seeds: list[int],
    runs: list[Run],
    exact: NDArray[np.float64] | None,
) -> Row:
    row = Row(network.name, program, seeds)
    answers = [run.edges for run in runs if run.edges is not None]
    for seed, run in zip(seeds, runs, strict=True):
        if run.edges is None:
            row.failures[str(seed)] = run.failure or "no answer"
            continue
        largest, mean = distance(run.edges, [exact] if exact is not None else answers)
        row.largest.append(largest)
        row.mean.append(mean)
        row.auc.append(skeleton_auc(run.edges, network.dag.adjacency))
        row.seconds.append(run.seconds)
        row.processor_seconds.append(run.processor_seconds)
        row.peak_megabytes.append(run.peak_bytes / 1e6)
        row.work.append(run.work)
        if exact is not None and largest > FAILED:
            row.failures[str(seed)] = f"off by {largest:.2f}"
    return row


def distance(edges: NDArray[np.float64], others: list[NDArray[np.float64]]) -> tuple[float, float]:
    """The largest difference from any of the others, and the largest mean difference."""
    n = len(edges)
    gaps = [np.abs(edges - other) for other in others]
    return float(max(gap.max() for gap in gaps)), float(
        max(gap.sum() for gap in gaps) / (n * (n - 1))
    )

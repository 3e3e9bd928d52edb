"""Every program on every network with several seeds, and what came of it."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchmarks.large import skeleton_auc
from benchmarks.peers.networks import Network
from benchmarks.peers.programs import SAMPLED, Run, missing, run_program

FAILED = 0.1
"""A seed has failed if a probability is off by more than this."""

LEAST_SECONDS = 5.0
"""Processor time that every program gets at least."""


@dataclass
class Row:
    """A program on a network. Lists have an entry for each seed that gave an answer.

    ``largest`` and ``mean`` are errors against the reference, and empty where there is none;
    ``between`` is the largest difference from another seed.
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
    between: list[float] = field(default_factory=list)

    def as_dict(self) -> dict[str, object]:
        """For a file."""
        return asdict(self)


def compare(
    network: Network,
    programs: Mapping[str, str],
    seeds: list[int],
    reference: NDArray[np.float64] | None,
    seconds: float | None = None,
) -> Iterator[Row]:
    """One row for each program.

    Our sampler goes first: the others get the time it took, unless ``seconds`` are given.
    """
    allowed = LEAST_SECONDS if seconds is None else seconds
    for name, template in programs.items():
        if package := missing(name):
            yield Row(network.name, name, seeds, failures={"all": f"{package} is not installed"})
            continue
        runs = [run_program(template, network, seed=seed, seconds=allowed) for seed in seeds]
        row = judge(network, name, seeds, runs, reference)
        if name == SAMPLED and seconds is None:
            allowed = time_of(row)
        yield row


def time_of(row: Row) -> float:
    """The processor time that other programs get when ours took that of a row."""
    return max(LEAST_SECONDS, float(np.median(row.processor_seconds or [0.0])))


def judge(
    network: Network,
    program: str,
    seeds: list[int],
    runs: list[Run],
    reference: NDArray[np.float64] | None,
) -> Row:
    """What the runs of a program gave, next to the reference and to each other."""
    row = Row(network.name, program, seeds)
    answers = [run.edges for run in runs if run.edges is not None]
    for seed, run in zip(seeds, runs, strict=True):
        if run.edges is None:
            row.failures[str(seed)] = run.failure or "no answer"
            continue
        row.auc.append(skeleton_auc(run.edges, network.dag.adjacency))
        row.seconds.append(run.seconds)
        row.processor_seconds.append(run.processor_seconds)
        row.peak_megabytes.append(run.peak_bytes / 1e6)
        row.work.append(run.work)
        if len(answers) > 1:
            row.between.append(distance(run.edges, answers)[0])
        if reference is not None:
            largest, mean = distance(run.edges, [reference])
            row.largest.append(largest)
            row.mean.append(mean)
            if largest > FAILED:
                row.failures[str(seed)] = f"off by {largest:.2f}"
    return row


def distance(edges: NDArray[np.float64], others: list[NDArray[np.float64]]) -> tuple[float, float]:
    """The largest difference from any of the others, and the largest mean difference."""
    n = len(edges)
    gaps = [np.abs(edges - other) for other in others]
    return float(max(gap.max() for gap in gaps)), float(
        max(gap.sum() for gap in gaps) / (n * (n - 1))
    )

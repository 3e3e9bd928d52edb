"""The exact posterior stage by stage: seconds, terms per second, and what the machine could do.

Every stage is given as wall time and processor time of all threads, after compilation. A term of
the two sums over 3^n pairs of sets takes 7 and 8 operations. Their number per second of processor
time is compared with that of ``y += a x`` on rows of the same length that stay in the cache.
"""

import resource
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

import outpoint as op
from benchmarks.problems import PAPER_SCORE, gaussian
from outpoint.exact import engine, estimate_memory
from outpoint.kernels import kernel, n_threads
from outpoint.scores import build_prior
from outpoint.tables import ScoreTable, build_table

STAGES = {  # functions of the engine, operations per term
    "sum_scores": 0,
    "scale_by_best_orders": 0,
    "sum_dags_on_sets": 7,
    "sum_dags_after_sets": 8,
    "_ancestors": 0,
    "_parent_sets": 0,
    "find_best": 0,
}

Seconds = dict[str, tuple[float, float]]


def main(arguments: list[str]) -> None:
    """Print the stages for node counts (default 14 18 20), with few parents and without limit."""
    sizes = [int(size) for size in arguments] or [14, 18, 20]
    _measure(gaussian(6, 100, 3), 3)  # compiles
    limit = _operations_per_second()
    print(f"{n_threads()} threads, each up to {limit / 1e9:.1f}e9 operations per second")
    for n_nodes in sizes:
        data = op.datasets.boston() if n_nodes == 14 else gaussian(n_nodes, 200, 5)
        for max_parents in (3 if n_nodes == 14 else 5, n_nodes - 1):
            seconds, check = _measure(data, max_parents)
            _show(n_nodes, max_parents, seconds, check, limit)


def _measure(data: op.Dataset, max_parents: int) -> tuple[Seconds, float]:
    """Wall and processor seconds by stage, and the largest deviation in the engine's checks."""
    seconds: Seconds = {}
    with _timed("table", seconds):
        table = build_table(
            data.names,
            PAPER_SCORE.bind(data),
            build_prior(data.names),
            max_parents=max_parents,
            n_candidates=data.n_nodes - 1,
        )
    with _timed("maxima", seconds):
        _ = table.maxima
    solution = _solve(table, seconds)
    with _timed("1,000 draws", seconds):
        solution.sample(1000, np.random.default_rng(1))
    return seconds, solution.discrepancy


def _solve(table: ScoreTable, seconds: Seconds) -> engine.ExactSolution:
    """Solve with every stage of the engine timed."""

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            with _timed(name, seconds):
                return function(*arguments)

        return call

    with ExitStack() as stack:
        for name in STAGES:
            function = timed(name, getattr(engine, name))
            stack.enter_context(patch.object(engine, name, function))
        return engine.solve(table)


@contextmanager
def _timed(name: str, seconds: Seconds) -> Iterator[None]:
    wall, processor = time.perf_counter(), time.process_time()
    yield
    seconds[name] = time.perf_counter() - wall, time.process_time() - processor


def _show(n_nodes: int, max_parents: int, seconds: Seconds, check: float, limit: float) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    estimate = estimate_memory(n_nodes) / 2**20
    print(f"\n{n_nodes} nodes, at most {max_parents} parents: checks agree to {check:.0e};")
    print(f"peak memory so far {peak:.0f} MB (estimated {estimate:.0f} MB)")
    print("stage                 wall s  processor s  operations  1e9 per s  of the limit")
    for name, (wall, processor) in seconds.items():
        line = f"{name.strip('_'):<20}  {wall:6.2f}  {processor:11.2f}"
        if n_operations := STAGES.get(name, 0) * 3.0**n_nodes:
            rate = n_operations / processor
            line += f"  {n_operations:10.1e}  {rate / 1e9:9.2f}  {rate / limit:12.0%}"
        print(line)
    wall, processor = np.sum(list(seconds.values()), axis=0)
    print(f"{'all':<20}  {wall:6.2f}  {processor:11.2f}", flush=True)


def _operations_per_second() -> float:
    """Multiplications and additions of one thread on rows of 64 doubles, best of a few tries."""
    table = np.zeros((2, 32, 64))
    n_times = 20_000
    best = np.inf
    for _ in range(8):
        start = time.process_time()
        _add_rows(table, n_times)
        best = min(best, time.process_time() - start)
    return 2 * n_times * 32 * 64 / best


@kernel
def _add_rows(table, n_times):
    for i in range(n_times):
        factor = float(i)
        for row in range(table.shape[1]):
            for j in range(table.shape[2]):
                table[1, row, j] += factor * table[0, row, j]

"""The exact posterior: seconds per stage and peak memory, after compilation."""

import resource
import time

import numpy as np

import outpoint as op
from benchmarks.problems import PAPER_SCORE, gaussian
from outpoint.exact import solve
from outpoint.scores import build_prior
from outpoint.tables import build_table


def main(arguments: list[str]) -> None:
    """Print a table; the arguments are node counts to run (default 14 18 20)."""
    sizes = [int(size) for size in arguments] or [14, 18, 20]
    _measure(gaussian(6, 100, 3), 3, n_draws=10)  # compiles
    print("nodes  K  table s  solve s  1000 draws s  check    peak MB")
    for n_nodes in sizes:
        data = op.datasets.boston() if n_nodes == 14 else gaussian(n_nodes, 200, 5)
        max_parents = 3 if n_nodes == 14 else 5
        table, solved, drawn, check = _measure(data, max_parents, n_draws=1000)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{n_nodes:>5}  {max_parents}  {table:7.2f}  {solved:7.2f}  {drawn:12.2f}"
            f"  {check:.1e}  {peak:7.0f}",
            flush=True,
        )


def _measure(data: op.Dataset, max_parents: int, n_draws: int) -> tuple[float, float, float, float]:
    start = time.perf_counter()
    table = build_table(
        data.names,
        PAPER_SCORE.bind(data),
        build_prior(data.names),
        max_parents=max_parents,
        n_candidates=data.n_nodes - 1,
    )
    built = time.perf_counter()
    solution = solve(table)
    solved = time.perf_counter()
    solution.sample(n_draws, np.random.default_rng(1))
    drawn = time.perf_counter()
    return built - start, solved - built, drawn - solved, solution.discrepancy

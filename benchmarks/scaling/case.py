"""One measured case, in a process of its own: ``python -m benchmarks.scaling.case JSON``.

Prints what it found as JSON. Kernels are loaded by a small problem first. Times are processor
seconds, those of all threads together, which other work on the machine disturbs least.
"""

import json
import sys
import time

import numpy as np

import outpoint as op
from benchmarks.large import sparse_gaussian
from outpoint.exact import solve
from outpoint.kernels import kernel
from outpoint.runs import Progress
from outpoint.scores import build_prior, resolve_score
from outpoint.tables import ScoreTable, build_table

N_LEVELS = 3
MAX_PARENTS = 3
SCORING = "scoring parent sets"
SAMPLING = "sampling"


def sampled(
    *, n_nodes: int, n_obs: int, steps: int, max_parents: int = MAX_PARENTS, kind: str = "gaussian"
) -> dict[str, object]:
    """Our sampler: processor seconds for scores, candidates and steps; effective draws."""
    options = {"method": "mcmc", "structure_prior": "fair", "max_parents": max_parents, "seed": 1}
    small = 6 if n_nodes <= 20 else 22
    op.learn(make_data(small, n_obs=200, kind=kind), steps=200, **options)
    begun: dict[str, tuple[float, float]] = {}
    ended: dict[str, tuple[float, float]] = {}

    def note(progress: Progress) -> None:
        ended[progress.stage] = time.process_time(), time.perf_counter()
        begun.setdefault(progress.stage, ended[progress.stage])

    data = make_data(n_nodes, n_obs, kind)
    post = op.learn(data, steps=steps, allow_degenerate=True, progress=note, **options)
    stages = [processor for processor, _ in begun.values()]
    sampling_seconds = ended[SAMPLING][0] - begun[SAMPLING][0]
    ess = post.assessment.smallest_ess
    return {
        "table_seconds": stages[1] - stages[0],
        "candidates_seconds": stages[-1] - stages[1],
        "sampling_seconds": sampling_seconds,
        "microseconds_per_step": 1e6 * sampling_seconds / (post.n_chains * 1.25 * steps),
        "replicas": float(np.mean([len(record.power) for record in post.records])),
        "effective_draws_per_second": None if ess is None else ess / sampling_seconds,
        "seconds": ended[SAMPLING][1] - begun[SCORING][1],
    }


def scored(*, n_nodes: int, n_obs: int, max_parents: int, kind: str) -> dict[str, object]:
    """Scores of all parent sets, nothing else."""
    _score(make_data(6, 100, kind), max_parents=2)
    data = make_data(n_nodes, n_obs, kind)
    begun = time.process_time()
    _score(data, max_parents)
    return {"table_seconds": time.process_time() - begun}


def exact(*, n_nodes: int, n_obs: int) -> dict[str, object]:
    """The exact engine: sums over all DAGs, without the scores."""
    solve(_tabulate(make_data(6, 100)))
    table = _tabulate(make_data(n_nodes, n_obs))
    begun = time.process_time(), time.perf_counter()
    solve(table)
    return {
        "processor_seconds": time.process_time() - begun[0],
        "seconds": time.perf_counter() - begun[1],
    }


def machine() -> dict[str, object]:
    """Nanoseconds of a multiplication and an addition, in a loop over numbers in the cache."""
    x, rounds = np.ones(1 << 12), 20_000
    _fold(x, 0.5, 1)
    best = np.inf
    for _ in range(5):
        begun = time.process_time()
        _fold(x, 0.5, rounds)
        best = min(best, time.process_time() - begun)
    return {"nanoseconds": 1e9 * best / (rounds * len(x) / 2)}


@kernel
def _fold(x, factor, rounds):
    half = len(x) // 2
    for _ in range(rounds):
        for y in range(half):
            x[y] = x[half + y] - factor * x[y]


def make_data(n_nodes: int, n_obs: int, kind: str = "gaussian") -> op.Dataset:
    """Sparse random DAGs, as everywhere in the benchmarks of large networks."""
    if kind == "gaussian":
        return sparse_gaussian(n_nodes, 1, n_obs)[0]
    rng = np.random.default_rng(1)
    dag = op.random_dag(n_nodes, rng, law="erdos_renyi", edge_probability=3 / (n_nodes - 1))
    return op.simulate(dag, n_obs, rng, kind="categorical", levels=N_LEVELS)


def _score(data: op.Dataset, max_parents: int) -> None:
    resolve_score("auto", data).bind(data, allow_degenerate=True).every_family(max_parents)


def _tabulate(data: op.Dataset) -> ScoreTable:
    return build_table(
        data.names,
        resolve_score("auto", data).bind(data),
        build_prior(data.names),
        max_parents=MAX_PARENTS,
        n_candidates=data.n_nodes - 1,
    )


CASES = {"sampled": sampled, "scored": scored, "exact": exact, "machine": machine}


if __name__ == "__main__":
    what = json.loads(sys.argv[1])
    print(json.dumps(CASES[what.pop("case")](**what)))

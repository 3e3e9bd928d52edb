"""Is "converged" ever said of a wrong posterior? Hard random problems against the exact answer.

Problems have 9 to 15 variables, 30 to 2,000 rows, sparse to dense graphs, noise from 0.05 to 1,
tight and loose limits on parents, and raw, standardised or discretised data, as the seed picks. The
sampler runs with its defaults, or over few candidates, as it does beyond 20 variables. The prior is
uniform over DAGs, which leaves more of them to visit than the fair one. A run is
*wrong* if it says "converged" and an edge probability is off by more than 0.1.
"""

import time
from typing import NamedTuple

import numpy as np
import pandas as pd

import outpoint as op

WRONG = 0.1
KINDS = ("raw", "standardised", "discretised")


class Problem(NamedTuple):
    """One random problem, and how it was made."""

    label: str
    data: pd.DataFrame
    score: object
    max_parents: int


def main(arguments: list[str]) -> None:
    """Arguments: number of problems (default 200), seed of the first (0), candidates (all)."""
    n_problems = int(arguments[0]) if arguments else 200
    first = int(arguments[1]) if len(arguments) > 1 else 0
    n_candidates = int(arguments[2]) if len(arguments) > 2 else None
    errors, seconds, converged = [], [], []
    print("problem                                        seconds   steps  trips   error  verdict")
    for seed in range(first, first + n_problems):
        problem = make_problem(seed)
        options = {"structure_prior": "uniform", "allow_degenerate": True}
        exact = op.learn(
            problem.data, problem.score, "exact", problem.max_parents, seed=0, **options
        )
        begun = time.perf_counter()
        sampled = op.learn(
            problem.data,
            problem.score,
            "mcmc",
            problem.max_parents,
            seed=seed,
            n_candidates=n_candidates,
            **options,
        )
        seconds.append(time.perf_counter() - begun)
        gaps = sampled.edge_probabilities.values - exact.edge_probabilities.values
        errors.append(float(np.abs(gaps).max()))
        converged.append(sampled.converged)
        trips = sum(record.round_trips for record in sampled.records)
        print(
            f"{seed:>4} {problem.label:<40}  {seconds[-1]:7.2f}  {sampled.steps_per_chain:>6}"
            f"  {trips:>5}  {errors[-1]:6.3f}  {sampled.verdict[:60]}",
            flush=True,
        )
    _summarise(np.array(errors), np.array(seconds), np.array(converged))


def make_problem(seed: int) -> Problem:
    """The problem with this number."""
    rng = np.random.default_rng([2026, seed])
    n_nodes = int(rng.integers(9, 16))
    n_rows = int(rng.choice([30, 100, 400, 2000]))
    density = float(rng.uniform(0.15, 0.8))
    noise = float(np.exp(rng.uniform(np.log(0.05), 0.0)))
    kind = str(rng.choice(KINDS))
    max_parents = int(rng.choice([2, 3, 4, n_nodes - 1]))
    dag = op.random_dag(n_nodes, rng, law="erdos_renyi", edge_probability=density)
    signs = rng.choice([-1.0, 1.0], size=(n_nodes, n_nodes))
    weights = signs * rng.uniform(0.3, 1.5, size=(n_nodes, n_nodes)) * dag.adjacency
    data = op.simulate(dag, n_rows, rng, coefficients=weights, noise_sd=noise)
    frame = pd.DataFrame(data.values, columns=list(data.names))
    score: object = op.BGe(standardize=kind == "standardised")
    if kind == "discretised":
        n_levels = int(rng.integers(2, 5))
        frame = frame.apply(
            lambda column: pd.qcut(column, n_levels, labels=False, duplicates="drop").astype(str)
        )
        max_parents = min(max_parents, 4)
        score = op.BDeu(equivalent_sample_size=float(rng.choice([1.0, 10.0])))
    limit = min(max_parents, n_nodes - 1)
    label = (
        f"{n_nodes} nodes {n_rows} rows K {limit} density {density:.1f} noise {noise:.2f} {kind}"
    )
    return Problem(label, frame, score, limit)


def _summarise(errors: np.ndarray, seconds: np.ndarray, converged: np.ndarray) -> None:
    wrong = converged & (errors > WRONG)
    print(f"\n{len(errors)} problems: {converged.sum()} converged, {wrong.sum()} of these wrong")
    print(
        f"largest error where converged {errors[converged].max(initial=0.0):.3f}, median "
        f"{np.median(errors[converged]) if converged.any() else np.nan:.3f}"
    )
    print(f"seconds: median {np.median(seconds):.2f}, worst {seconds.max():.1f}")

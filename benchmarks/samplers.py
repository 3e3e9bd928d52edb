"""Steps per second of every sampler on one core, recording every 100th step; growth with n.

Where the package sumu is installed (``pip install sumu``), its partition chain runs on the same
data in the same run.
"""

import time

import numpy as np

import outpoint as op
from benchmarks.problems import PAPER_SCORE, gaussian
from outpoint.mcmc import Settings, make_chain
from outpoint.scores import build_prior
from outpoint.tables import build_table
from outpoint.tables.view import TableView, view_table

CASES = [  # label, method, moves, steps
    ("partition (paper)", "partition", None, 2_000_000),
    ("partition+rev (paper)", "partition+rev", None, 2_000_000),
    ("placement", "partition", {"node_gibbs": 1}, 1_000_000),
    ("order", "order", None, 2_000_000),
    ("structure", "structure", None, 2_000_000),
    ("structure+rev", "structure+rev", None, 2_000_000),
    ("mcmc (with its ladder)", "mcmc", None, 100_000),
]
SIZES = (10, 20, 30, 40, 50, 60)


def main(arguments: list[str]) -> None:
    """Print both tables."""
    view = _view(op.datasets.boston(), 3)
    print("Boston Housing, 14 nodes, at most 3 parents, one core")
    print("sampler                  steps/s")
    for label, method, moves, steps in CASES:
        print(f"{label:<22} {_rate(view, method, moves, steps):>9,.0f}", flush=True)
    _print_sumu(op.datasets.boston())
    print("\nplacement: microseconds per step, 12 candidates, at most 3 parents")
    for n_nodes in SIZES:
        data = gaussian(n_nodes, 200, 3)
        rate = _rate(_view(data, 3, min(12, n_nodes - 1)), "partition", {"node_gibbs": 1}, 100_000)
        print(
            f"{n_nodes:>3} nodes {1e6 / rate:8.2f}  per node {1e6 / rate / n_nodes:6.3f}",
            flush=True,
        )
    print("\nthe same 14 nodes, 200,000 steps, by number of kept draws")
    for n_draws in (10, 1_000, 100_000):
        rate = _rate(view, "partition", {"node_gibbs": 1}, 200_000, n_draws)
        print(f"{n_draws:>7} draws {1e6 / rate:8.2f} microseconds per step", flush=True)


def _view(data: op.Dataset, max_parents: int, n_candidates: int | None = None) -> TableView:
    table = build_table(
        data.names,
        PAPER_SCORE.bind(data),
        build_prior(data.names),
        max_parents=max_parents,
        n_candidates=n_candidates,
    )
    return view_table(table)


def _rate(
    view: TableView, method: str, moves: object, steps: int, n_draws: int | None = None
) -> float:
    n = view.candidates.shape[0]
    n_draws = n_draws or steps // 100
    settings = Settings(
        method=method,
        start=np.zeros(n, dtype=np.int32),
        moves=moves,
        n_draws=n_draws,
        thin=max(1, steps // n_draws),
        edge_thin=100,
        max_parents=3,
        n_warmup=steps // 10,
    )
    chain = make_chain(view, settings)
    chain.advance(settings.n_warmup + 100)
    begun = time.perf_counter()
    chain.advance(steps)
    return steps / (time.perf_counter() - begun)


def _print_sumu(data: op.Dataset) -> None:
    try:
        import sumu
    except ImportError:
        print("sumu                   not installed")
        return
    steps = 50_000
    sampler = sumu.Gadget(
        data=sumu.gadget.Data(data.values, discrete=False),
        scoref="bge",
        max_id=3,
        K=data.n_nodes - 1,
        d=3,
        cp_algo="top",
        mc3_chains=1,
        burn_in=0,
        iterations=steps,
        thinning=100,
        tolerance=2**-32,
    )
    sampler._find_candidate_parents()
    sampler._precompute_scores_for_all_candidate_psets()
    sampler._precompute_candidate_restricted_scoring()
    sampler._precompute_candidate_complement_scoring()
    sampler._init_mcmc()
    begun = time.perf_counter()
    sampler._run_mcmc()
    rate = steps / (time.perf_counter() - begun)
    print(f"{'sumu 0.1.2':<22} {rate:>9,.0f}", flush=True)

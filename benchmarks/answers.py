"""How long answers take: predictions, effects and simulated rows, in processor seconds.

A table of 37 categorical variables is simulated and sampled (1,000 draws); 1,000 rows are predicted
from all other columns, from five columns, and with a tenth of the cells blank, each row in its own
way. Effects of all pairs are those of 20 categorical variables, exactly learned.
"""

import time
from collections.abc import Callable

import numpy as np
import pandas as pd

import outpoint as op

N_ROWS = 1000


def main(arguments: list[str]) -> None:
    """Takes no arguments."""
    rng = np.random.default_rng(1)
    large = _table(37, rng)
    post = op.learn(large, steps=5000, draws=250, until_converged=False, seed=1)
    frame = large.to_frame()
    first, last = large.names[0], large.names[-1]
    blank = frame.astype(object).mask(rng.random(frame.shape) < 0.1)
    graphs = len(post.top_dags(10**6))
    print(f"37 variables, {N_ROWS} rows, {post.log_scores.size} draws, {graphs} different DAGs")
    _measure("predict, all other columns known", lambda: post.predict(frame, last))
    _measure("predict from five columns", lambda: post.predict(frame.iloc[:, :5], last))
    _measure("predict, a tenth of the cells blank", lambda: post.predict(blank, last))
    _measure("log_predictive", lambda: post.log_predictive(frame))
    _measure("effect", lambda: post.effect(first, last))
    _measure("sample", lambda: post.sample(N_ROWS))
    small = op.learn(_table(20, rng), max_parents=3, seed=1)
    print("20 categorical variables, exact")
    _measure("effects of all pairs, 1,000 draws", lambda: small.causal_effects(n_draws=1000))


def _table(n_nodes: int, rng: np.random.Generator) -> op.Dataset:
    dag = op.random_dag(n_nodes, rng, law="erdos_renyi", edge_probability=3.0 / (n_nodes - 1))
    return op.simulate(dag, N_ROWS, rng, kind="categorical", levels=3)


def _measure(what: str, work: Callable[[], object]) -> None:
    begun = time.process_time()
    found = work()
    took = time.process_time() - begun
    size = f", {len(found):,} rows" if isinstance(found, pd.DataFrame | pd.Series) else ""
    print(f"{what:<40}{took:8.1f} s{size}", flush=True)

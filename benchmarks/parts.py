"""Exact by parts: what tiers and time are worth, in seconds and in edges.

``tiers``: seconds (of the clock and of the processors) for problems that fall into parts; each is
solved once before, to compile. ``series``: a simulated dynamic network, learned with its lags and,
for comparison, without time from the same rows.
"""

import time
from collections.abc import Callable

import numpy as np
import pandas as pd

import outpoint as op

PARTS = ("tiers", "series")
ROWS = 500


def main(arguments: list[str]) -> None:
    """Arguments: which of the two to run (default both)."""
    chosen = arguments or PARTS
    if "tiers" in chosen:
        _tiers()
    if "series" in chosen:
        _series()


def tiered(sizes: list[int], n_obs: int, seed: int = 1) -> tuple[pd.DataFrame, list[list[str]]]:
    """A table whose columns depend on two earlier ones, and its tiers."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    values = rng.normal(size=(n_obs, n))
    for v in range(1, n):
        parents = rng.choice(v, min(v, 2), replace=False)
        values[:, v] += values[:, parents] @ rng.uniform(0.4, 1.0, len(parents))
    names = np.array([f"x{v}" for v in range(n)])
    tiers = [own.tolist() for own in np.split(names, np.cumsum(sizes)[:-1])]
    return pd.DataFrame(values, columns=names), tiers


def dynamic(n_variables: int, lags: int, seed: int = 1) -> op.Dag:
    """Every variable depends on its own past, on another's, and often on one of the same time."""
    rng = np.random.default_rng(seed)
    names = [f"x{v}" for v in range(n_variables)]
    edges = [(f"{name}[-1]", name) for name in names]
    for v, name in enumerate(names):
        other = names[int(rng.integers(n_variables))]
        edges.append((f"{other}[-{1 + int(rng.integers(lags))}]", name))
        if v and rng.random() < 0.7:
            edges.append((names[int(rng.integers(v))], name))
    every = names + [f"{name}[-{lag}]" for lag in range(1, lags + 1) for name in names]
    return op.Dag.from_edges(every, sorted(set(edges)))


def _tiers() -> None:
    three, tiers = tiered([15, 15, 15], ROWS)
    alone = {"roots": tiers[0] + tiers[1], "max_parents": 3}
    ten, ten_tiers = tiered([10] * 10, ROWS)
    large, large_tiers = tiered([30, 10], ROWS)
    wide, (roots, _) = tiered([500, 20], ROWS)
    problems: dict[str, tuple[pd.DataFrame, dict[str, object]]] = {
        "the last 15 of 45, all others roots": (three, alone),
        "45 in three tiers of 15": (three, {"tiers": tiers, "max_parents": 3}),
        "100 in ten tiers of 10": (ten, {"tiers": ten_tiers, "max_parents": 3}),
        "500 roots and 20 others": (wide, {"roots": roots}),
        "a tier of 30, one of 10, 5,000 steps": (
            large,
            {"tiers": large_tiers, "max_parents": 3, "steps": 5000},
        ),
    }
    print(f"{'problem':<38} {'seconds':>8} {'processor':>10}  verdict")
    for name, (data, options) in problems.items():
        _print(name, lambda data=data, options=options: op.learn(data, seed=1, **options))


def _series() -> None:
    truth = dynamic(12, 2)
    frame = op.simulate_series(truth, 302, 1)
    data = op.load_series(frame, time="time", lags=2)
    print(f"{'problem':<38} {'seconds':>8} {'processor':>10}  verdict")
    found = _print("12 variables, 2 lags, 300 pairs", lambda: op.learn(data, seed=1))
    flat = _print(
        "the same rows without time", lambda: op.learn(frame.drop(columns="time"), seed=1)
    )
    names = [name for name in truth.names if "[" not in name]
    true = {edge for edge in truth.edges if set(edge) <= set(names)}
    print("\nedges within a time, probability 0.5 or more: right, wrong, missed")
    for label, post in (("with time", found), ("without", flat)):
        print(f"{label:<12} {_recovery(post.edge_probabilities.loc[names, names], true)}")
    lagged = {edge for edge in truth.edges if "[" in edge[0]}
    earlier = [name for name in truth.names if "[" in name]
    print(f"{'lagged':<12} {_recovery(found.edge_probabilities.loc[earlier, names], lagged)}")


def _recovery(edges: pd.DataFrame, true: set[tuple[str, str]]) -> str:
    """How many of the probable edges are true, how many are not, and how many are missed."""
    likely = {(u, v) for u in edges.index for v in edges.columns if edges.loc[u, v] >= 0.5}
    return f"{len(likely & true)}, {len(likely - true)}, {len(true - likely)} of {len(true)}"


def _print(name: str, learn: Callable[[], op.Posterior]) -> op.Posterior:
    learn()  # compiles
    wall, processor = time.perf_counter(), time.process_time()
    post = learn()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(f"{name:<38} {wall:8.2f} {processor:10.2f}  {post.verdict.split(';')[0]}", flush=True)
    return post

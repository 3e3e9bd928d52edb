"""Scoring every family: seconds for a whole table, after compilation."""

import time

import numpy as np

import outpoint as op
from benchmarks.problems import PAPER_SCORE, alarm, gaussian
from outpoint.scores import BDeu
from outpoint.scores.base import count_subsets


def mixture() -> op.Dataset:
    """20 variables, every second one categorical with 2 to 5 levels, 1,000 rows."""
    rng = np.random.default_rng(20)
    dag = op.random_dag(20, rng, law="erdos_renyi", edge_probability=3 / 19)
    levels = [None if v % 2 == 0 else int(rng.integers(2, 6)) for v in range(20)]
    return op.simulate(dag, 1000, rng, kind="mixed", coefficients="bounded", levels=levels)


def main(arguments: list[str]) -> None:
    """Print a table of times."""
    problems = [
        ("BGe", gaussian(20, 200, 5), PAPER_SCORE, 5),
        ("BGe", op.datasets.boston(), PAPER_SCORE, 13),
        ("BDeu", alarm(), BDeu(), 3),
        ("BDeu", op.datasets.asia(), BDeu(), 7),
        ("Blocks", mixture(), op.Blocks(), 19),
        ("CG", mixture(), op.ConditionalGaussian(), 5),
        ("CG", mixture(), op.ConditionalGaussian(), 19),
    ]
    for _, data, score, _ in problems:
        score.bind(data).every_family(1)  # compiles
    print("score   nodes  rows   K  families   seconds")
    for name, data, score, max_parents in problems:
        start = time.perf_counter()
        score.bind(data).every_family(max_parents)
        seconds = time.perf_counter() - start
        families = data.n_nodes * count_subsets(data.n_nodes - 1, max_parents)
        print(
            f"{name:<6}  {data.n_nodes:>5}  {data.n_obs:>4}  {max_parents:>2}  {families:>8}"
            f"  {seconds:8.3f}"
        )

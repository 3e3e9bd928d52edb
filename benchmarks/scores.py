"""Scoring every family: seconds for a whole table, after compilation."""

import time

import outpoint as op
from benchmarks.problems import PAPER_SCORE, alarm, gaussian
from outpoint.scores import BDeu
from outpoint.scores.families import count_subsets


def main(arguments: list[str]) -> None:
    """Print a table of times."""
    problems = [
        ("BGe", gaussian(20, 200, 5), PAPER_SCORE, 5),
        ("BGe", op.datasets.boston(), PAPER_SCORE, 13),
        ("BDeu", alarm(), BDeu(), 3),
        ("BDeu", op.datasets.asia(), BDeu(), 7),
    ]
    for _, data, score, _ in problems:
        score.bind(data).every_family(1)  # compiles
    print("score  nodes  rows   K  families   seconds")
    for name, data, score, max_parents in problems:
        start = time.perf_counter()
        score.bind(data).every_family(max_parents)
        seconds = time.perf_counter() - start
        families = data.n_nodes * count_subsets(data.n_nodes - 1, max_parents)
        print(
            f"{name:<5}  {data.n_nodes:>5}  {data.n_obs:>4}  {max_parents:>2}  {families:>8}"
            f"  {seconds:8.3f}"
        )

"""Tables of results, from outcomes whose numbers are known."""

from itertools import permutations

import numpy as np
import pytest

from outpoint.experiments import FULL, PROBLEMS, QUICK
from outpoint.experiments.figures import draw_figures
from outpoint.experiments.runs import Exact, Outcome, Results, run_sampler, second_half
from outpoint.experiments.tables import (
    THREE_NODE_DAGS,
    THREE_NODE_ORDERS,
    best_scores_table,
    edge_law_table,
    errors_table,
    to_markdown,
)
from tests.reference import all_dags


def made_up(extent=FULL) -> Results:
    """Boston: four seeds of two samplers; the best DAG has score 0 and probability 0.001."""
    n = 14
    edges = np.zeros((n, n))
    edges[0, 1] = 0.5
    exact = Exact(
        np.array(0.0),
        np.array(1.0),
        np.array(0.001),
        edges,
        np.linspace(-20, 0, 1000),
        np.full(1000, 3),
        np.stack([edges + 0.1, edges - 0.1]),
    )
    outcomes = {}
    for number, method in enumerate(PROBLEMS["boston"]().steps):
        scores = np.full((4, 10), -50.0)
        scores[:, 7] = [0.0, -0.005, -1.0 - number, -2.0]
        of_seeds = np.repeat(edges[None], 4, axis=0)
        of_seeds[:, 0, 1] = [0.6, 0.8, 0.6, 0.8]
        outcomes[method] = Outcome(
            scores,
            np.full((4, 10), 2),
            of_seeds,
            scores.max(axis=1),
            np.array(8.0),
            np.array(12.0),
        )
    return Results(PROBLEMS["boston"](), extent, exact, outcomes)


def test_best_scores():
    table = best_scores_table(made_up()).set_index("sampler")
    row = table.loc["structure"]
    assert row["within 0.01"] == 0.5
    assert row["quartiles"] == "-1.25, -0.50, 0.00"
    assert (row["CPU s per seed"], row["seconds, all seeds"]) == (3.0, 8.0)
    assert table.loc["partition", "paper within 0.01"] == 0.17
    assert np.isnan(table.loc["order", "paper within 0.01"])
    ceiling = table.loc["1,000 independent draws", "within 0.01"]
    assert ceiling == pytest.approx(1 - 0.999**1000)


def test_short_chains_are_not_put_beside_the_paper_s():
    assert not any("paper" in column for column in best_scores_table(made_up(QUICK)))


def test_errors_and_averages():
    row = errors_table(made_up()).set_index("sampler").loc["order"]
    assert row["error of a seed"] == pytest.approx(0.2)
    assert row["error of all"] == pytest.approx(0.2)
    assert row["standard error"] == pytest.approx(np.std([0.6, 0.8, 0.6, 0.8], ddof=1) / 2)
    assert row["edges"] == 2
    assert row["scores -14 to -10"] == 0
    ideal = errors_table(made_up()).iloc[0]
    assert ideal["error of a seed"] == pytest.approx(0.1)
    assert ideal["scores -14 to -10"] == pytest.approx(0.2, abs=0.002)


def test_three_nodes_are_counted_right():
    dags = all_dags(3)
    n_edges = dags.sum(axis=(1, 2))
    in_order = [sum(not dag[np.ix_(p, p)][np.tril_indices(3)].any() for p in permutations(range(3)))
                for dag in dags]  # fmt: skip
    assert np.bincount(n_edges).tolist() == list(THREE_NODE_DAGS)
    assert np.bincount(n_edges, in_order).tolist() == list(THREE_NODE_ORDERS)


def test_markdown():
    lines = to_markdown(best_scores_table(made_up())).splitlines()
    assert lines[0].startswith("| sampler | steps | within 0.01 | quartiles |")
    assert lines[1].startswith("|---|---|---:|---|")
    assert len({line.count("|") for line in lines}) == 1
    assert lines[-1].startswith("| 1,000 independent draws | - | 0.632 | - | - | - |")


def test_second_half():
    assert second_half(np.arange(10).reshape(1, 10)).tolist() == [[5, 6, 7, 8, 9]]


def test_figures_of_every_kind():
    results = made_up()
    names = [name for name, _ in draw_figures(results)]
    assert {"traces", "densities", "errors", "averages", "seeds-structure+rev"} <= set(names)
    assert len(names) == 4 + len(results.outcomes)


@pytest.mark.long
def test_numbers_of_edges_on_three_nodes(tmp_path):
    """Every sampler has its law, order MCMC the biased one: |z| < 5, 24 tests, one in 70,000."""
    problem = PROBLEMS["three-nodes"]()
    for method in problem.steps:
        outcome = run_sampler(problem, method, FULL, tmp_path)
        law = edge_law_table(made_up()._replace(problem=problem, outcomes={method: outcome}))
        laws = law.set_index("sampler")
        right, wrong = "posterior", "posterior, once per order"
        if method == "order":
            right, wrong = wrong, right
        shares = np.stack([(second_half(outcome.n_edges) == k).mean(axis=1) for k in range(4)])
        error = shares.std(axis=1, ddof=1) / np.sqrt(shares.shape[1])
        assert (np.abs(laws.loc[method] - laws.loc[right]) < 5 * error).all(), method
        assert (np.abs(laws.loc[method] - laws.loc[wrong]) > 5 * error).all(), method

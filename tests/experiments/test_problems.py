"""The experiments have the paper's data, limits and chain lengths."""

from pathlib import Path

import numpy as np
import pytest

import outpoint as op
from outpoint.experiments import FULL, PROBLEMS, QUICK
from outpoint.experiments.problems import NAMES, PAPER_DATA


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """No files of the paper: data are simulated."""
    monkeypatch.delenv(PAPER_DATA, raising=False)


@pytest.mark.parametrize(
    ("name", "n_obs", "n_nodes", "max_parents", "thousands"),
    [
        ("five-nodes", 100, 5, 4, (50, 40, 20, 10, 9)),
        ("boston", 506, 14, 3, (1000, 500, 150, 60, 56)),
        ("sim14", 500, 14, 6, (1000, 500, 70, 35, 32)),
        ("sim18", 200, 18, 5, (1000, 1000, 140, 70, 60)),
        ("sim20", 200, 20, 5, (1000, 1000, 140, 70, 60)),
    ],
)
@pytest.mark.usefixtures("recipe")
def test_sizes_and_chain_lengths(name, n_obs, n_nodes, max_parents, thousands):
    problem = PROBLEMS[name]()
    assert problem.name == name
    assert problem.data.values.shape == (n_obs, n_nodes)
    assert problem.max_parents == max_parents
    assert problem.score == op.BGe(standardize=False)
    steps = tuple(FULL.steps_of(problem, method) // 1000 for method in NAMES)
    assert steps == thousands
    assert QUICK.steps_of(problem, "structure") < FULL.steps_of(problem, "structure")
    assert problem.is_published == (name == "boston")


def test_boston_is_coded_as_in_the_paper():
    problem = PROBLEMS["boston"]()
    empty = op.Dag.from_edges(problem.data.names, [])
    assert op.log_score(problem.data, empty, problem.score) == pytest.approx(-22590.93197, abs=1e-5)


@pytest.mark.usefixtures("recipe")
def test_recipe_of_the_simulations():
    """Coefficients 2, noise of variance 0.2; estimates within 5 standard errors."""
    problem = PROBLEMS["sim14"]()
    adjacency, values = problem.truth.adjacency, problem.data.values
    assert adjacency.sum(axis=0).max() == problem.max_parents
    for node in range(14):
        residuals = values[:, node] - 2.0 * values[:, adjacency[:, node]].sum(axis=1)
        assert residuals.var() == pytest.approx(0.2, abs=5 * 0.2 * np.sqrt(2 / 500))
    assert PROBLEMS["sim14"]().data == problem.data


def test_files_of_the_paper_replace_the_simulation(tmp_path: Path, monkeypatch):
    values = np.random.default_rng(0).normal(size=(20, 5))
    table = "\n".join(",".join(map(str, row)) for row in values)
    (tmp_path / "sim5.csv").write_text(f"x1,x2,x3,x4,x5\n{table}\n")
    (tmp_path / "sim5_dag.csv").write_text("parent,child\nx1,x2\n")
    monkeypatch.setenv(PAPER_DATA, str(tmp_path))
    problem = PROBLEMS["five-nodes"]()
    assert problem.is_published
    np.testing.assert_array_equal(problem.data.values, values)
    assert list(problem.truth.edges) == [("x1", "x2")]
    assert not PROBLEMS["sim18"]().is_published

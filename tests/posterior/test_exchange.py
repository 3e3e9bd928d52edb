"""Draws in the forms of other programs: every one of them comes back."""

import csv
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

import outpoint as op
from outpoint.errors import OptionError
from tests.posterior.problems import random_problem


@lru_cache
def posterior(method: str) -> op.Posterior:
    options = {} if method == "exact" else {"steps": 600, "chains": 3, "draws": 50}
    return random_problem(4).learn(method, seed=4, **options)


METHODS = ["exact", "mcmc", "structure"]


@pytest.mark.parametrize("method", METHODS)
def test_groups_and_coordinates(method: str) -> None:
    asked = posterior(method)
    tree = asked.to_arviz()
    assert set(tree.children) == {"posterior", "sample_stats"}
    dags = tree["posterior"]["dag"]
    assert dags.dims == ("chain", "draw", "parent", "child")
    assert list(dags["parent"].to_numpy()) == list(dags["child"].to_numpy()) == list(asked.names)
    np.testing.assert_array_equal(dags["draw"], np.arange(dags.sizes["draw"]))
    np.testing.assert_array_equal(dags, asked.dags())
    counted = [[dag.sum() for dag in chain] for chain in asked.dags().to_numpy()]
    np.testing.assert_array_equal(tree["posterior"]["n_edges"], counted)
    np.testing.assert_array_equal(tree["sample_stats"]["lp"], asked.log_scores)
    assert tree["posterior"].attrs["inference_library"] == "outpoint"


@pytest.mark.parametrize("method", ["mcmc", "structure"])
def test_effective_sample_size_from_the_tree(method: str) -> None:
    """Between one draw and, for draws that alternate, somewhat more than there are."""
    from arviz_stats.base.array import array_stats

    n_edges = posterior(method).to_arviz()["posterior"]["n_edges"].to_numpy().astype(float)
    ess = float(array_stats.ess(n_edges, chain_axis=0, draw_axis=1))
    assert 1 < ess < n_edges.size * np.log10(n_edges.size)


@pytest.mark.parametrize("method", ["mcmc", "structure"])
def test_summary_of_arviz(method: str) -> None:
    """Its means are those of the draws; needs the part of arviz-stats that knows xarray."""
    import arviz_stats as az

    if not hasattr(az, "summary"):
        pytest.skip("arviz-stats is installed without its xarray interface")
    asked = posterior(method)
    table = az.summary(asked.to_arviz(), var_names=["n_edges"], round_to="none")
    draws = asked.dags().to_numpy().sum((-2, -1))
    assert float(table.loc["n_edges", "mean"]) == pytest.approx(draws.mean())


def read_trajectory(path: Path) -> tuple[list[list[str]], dict[int, set[tuple[str, str]]]]:
    """The rows, and the edges after each row from 0 on, as Benchpress reads them."""
    with open(path, encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file))
    assert header == ["index", "score", "added", "removed"]
    edges: set[tuple[str, str]] = set()
    states = {}
    for index, _, added, removed in rows:
        for text, change in ((added, edges.add), (removed, edges.remove)):
            assert (text[0], text[-1]) == ("[", "]")
            for edge in filter(None, text[1:-1].split(";")):
                parent, child = edge.split("->")
                change((parent, child))
        states[int(index)] = set(edges)
    return rows, states


@pytest.mark.parametrize("method", METHODS)
def test_every_draw_comes_back(tmp_path: Path, method: str) -> None:
    asked = posterior(method)
    for chain, dags in enumerate(asked.dags().to_numpy()):
        asked.write_trajectory(tmp_path / "t.csv", chain)
        rows, states = read_trajectory(tmp_path / "t.csv")
        assert [row[0] for row in rows[:3]] == ["-2", "-1", "0"]
        assert rows[0][2:] == ["[a->b;a->c;a->d]", "[]"]
        assert rows[1][2:] == ["[]", "[a->b;a->c;a->d]"]
        assert int(rows[-1][0]) == len(dags) - 1
        current: set[tuple[str, str]] = set()
        for index, dag in enumerate(dags):
            current = states.get(index, current)
            assert current == {(asked.names[u], asked.names[v]) for u, v in np.argwhere(dag)}
        log_scores = asked.log_scores.to_numpy()[chain]
        assert all(float(row[1]) == log_scores[int(row[0])] for row in rows[2:])
        unchanged = [row for row in rows[3:-1] if row[2] == row[3] == "[]"]
        assert unchanged == [], "only changes have a row"


@pytest.mark.parametrize("chain", [-1, 3, 10**30])
def test_no_such_chain(tmp_path: Path, chain: int) -> None:
    with pytest.raises(OptionError, match="choose one from 0 to 2"):
        posterior("mcmc").write_trajectory(tmp_path / "t.csv", chain)
    with pytest.raises(OptionError, match="there is only chain 0"):
        posterior("exact").write_trajectory(tmp_path / "t.csv", chain)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a,b", "a;b", "a->b", "[a", "a]", 'a"', "a\nb", "a\r", "a\u2028"])
def test_names_that_would_be_misread(tmp_path: Path, name: str) -> None:
    values = np.random.default_rng(0).normal(size=(9, 2))
    asked = op.learn(op.Dataset((name, "b"), values))
    with pytest.raises(OptionError, match="rename the variable"):
        asked.write_trajectory(tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []


def test_unwritable(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="No such file"):
        posterior("exact").write_trajectory(tmp_path / "no" / "t.csv")

"""``outpoint export``: what other programs read back is what the posterior holds."""

import csv
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import outpoint as op
from outpoint.graphs import read_dag
from tests.cli.conftest import HOSTILE, Run, Runs, listing


@pytest.mark.parametrize("suffix", ["dot", "gv", "graphml", "xml", "csv", "bn", "dagitty"])
@pytest.mark.parametrize("what", ["map", "median", "consensus"])
def test_graph(run: Run, runs: Runs, what: str, suffix: str) -> None:
    posterior = op.load(runs.exact)
    words = ["--threshold", "0.9"] if what == "consensus" else []
    outcome = run("export", str(runs.exact), f"g.{suffix}", "--what", what, *words)
    assert (outcome.code, outcome.err) == (0, "")
    probabilities = posterior.edge_probabilities.to_numpy()
    limit = 0.9 if what == "consensus" else 0.5
    expected = (
        posterior.map_dag
        if what == "map"
        else op.Dag.from_adjacency(probabilities >= limit, posterior.names)
    )
    assert read_dag(f"g.{suffix}") == expected
    assert listing() == ["data.csv", f"g.{suffix}"]


def test_edges_left_out_are_named_in_one_line(run: Run, runs: Runs) -> None:
    words = ["export", str(runs.exact), "g.dot", "--what", "consensus", "--threshold", "1e-9"]
    outcome = run(*words)
    assert outcome.code == 0
    assert outcome.err.startswith("outpoint: ")
    assert outcome.err.count("\n") == 1
    assert "warnings.warn" not in outcome.err
    assert run(*words, "--quiet").err == ""


@pytest.mark.parametrize("what", ["map", "consensus", "probabilities", "edges"])
def test_the_same_in_python(run: Run, runs: Runs, what: str) -> None:
    words = ["--threshold", "0.9"] if what in ("consensus", "probabilities") else []
    for suffix in ("csv",) if what == "edges" else ("csv", "dot", "graphml"):
        run("export", str(runs.exact), f"shell.{suffix}", "--what", what, *words)
        op.load(runs.exact).export(
            f"python.{suffix}", what, threshold=float(words[1]) if words else None
        )
        assert Path(f"shell.{suffix}").read_bytes() == Path(f"python.{suffix}").read_bytes()


def test_probabilities(run: Run, runs: Runs) -> None:
    expected = op.load(runs.exact).edge_probabilities
    assert run("export", str(runs.exact), "p.csv", "--what", "probabilities").code == 0
    found = pd.read_csv("p.csv")
    assert list(found.columns) == list(expected.columns)
    np.testing.assert_array_equal(found, expected)
    run("export", str(runs.exact), "p.graphml", "--what", "probabilities", "--threshold", "0.3")
    graph = nx.read_graphml("p.graphml")
    assert dict(graph.edges) == {
        (u, v): {"probability": expected.loc[u, v]}
        for u in expected.index
        for v in expected.columns
        if expected.loc[u, v] >= 0.3
    }
    assert 0 < graph.number_of_edges() < 12
    assert list(graph.nodes) == list(expected.index)


def test_edges(run: Run, runs: Runs) -> None:
    run("export", str(runs.sampled), "e.csv", "--what", "edges")
    expected = op.load(runs.sampled).diagnostics()
    found = pd.read_csv("e.csv")
    assert list(found.columns) == list(expected.columns)
    np.testing.assert_allclose(found["probability"], expected["probability"])
    assert list(found["parent"] + found["child"]) == list(expected["parent"] + expected["child"])


@pytest.mark.parametrize("kind", ["exact", "sampled", "hostile"])
def test_arviz(run: Run, runs: Runs, kind: str) -> None:
    place = getattr(runs, kind)
    assert run("export", str(place), "d.nc", "--what", "arviz").code == 0
    posterior = op.load(place)
    with xr.open_datatree("d.nc", engine="h5netcdf") as tree:
        np.testing.assert_array_equal(tree["posterior"]["dag"], posterior.dags())
        np.testing.assert_array_equal(tree["sample_stats"]["lp"], posterior.log_scores)
        assert tuple(tree["posterior"]["parent"].to_numpy()) == posterior.names
        assert tree["posterior"].attrs["seed"] == str(posterior.info.seed)


@pytest.mark.parametrize("chain", [0, 1])
def test_trajectory(run: Run, runs: Runs, chain: int) -> None:
    words = ["--what", "trajectory", "--chain", str(chain)]
    assert run("export", str(runs.sampled), "t.csv", *words).code == 0
    op.load(runs.sampled).write_trajectory("expected.csv", chain)
    assert Path("t.csv").read_bytes() == Path("expected.csv").read_bytes()


def test_hostile_names_in_csv(run: Run, runs: Runs) -> None:
    assert run("export", str(runs.hostile), "g.csv").code == 0
    with open("g.csv", encoding="utf-8", newline="") as file:
        assert next(csv.reader(file)) == HOSTILE
    assert read_dag("g.csv") == op.load(runs.hostile).map_dag


def test_failed_write_leaves_nothing(run: Run, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Path, content: bytes) -> None:
        with open(self, "wb") as file:
            file.write(content[:5])
        raise OSError(28, "No space left on device")

    Path("g.dot").write_text("mine")
    monkeypatch.setattr(Path, "write_bytes", fail)
    outcome = run("export", str(runs.exact), "g.dot")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "outpoint: cannot write g.dot: No space left on device.\n"
    assert Path("g.dot").read_text() == "mine"
    assert listing() == ["data.csv", "g.dot"]

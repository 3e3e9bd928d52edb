"""Posteriors in files: what is written is what the posterior says, and it can be read back."""

from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint.errors import DataError, OptionError
from outpoint.posterior import write_run
from outpoint.runs import RunDirectory

NAMES = ("=cmd|' /C calc'!A0", "NA", "two\r\nlines", "'+1", " 007")


@pytest.fixture(scope="module")
def posterior() -> op.Posterior:
    values = np.random.default_rng(3).normal(size=(30, 5))
    values[:, 1] += values[:, 0]
    return op.learn(op.Dataset(NAMES, values), seed=1)


def same_edges(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, check_exact=True)


def test_edges_come_back_and_start_no_program(posterior: op.Posterior, tmp_path: Path) -> None:
    posterior.export(tmp_path / "e.csv", "edges")
    same_edges(op.read_edges(tmp_path / "e.csv"), posterior.diagnostics())
    (tmp_path / "run").mkdir()
    write_run(posterior, RunDirectory(tmp_path / "run"))
    columns = ["parent", "child", "probability", "mcse", "rhat", "ess", "status"]
    same_edges(op.read_edges(tmp_path / "run" / "edges.csv"), posterior.diagnostics()[columns])
    for name in ("e.csv", "run/edges.csv"):
        raw = pd.read_csv(tmp_path / name, keep_default_na=False)
        assert set(raw["parent"]) == {"'" + NAMES[0], "''+1", *NAMES[1:3], NAMES[4]}


def test_every_edge_has_its_own_probability(posterior: op.Posterior, tmp_path: Path) -> None:
    probabilities = posterior.edge_probabilities
    for what, dag in (("map", posterior.map_dag), ("median", posterior.median_probability_dag)):
        posterior.export(tmp_path / "g.graphml", what)
        graph = nx.read_graphml(tmp_path / "g.graphml")
        assert {(u, v): p for u, v, p in graph.edges(data="probability")} == {
            edge: probabilities.loc[edge] for edge in dag.edges
        }
        assert op.read_dag(tmp_path / "g.graphml") == dag


def test_consensus_has_its_threshold(posterior: op.Posterior, tmp_path: Path) -> None:
    posterior.export(tmp_path / "g.csv", "consensus", threshold=0.9)
    assert op.read_dag(tmp_path / "g.csv") == posterior.consensus_dag(0.9)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("g.dot", "magic"), "one of map, median"),
        (("g.txt", "map"), "map can be written to .dot"),
        (("g.bn", "probabilities"), "probabilities can be written to"),
        (("g.dot", "edges"), "edges can be written to .csv"),
        (("g.dot", "map", 0.5), "threshold belongs to"),
        (("g.dot", "probabilities", float("nan")), "from 0 to 1"),
        (("no/g.dot", "map"), "No such file"),
    ],
)
def test_refused(
    posterior: op.Posterior,
    words: tuple[str, str] | tuple[str, str, float],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    path, what, *threshold = words
    with pytest.raises(OptionError, match=message):
        posterior.export(path, what, threshold=threshold[0] if threshold else None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a table of edges"),
        (b"a,b\n1,2\n", "not a table of edges"),
        (b"\xff\xfe", "not a text file in UTF-8"),
        (b"parent,child,p\na,b,x\n", "not a table of edges"),
        (b"parent,child,p,p\na,b,1,1\n", "not a table of edges"),
        (b"parent,child" + b",p" * 10**6, "not a table of edges"),
        (b",".join(b"%d" % i for i in range(10**5)), "not a table of edges"),
    ],
)
def test_other_files_are_no_edges(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_bytes(content)
    with pytest.raises(DataError, match=message):
        op.read_edges(tmp_path / "e.csv")
    with pytest.raises(DataError, match="No such file"):
        op.read_edges(tmp_path / "none.csv")

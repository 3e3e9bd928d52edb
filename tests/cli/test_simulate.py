"""``outpoint simulate``: data and their DAG, the same as from Python with the same seed."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint.graphs import read_dag
from tests.cli.conftest import TRUTH, Run, listing


def test_same_as_python(run: Run) -> None:
    words = ["--nodes", "5", "-n", "40", "--max-parents", "2", "--seed", "9"]
    outcome = run("simulate", *words, "--out", "s.csv", "--truth", "s.dot")
    assert (outcome.code, outcome.err) == (0, "")
    rng = np.random.default_rng(9)
    dag = op.random_dag(5, rng, max_parents=2)
    data = op.simulate(dag, 40, rng, kind="gaussian", coefficients="bounded")
    assert read_dag("s.dot") == dag
    assert op.learn("s.csv").info.fingerprint == data.fingerprint()
    edges = f"s.dot: their DAG, {dag.n_edges} edges"
    assert outcome.out == f"s.csv: 40 observations of 5 gaussian variables\n{edges}\n"
    assert run("simulate", *words).out == Path("s.csv").read_text()
    assert listing() == ["data.csv", "s.csv", "s.dot"]


def test_given_graph_and_coefficient(run: Run) -> None:
    """Regression on the parents finds the coefficient, within 5 standard errors."""
    Path("t.dot").write_text(TRUTH.to_dot())
    run("simulate", "t.dot", "-n", "4000", "--coefficient", "-1.5", "--seed", "2", "-o", "s.csv")
    frame = pd.read_csv("s.csv")
    assert list(frame.columns) == list("abcd")
    for parent, child in TRUTH.edges:
        slope = np.polyfit(frame[parent], frame[child], 1)[0]
        assert slope == pytest.approx(-1.5, abs=5 / np.sqrt(4000))
    assert abs(np.corrcoef(frame["a"], frame["c"])[0, 1]) < 5 / np.sqrt(4000)


def test_categories(run: Run) -> None:
    words = ["--kind", "categorical", "--levels", "3", "-n", "200", "--seed", "1"]
    assert run("simulate", "--nodes", "4", *words, "-o", "s.csv", "--quiet").out == ""
    frame = pd.read_csv("s.csv")
    assert frame.shape == (200, 4)
    assert all(frame[name].nunique() == 3 for name in frame)


def test_writes_into_a_pipe(run: Run, tmp_path: Path) -> None:
    """What is not an ordinary file is written to and never replaced."""
    import os
    import threading

    os.mkfifo("pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    outcome = run("simulate", "--nodes", "3", "-n", "2", "--seed", "1", "-o", "pipe", "-q")
    reader.join(timeout=10)
    assert outcome.code == 0
    assert read == [run("simulate", "--nodes", "3", "-n", "2", "--seed", "1").out]
    assert Path("pipe").is_fifo()


def test_erdos_renyi(run: Run) -> None:
    words = ["--nodes", "30", "-n", "5", "--law", "erdos_renyi", "--seed", "4", "-o", "s.csv"]
    run("simulate", *words, "--edge-probability", "0.1", "--truth", "s.dot")
    rng = np.random.default_rng(4)
    assert read_dag("s.dot") == op.random_dag(30, rng, law="erdos_renyi", edge_probability=0.1)


def test_large_dags_have_values_of_ordinary_size(run: Run) -> None:
    """A coefficient of 2 everywhere would give standard deviations of more than 10^10."""
    run("simulate", "--nodes", "60", "-n", "300", "--seed", "1", "-o", "s.csv")
    spread = pd.read_csv("s.csv").std()
    assert 0.8 < spread.min() < spread.max() < 2.7  # sqrt(5), and 5 standard errors
    run(
        "simulate", "--nodes", "60", "-n", "300", "--seed", "1", "--coefficient", "2", "-o", "t.csv"
    )
    assert pd.read_csv("t.csv").std().max() > 1e10

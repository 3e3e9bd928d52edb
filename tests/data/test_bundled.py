"""The bundled data sets: shape, coding, provenance."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint.data import bundled, load_dataset, simulate_from_tables
from outpoint.errors import DataError, OptionError

ASIA_SEED = 1988


def test_available_can_all_be_loaded() -> None:
    assert set(bundled.available()) == {"boston", "asia"}
    for name, description in bundled.available().items():
        ds = bundled.load(name)
        assert ds.source == name
        assert str(ds.n_obs) in description
        assert load_dataset(name) == ds


def test_unknown_name() -> None:
    with pytest.raises(DataError, match="no bundled data set 'iris'; there are: boston, asia"):
        bundled.load("iris")


def test_a_file_of_that_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "boston").mkdir()
    (tmp_path / "asia").write_text("a,b\n1.5,2\n")
    assert load_dataset("boston").n_nodes == 14
    assert load_dataset("asia", keep=True).names == ("a", "b")


def test_boston() -> None:
    ds = bundled.boston()
    names = "crim zn indus chas nox rm age dis rad tax ptratio black lstat medv"
    assert ds.names == tuple(names.split())
    assert ds.values.shape == (506, 14)
    assert ds.is_continuous
    # published facts about the table
    assert ds.values[:, ds.index("medv")].mean() == pytest.approx(22.532806, abs=1e-6)
    assert ds.values[:, ds.index("crim")].max() == 88.9762
    assert ds.values[0].tolist()[-3:] == [396.9, 4.98, 24.0]


def test_boston_coding_of_chas() -> None:
    paper, original = bundled.boston(), bundled.boston(chas="original")
    chas = paper.index("chas")
    assert np.bincount(original.values[:, chas].astype(int)).tolist() == [471, 35]
    difference = paper.values - original.values
    assert (difference[:, chas] == 1).all()
    assert np.count_nonzero(difference) == 506
    with pytest.raises(OptionError, match="chas must be"):
        bundled.boston(chas="binary")  # type: ignore[arg-type]


@pytest.mark.skipif("OUTPOINT_PAPER_DATA" not in os.environ, reason="needs the paper's data files")
def test_boston_is_the_table_of_the_paper() -> None:
    path = Path(os.environ["OUTPOINT_PAPER_DATA"]) / "boston_paper.csv"
    assert load_dataset(path, continuous="all") == bundled.boston()


CARDINALITY_FILES = {
    "alarm1k.dat": (1000, 37, 4),
    "asia1k.dat": (1000, 8, 2),
    "child1k.dat": (1000, 20, 6),
    "hail1k.dat": (1000, 56, 11),
    "path1k.dat": (1000, 109, 63),
    "pigs1k.dat": (1000, 441, 3),
    "zoo.dat": (101, 17, 8),
}


@pytest.mark.skipif("OUTPOINT_PAPER_DATA" not in os.environ, reason="needs the paper's data files")
@pytest.mark.parametrize(("name", "expected"), CARDINALITY_FILES.items())
def test_benchmark_files(name: str, expected: tuple[int, int, int]) -> None:
    ds = load_dataset(Path(os.environ["OUTPOINT_PAPER_DATA"]) / name)
    assert (ds.n_obs, ds.n_nodes, ds.cardinalities.max()) == expected


def test_a_table_that_declares_its_states_is_taken_whole() -> None:
    states = pd.DataFrame({"a": [2, 0, 1, 0, 1], "b": [2, 1, 0, 1, 0], "c": [3, 0, 1, 2, 0]})
    ds = load_dataset(states, cardinality_row=True)
    assert ds.names == ("a", "b", "c")
    assert ds.copied_columns == (("a", "b"),)
    assert op.learn(ds, progress=False).names == ds.names
    assert load_dataset(states[1:]).names == ("a", "c")


def test_asia() -> None:
    ds = bundled.asia()
    assert ds.names == bundled.ASIA_NAMES
    assert ds.n_obs == 1000
    assert ds.levels == (("no", "yes"),) * 8
    assert ds.constant_columns == ()
    codes = {name: ds.codes[:, ds.index(name)] for name in ds.names}
    assert (codes["either"] == (codes["tub"] | codes["lung"])).all()


def test_asia_is_reproduced_by_the_simulator() -> None:
    labels = [("no", "yes")] * 8
    dag, tables = bundled.asia_dag(), bundled.asia_tables()
    again = simulate_from_tables(dag, tables, 1000, ASIA_SEED, labels=labels)
    assert again == bundled.asia()
    assert simulate_from_tables(dag, tables, 1000, ASIA_SEED + 1, labels=labels) != again


def test_asia_dag_and_marginals() -> None:
    """The exact marginals that follow from the published tables (a sum over all 256 states)."""
    dag, tables = bundled.asia_dag(), bundled.asia_tables()
    assert len(dag.edges) == 8
    joint = np.ones((2,) * 8)
    for state in np.ndindex(*joint.shape):
        for v, name in enumerate(dag.names):
            parents = np.flatnonzero(dag.adjacency[:, v])
            joint[state] *= tables[name][(*(state[p] for p in parents), state[v])]
    assert joint.sum() == pytest.approx(1)
    yes = {n: joint.take(1, axis=v).sum() for v, n in enumerate(dag.names)}
    published = {"tub": 0.0104, "lung": 0.055, "bronc": 0.45, "either": 0.0648}
    published |= {"xray": 0.1103, "dysp": 0.4360}
    for name, probability in published.items():
        assert yes[name] == pytest.approx(probability, abs=5e-5), name

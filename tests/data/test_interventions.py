"""Which variables were set in each row: read from columns and lists, kept, written, simulated."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import outpoint as op
from outpoint.data import simulate_from_tables
from outpoint.data.interventions import parse_interventions, write_entries
from outpoint.errors import DataError, OptionError

NAMES = ("a", "b", "long name")
ROWS = ((), ("a",), ("a", "b"), ("long name",), ("b", "long name"), ())
CELLS = ["", "a", "b;a", "long name", "b ; long name", "NA"]


def values(n_rows: int = 6) -> np.ndarray:
    return np.random.default_rng(3).normal(size=(n_rows, 3)).round(3)


def frame() -> pd.DataFrame:
    return pd.DataFrame(values(), columns=list(NAMES)).assign(target=CELLS)


@pytest.mark.parametrize("separator", [";", "|", ",", " | ", ", "])
def test_separators(separator):
    entries = [separator.join(["a", "b"]), separator.join(["long name", "b"])]
    assert parse_interventions(entries, NAMES) == (("a", "b"), ("b", "long name"))


def test_white_space_separates_names_without_it():
    assert parse_interventions(["b a", " a "], NAMES) == (("a", "b"), ("a",))


def test_names_that_hold_separators():
    names = ("x;y", "x", "y", "u,v")
    assert parse_interventions(["x;y", "y;x", "x|u,v"], names) == (
        ("x;y",),
        ("x", "y"),
        ("x", "u,v"),
    )
    rows = (("x;y", "u,v"), ("x", "y"), ("u,v",), ())
    assert parse_interventions(write_entries(rows, names), names) == rows


def test_lists_in_python():
    data = op.Dataset(
        NAMES, values(), interventions=[None, "a", ["b", "a"], ("long name",), "b", []]
    )
    assert data.interventions == ((), ("a",), ("a", "b"), ("long name",), ("b",), ())
    assert data.is_set.sum(axis=0).tolist() == [2, 2, 1]
    assert not data.is_set.flags.writeable
    assert data.target_sets == [
        ((), 2),
        (("a",), 1),
        (("long name",), 1),
        (("b",), 1),
        (("a", "b"), 1),
    ]
    entries = np.array([np.nan, "a", "", "", "", ""], dtype=object)
    assert op.load_dataset(values(), interventions=["", "x2", *4 * [None]]).interventions[1] == (
        "x2",
    )
    assert op.load_dataset(frame()[["a", "b"]], interventions=entries).interventions[1] == ("a",)


@pytest.mark.parametrize("source", ["csv", "pandas", "polars"])
def test_columns(source, tmp_path):
    table = frame()
    if source == "csv":
        table = _written(table, tmp_path)
    elif source == "polars":
        table = pl.DataFrame(table.to_dict("list"))
    found = op.load_dataset(table, interventions="target")
    assert found.names == NAMES
    assert found.interventions == ROWS
    assert found.reading == {"interventions": "target"}
    assert found.values == pytest.approx(values())
    assert op.load_dataset(found) is found
    turned = op.load_dataset(found, columns=["b", "a", "long name"])
    assert [set(one) for one in turned.interventions] == [set(one) for one in ROWS]
    again = op.load_dataset(found, interventions=[["a"]] * 6)
    assert again.interventions == (("a",),) * 6
    assert again.reading is None


def _written(table: pd.DataFrame, folder) -> str:
    path = folder / "table.csv"
    table.to_csv(path, index=False)
    return str(path)


def test_a_column_without_entries_changes_nothing(tmp_path):
    plain = op.load_dataset(frame()[list(NAMES)])
    for cells in ["", None, np.nan]:
        same = op.load_dataset(frame().assign(target=cells), interventions="target")
        assert same.interventions == ()
        assert same == plain
        assert same.fingerprint() == plain.fingerprint()
        assert same.describe() == plain.describe()


def test_rows_that_are_dropped_take_their_entries_along():
    table = frame()
    table.loc[[0, 2], "b"] = np.nan
    found = op.load_dataset(table, interventions="target", missing="drop")
    assert found.interventions == (ROWS[1], *ROWS[3:])
    listed = op.load_dataset(table[list(NAMES)], interventions=ROWS, missing="drop")
    assert listed.interventions == found.interventions


def test_a_row_of_cardinalities_has_no_entry(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b,target\n2,3,\n0,2,a\n1,0,\n1,1,b\n0,2,a;b\n")
    found = op.load_dataset(path, interventions="target", cardinality_row=True)
    assert found.interventions == (("a",), (), ("b",), ("a", "b"))
    assert found.cardinalities.tolist() == [2, 3]


def test_columns_that_are_numbers(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("1,2,set\n0.5,0.25,1\n0.1,0.75,2\n0.3,0.9,\n")
    assert op.load_dataset(path, interventions="set").interventions == (("1",), ("2",), ())


def test_a_data_set_keeps_what_was_set():
    data = op.Dataset(NAMES, values(), interventions=ROWS)
    plain = op.Dataset(NAMES, values())
    assert data != plain
    assert data.fingerprint() != plain.fingerprint()
    other = op.Dataset(NAMES, values(), interventions=ROWS[::-1])
    assert data.fingerprint() != other.fingerprint()
    for changed in (data.standardized(), data.discretized(2)):
        assert changed.interventions == data.interventions
    kept = data.take(np.array([False, True, True, False, False, True]))
    assert kept.interventions == (("a",), ("a", "b"), ())
    assert op.load_dataset(data.to_frame("set"), interventions="set") == data
    assert data.describe() == (
        "6 observations of 3 continuous variables; a, b and long name set in 4 rows"
    )


def test_refusals(tmp_path):
    with pytest.raises(DataError, match=r"in row 2 name 'ages', .* did you mean 'age'"):
        parse_interventions(["age", "ages"], ("age", "b"))
    with pytest.raises(DataError, match="the variables are 'a' and 'b', and the entry is empty"):
        parse_interventions(["a", "control"], ("a", "b"))
    with pytest.raises(DataError, match=r"in row 1 name 'c'"):
        op.load_dataset(frame().assign(target="b;c"), interventions="target")
    with pytest.raises(DataError, match="5 entries for 6 rows"):
        op.Dataset(NAMES, values(), interventions=ROWS[:5])
    with pytest.raises(DataError, match="7 entries for 6 rows"):
        op.load_dataset(values(), interventions=[*5 * [[]], ["x1"], []])
    with pytest.raises(OptionError, match="one entry for each row"):
        op.Dataset(NAMES, values(), interventions="a")
    with pytest.raises(DataError, match="not names of variables"):
        op.Dataset(NAMES, values(), interventions=[1, 0, 0, 0, 0, 0])
    with pytest.raises(OptionError, match=r"interventions names 'tagret', .*'target'"):
        op.load_dataset(frame(), interventions="tagret")
    with pytest.raises(DataError, match="name 'b', which is not one of the variables"):
        op.load_dataset(frame(), interventions="target", drop="b")
    with pytest.raises(DataError, match="name 'a'"):
        op.Dataset(NAMES, values(), interventions=ROWS).select(["b", "long name"])
    with pytest.raises(OptionError, match="'a' is a variable"):
        op.Dataset(NAMES, values()).to_frame("a")


DAG = op.Dag.from_edges(["a", "b", "c"], [("a", "b"), ("b", "c")])


def test_gaussian_variables_that_are_set_do_not_listen():
    n = 4000
    entries = [()] * n + [("b",)] * n
    data = op.simulate(DAG, 2 * n, 1, interventions=entries)
    assert data.interventions == tuple(entries)
    plain = op.simulate(DAG, 2 * n, 1)
    assert np.array_equal(data.values[:n], plain.values[:n])
    assert np.array_equal(data.values[:, 0], plain.values[:, 0])
    seen, done = np.corrcoef(data.values[:n].T), np.corrcoef(data.values[n:].T)
    # Correlations of independent columns are normal with sd 1/sqrt(n): 5 sd, false alarm 6e-7.
    assert np.abs(done[0, 1:]).max() < 5 / np.sqrt(n)
    assert seen[0, 1] > 0.8
    assert done[1, 2] > 0.8


def test_categorical_variables_that_are_set_are_uniform():
    n = 4000
    tables = {"a": [0.9, 0.1], "b": [[0.9, 0.05, 0.05], [0.1, 0.1, 0.8]], "c": np.eye(3)}
    entries = [()] * n + [("b",)] * n
    data = simulate_from_tables(DAG, tables, 2 * n, 1, interventions=entries)
    plain = simulate_from_tables(DAG, tables, 2 * n, 1)
    assert np.array_equal(data.values[:n], plain.values[:n])
    codes = data.codes[n:]
    assert np.array_equal(codes[:, 1], codes[:, 2])  # the child listens as ever
    for level in (0, 1):
        counts = np.bincount(codes[codes[:, 0] == level, 1], minlength=3)
        expected = counts.sum() / 3
        # Chi-squared with 2 degrees of freedom: above 30 with probability 3e-7.
        assert ((counts - expected) ** 2 / expected).sum() < 30


def test_mixed_variables_that_are_set_do_not_listen():
    n = 4000
    entries = [()] * n + [("b",)] * n + [("c",)] * n
    options = {"kind": "mixed", "levels": [None, 3, None], "coefficients": 2.0}
    data = op.simulate(DAG, 3 * n, 1, interventions=entries, **options)
    plain = op.simulate(DAG, 3 * n, 1, **options)
    assert np.array_equal(data.values[:n], plain.values[:n])
    counts = np.bincount(data.values[n : 2 * n, 1].astype(int), minlength=3)
    # Chi-squared with 2 degrees of freedom: above 30 with probability 3e-7.
    assert ((counts - n / 3) ** 2 / (n / 3)).sum() < 30
    assert abs(np.corrcoef(data.values[n : 2 * n, :2].T)[0, 1]) < 5 / np.sqrt(n)
    assert data.values[2 * n :, 2].std() == pytest.approx(1.0, abs=5 / np.sqrt(2 * n))
    assert data.values[:n, 2].std() > 1.3


def test_simulated_targets_are_checked():
    with pytest.raises(DataError, match="name 'd'"):
        op.simulate(DAG, 2, 1, interventions=["", "d"])
    with pytest.raises(DataError, match="1 entries for 2 rows"):
        op.simulate(DAG, 2, 1, interventions=["a"])

"""The options of reading: what they do, and that a data set remembers them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint.data import Dataset, load_dataset
from outpoint.errors import DataError

ROWS = "".join(f"{i},{i * i % 17 / 4},{'ab'[i % 2]},{(i * 7) % 5},{i % 3}\n" for i in range(20))
TEXT = f"id,x,g,q,z\n{ROWS}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "data.csv"
    file.write_text(TEXT)
    return file


def test_columns_in_the_order_asked_for(path: Path) -> None:
    ds = load_dataset(path, columns=["q", "x"])
    assert ds.names == ("q", "x")
    assert ds.kinds == ("continuous", "continuous")


def test_columns_left_out_are_never_looked_at(path: Path) -> None:
    path.write_text("bad,a,b\ninf,1,2\noops,2,1\n,1,1\n")
    assert load_dataset(path, drop="bad").names == ("a", "b")
    assert load_dataset(path, columns=["a", "b"]).names == ("a", "b")


def test_dropping_a_name_used_twice(path: Path) -> None:
    path.write_text("a,b,c,a\n1,2,3,4\n2,1,4,3\n2,2,4,3\n")
    assert load_dataset(path, drop="a").names == ("b", "c")


def test_discretize(path: Path) -> None:
    ds = load_dataset(path, drop=["id", "g", "z"], discretize={"x": 4, "q": 2})
    assert ds.is_categorical
    assert ds.cardinalities.tolist() == [4, 2]
    column = np.array([i * i % 17 / 4 for i in range(20)])
    expected = Dataset(("x", "q"), np.column_stack([column, column])).discretized(4)
    assert ds.codes[:, 0].tolist() == expected.codes[:, 0].tolist()


def test_discretize_all_means_the_continuous_columns(path: Path) -> None:
    ds = load_dataset(path, drop="id", discretize={"all": 2, "z": 2})
    assert ds.cardinalities.tolist() == [2, 2, 2, 2]
    ds = load_dataset(path, drop="id", discretize={"all": 2}, categorical=["q"])
    assert ds.cardinalities.tolist() == [2, 2, 5, 2]


def test_discretize_text(path: Path) -> None:
    with pytest.raises(DataError, match="'g' has 'a' in row 1"):
        load_dataset(path, drop="id", discretize={"g": 2})


def test_dropped_rows_take_their_levels_with_them(path: Path) -> None:
    path.write_text("a,b,c\nx,1,1.5\ny,2,2.5\nz,3,NA\nx,?,4.5\ny,1,5.5\n")
    ds = load_dataset(path, missing="drop")
    assert ds.levels == (("x", "y"), ("1", "2"), None)
    assert ds.n_obs == 3
    assert ds.notes == (
        "2 rows of 5 had missing values, in 'b' (1) and 'c' (1), and were dropped; refuse such "
        "rows with missing='refuse'",
    )
    path.write_text("a,b,c\nx,1,1.5\ny,2,2.5\ny,1,5.5\n")
    assert load_dataset(path) == ds


def test_dropped_rows_keep_declared_levels() -> None:
    frame = pd.DataFrame({"a": pd.Categorical(["x", "y", "z", "x"]), "b": [0.5, 1.5, None, 3.0]})
    ds = load_dataset(frame, missing="drop")
    assert ds.levels[0] == ("x", "y", "z")
    assert ds.n_obs == 3


def test_all_that_is_wrong_is_said_at_once(path: Path) -> None:
    path.write_text(
        "id,day,x,y\n"
        + "".join(f"k{i},2024-01-{i + 1:02d},{'' if i == 5 else i / 7},1e999\n" for i in range(20))
    )
    with pytest.raises(DataError) as caught:
        load_dataset(path, strict=True)
    for fragment in ("'y' has '1e999'", "'id' holds", "'day' holds dates", "'x' has 1 missing"):
        assert fragment in str(caught.value)


def test_long_lists_are_cut() -> None:
    frame = pd.DataFrame({f"v{i}": [None, 1.5] for i in range(30)})
    with pytest.raises(DataError, match=r"'v7' \(1\) and 22 more; drop these rows"):
        load_dataset(frame, strict=True)


OPTIONS: list[dict[str, Any]] = [
    {"drop": ["id"]},
    {"columns": ["x", "q"], "continuous": ["q"]},
    {"drop": ["id"], "categorical": ["x"], "missing": "drop"},
    {"drop": ["id"], "discretize": {"x": 3}},
    {"drop": ["id"], "continuous": ["all"], "categorical": ["g", "z"], "separator": ","},
    {"columns": ["q", "z"], "decimal": ".", "cardinality_row": False},
    {"ordinal": ["g", "q"], "normal_scores": ["x"]},
    {"ordinal": {"g": ["b", "a"], "q": []}},
    {"weights": "q", "na": ["b"], "missing": "drop"},
    {"na": []},
    {"strict": True, "drop": ["id"]},
    {"allow_degenerate": True, "prefer": "categorical"},
    {"keep": True, "missing": "refuse"},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_a_data_set_remembers_how_it_was_read(path: Path, options: dict[str, Any]) -> None:
    ds = op.load_dataset(path, **options)
    assert ds.reading == options
    again = op.load_dataset(path, **json.loads(json.dumps(ds.reading)))
    assert again == ds
    assert again.reading == ds.reading


def test_only_options_that_were_given_are_remembered(path: Path) -> None:
    ds = load_dataset(path, drop="id", missing="auto", discretize={}, categorical=(), ordinal={})
    assert ds.reading == {"drop": ["id"]}
    assert load_dataset("asia").reading == {}
    assert load_dataset(np.eye(4)[:3] + 0.5).reading == {}


def test_changes_in_python_cannot_be_read_again(path: Path) -> None:
    ds = load_dataset(path, drop="id")
    changed = (ds.select(["x", "q"]), ds.standardized(), ds.discretized(2))
    assert all(one.reading is None for one in changed)
    assert Dataset(("a", "b"), [[1, 2]]).reading is None
    assert op.datasets.boston(chas="original").reading is None
    assert load_dataset(ds, drop="x").reading is None


class TestDataSets:
    """Options on data that are a Dataset already."""

    def test_bundled(self) -> None:
        ds = load_dataset("boston", columns=["crim", "chas", "rad"], discretize={"crim": 3})
        assert ds.kinds == ("categorical", "continuous", "continuous")
        assert ds.reading == {"columns": ["crim", "chas", "rad"], "discretize": {"crim": 3}}
        assert load_dataset("boston", **ds.reading) == ds
        assert load_dataset("boston", categorical=["chas"]).columns_of("categorical") == ("chas",)

    def test_kinds_are_kept(self) -> None:
        original = Dataset(("a", "b", "c"), [[0, 1, 2], [1, 0, 2]], (None, ("u", "v"), None))
        assert load_dataset(original, drop="c").kinds == ("continuous", "categorical")
        assert load_dataset(original, missing="drop") is original

    def test_unobserved_levels_are_kept(self) -> None:
        original = Dataset(("a", "b"), [[0, 1], [1, 0]], (("x", "y", "z"), ("u", "v")))
        assert load_dataset(original, columns=["b", "a"]).levels == (("u", "v"), ("x", "y", "z"))


@pytest.mark.parametrize("seed", range(5))
def test_simulated_measurements_are_never_categories(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dag = op.random_dag(6, rng)
    data = op.simulate(dag, 30, rng)
    assert load_dataset(data.values).is_continuous
    assert load_dataset(data.to_frame()).is_continuous
    assert load_dataset(data.values.astype(np.float32)).is_continuous

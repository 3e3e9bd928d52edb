"""New rows are read as the data were: kinds, levels, cuts, marks of missing values."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import outpoint as op
from outpoint.errors import DataError
from outpoint.posterior.new_rows import RowReader

RNG = np.random.default_rng(5)
FRAME = pd.DataFrame(
    {
        "x": RNG.normal(size=60).round(2),
        "the y": RNG.normal(size=60).round(2),
        "g": np.array(["a", "b", "none"])[RNG.integers(0, 3, 60)],
        "n": RNG.integers(1, 3, 60),
        "t": RNG.random(60) < 0.5,
    }
)


def reader(**options) -> RowReader:
    return op.learn(FRAME, seed=1, **options)._reader


@pytest.fixture(scope="module")
def own() -> RowReader:
    return reader()


def test_tables_of_all_kinds(own, tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "new.csv", index=False)
    expected = op.load_dataset(FRAME).values
    for new in (
        FRAME,
        pl.DataFrame(FRAME.to_dict("list")),
        tmp_path / "new.csv",
        op.load_dataset(FRAME),
    ):
        np.testing.assert_array_equal(own.read(new).values, expected)
    np.testing.assert_array_equal(own.read(FRAME.to_dict("list")).values, expected)
    shuffled = FRAME[["t", "g", "x"]].assign(other="z")
    found = own.read(shuffled).values
    np.testing.assert_array_equal(found[:, [4, 2, 0]], expected[:, [4, 2, 0]])
    assert np.isnan(found[:, [1, 3]]).all()
    assert own.read(FRAME.iloc[5:7]).index.tolist() == [5, 6]


def test_numbers_in_other_types_are_the_same_levels(own) -> None:
    for cells in ([1, 2], [1.0, 2.0], ["1", "2"], pd.Categorical(["1", "2"])):
        assert own.read(pd.DataFrame({"n": cells})).values[:, 3].tolist() == [0.0, 1.0]
    for cells in ([True, None], ["True", ""]):
        found = own.read(pd.DataFrame({"t": cells, "x": [1, 2]})).values[:, 4]
        assert found[0] == 1.0
        assert np.isnan(found[1])


def test_marks_of_missing_values_are_those_of_the_data(tmp_path: Path) -> None:
    text = FRAME.to_csv(index=False, sep=";", decimal=",")
    (tmp_path / "data.csv").write_text(text)
    posterior = op.learn(tmp_path / "data.csv", seed=1, na=["-9"])
    (tmp_path / "new.csv").write_text("x;g\n-9;a\n1,5;none\n")
    found = posterior._reader.read(tmp_path / "new.csv").values
    assert np.isnan(found[0, 0])
    assert found[1, 0] == 1.5
    assert found[:, 2].tolist() == [0.0, 2.0]


def test_numbers_are_cut_as_those_of_the_data() -> None:
    cut = reader(discretize={"x": 3, "the y": 4})
    expected = op.load_dataset(FRAME, discretize={"x": 3, "the y": 4}).values
    np.testing.assert_array_equal(cut.read(FRAME).values, expected)
    levels = cut.coding.levels[0]
    assert cut.read(pd.DataFrame({"x": list(levels)})).values[:, 0].tolist() == [0.0, 1.0, 2.0]
    assert cut.read(pd.DataFrame({"x": [-99.0, 99.0]})).values[:, 0].tolist() == [0.0, 2.0]


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ({"g": ["a", "zz"]}, "column 'g' has 'zz' in row 2, but its levels are 'a', 'b' and"),
        ({"x": ["1", "green"]}, "'green' in row 2, but it is continuous"),
        ({"x": [np.inf]}, "it is continuous"),
        ({"zz": [1]}, "none of the columns"),
        ({"x": 3}, "a list of values for each name"),
        (7, "cannot be read"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), "several columns 'x'"),
    ],
)
def test_refusals(own, new, message) -> None:
    with pytest.raises(DataError, match=message):
        own.read(new)


def test_normal_scores_are_not_made_of_new_rows() -> None:
    ranked = reader(normal_scores=["x"])
    with pytest.raises(DataError, match="'x' entered as normal scores"):
        ranked.read(FRAME)
    assert not np.isnan(ranked.read(FRAME.drop(columns="x")).values[:, 1]).any()

"""The Dataset value: what it accepts, refuses, derives."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from outpoint.data import Dataset, load_dataset
from outpoint.errors import DataError, OptionError

YES_NO = ("no", "yes")


def mixed() -> Dataset:
    return Dataset(("a", "b", "c"), [[0, 1.5, 2], [1, 2.5, 0]], (YES_NO, None, ("l", "m", "h")))


def test_basic_properties() -> None:
    ds = mixed()
    assert (ds.n_obs, ds.n_nodes, ds.source) == (2, 3, "memory")
    assert ds.kinds == ("categorical", "continuous", "categorical")
    assert not ds.is_continuous
    assert not ds.is_categorical
    assert Dataset(("a", "b"), [[1, 2]]).is_continuous
    assert ds.columns_of("categorical") == ("a", "c")
    assert ds.columns_of("continuous") == ("b",)
    size = "2 observations of 3 variables: 1 continuous (b), 2 categorical"
    assert repr(ds) == f"Dataset('memory': {size})"
    assert ds.select(["a", "c"]).describe() == "2 observations of 2 categorical variables"


def test_values_are_a_read_only_copy() -> None:
    raw = np.ones((3, 2))
    ds = Dataset(("a", "b"), raw)
    raw[0, 0] = 7
    assert ds.values[0, 0] == 1
    assert ds.values.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        ds.values[0, 0] = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        ds.names = ("x", "y")  # type: ignore[misc]


def test_codes_and_cardinalities() -> None:
    ds = mixed().select(["a", "c"])
    assert ds.codes.dtype == np.int32
    assert ds.codes.tolist() == [[0, 2], [1, 0]]
    assert not ds.codes.flags.writeable
    assert ds.cardinalities.tolist() == [2, 3]


@pytest.mark.parametrize("attribute", ["codes", "cardinalities"])
def test_codes_of_continuous_data_name_the_columns(attribute: str) -> None:
    with pytest.raises(DataError, match="'b' is continuous"):
        getattr(mixed(), attribute)


def test_a_long_list_of_columns_is_cut() -> None:
    ds = Dataset(tuple(f"v{i}" for i in range(30)), np.ones((2, 30)))
    with pytest.raises(DataError, match=r"'v7' and 22 more are continuous"):
        _ = ds.codes


BAD = {
    "one column": ((("a",), [[1.0], [2.0]]), "needs at least two variables"),
    "no column": (((), np.ones((2, 0))), "needs at least two variables"),
    "no row": ((("a", "b"), np.ones((0, 2))), "no rows"),
    "duplicate": ((("a", "b", "a"), np.ones((2, 3))), "'a' occurs more than once"),
    "duplicates": ((("a", "b", "b", "a"), np.ones((2, 4))), "'a' and 'b' occur more than once"),
    "empty name": ((("a", " "), np.ones((2, 2))), "Column 2 has no name"),
    "nothing": ((("a", "b"), [[1, np.nan], [3, np.nan]]), "'b' has no value in any row"),
    "inf": ((("a", "b"), [[np.inf, 2]]), "'a' has the value inf in row 1"),
    "vector": ((("a", "b"), [1, 2]), "2 dimensions"),
    "text": ((("a", "b"), [["x", "y"]]), "not a table of numbers"),
    "names differ": ((("a", "b"), np.ones((2, 3))), "2 names for 3 columns"),
    "levels differ": ((("a", "b"), np.ones((2, 2)), (YES_NO,)), "1 entries of levels"),
    "code too high": ((("a", "b"), [[0, 2]], (YES_NO, YES_NO)), "'b' has the code 2 in row 1"),
    "code negative": ((("a", "b"), [[-1, 1]], (YES_NO, YES_NO)), "'a' has the code -1"),
    "code fraction": ((("a", "b"), [[0.5, 1]], (YES_NO, YES_NO)), "'a' has the code 0.5"),
    "same levels": ((("a", "b"), [[0, 1]], (("x", "x"), YES_NO)), "levels of column 'a'"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD.keys())
def test_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Dataset(*arguments)


def test_a_few_columns_of_the_rarer_kind_are_named() -> None:
    names = tuple(f"v{i}" for i in range(20))
    ds = Dataset(names, np.zeros((2, 20)), (YES_NO,) * 7 + (None,) * 13)
    assert ds.describe().endswith("13 continuous, 7 categorical (v0, v1, v2, v3, v4 and 2 more)")


def test_constant_and_identical_columns_are_data() -> None:
    values = [[1, 5, 1, 5, 0], [1, 6, 1, 6, 0]]
    ds = Dataset(("a", "b", "c", "d", "e"), values)
    assert ds.constant_columns == ("a", "c", "e")
    assert ds.copied_columns == (("a", "c"), ("b", "d"))


def test_fewer_rows_than_columns_are_data() -> None:
    assert Dataset(("a", "b", "c"), [[1, 2, 3]]).n_obs == 1


def test_columns_of_different_kind_are_not_identical() -> None:
    ds = Dataset(("a", "b", "c"), [[0, 0, 0], [1, 1, 1]], (None, YES_NO, ("x", "y")))
    assert ds.copied_columns == (("b", "c"),)


def test_negative_zero_is_zero() -> None:
    ds = Dataset(("a", "b"), [[0.0, -0.0], [1, 1]])
    assert ds.copied_columns == (("a", "b"),)
    assert ds.fingerprint() == Dataset(("a", "b"), [[0, 0], [1, 1]]).fingerprint()


def test_index() -> None:
    ds = mixed()
    assert [ds.index("a"), ds.index("c"), ds.index(1), ds.index(np.int64(2))] == [0, 2, 1, 2]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("z", "no column 'z'; the columns are 'a', 'b' and 'c'"),
        (3, "no column 3; positions go from 0 to 2"),
        (-1, "no column -1"),
    ],
)
def test_index_refuses(column: str | int, message: str) -> None:
    with pytest.raises(DataError, match=message):
        mixed().index(column)


def test_index_refuses_what_names_nothing() -> None:
    with pytest.raises(OptionError, match="the name of a variable, or its number, not True"):
        mixed().index(True)


def test_index_suggests() -> None:
    with pytest.raises(DataError, match=r"did you mean 'height' or 'weight'\?"):
        Dataset(("height", "weight"), [[1, 2]]).index("heigth")


def test_select_reorders_and_keeps_levels() -> None:
    ds = mixed().select(["c", 0])
    assert ds.names == ("c", "a")
    assert ds.levels == (("l", "m", "h"), YES_NO)
    assert ds.values.tolist() == [[2, 0], [0, 1]]


def test_select_refuses() -> None:
    with pytest.raises(DataError, match="at least two variables"):
        mixed().select(["a"])
    with pytest.raises(DataError, match="'a' occurs more than once"):
        mixed().select(["a", "a"])
    with pytest.raises(OptionError, match="list of columns"):
        mixed().select("ab")


def test_standardized() -> None:
    rng = np.random.default_rng(3)
    values = np.column_stack([rng.normal(5, 3, 50), np.full(50, 0.1), rng.integers(0, 2, 50)])
    ds = Dataset(("a", "b", "c"), values, (None, None, YES_NO)).standardized()
    assert ds.values[:, 0].mean() == pytest.approx(0, abs=1e-12)
    assert ds.values[:, 0].std(ddof=1) == pytest.approx(1)
    assert np.corrcoef(ds.values[:, 0], values[:, 0])[0, 1] == pytest.approx(1)
    assert (ds.values[:, 1] == 0).all()
    assert (ds.values[:, 2] == values[:, 2]).all()
    assert ds.levels == (None, None, YES_NO)


def test_standardized_single_row() -> None:
    assert Dataset(("a", "b"), [[3, 4]]).standardized().values.tolist() == [[0, 0]]


def column_codes(column: list[float], bins: int) -> tuple[list[float], tuple[str, ...] | None]:
    ds = Dataset(("a", "b"), np.column_stack([column, column])).discretized(bins)
    return ds.values[:, 0].tolist(), ds.levels[0]


def test_discretized_equal_sizes_and_labels() -> None:
    codes, labels = column_codes([float(i) for i in range(1, 10)], 3)
    assert codes == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert labels == ("<= 3", "(3, 6]", "> 6")


@pytest.mark.parametrize("share", [1, 5, 9])
def test_discretized_keeps_both_values_of_a_binary_column(share: int) -> None:
    column = [1.0] * share + [0.0] * (10 - share)
    assert column_codes(column, 3) == (column, ("0", "1"))


@pytest.mark.parametrize("tied", [0.0, 7.0])
def test_discretized_separates_a_heavy_end(tied: float) -> None:
    """Nearly all values equal to the minimum or maximum: two levels, not one."""
    codes, labels = column_codes([tied] * 90 + [1.0, 2.0, 3.0, 4.0, 5.0], 2)
    assert len(set(codes)) == len(labels or ()) == 2
    assert len(set(codes[:90])) == 1
    assert set(codes[:90]).isdisjoint(codes[90:])


def test_discretized_labels_stay_distinct() -> None:
    column = [1 + i * 1e-9 for i in range(9)]
    _, labels = column_codes(column, 3)
    assert labels is not None
    assert len(set(labels)) == 3


def test_discretized_constant_column_has_one_level() -> None:
    assert column_codes([2.5, 2.5], 3) == ([0, 0], ("2.5",))


def test_discretized_leaves_categories_alone() -> None:
    ds = mixed().discretized(2)
    assert ds.is_categorical
    assert ds.levels == (YES_NO, ("1.5", "2.5"), ("l", "m", "h"))


@pytest.mark.parametrize("bins", [1, 0, 2.5, True, "3"])
def test_discretized_refuses(bins: object) -> None:
    with pytest.raises(OptionError, match="bins must be a whole number from 2"):
        mixed().discretized(bins)  # type: ignore[arg-type]


@given(
    hnp.arrays(float, st.integers(2, 60), elements=st.floats(-1e300, 1e300) | st.integers(-3, 3)),
    st.integers(2, 6),
)
def test_discretized_is_monotone_and_wastes_no_level(column: np.ndarray, bins: int) -> None:
    codes, labels = column_codes(column.tolist(), bins)
    assert labels is not None
    assert sorted(set(codes)) == list(range(len(labels)))
    assert len(labels) <= bins
    assert (len(labels) > 1) == (np.unique(column).size > 1)
    assert (np.diff(np.array(codes)[np.argsort(column, kind="stable")]) >= 0).all()


def test_to_frame_round_trip() -> None:
    ds = mixed()
    frame = ds.to_frame()
    assert frame["a"].tolist() == ["no", "yes"]
    assert frame["c"].cat.categories.tolist() == ["l", "m", "h"]
    assert frame["b"].dtype == np.float64
    assert load_dataset(frame, continuous=["b"], keep=True) == ds
    assert isinstance(frame, pd.DataFrame)


def test_fingerprint_is_a_fixed_number() -> None:
    """A literal: the fingerprint must never change between platforms or versions."""
    assert mixed().fingerprint() == FINGERPRINT


FINGERPRINT = "ab315c5393e9624916cc8a398bd593ab2e1a89afd49fda505cebae3e2ddbb74d"


def test_fingerprint_and_equality_follow_content() -> None:
    ds = mixed()
    same = Dataset(ds.names, ds.values, ds.levels, "elsewhere")
    assert same == ds
    assert hash(same) == hash(ds)
    assert same.fingerprint() == ds.fingerprint()
    values = ds.values.copy()
    values[0, 1] = np.nextafter(values[0, 1], 2)
    others = [
        Dataset(("a", "b", "d"), ds.values, ds.levels),
        Dataset(ds.names, ds.values, (YES_NO, None, ("l", "m", "x"))),
        Dataset(ds.names, ds.values),
        Dataset(ds.names, values, ds.levels),
    ]
    assert all(other != ds for other in others)
    assert len({ds.fingerprint(), *(other.fingerprint() for other in others)}) == 5
    assert ds != "something else"

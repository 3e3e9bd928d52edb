"""Good input from every source: what the columns become."""

import gzip
import subprocess
import sys
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from outpoint.data import Dataset, load_dataset
from outpoint.errors import DataError

CONTINUOUS = [[0.5, 2.0, 3.0], [1.5, -1e-7, 4.0], [1e10, 0.1, 5.0]]
read = partial(load_dataset, keep=True)
"""Tables of a few rows, most columns of which would be copies of others, are read in full."""
SEPARATORS = {"comma": ",", "tab": "\t", "semicolon": ";", "space": " ", "blanks": "   "}


def write(folder: Path, text: str, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode("utf-8"))
    return path


@pytest.fixture
def load(tmp_path: Path):
    def _load(text: str, **options: object) -> Dataset:
        return read(write(tmp_path, text), **options)

    return _load


def table_text(rows: list[list[float]], separator: str) -> str:
    header = [f"x{i}" for i in range(1, len(rows[0]) + 1)]
    lines = [header, *[[repr(value) for value in row] for row in rows]]
    return "\n".join(separator.join(line) for line in lines) + "\n"


@pytest.mark.parametrize("separator", SEPARATORS.values(), ids=SEPARATORS.keys())
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_separators_and_line_endings(load, separator: str, ending: str) -> None:
    ds = load(table_text(CONTINUOUS, separator).replace("\n", ending))
    assert ds == Dataset(("x1", "x2", "x3"), CONTINUOUS)
    assert ds.source == "data.csv"


def test_old_line_endings_bom_blank_lines_and_no_final_newline(load) -> None:
    expected = Dataset(("é", "b"), [[0.5, 1], [1.5, 2.5], [4, 2]])
    assert load("é b\r0.5 1\r1.5 2.5\r4 2") == expected
    assert load("\ufeffé,b\n\n0.5,1\n   \n1.5,2.5\n4,2") == expected


def test_gzip(tmp_path: Path) -> None:
    path = tmp_path / "data.csv.gz"
    path.write_bytes(gzip.compress(table_text(CONTINUOUS, ",").encode()))
    assert load_dataset(path) == Dataset(("x1", "x2", "x3"), CONTINUOUS)


def test_path_and_text_and_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, table_text(CONTINUOUS, ","))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert load_dataset(path) == load_dataset(str(path)) == load_dataset("~/data.csv")


def test_quoted_fields(load) -> None:
    ds = load('"a, or b",c\n"x ""y""",1\n"line\nbreak",2\n"x ""y""", "1"\n')
    assert ds.names == ("a, or b", "c")
    assert ds.levels == (("line\nbreak", 'x "y"'), ("1", "2"))
    assert ds.codes.tolist() == [[1, 0], [0, 1], [1, 0]]


def test_quoted_fields_in_a_space_separated_file(load) -> None:
    ds = load('"a b" c\n"low risk"  1\n"high risk"  2 \n')
    assert ds.names == ("a b", "c")
    assert ds.levels[0] == ("high risk", "low risk")


def test_separator_is_not_taken_from_quotes_or_values(load) -> None:
    assert load('"a,b";c\n1.5;2\n').names == ("a,b", "c")
    assert load("a b\nx,y 1\nz,y 2\n").levels[0] == ("x,y", "z,y")


def test_given_separator(load) -> None:
    assert load("a|b\n1.5|2\n", separator="|").names == ("a", "b")
    assert load("a,x b,x\n1.5 2\n", separator="whitespace").names == ("a,x", "b,x")


def test_cells_are_trimmed(load) -> None:
    ds = load("a , b\n yes , 1\nyes,2 \n no,1\n")
    assert ds.names == ("a", "b")
    assert ds.levels == (("no", "yes"), ("1", "2"))


@pytest.mark.parametrize("first", [0, 1])
def test_counting_header_is_a_header(load, first: int) -> None:
    header = " ".join(str(first + i) for i in range(3))
    assert load(f"{header}\n5 6 7\n6 5 7\n").names == tuple(header.split())


class TestAroundTheTable:
    """Row names, trailing separators and comments: left out, and never taken for data."""

    EXPECTED = Dataset(("x", "y"), [[0.5, 2.5], [1.5, 7.5], [4.5, 3.5]])

    @pytest.mark.parametrize(
        "text",
        [
            "x,y\n0.5,2.5,\n1.5,7.5,\n4.5,3.5,\n",
            "x,y,\n0.5,2.5,\n1.5,7.5,\n4.5,3.5,\n",
            "x,y,,\n0.5,2.5\n1.5,7.5\n4.5,3.5\n",
            "x,y\n0.5,2.5,,\n1.5,7.5\n4.5,3.5,\n",
            ",x,y\n1,0.5,2.5\n2,1.5,7.5\n3,4.5,3.5\n",
            "x y\nann 0.5 2.5\nbob 1.5 7.5\neve 4.5 3.5\n",
            "x y\n3 0.5 2.5\n7 1.5 7.5\n8 4.5 3.5\n",
            "x,y\n1,0.5,2.5\n2,1.5,7.5\n3,4.5,3.5\n",
            "# about\nx,y\n0.5,2.5\n# a remark\n1.5,7.5\n4.5,3.5\n",
            "# x y\n0.5 2.5\n1.5 7.5\n4.5 3.5\n",
        ],
    )
    def test_left_out(self, load, text: str) -> None:
        assert load(text) == self.EXPECTED

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("id,x,\n1,0.5,2.5\n2,1.5,7.5\n3,4.5,3.5\n", "Column 3 has no name"),
            ("x,y\n70,5,a\n81,2,b\n", "Line 2 .* has 3 fields"),
            ("x y\n7 0.5 2.5\n3 1.5 7.5\n", "Line 2 .* has 3 fields"),
            ("x y\nann 0.5 2.5\nann 1.5 7.5\n", "Line 2 .* has 3 fields"),
            (",x,y\n1,0.5,2.5\n1,1.5,7.5\n", "Column 1 has no name"),
        ],
    )
    def test_not_mistaken(self, load, text: str, message: str) -> None:
        with pytest.raises(DataError, match=message):
            load(text)

    def test_a_cell_can_begin_like_a_comment(self, load) -> None:
        ds = load("colour,x\n#f00,0.5\n#0f0,1.5\n#f00,2.5\n")
        assert ds.levels[0] == ("#0f0", "#f00")

    def test_lines_are_counted_from_the_beginning(self, load) -> None:
        with pytest.raises(DataError, match=r"row 2 \(line 5\)"):
            load("sep=,\n# about\nx,y\n0.5,1.5\ninf,1.5\n")
        with pytest.raises(DataError, match=r"row 2 \(line 4\)"):
            load("# about\n# x y\n0.5 1.5\ninf 1.5\n")


class TestKinds:
    """The rules that decide what a column is."""

    def test_the_kind_of_a_column_does_not_depend_on_others(self, load) -> None:
        assert load("a,b\n0,0.5\n1,2\n1,3\n").kinds == ("categorical", "continuous")
        assert load("a,b\n0,0.5\n1,2\n1,2\n").kinds == ("categorical", "categorical")
        rows = "".join(f"{i % 5},{i}.5,{i % 2},{i * i}\n" for i in range(30))
        kinds = ("continuous", "continuous", "categorical", "continuous")
        assert load(f"likert,x,sex,count\n{rows}").kinds == kinds

    def test_numbers_with_two_values_are_categorical(self, load) -> None:
        ds = load("a,b\n10,-1\n9,1.0\n10,1\n")
        assert ds.levels == (("9", "10"), ("-1", "1"))
        assert ds.codes.tolist() == [[1, 0], [0, 1], [1, 1]]

    @pytest.mark.parametrize(
        ("distinct", "rows", "kind"),
        [
            (13, 500, "continuous"),
            (12, 24, "continuous"),
            (3, 300, "continuous"),
            (3, 5, "continuous"),
            (2, 2, "categorical"),
            (2, 300, "categorical"),
        ],
    )
    def test_whole_numbers_with_three_values_are_continuous(
        self, load, distinct: int, rows: int, kind: str
    ) -> None:
        text = "".join(f"{5 * (i % distinct)},{i % 2}\n" for i in range(rows))
        assert load(f"a,b\n{text}").kinds == (kind, "categorical")

    def test_a_constant_takes_the_kind_of_the_others(self, load) -> None:
        assert load("a,b\n3,0.5\n3,2\n3,4\n").is_continuous
        assert load("a,b\n3,1\n3,2\n").is_categorical

    def test_text_next_to_decimals_stays_mixed(self, load) -> None:
        ds = load("a,b,c\nx,0.5,1\ny,1,2\ny,3,2\n")
        assert ds.kinds == ("categorical", "continuous", "categorical")

    def test_text_next_to_whole_numbers_is_categorical(self, load) -> None:
        assert load("a,b\nx,1\ny,2\n").is_categorical

    def test_mostly_text_column_keeps_its_numbers_as_labels(self, load) -> None:
        assert load("a,b\nx,1\ny,2\n3,2\n").levels[0] == ("3", "x", "y")

    def test_levels_are_sorted_naturally(self, load) -> None:
        cells = ["q10", "q2", "Q1", "q2b", "10+", "9+"]
        ds = load("a,b\n" + "".join(f"{cell},1\n" for cell in cells))
        assert ds.levels[0] == ("9+", "10+", "Q1", "q2", "q2b", "q10")

    def test_infinity_can_be_a_word(self, load) -> None:
        assert load("a,b\ninf,1\nsup,2\nmax,1\n").levels[0] == ("inf", "max", "sup")

    def test_python_number_syntax_is_text(self, load) -> None:
        assert load("a,b\n1_0,1\n2_0,2\n").levels[0] == ("1_0", "2_0")

    def test_all(self, load) -> None:
        text = "a,b\n0,1\n1,0\n"
        assert load(text, continuous="all") == Dataset(("a", "b"), [[0, 1], [1, 0]])
        ds = load("a,b\n0.5,1\n1,0\n", categorical="all")
        assert ds.levels == (("0.5", "1"), ("0", "1"))

    def test_a_named_column_overrules_all(self, load) -> None:
        ds = load("a,b,c\n0,1,2\n1,0,3\n", continuous="all", categorical=["b"])
        assert ds.kinds == ("continuous", "categorical", "continuous")

    def test_all_can_be_a_column(self, load) -> None:
        ds = load("all,b\n0,1\n1,0\n", continuous="all")
        assert ds.kinds == ("continuous", "categorical")

    def test_declared_columns_leave_the_others(self, load) -> None:
        assert load("a,b,c\n0,1,2\n1,0,3\n", continuous=["b"]).columns_of("continuous") == ("b",)
        assert load("a,b\n0,0.5\n1,1\n", categorical=["b"]).is_categorical

    def test_declared_categories_allow_text_among_numbers(self, load) -> None:
        ds = load("a,b\n1,1\n2,2\n10+,1\n", categorical=["a"])
        assert ds.levels[0] == ("1", "2", "10+")

    def test_truth_values_and_number_levels_can_be_continuous(self) -> None:
        frame = pd.DataFrame({"a": [True, False], "b": pd.Categorical([2.5, 1], [2.5, 1.0])})
        ds = read(frame, continuous="all")
        assert ds.values.tolist() == [[1, 2.5], [0, 1]]

    def test_leading_zeros_make_codes(self, load) -> None:
        ds = load("zip,b\n01067,1.5\n80331,2\n1067,3\n01067,4\n")
        assert ds.levels[0] == ("01067", "1067", "80331")
        assert load("a,b\n0,1.5\n1,2\n0.5,3\n").kinds[0] == "continuous"


LARGE = [2**53, 2**53 + 1, 2**53, 2**53 + 1]
SECOND = [0.5, 1.5, 2.5, 4.0]
PAIRS = [[value, other] for value, other in zip(LARGE, SECOND, strict=True)]
LARGE_SOURCES = {
    "list": PAIRS,
    "objects": np.array(PAIRS, dtype=object),
    "pandas": pd.DataFrame({"x1": LARGE, "x2": SECOND}),
    "pandas nullable": pd.DataFrame({"x1": pd.array(LARGE, dtype="Int64"), "x2": SECOND}),
    "polars": pl.DataFrame({"x1": LARGE, "x2": SECOND}),
    "integers": np.column_stack([LARGE, [0, 1, 0, 1]]),
}


class TestLargeIntegers:
    """Labels beyond what doubles hold stay apart, whatever they come from."""

    @pytest.mark.parametrize("data", LARGE_SOURCES.values(), ids=LARGE_SOURCES.keys())
    def test_in_memory(self, data: object) -> None:
        ds = read(data)
        assert ds.levels[0] == (str(2**53), str(2**53 + 1))
        assert ds.values[:, 0].tolist() == [0, 1, 0, 1]

    def test_unsigned(self) -> None:
        codes = np.array([[2**64 - 1, 1], [2**64 - 2, 1]], dtype=np.uint64)
        assert read(codes).levels[0] == (str(2**64 - 2), str(2**64 - 1))

    def test_in_a_file(self, load) -> None:
        ds = load("x1,x2\n" + "".join(f"{value},{other}\n" for value, other in PAIRS))
        assert ds.levels[0] == (str(2**53), str(2**53 + 1))
        assert ds.values[:, 0].tolist() == [0, 1, 0, 1]

    def test_with_missing_values(self, load) -> None:
        ds = load(f"a,b\n{2**53},1\n{2**53 + 1},2\nNA,1\n{2**53},1\n", missing="drop")
        assert ds.levels[0] == (str(2**53), str(2**53 + 1))

    def test_different_in_every_row_are_identifiers(self, load) -> None:
        rows = "".join(f"{2**53 + 3 * i},{i / 7}\n" for i in range(40))
        with pytest.raises(DataError, match=f"'a' holds a different value.*such as {2**53}"):
            load(f"a,b\n{rows}", keep=False, strict=True)
        with pytest.raises(DataError, match=r"'a', which differs .*keep it with continuous=\[\"a"):
            load(f"a,b\n{rows}", keep=False)

    def test_numbers_too_large_for_doubles(self) -> None:
        with pytest.raises(DataError, match="infinite values: 'x1' has 'inf' in row 2"):
            load_dataset([[1, 2], [10**400, 3]], strict=True)
        with pytest.raises(DataError, match="infinite values: 'x1' has 'inf' in row 2"):
            read([[1, 2], [10**400, 3]])


class TestFrames:
    """Pandas, polars, NumPy and lists give what the equivalent file gives."""

    def test_pandas(self) -> None:
        frame = pd.DataFrame(CONTINUOUS, columns=["x1", "x2", "x3"], index=[7, 7, 9])
        assert read(frame) == Dataset(("x1", "x2", "x3"), CONTINUOUS)

    def test_pandas_dtypes(self) -> None:
        frame = pd.DataFrame(
            {
                "bool": [True, False, True],
                "nullable": pd.array([False, True, True], dtype="boolean"),
                "cat": pd.Categorical(["lo", "hi", "lo"], categories=["lo", "mid", "hi"]),
                "str": ["b", "a", "b"],
                "digits": ["10", "9", "9"],
                "object": pd.Series([2, "x", "y"], dtype=object),
                "int": pd.array([1, 2, 1], dtype="Int64"),
                0: np.array([1, 1, 0], dtype=np.uint8),
            }
        )
        ds = read(frame)
        truth = ("False", "True")
        assert ds.names[-1] == "0"
        assert ds.levels[:5] == (truth, truth, ("lo", "mid", "hi"), ("a", "b"), ("9", "10"))
        assert ds.levels[5:] == (("2", "x", "y"), ("1", "2"), ("0", "1"))
        assert ds.codes[:, :5].tolist() == [[1, 0, 0, 1, 1], [0, 1, 2, 0, 0], [1, 1, 0, 1, 0]]

    def test_pandas_object_numbers_are_numbers(self) -> None:
        frame = pd.DataFrame({"a": [1, 2.5, 2], "b": [Fraction(1, 2), 3, 4]}, dtype=object)
        assert read(frame) == Dataset(("a", "b"), [[1, 0.5], [2.5, 3], [2, 4]])

    def test_polars(self) -> None:
        frame = pl.DataFrame(CONTINUOUS, schema=["x1", "x2", "x3"], orient="row")
        assert read(frame) == Dataset(("x1", "x2", "x3"), CONTINUOUS)

    def test_polars_dtypes(self) -> None:
        frame = pl.DataFrame(
            {
                "bool": [True, False],
                "enum": pl.Series(["hi", "lo"], dtype=pl.Enum(["lo", "mid", "hi"])),
                "cat": pl.Series(["b", "a"], dtype=pl.Categorical),
                "str": ["z", "y"],
                "int": [3, 4],
            }
        )
        ds = read(frame)
        expected = (("False", "True"), ("lo", "mid", "hi"), ("a", "b"), ("y", "z"), ("3", "4"))
        assert ds.levels == expected
        assert ds.codes.tolist() == [[1, 2, 1, 1, 0], [0, 0, 0, 0, 1]]

    @pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
    def test_numpy(self, dtype: type) -> None:
        array = np.array([[0.5, 1], [1.5, 2.5], [4, 2]], dtype=dtype)
        assert read(array) == Dataset(("x1", "x2"), [[0.5, 1], [1.5, 2.5], [4, 2]])

    def test_numpy_whole_numbers_truth_values_and_text(self) -> None:
        assert read(np.array([[0, 3], [1, 5]])).levels == (("0", "1"), ("3", "5"))
        assert read(np.array([[True, False]])).levels == (("False", "True"),) * 2
        assert read(np.array([["b", "1"], ["a", "2"]])).levels == (("a", "b"), ("1", "2"))

    def test_lists(self) -> None:
        ds = read([[0.5, "x"], [1, "y"], [3, "y"]])
        assert ds.names == ("x1", "x2")
        assert ds.levels == (None, ("x", "y"))
        assert read([(True, 1), (False, 2)]).levels == (("False", "True"), ("1", "2"))

    def test_dataset_is_returned_as_it_is(self) -> None:
        ds = Dataset(("a", "b"), [[1, 2]])
        assert read(ds) is ds


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 8), st.integers(2, 5)),
        elements=st.floats(allow_nan=False, allow_infinity=False) | st.integers(-5, 25),
    ),
    st.sampled_from(sorted(SEPARATORS.values())),
)
def test_round_trips(tmp_path: Path, array: np.ndarray, separator: str) -> None:
    """All sources agree with each other, bit for bit, on any finite table."""
    names = [f"x{i}" for i in range(1, array.shape[1] + 1)]
    expected = read(array)
    text = table_text(array.tolist(), separator)
    pandas_frame = pd.DataFrame(array, columns=names)
    assert read(write(tmp_path, text), cardinality_row=False) == expected
    assert read(pandas_frame) == expected
    assert read(pl.DataFrame(array, schema=names)) == expected
    assert read(array.tolist()) == expected
    assert read(expected.to_frame()) == expected
    if expected.is_continuous:
        assert np.array_equal(expected.values, array)


NO_CARDINALITIES = {
    "a tie below": "a b c\n2 3 4\n2 0 0\n1 2 1\n0 1 0\n",
    "two columns": "a b\n2 3\n0 0\n1 2\n0 1\n",
    "a single row below": "a b c\n2 3 4\n1 2 3\n",
    "a one": "a b c\n1 3 4\n0 0 0\n0 2 1\n",
    "a negative": "a b c\n2 3 4\n0 -1 0\n1 2 1\n0 1 0\n",
    "text": "a b c\n2 3 4\n0 x 0\n1 y 1\n0 z 0\n",
    "a decimal": "a b c\n2 3 4\n0 0.5 0\n1 2 3\n0 1 0\n",
    "shrinking counts": "a b c\n90 80 70\n80 75 66\n70 75 60\n0 75 50\n",
    "counts that vanish": "a b c\n90 80 70\n80 70 60\n70 60 50\n0 0 0\n",
}


class TestCardinalityRow:
    """The second row of benchmark files, read as levels and not as an observation."""

    FILE = "0 1 2\n2 3 4\n0 0 0\n1 2 1\n0 1 0\n"

    def test_detected(self, load) -> None:
        ds = load(self.FILE)
        assert ds.n_obs == 3
        assert ds.cardinalities.tolist() == [2, 3, 4]
        assert ds.levels[2] == ("0", "1", "2", "3")
        assert ds.codes.tolist() == [[0, 0, 0], [1, 2, 1], [0, 1, 0]]

    def test_detected_with_a_constant_column_and_more_than_twenty_levels(self, load) -> None:
        ds = load("a,b,c,d\n2,63,2,3\n0,0,0,0\n1,3,0,2\n")
        assert ds.cardinalities.tolist() == [2, 63, 2, 3]
        assert ds.constant_columns == ("c",)

    def test_detected_in_a_short_wide_sample(self, load) -> None:
        header = " ".join(map(str, range(8)))
        rows = [[5] * 8, [0] * 8, [1, 2] * 4]
        ds = load("\n".join([header, *(" ".join(map(str, row)) for row in rows)]))
        assert ds.n_obs == 2
        assert set(ds.cardinalities) == {5}

    def test_detected_when_all_columns_are_said_to_be_categorical(self, load) -> None:
        assert load(self.FILE, categorical="all").cardinalities.tolist() == [2, 3, 4]

    @pytest.mark.parametrize("text", NO_CARDINALITIES.values(), ids=NO_CARDINALITIES.keys())
    def test_not_detected(self, load, text: str) -> None:
        assert load(text).n_obs == len(text.splitlines()) - 1

    def test_forbidden(self, load) -> None:
        ds = load(self.FILE, cardinality_row=False)
        assert ds.n_obs == 4
        assert ds.values.tolist()[0] == [2, 3, 4]

    def test_continuous_types_switch_it_off(self, load) -> None:
        assert load(self.FILE, continuous="all").n_obs == 4
        assert load(self.FILE, continuous=["1"]).n_obs == 4
        assert load(self.FILE, discretize={"1": 2}).n_obs == 4

    def test_detected_where_few_columns_are_read(self, load) -> None:
        assert load(self.FILE, columns=["0", "2"]).cardinalities.tolist() == [2, 4]
        assert load(self.FILE, drop=["0"]).cardinalities.tolist() == [3, 4]

    def test_forced(self, load) -> None:
        ds = load("a b\n2 3\n1 0\n", cardinality_row=True)
        assert ds.cardinalities.tolist() == [2, 3]
        assert ds.codes.tolist() == [[1, 0]]

    def test_data_in_memory_only_on_request(self) -> None:
        rows = [[2, 3, 4], [0, 0, 0], [1, 2, 1], [0, 1, 0]]
        assert read(np.array(rows)).n_obs == 4
        assert read(np.array(rows), cardinality_row=True).cardinalities.tolist() == [
            2,
            3,
            4,
        ]


def test_importing_does_not_import_pandas() -> None:
    code = "import sys, outpoint.data; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_loading_a_file_does_not_import_pandas(tmp_path: Path) -> None:
    path = write(tmp_path, table_text(CONTINUOUS, ","))
    code = "import sys; from outpoint.data import load_dataset as f; f(sys.argv[1]); "
    code += "sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == 0

"""Bad input: one clear sentence each, naming the column, the row and the way out."""

import datetime
import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from outpoint.data import Dataset, load_dataset
from outpoint.errors import DataError, OptionError, OutpointError

ROWS = "".join(f"{i / 7},{i % 3}\n" for i in range(5))

# content, then fragments that the message must contain
BAD_FILES: dict[str, tuple[bytes, list[str]]] = {
    "empty": (b"", ["is empty", "header"]),
    "blank": (b"\n  \n", ["is empty"]),
    "bom only": (b"\xef\xbb\xbf", ["is empty"]),
    "header only": (b"a,b,c\n", ["header but no data rows"]),
    "one column": (b"a\n1\n2\n", ["one column ('a')", "at least two variables", "separator="]),
    "unusual separator": (b"a^b\n1^2\n", ["one column ('a^b')", "separator="]),
    "duplicate": (b"a,b,a\n1,2,3\n", ["'a' occurs more than once", "rename"]),
    "no name": (b"a,,b\n1,2,3\n", ["Column 2 has no name", "name all columns"]),
    "no names": (b"a,,,b\n1,2,3,4\n", ["Columns 2 and 3 have no name"]),
    "no row names": (b",a,b\n1,2,3\n1,3,4\n", ["Column 1 has no name"]),
    "no header": (b"1.5,2,3\n1,2,3\n", ["header row", "first row"]),
    "no header, whole": (b"3 1 2\n1 2 3\n", ["header row"]),
    "short row": (b"a,b,c\n1,2,3\n\n1,2\n", ["Line 4", "2 fields", "header has 3"]),
    "long row": (b"a b\n1 2\n1 2 3\n", ["Line 3", "3 fields", "header has 2", "row names"]),
    "single field": (b"a,b\n1,2\nend of file\n", ["Line 3", "1 field,"]),
    "broken quote": (b'a,b\n1,"2\n3,4\n', ["Line ", "quotes"]),
    "text after quote": (b'a,b\n"1"x,2\n', ["Line 2", "quotes"]),
    "neither UTF-8 nor Windows-1252": (b"gr\x81\xff,b\n1,2\n", ["not a text file", "UTF-8"]),
    "broken utf-16": ("a,b\n1,2\n".encode("utf-16")[:-1], ["not a text file"]),
    "binary": (b"a,b\n1\x00,2\n", ["not a text file"]),
}

# the same, for what is only refused with strict=True
STRICT_FILES: dict[str, tuple[bytes, list[str]]] = {
    "decimal comma": (
        b"a\tb\n1\t1,5\n2\t2,25\n",
        ["'b' has '1,5' in row 1 (line 2)", "decimal=','"],
    ),
    "decimal commas and points": (b"a;b\n1.5;1,5\n2;2,25\n", ["'b' has '1,5'", "decimal=','"]),
    "thousands": (b"a;b\n1;1,500\n2;2,250\n", ["commas in numbers", "'b'", "separate thousands"]),
    "text among numbers": (
        b"a,b\n1,2\n3,4\n\noops,4\n",
        ["text in a numeric column", "'a'", "'oops'", "row 3 (line 5)", 'categorical=["a"]'],
    ),
    "text in half": (b"a,b\n1,2\nx,4\n", ["text in a numeric column", "'x'", "row 2"]),
    "infinite": (b"a,b\n1,2\n3,-inf\n", ["'b'", "infinite", "row 2 (line 3)", "'-inf'"]),
    "overflow": (b"a,b\n1e999,2\n3,4\n", ["'a'", "infinite", "'1e999'"]),
    "several missing": (
        b"a,b\n1,2\n,3\n3,4\nNA,5\n",
        ["'a'", "2 missing values", "first in row 2 (line 3)", "drop 2 rows of 4", "impute"],
    ),
    "missing among text": (b"a,b\nx,1\n?,1\ny,1\n", ["'a'", "1 missing value, in row 2", "'?'"]),
    "none among numbers": (b"a,b\n2.5,1\nNone,2\n", ["'a'", "1 missing value", "('None')"]),
    "word of missing": (b"a,b\nmild,1\nnull,1\n", ["'a'", "1 missing value", "rename 'null'"]),
}


def check(error: OutpointError, fragments: list[str]) -> None:
    message = str(error)
    assert all(fragment in message for fragment in fragments), message
    assert message.endswith((".", "?"))
    assert "\n" not in message


@pytest.mark.attack("tables that cannot be read")
@pytest.mark.parametrize(("content", "fragments"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_bad_file(tmp_path: Path, content: bytes, fragments: list[str]) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        load_dataset(path)
    check(caught.value, fragments)


@pytest.mark.attack("tables that cannot be read")
@pytest.mark.parametrize(("content", "fragments"), STRICT_FILES.values(), ids=STRICT_FILES.keys())
def test_strict_file(tmp_path: Path, content: bytes, fragments: list[str]) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        load_dataset(path, strict=True)
    check(caught.value, fragments)


MARKERS = ["", "  ", "NA", "na", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "?", " NA "]
MARKERS += [".", "-", "#N/A", "<NA>", "NaT"]


@pytest.mark.parametrize("marker", MARKERS)
@pytest.mark.parametrize("kind", [None, "continuous", "categorical"])
def test_every_marker_is_missing(tmp_path: Path, marker: str, kind: str | None) -> None:
    path = tmp_path / "data.csv"
    path.write_text(f"a,b\n{ROWS}{marker},1\n")
    kinds = {kind: ["a"]} if kind else {}
    for refusing in ({"strict": True}, {"missing": "refuse"}):
        with pytest.raises(DataError, match=r"'a' has 1 missing value, in row 6 \(line 7\)"):
            load_dataset(path, **kinds, **refusing)
    assert load_dataset(path, **kinds).missing.sum() == 1
    found = load_dataset(path, **kinds, missing="drop")
    assert found.n_obs == 5
    assert found.notes == (
        "1 row of 6 had missing values, in 'a' (1), and was dropped; refuse such rows with "
        "missing='refuse'",
    )


def test_words_that_contain_a_marker_are_not_missing(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b\nNAB,1\nnone of these,2\nnone,1\n")
    assert load_dataset(path, keep=True).levels[0] == ("NAB", "none", "none of these")


def test_a_minus_beside_a_plus_is_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("rhesus,b\n+,1\n-,2\n+,2\n")
    assert load_dataset(path).levels[0] == ("+", "-")


def test_missing_file() -> None:
    with pytest.raises(DataError) as caught:
        load_dataset("nowhere/data.csv")
    check(caught.value, ["no file 'nowhere/data.csv'", "check the path"])
    assert "bundled" not in str(caught.value)
    with pytest.raises(DataError, match=r"no file 'nowhere\.csv'"):
        load_dataset(Path("nowhere.csv"))


def test_missing_bare_word_lists_the_bundled_data() -> None:
    with pytest.raises(DataError) as caught:
        load_dataset("bostn")
    check(caught.value, ["no file 'bostn'", "bundled", "boston", "asia"])


def test_text_of_a_table_is_not_a_path() -> None:
    with pytest.raises(DataError, match="There is no file"):
        load_dataset("a,b\n" + "1,2\n" * 2000)


def test_directory(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a directory; give the path of a data file"):
        load_dataset(tmp_path)


def test_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refusal is imitated, because some users may read everything."""
    path = tmp_path / "data.csv"
    path.write_text("a,b\n1,2\n")

    def refuse(self: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match=r"not allowed to read .* check its permissions"):
        load_dataset(path)


CUT_SHORT = gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-9]


@pytest.mark.attack("tables that cannot be read")
@pytest.mark.parametrize("content", [b"a,b\n1,2\n", CUT_SHORT], ids=["text", "cut short"])
def test_bad_gzip(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "data.csv.gz"
    path.write_bytes(content)
    with pytest.raises(DataError, match="not a valid gzip file"):
        load_dataset(path)


nan = float("nan")
DATES = [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 2)]
BAD_MEMORY = {
    "number": (5, ["'int'", "file name"]),
    "nothing": (None, ["'NoneType'"]),
    "series": (pd.Series([1, 2]), ["'Series'"]),
    "lazy frame": (pl.LazyFrame({"a": [1]}), ["'LazyFrame'"]),
    "vector": (np.ones(3), ["2 dimensions", "not 1"]),
    "cube": (np.ones((2, 2, 2)), ["2 dimensions", "not 3"]),
    "array one column": (np.ones((3, 1)), ["one column", "at least two variables"]),
    "array no rows": (np.ones((0, 3)), ["no rows"]),
    "list of numbers": ([1, 2, 3], ["'list'"]),
    "empty list": ([], ["no columns", "at least two variables"]),
    "ragged list": ([[1, 2], [1, 2], [1]], ["Row 3 has 1 values", "row 1 has 2"]),
    "pandas duplicate": (
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        ["'a' occurs more than once"],
    ),
    "pandas same text": (pd.DataFrame({1: [1, 2], "1": [3, 4]}), ["'1' occurs more than once"]),
    "pandas no rows": (pd.DataFrame({"a": [], "b": []}), ["no rows"]),
}

# refused with strict=True only
STRICT_MEMORY = {
    "pandas same level": (
        pd.DataFrame({"a": pd.Categorical([1, "1"]), "b": [1, 2]}),
        ["levels of column 'a' are not unique"],
    ),
    "complex": (np.ones((2, 2), dtype=complex), ["'x1'", "complex128"]),
    "array nan": (
        np.array([[1, 2], [3, nan], [nan, nan]]),
        ["2 of 3 rows", "'x1' (1)", "'x2' (2)"],
    ),
    "array inf": (np.array([[1, 2], [3, np.inf]]), ["'x2'", "infinite", "row 2"]),
    "array masked": (
        np.ma.masked_equal(np.array([[1, 2], [3, 4]]), 4),
        ["'x2'", "1 missing value", "row 2"],
    ),
    "none in list": ([[1, 2], [None, 2]], ["'x1'", "1 missing value", "row 2"]),
    "pandas nan": (pd.DataFrame({"a": [1.0, nan, nan], "b": 1}), ["'a'", "2 missing", "row 2"]),
    "pandas NA": (pd.DataFrame({"a": pd.array([1, None]), "b": 1}), ["'a'", "1 missing"]),
    "pandas bool NA": (
        pd.DataFrame({"a": pd.array([True, None], dtype="boolean"), "b": 1}),
        ["'a'", "1 missing", "row 2"],
    ),
    "pandas category NA": (
        pd.DataFrame({"a": pd.Categorical(["x", None]), "b": 1}),
        ["'a'", "1 missing", "row 2"],
    ),
    "pandas text NA": (pd.DataFrame({"a": ["x", None], "b": 1}), ["'a'", "1 missing", "row 2"]),
    "pandas text marker": (pd.DataFrame({"a": ["x", "NA"], "b": 1}), ["'a'", "'NA'", "row 2"]),
    "pandas object NA": (
        pd.DataFrame({"a": pd.Series([1, pd.NA], dtype=object), "b": 1}),
        ["'a'", "1 missing", "row 2"],
    ),
    "pandas text": (
        pd.DataFrame({"a": ["1", "2", "x"], "b": 1}),
        ["text in a numeric column", "'a'", "'x'", "row 3"],
    ),
    "pandas numbers as text": (
        pd.DataFrame({"a": ["1.5", "2"], "b": 1}),
        ["'a'", "numbers stored as text", 'continuous=["a"]', 'categorical=["a"]'],
    ),
    "pandas dates": (
        pd.DataFrame({"d": DATES, "b": 1}),
        ["'d'", "dates", "datetime", 'drop=["d"]'],
    ),
    "polars null": (pl.DataFrame({"a": [1, None], "b": [1, 2]}), ["'a'", "1 missing", "row 2"]),
    "polars nan": (pl.DataFrame({"a": [1.0, nan], "b": [1, 2]}), ["'a'", "1 missing", "row 2"]),
    "polars text null": (pl.DataFrame({"a": ["x", None], "b": [1, 2]}), ["'a'", "1 missing"]),
    "polars bool null": (pl.DataFrame({"a": [True, None], "b": [1, 2]}), ["'a'", "1 missing"]),
    "polars all null": (pl.DataFrame({"a": [None, None], "b": [1, 2]}), ["'a'", "2 missing"]),
    "polars dates": (pl.DataFrame({"d": DATES, "b": [1, 2]}), ["'d'", "Datetime"]),
    "polars lists": (pl.DataFrame({"l": [[1], [2]], "b": [1, 2]}), ["'l'", "List"]),
}


@pytest.mark.attack("tables that cannot be read")
@pytest.mark.parametrize(("data", "fragments"), BAD_MEMORY.values(), ids=BAD_MEMORY.keys())
def test_bad_data_in_memory(data: object, fragments: list[str]) -> None:
    with pytest.raises(DataError) as caught:
        load_dataset(data)
    check(caught.value, fragments)


@pytest.mark.attack("tables that cannot be read")
@pytest.mark.parametrize(("data", "fragments"), STRICT_MEMORY.values(), ids=STRICT_MEMORY.keys())
def test_strict_data_in_memory(data: object, fragments: list[str]) -> None:
    with pytest.raises(DataError) as caught:
        load_dataset(data, strict=True)
    check(caught.value, fragments)


ARRAY = np.array([[2, 3], [0, 1], [1, 2]])
DATASET = Dataset(("a", "b"), [[1, 2]])
BAD_OPTIONS = {
    "unknown column": (ARRAY, {"continuous": ["z"]}, ["'z'", "not a column", "'x1' and 'x2'"]),
    "unknown columns": (ARRAY, {"drop": ["z", "y"]}, ["'z' and 'y'", "are not columns"]),
    "misspelt column": (ARRAY, {"columns": ["x1", "x22"]}, ["'x22'", "did you mean"]),
    "both kinds": (ARRAY, {"categorical": "x1", "continuous": ["x1"]}, ["'x1'", "both"]),
    "cut category": (ARRAY, {"categorical": "x1", "discretize": {"x1": 3}}, ["'x1'", "both"]),
    "read and dropped": (ARRAY, {"columns": ["x1", "x2"], "drop": "x2"}, ["'x2'", "both"]),
    "named twice": (ARRAY, {"columns": ["x1", "x1"]}, ["'x1'", "more than once"]),
    "no columns": (ARRAY, {"columns": []}, ["no column", "at least two"]),
    "not names": (ARRAY, {"drop": 5}, ["drop must be a list of column names", "5"]),
    "one level": (ARRAY, {"discretize": {"x1": 1}}, ["levels from 2 by column", "not {'x1': 1}."]),
    "levels without a column": (ARRAY, {"discretize": 3}, ["dictionary", "not 3"]),
    "decimal mark": (ARRAY, {"decimal": ";"}, ["decimal must be '.' or ','"]),
    "missing": (
        ARRAY,
        {"missing": "impute"},
        ["missing must be one of auto, augment, drop, refuse, not 'impute'."],
    ),
    "preferred kind": (ARRAY, {"prefer": "both"}, ["prefer must be", "'both'"]),
    "ordinal and categorical": (ARRAY, {"ordinal": "x1", "categorical": "x1"}, ["'x1'", "both"]),
    "ordinal and ranked": (ARRAY, {"ordinal": "x1", "normal_scores": "x1"}, ["'x1'", "both"]),
    "ordinal and continuous": (ARRAY, {"ordinal": "x1", "continuous": "x1"}, ["'x1'", "both"]),
    "everything ordinal": (ARRAY, {"ordinal": "all"}, ["ordinal names 'all'", "not a column"]),
    "order of one word": (
        ARRAY,
        {"ordinal": {"x1": "low"}},
        ["of their levels in order, not {'x1': 'low'}."],
    ),
    "order with a repetition": (
        ARRAY,
        {"ordinal": {"x1": "aba"}},
        ["levels in order, not {'x1': 'aba'}."],
    ),
    "order with a level twice": (
        ARRAY,
        {"ordinal": {"x1": ["a", "b", "a"]}},
        ["a level of 'x1' more than once"],
    ),
    "unknown weights": (ARRAY, {"weights": "n"}, ["weights names 'n'", "not a column"]),
    "weights in a list": (ARRAY, {"weights": [1, 2]}, ["weights must be the name of a column"]),
    "words for missing": (ARRAY, {"na": 5}, ["na must be a list of words", "5"]),
    "words of a Dataset": (DATASET, {"na": "x"}, ["na", "Dataset already"]),
    "decimal mark in memory": (ARRAY, {"decimal": ","}, ["decimal", "files only"]),
    "separator in memory": (ARRAY, {"separator": ","}, ["separator", "files only"]),
    "long separator": ("asia", {"separator": "||"}, ["'||'", "one character"]),
    "empty separator": ("asia", {"separator": ""}, ["''", "one character"]),
    "letter separator": ("asia", {"separator": "a"}, ["'a'", "one character"]),
    "separator of a Dataset": (DATASET, {"separator": ","}, ["separator", "Dataset already"]),
    "decimal of bundled data": ("asia", {"decimal": ","}, ["decimal", "Dataset already"]),
    "continuous with cardinality row": (
        ARRAY,
        {"cardinality_row": True, "continuous": ["x2"]},
        ["'x2'", "cardinality row"],
    ),
}


@pytest.mark.parametrize(
    ("data", "options", "fragments"), BAD_OPTIONS.values(), ids=BAD_OPTIONS.keys()
)
def test_bad_options(data: object, options: dict, fragments: list[str]) -> None:
    with pytest.raises(OptionError) as caught:
        load_dataset(data, **options)
    check(caught.value, fragments)


BAD_CARDINALITY = {
    "code too high": ([[2, 3], [0, 3]], ["'x2'", "3 levels", "code 3"]),
    "negative": ([[2, 3], [-1, 2]], ["'x1'", "2 levels", "code -1"]),
    "zero levels": ([[0, 3], [0, 2]], ["'x1'", "0 levels"]),
    "decimal": ([[2, 3], [0.5, 2]], ["'x1'", "whole numbers"]),
    "text": ([["two", 3], ["one", 2]], ["'x1'", "whole numbers"]),
    "nothing below": ([[2, 3]], ["'x1'", "at least one row of codes"]),
}


@pytest.mark.parametrize(
    ("rows", "fragments"), BAD_CARDINALITY.values(), ids=BAD_CARDINALITY.keys()
)
def test_bad_cardinality_row(rows: list, fragments: list[str]) -> None:
    with pytest.raises(DataError) as caught:
        load_dataset(rows, cardinality_row=True)
    check(caught.value, fragments)


def test_text_levels_cannot_be_continuous() -> None:
    frame = pd.DataFrame({"a": pd.Categorical(["x", "y"]), "b": [1.5, 2]})
    with pytest.raises(DataError, match=r"cannot be continuous: 'a' \(x, y\)"):
        load_dataset(frame, continuous="all")


def test_text_cannot_be_continuous() -> None:
    with pytest.raises(DataError, match=r"'x1' has 'p' in row 1"):
        load_dataset([["p", 1], ["q", 2], ["r", 3]], continuous="x1")

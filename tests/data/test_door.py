"""What the door leaves out, takes and says; each decision names the option that changes it."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, rankdata

from outpoint.data import Dataset, load_dataset
from outpoint.data.loading import load
from outpoint.errors import DataError, OptionError
from outpoint.naming import command_line
from outpoint.options import LOAD, Options
from outpoint.scores import bind_score, resolve_score

N = 60
RNG = np.random.default_rng(7)
X = RNG.normal(size=N).round(3)
Y = (X + RNG.normal(size=N)).round(3)


def frame(**columns: Any) -> pd.DataFrame:
    """Two measurements and further columns."""
    return pd.DataFrame({**columns, "x": X, "y": Y})


def the_note(data: Dataset) -> str:
    (note,) = data.notes
    return note


DAYS = pd.date_range("2024-01-01", periods=N)
SENTENCES = [f"patient {i} came in with a cough and left" for i in range(N)]
TOWNS = [f"town {i % 25}" for i in range(N)]

# the column, why it is left out, and the option that keeps it
LEFT_OUT: dict[str, tuple[str, Any, str, str | None]] = {
    "text": ("who", [f"k{i * 7 % 61}" for i in range(N)], "differs in every row", "categorical"),
    "counting": ("number", np.arange(N) + 1, "differs in every row (1)", "continuous"),
    "counting from 500": ("v", np.arange(N) + 500, "differs in every row (500)", "continuous"),
    "numbers by name": ("case_no", RNG.permutation(N) * 7, "differs in every row", "continuous"),
    "numbers called ID": ("patientID", RNG.permutation(N) * 3, "differs in every", "continuous"),
    "huge numbers": ("v", 2**60 + RNG.permutation(N) * 1024, "differs in every row", "continuous"),
    "subjects": ("id", np.arange(N) // 4, "belong to one subject", "categorical"),
    "subjects as text": ("subject", [f"s{i // 3}" for i in range(N)], "one subject", "categorical"),
    "days": ("day", [f"{day:%Y-%m-%d}" for day in DAYS], "holds dates or times", "categorical"),
    "days as numbers": ("day", [int(f"{d:%Y%m%d}") for d in DAYS], "holds dates", "continuous"),
    "times of day": (
        "at",
        [f"{i % 24}:{i % 50 + 10}" for i in range(N)],
        "holds dates",
        "categorical",
    ),
    "prose": ("remark", SENTENCES, "holds free text", "categorical"),
    "towns": ("town", TOWNS, "too many levels for its rows (25 levels", "categorical"),
    "units": ("w", [f"{i / 4} kg" for i in range(N)], "numbers with signs or units", "categorical"),
}


@pytest.mark.parametrize("case", LEFT_OUT.values(), ids=LEFT_OUT.keys())
def test_left_out_or_refused_or_kept(case: tuple[str, Any, str, str | None]) -> None:
    name, values, why, option = case
    table = frame(**{name: values})
    data = load_dataset(table)
    assert data.names == ("x", "y")
    assert the_note(data).startswith(f"left out {name!r}, which ")
    assert why in the_note(data)
    with pytest.raises(DataError, match=rf'\'{name}\' holds .*leave it out with drop=\["{name}"\]'):
        load_dataset(table, strict=True)
    assert option is not None
    assert the_note(data).endswith(f'keep it with {option}=["{name}"]')
    kept = load_dataset(table, **{option: [name]})
    assert kept.names == (name, "x", "y")
    assert kept.kinds[0] == option
    assert load_dataset(table, keep=True).names == kept.names
    with command_line():
        assert f"--{option} {name}" in the_note(load_dataset(table))


NUMBERS = {
    "years": ("year", np.arange(1950, 1950 + N)),
    "years without a name": ("v", np.arange(1950, 1950 + N)),
    "ages": ("age", np.arange(N) + 20),
    "ranks": ("rank", np.arange(N) + 1),
    "the time of a series": ("time", np.arange(N)),
    "a camel's month": ("firstMonth", np.arange(N)),
    "incomes": ("income", RNG.permutation(N) * 137 + 20_000),
    "measurements": ("v", np.arange(N) / 7),
    "counts with a gap": ("v", np.delete(np.arange(N + 1), 30)),
}


@pytest.mark.parametrize(("name", "values"), NUMBERS.values(), ids=NUMBERS.keys())
def test_numbers_that_differ_in_every_row_are_numbers(name: str, values: Any) -> None:
    for strict in (False, True):
        data = load_dataset(frame(**{name: values}), strict=strict)
        assert data.names == (name, "x", "y")
        assert data.is_continuous
        assert data.notes == ()


def test_the_units_of_a_panel() -> None:
    firms = np.repeat([f"firm {i}" for i in range(15)], 4)
    table = frame(firm=firms, year=np.tile([2001, 2002, 2003, 2004], 15))
    data = load_dataset(table)
    assert data.names == ("year", "x", "y")
    assert the_note(data) == (
        "left out 'firm', which tells which rows belong to one subject (15 different values); rows "
        "of one subject are not independent, so that everything will look more certain than it is; "
        'keep it with categorical=["firm"]'
    )
    with pytest.raises(DataError, match="'firm' holds identifiers of subjects with several rows"):
        load_dataset(table, strict=True)
    once = load_dataset(table.assign(year=RNG.integers(2001, 2005, N)))
    assert "too many levels for its rows (15 levels" in the_note(once)  # pairs repeat: no panel


def test_constants_and_copies() -> None:
    table = frame(unit="kg", site=3, x2=X * 2 + 1)
    data = load_dataset(table)
    assert data.names == ("x2", "y")
    assert data.notes == (
        "left out 'unit' and 'site', which are constant; keep them with allow_degenerate=True",
        "left out 'x', which says the same as 'x2'; keep both with allow_degenerate=True",
    )
    assert load_dataset(table, allow_degenerate=True).n_nodes == 5
    strict = load_dataset(table, strict=True)
    assert strict.n_nodes == 5
    with pytest.raises(DataError, match="'unit' and 'site' are constant"):
        bind_score(resolve_score("auto", strict), strict, allow_degenerate=False)


def test_a_declared_level_that_never_occurs_makes_no_constant() -> None:
    table = frame(g=pd.Categorical(["a"] * N, categories=["a", "b"]))
    assert load_dataset(table).names == ("g", "x", "y")


class TestCells:
    """Commas, words and other oddities of single cells."""

    def test_thousands(self) -> None:
        table = frame(v=[f"{i % 50 + 1},{i * 7 % 900 + 100}" for i in range(N)])
        data = load_dataset(table)
        assert data.values[:3, 0].tolist() == [1100, 2107, 3114]
        assert the_note(data) == (
            "commas in the numbers of 'v' ('1,100' in row 1) were taken to separate thousands; if "
            "they are decimal commas, use decimal=','"
        )
        with pytest.raises(DataError, match="There are commas in numbers: 'v' has '1,100'"):
            load_dataset(table, strict=True)

    def test_decimal_commas(self, tmp_path: Path) -> None:
        path = tmp_path / "data.csv"
        path.write_text("a\tb\n" + "".join(f"{i},5\t{i * i % 7}\n" for i in range(20)))
        data = load_dataset(path)
        assert data.values[:3, 0].tolist() == [0.5, 1.5, 2.5]
        assert the_note(data) == (
            "numbers with a comma in 'a' ('0,5' in row 1 (line 2)) were read with a decimal comma"
        )
        assert load_dataset(path, decimal=",") == data
        with pytest.raises(DataError, match="numbers with a decimal comma: 'a' has '0,5'"):
            load_dataset(path, strict=True)

    def test_a_word_among_a_few_numbers_makes_categories(self) -> None:
        table = frame(grade=["1", "2", "3", "3", "2", "none"] * 10)
        data = load_dataset(table)
        assert data.levels[0] == ("1", "2", "3", "none")
        assert the_note(data) == (
            "words among the numbers of 'grade' ('none' in row 6) make them categories; if such a "
            "word means missing, say so with na="
        )
        numbers = load_dataset(table, na="none", continuous=["grade"])
        assert numbers.is_continuous
        assert numbers.missing.sum() == 10
        with pytest.raises(DataError, match="text in a numeric column: 'grade' has 'none' in row"):
            load_dataset(table, strict=True)

    def test_a_word_among_many_numbers(self) -> None:
        table = frame(v=[str(i * 7 % 41) if i != 9 else "high" for i in range(N)])
        data = load_dataset(table)
        assert data.names == ("x", "y")
        assert the_note(data) == (
            "left out 'v', which has words among its numbers ('high' in row 10); keep it with "
            'categorical=["v"], or say which words mean missing with na='
        )
        assert load_dataset(table, na=["high"], continuous=["v"]).missing.sum() == 1
        with pytest.raises(DataError, match="text in a numeric column: 'v' has 'high' in row 10"):
            load_dataset(table, strict=True)

    def test_infinite(self) -> None:
        table = frame(v=np.where(np.arange(N) == 3, np.inf, Y**2))
        data = load_dataset(table)
        assert the_note(data) == "left out 'v', which has infinite values ('inf' in row 4)"
        for options in ({"strict": True}, {"continuous": ["v"]}, {"keep": True}):
            with pytest.raises(DataError, match="There are infinite values: 'v' has 'inf'"):
                load_dataset(table, **options)

    def test_what_no_model_has(self) -> None:
        table = frame(v=[1j] * N)
        data = load_dataset(table)
        assert (
            the_note(data)
            == "left out 'v', which holds neither numbers nor categories (complex128)"
        )
        with pytest.raises(DataError, match=r"'v' \(complex128\) holds neither"):
            load_dataset(table, strict=True)


def load_complete(table: Any, **options: Any) -> Dataset:
    """As those read who have no use for missing values."""
    return load(table, Options.read(LOAD, options))


class TestMissing:
    """Rows and columns with holes, and the words for them."""

    def test_holes_are_kept(self) -> None:
        table = frame(z=X * Y).mask(RNG.random((N, 3)) < 0.3)
        table.loc[7] = np.nan
        data = load_dataset(table)
        np.testing.assert_array_equal(data.missing, table.dropna(how="all").isna())
        empty = int(table.isna().all(axis=1).sum())
        assert the_note(data) == (
            f"{empty} row{'s' * (empty > 1)} without any value {'were' if empty > 1 else 'was'} "
            f"left out, as {'they say' if empty > 1 else 'it says'} nothing"
        )
        assert load_dataset(data) is data
        assert load_dataset(data, missing="augment") is data
        n_complete = len(table.dropna())
        assert load_dataset(data, missing="drop").n_obs == n_complete

    @pytest.mark.parametrize("nothing", [None, np.nan, pd.NA, pd.NaT, "NA"])
    def test_whatever_stands_for_nothing(self, nothing: Any) -> None:
        table = frame(v=[nothing if i % 9 == 4 else i * 7 % 41 for i in range(N)])
        data = load_dataset(table)
        assert data.missing.sum() == data.missing[:, 0].sum() == 7

    def test_a_few_rows_are_dropped(self) -> None:
        table = frame().mask(RNG.random((N, 2)) < 0.05)
        gone = table.isna().any(axis=1).sum()
        data = load_complete(table)
        assert data.n_obs == N - gone
        assert f"{gone} rows of 60 had missing values, in " in the_note(data)
        assert the_note(data).endswith("and were dropped; refuse such rows with missing='refuse'")
        for options in ({"strict": True}, {"missing": "refuse"}):
            with pytest.raises(DataError, match="drop these rows with missing='drop'"):
                load_dataset(table, **options)

    @pytest.mark.parametrize(("n_missing", "is_read"), [(20, True), (21, False)])
    def test_two_thirds_of_the_rows_stay(self, n_missing: int, is_read: bool) -> None:
        table = frame(z=X * Y, w=X + Y**2)
        table.loc[: n_missing // 2 - 1, "z"] = np.nan
        table.loc[n_missing // 2 : n_missing - 1, "w"] = np.nan
        if is_read:
            assert load_complete(table).n_obs == N - n_missing
            return
        with pytest.raises(DataError) as caught:
            load_complete(table)
        assert str(caught.value) == (
            "21 of 60 rows have missing values, too many to leave them out unasked: 'w' (11) and "
            "'z' (10); leave out the columns that cost most rows with drop=[\"w\"], drop the rows "
            "with missing='drop', or let learn integrate them out, with a score that has a model "
            "of the data."
        )
        assert load_dataset(table, missing="drop").n_obs == N - n_missing
        assert load_complete(table, drop=["w"]).n_obs == N - n_missing // 2

    def test_a_sparse_column_is_left_out(self) -> None:
        table = frame(z=np.where(np.arange(N) % 2 == 0, np.nan, X * Y))
        data = load_complete(table)
        assert data.names == ("x", "y")
        assert the_note(data) == (
            "left out 'z', which lacks too many values (50%); keep it with missing='drop'"
        )
        assert load_dataset(table, missing="drop").values.shape == (30, 3)
        with pytest.raises(DataError, match="'z' has 30 missing values"):
            load_dataset(table, strict=True)

    @pytest.mark.parametrize(("n_values", "is_left_out"), [(2, True), (3, False)])
    def test_a_column_with_hardly_any_values_is_left_out(
        self, n_values: int, is_left_out: bool
    ) -> None:
        few = np.arange(N) % (N // n_values) == 0
        assert few.sum() == n_values
        words = np.where(np.arange(N) % 40 == 0, "low", "high")
        table = frame(z=np.where(few, X * Y, np.nan), w=np.where(few, words, None))
        data = load_dataset(table)
        if not is_left_out:
            assert data.names == ("z", "w", "x", "y")
            return
        assert data.names == ("x", "y")
        assert the_note(data) == (
            "left out 'z' and 'w', which have hardly any values; keep them with "
            'continuous=["z"] or categorical=["w"]'
        )
        kept = load_dataset(table, continuous=["z"])
        assert kept.names == ("z", "x", "y")
        assert the_note(kept) == (
            "left out 'w', which has hardly any values (2 in 60 rows); keep it with "
            'categorical=["w"]'
        )
        with pytest.raises(DataError, match="Columns 'z' and 'w' hold hardly any values"):
            load_dataset(table, missing="augment", strict=True)

    def test_every_row(self) -> None:
        table = frame(z=np.nan)
        with pytest.raises(DataError, match=r'Every row has a missing value.*drop=\["z"\]'):
            load_dataset(table, missing="drop")
        assert load_dataset(table).names == ("x", "y")

    def test_none_is_a_level_among_words_and_missing_among_numbers(self, tmp_path: Path) -> None:
        path = tmp_path / "data.csv"
        words = ["None", "Some", "Marked"]
        rows = [f"{words[i % 3]},{'None' if i == 4 else X[i]},{Y[i]}\n" for i in range(N)]
        path.write_text("improved,x,y\n" + "".join(rows))
        data = load_dataset(path)
        assert data.levels[0] == ("Marked", "None", "Some")
        assert data.missing.sum() == 1
        dropped = load_dataset(path, na=["None"], missing="drop")
        assert dropped.levels[0] == ("Marked", "Some")
        assert dropped.n_obs == 39

    def test_words_replace_the_usual_ones(self, tmp_path: Path) -> None:
        path = tmp_path / "data.csv"
        grades = ["NA", "ok", "-99", "ok", "bad", "ok"]
        path.write_text("g,y\n" + "".join(f"{grades[i % 6]},{Y[i]}\n" for i in range(N)))
        assert load_dataset(path).levels[0] == ("-99", "bad", "ok")
        assert load_complete(path, na=["-99"]).levels[0] == ("NA", "bad", "ok")
        assert load_dataset(path, na=["-99", "NA"]).levels[0] == ("bad", "ok")
        assert load_dataset(path, na=[]).n_obs == N

    @pytest.mark.parametrize("dtype", [np.float64, np.int64, "Int64", object])
    def test_numbers_can_be_such_words_in_memory_too(self, dtype: Any) -> None:
        ages = pd.Series([20 + i % 30 if i % 6 else -99 for i in range(N)]).astype(dtype)
        data = load_complete(frame(age=ages), na=["-99"])
        assert data.n_obs == N - 10
        assert data.values[:, 0].min() == 21


class TestKinds:
    """Codes, scores that decide, orders and ranks."""

    CODES = pd.DataFrame({"a": np.arange(N) % 3, "b": RNG.integers(1, 4, N), "c": np.arange(N) % 2})

    def test_tables_of_codes(self) -> None:
        data = load_dataset(self.CODES)
        assert data.is_categorical
        assert the_note(data) == (
            "every column holds a few codes, so all were taken as categories; read numbers with "
            'continuous=["all"]'
        )
        assert load_dataset(self.CODES, continuous="all").is_continuous
        four = load_dataset(self.CODES.assign(a=np.arange(N) % 4))
        assert four.kinds == ("continuous", "continuous", "categorical"), "as on a scale"

    def test_a_survey_is_none(self) -> None:
        survey = pd.DataFrame(RNG.integers(1, 6, (N, 4)), columns=list("abcd"))
        assert load_dataset(survey).is_continuous
        assert load_dataset(self.CODES.assign(d=X)).kinds[:2] == ("continuous",) * 2
        assert load_dataset(self.CODES + 5).kinds == ("continuous", "continuous", "categorical")

    def test_the_score_decides(self) -> None:
        table = frame(likert=RNG.integers(1, 6, N), sex=np.arange(N) % 2, ill=RNG.random(N) < 0.5)
        assert load_dataset(table).columns_of("categorical") == ("sex", "ill")
        assert load_dataset(table, prefer="continuous").is_continuous
        levels = load_dataset(table, prefer="categorical")
        assert levels.columns_of("categorical") == ("likert", "sex", "ill")
        assert load_dataset(self.CODES, prefer="continuous").is_continuous
        asked = load_dataset(table, prefer="continuous", categorical=["sex"])
        assert asked.columns_of("categorical") == ("sex",)

    def test_what_was_said_stays_in_a_data_set(self) -> None:
        table = frame(sex=np.arange(N) % 2, ill=RNG.integers(0, 2, N))
        found = load_dataset(table, categorical=["sex"])
        again = load_dataset(found, prefer="continuous")
        assert again.columns_of("categorical") == ("sex",)
        assert load_dataset(load_dataset(table), prefer="continuous").is_continuous
        built = Dataset(found.names, found.values, found.levels)
        assert load_dataset(built, prefer="continuous") is not None
        assert load_dataset(built, prefer="continuous").kinds == found.kinds

    def test_normal_scores(self) -> None:
        table = frame(v=np.exp(X).round(1))
        data = load_dataset(table, normal_scores=["v"])
        expected = norm.ppf(rankdata(table["v"]) / (N + 1))
        np.testing.assert_allclose(data.values[:, 0], expected, rtol=0, atol=1e-12)
        assert data.values[:, 1].tolist() == X.tolist()
        every = load_dataset(table.assign(g=["a", "b"] * 30), normal_scores="all")
        assert every.kinds == ("continuous",) * 3 + ("categorical",)
        np.testing.assert_allclose(every.values[:, 2], norm.ppf(rankdata(Y) / (N + 1)), atol=1e-12)

    @pytest.mark.parametrize(
        ("values", "options"),
        [
            (
                pd.Categorical(["low", "mid", "top"] * 20, ["low", "mid", "top"], ordered=True),
                {},
            ),
            (["low", "mid", "top"] * 20, {"ordinal": "size"}),
            (["low", "mid", "top"] * 20, {"ordinal": {"size": ["low", "mid", "top"]}}),
            ([1, 20, 300] * 20, {"ordinal": ["size"]}),
            ([1, 20, 300] * 20, {"ordinal": {"size": ["1", "20", "300"]}}),
        ],
    )
    def test_ordinal(self, values: Any, options: dict[str, Any]) -> None:
        data = load_dataset(frame(size=values), **options)
        expected = norm.ppf(rankdata([0, 1, 2] * 20) / (N + 1))
        np.testing.assert_allclose(data.values[:, 0], expected, rtol=0, atol=1e-12)

    def test_ordinal_says_the_order(self) -> None:
        table = frame(size=["small", "large", "medium"] * 20)
        order = {"size": ["small", "medium", "large"]}
        assert the_note(load_dataset(table, ordinal=order)) == (
            "'size' enters as normal scores of its ordered levels (small < medium < large); "
            "another order is given with ordinal=, and levels without an order with "
            'categorical=["size"]'
        )
        assert "(large < medium < small)" in the_note(load_dataset(table, ordinal=["size"]))
        with pytest.raises(DataError, match=r"does not name all levels.*'size' \('medium'\)"):
            load_dataset(table, ordinal={"size": ["small", "large"]})

    def test_ordered_categories_are_levels_where_the_score_needs_them(self) -> None:
        sizes = pd.Categorical(["low", "mid", "top"] * 20, ["low", "mid", "top"], ordered=True)
        assert load_dataset(frame(size=sizes), prefer="categorical").levels[0] == (
            "low",
            "mid",
            "top",
        )
        assert load_dataset(frame(size=sizes), categorical=["size"]).kinds[0] == "categorical"


class TestRows:
    """Weights, tables of counts, matrices of correlations."""

    COUNTS = pd.DataFrame(
        {
            "sex": ["f", "f", "m", "m"] * 2,
            "ill": ["no", "yes"] * 4,
            "old": [False] * 4 + [True] * 4,
            "dose": [1.5, 1.5, 2.5, 2.5, 4.0, 4.0, 1.5, 2.5],
            "Freq": [12, 3, 9, 14, 0, 5, 1, 2],
        }
    )

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"drop": ["dose"]},
            {"columns": ["sex", "dose"]},
            {"normal_scores": ["dose"]},
            {"discretize": {"dose": 2}},
            {"prefer": "categorical", "categorical": ["dose"]},
            {"ordinal": {"ill": ["yes", "no"]}},
            {"strict": True},
        ],
    )
    def test_weights_repeat_rows(self, options: dict[str, Any]) -> None:
        found = load_dataset(self.COUNTS, weights="Freq", **options)
        rows = np.repeat(np.arange(8), self.COUNTS["Freq"])
        repeated = self.COUNTS.iloc[rows].drop(columns="Freq")
        expected = load_dataset(repeated, **options)
        assert found.fingerprint() == expected.fingerprint()
        assert found.notes == expected.notes
        assert found.n_obs == 46

    @pytest.mark.parametrize("score", ["bge", "bdeu", "blocks", "conditional-gaussian"])
    def test_for_all_scores(self, score: str) -> None:
        table = self.COUNTS[["dose", "Freq"]].assign(z=[1.0, 2.5, 0.5, 3.0, 2.0, 2.5, 7.0, 8.0])
        if score != "bge":
            table = table.assign(sex=self.COUNTS["sex"])
        if score == "bdeu":
            table = self.COUNTS.drop(columns="dose")
        rows = np.repeat(np.arange(8), table["Freq"])
        found = load_dataset(table, weights="Freq")
        plain = load_dataset(table.iloc[rows].drop(columns="Freq"))
        parents = np.array([[1]], dtype=np.int16)
        scores = [
            bind_score(resolve_score(score, data), data, allow_degenerate=False).families(
                0, parents
            )
            for data in (found, plain)
        ]
        assert found.fingerprint() == plain.fingerprint()
        assert scores[0] == scores[1]

    def test_with_interventions(self) -> None:
        table = self.COUNTS.assign(set=["", "ill", "", "sex;ill", "", "", "ill", ""])
        found = load_dataset(table, weights="Freq", interventions="set")
        rows = np.repeat(np.arange(8), table["Freq"])
        expected = load_dataset(table.iloc[rows].drop(columns="Freq"), interventions="set")
        assert found.fingerprint() == expected.fingerprint()
        assert found.interventions == expected.interventions
        listed = load_dataset(
            self.COUNTS, weights="Freq", interventions=[(), ("ill",), (), ("sex", "ill")] + [()] * 4
        )
        assert listed.interventions[12:15] == (("ill",),) * 3

    def test_a_zero_takes_its_level_with_it(self) -> None:
        table = self.COUNTS.assign(sex=["f", "f", "m", "m", "x", "f", "m", "m"])
        assert load_dataset(table, weights="Freq").levels[0] == ("f", "m")

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            ([1, 2, 3, 4, 5, 6, 7, -1], "-1 in row 8 is not a whole number from 0"),
            ([1.5, 2, 3, 4, 5, 6, 7, 8], "1.5 in row 1 is not a whole number from 0"),
            (["many"] * 8, "are not all numbers"),
            ([True] * 8, "are not all numbers"),
            ([1, None, 3, 4, 5, 6, 7, 8], "there is none in row 2"),
            ([0] * 8, "add up to 0 rows"),
            ([1e9] * 8, "add up to 8,000,000,000 rows"),
            ([np.inf] * 8, "are not all numbers"),
        ],
    )
    def test_bad_weights(self, weights: list[Any], message: str) -> None:
        with pytest.raises(DataError, match=message):
            load_dataset(self.COUNTS.assign(Freq=weights), weights="Freq")

    def test_counts_are_recognised(self) -> None:
        table = self.COUNTS.drop(columns="dose")
        assert the_note(load_dataset(table)) == (
            "the rows look like all combinations of categories and 'Freq' like their counts; to "
            "count each row that many times, use weights='Freq'"
        )
        with command_line():
            assert "use --weights Freq" in the_note(load_dataset(table))
        assert load_dataset(table.rename(columns={"Freq": "size"})).notes == ()
        assert load_dataset(pd.concat([table, table])).notes == ()

    @pytest.mark.parametrize("scale", [1.0, 4.0])
    def test_a_matrix_of_correlations_is_refused(self, scale: float) -> None:
        matrix = np.corrcoef(RNG.normal(size=(4, 30))) * scale
        what = "correlations" if scale == 1.0 else "covariances"
        for strict in (False, True):
            with pytest.raises(DataError, match=f"a matrix of {what} between 'x1', 'x2', 'x3' and"):
                load_dataset(matrix, strict=strict)
        # as R writes cov.wt(): means and the number of rows stand beside the matrix
        listed = pd.DataFrame(matrix, columns=["a", "b", "c", "d"]).assign(center=0, n_obs=30)
        with pytest.raises(DataError, match=f"a matrix of {what} between 'a', 'b', 'c' and"):
            load_dataset(listed)
        assert load_dataset(matrix[:3]).n_obs == 3
        assert load_dataset(matrix + np.triu(np.ones((4, 4)), 1)).n_obs == 4


def test_nothing_left() -> None:
    table = pd.DataFrame({"id": np.arange(N), "day": [f"{d:%Y-%m-%d}" for d in DAYS], "x": X})
    with pytest.raises(DataError) as caught:
        load_dataset(table)
    assert str(caught.value) == (
        "There is nothing to learn, because only 'x' is left as a variable: left out 'id', which "
        "differs in every row (0); keep it with continuous=[\"id\"]; left out 'day', which holds "
        "dates or times ('2024-01-01'); keep it with categorical=[\"day\"]."
    )


def test_a_data_set_has_passed_the_door() -> None:
    numbers = np.arange(N, dtype=np.float64)
    built = Dataset(("id", "one", "x", "y"), np.column_stack([numbers, numbers * 0, X, Y]))
    assert load_dataset(built, drop=["y"]).names == ("id", "one", "x")
    assert load_dataset(built, strict=True) is built
    assert load_dataset(built, discretize={"x": 3}).kinds == (
        "continuous",
        "continuous",
        "categorical",
        "continuous",
    )


CELLS = st.one_of(
    st.integers(-3, 3),
    st.floats(),
    st.sampled_from(
        ["a", "b", "NA", "None", "1", "2,5", "1,234", "2024-01-01", "", "7 kg", "x y z w"]
    ),
    st.booleans(),
    st.none(),
    st.integers(2**53, 2**60),
)
COLUMNS = st.one_of(
    st.sampled_from(
        [
            lambda n: list(range(n)),
            lambda n: [f"k{i}" for i in range(n)],
            lambda n: [1] * n,
            lambda n: [f"2024-01-{i + 1:02d}" for i in range(n)],
            lambda n: [i // 2 for i in range(n)],
            lambda n: [None] * n,
            lambda n: pd.date_range("2024-01-01", periods=n),
            lambda n: pd.Categorical(["a", "b"] * n, ordered=True)[:n],
        ]
    ),
    CELLS.map(lambda cell: lambda n: [cell] * n),
)
CHOICES = st.fixed_dictionaries(
    {},
    optional={
        "strict": st.booleans(),
        "keep": st.booleans(),
        "allow_degenerate": st.booleans(),
        "missing": st.sampled_from(["auto", "augment", "drop", "refuse"]),
        "prefer": st.sampled_from(["continuous", "categorical"]),
        "categorical": st.sampled_from(["c0", "all"]),
        "continuous": st.just("c1"),
        "ordinal": st.sampled_from(["c2", {"c2": ["a", "b"]}]),
        "normal_scores": st.sampled_from(["c3", "all"]),
        "weights": st.just("c0"),
        "na": st.sampled_from([["a"], [], ["1"]]),
    },
)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_any_table_is_read_or_refused_with_a_sentence(draw: st.DataObject) -> None:
    n_rows = draw.draw(st.integers(1, 9))
    made = {}
    for v in range(draw.draw(st.integers(1, 5))):
        if draw.draw(st.booleans()):
            made[f"c{v}"] = draw.draw(COLUMNS)(n_rows)
        else:
            made[f"c{v}"] = draw.draw(st.lists(CELLS, min_size=n_rows, max_size=n_rows))
    options = draw.draw(CHOICES)
    said = _outcome(pd.DataFrame(made), options)
    assert "\n" not in said
    assert said.endswith((".", "?"))


def _outcome(table: pd.DataFrame, options: dict[str, Any]) -> str:
    """What is said of a table; any other error than these goes through."""
    try:
        data = load_dataset(table, **options)
    except (DataError, OptionError) as error:
        return str(error)
    assert data.n_nodes >= 2
    assert np.isfinite(data.values[~data.missing]).all()
    assert not data.missing.all(axis=0).any()
    assert not data.missing.all(axis=1).any()
    return "; ".join([data.describe(), *data.notes]) + "."

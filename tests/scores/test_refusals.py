"""Which data a score takes, which score a name means."""

import numpy as np
import pytest

from outpoint.data import Dataset
from outpoint.errors import DataError, OptionError
from outpoint.scores import (
    BIC,
    SCORES,
    BDeu,
    BGe,
    Blocks,
    CustomScore,
    note_few_rows,
    resolve_score,
)

from .helpers import categorical, continuous, dependent_codes, dependent_values

VALUES = dependent_values(np.random.default_rng(1), 20, 4)
CODES = dependent_codes(np.random.default_rng(2), 20, [3, 3, 3, 3])
MIXED = Dataset(("x", "y", "g"), [[0.5, 1.5, 0], [2.5, 0.5, 1]], (None, None, ("f", "m")))


# Degenerate data


def with_column(table: np.ndarray, column: int, content: object) -> np.ndarray:
    changed = table.copy()
    changed[:, column] = content
    return changed


def data_of(kind: str, table: np.ndarray) -> Dataset:
    return continuous(table) if kind == "bge" else categorical(table, [3] * table.shape[1])


@pytest.mark.parametrize(("kind", "score"), [("bge", BGe()), ("bdeu", BDeu())])
class TestDegenerate:
    def test_identical_columns(self, kind: str, score: BGe | BDeu) -> None:
        table = VALUES if kind == "bge" else CODES
        data = data_of(kind, with_column(table, 3, table[:, 1]))
        with pytest.raises(
            DataError, match=r"columns 'b' and 'd' are identical.*leave one out.*drop=\[.d.\]"
        ):
            score.bind(data)
        assert np.isfinite(score.bind(data, allow_degenerate=True).every_family(3)).all()

    def test_copies(self, kind: str, score: BGe | BDeu) -> None:
        table = VALUES if kind == "bge" else CODES
        copy = 32 - 1.8 * table[:, 1] if kind == "bge" else (table[:, 1] + 1) % 3
        data = data_of(kind, with_column(table, 3, copy))
        with pytest.raises(DataError, match=r"columns 'b' and 'd' are copies.*drop=\[.d.\]"):
            score.bind(data)
        assert np.isfinite(score.bind(data, allow_degenerate=True).every_family(3)).all()

    def test_all_copies_are_named(self, kind: str, score: BGe | BDeu) -> None:
        table = VALUES if kind == "bge" else CODES
        data = data_of(kind, np.column_stack([table[:, :2], table[:, :2]]))
        with pytest.raises(DataError, match=r"'b' and 'd' are identical.*drop=\[.c., .d.\]"):
            score.bind(data)

    def test_fewer_rows_than_columns(self, kind: str, score: BGe | BDeu) -> None:
        table = VALUES if kind == "bge" else np.array([[0, 1, 2, 2], [1, 0, 2, 0], [0, 0, 1, 1]])
        data = data_of(kind, table[:3])
        assert note_few_rows(data) == (
            "with fewer rows (3) than columns (4) the prior decides most edges",
        )
        assert np.isfinite(score.bind(data).every_family(3)).all()
        assert np.isfinite(score.bind(data, allow_degenerate=True).every_family(3)).all()

    def test_as_many_rows_as_columns_are_enough(self, kind: str, score: BGe | BDeu) -> None:
        table = VALUES[:4] if kind == "bge" else CODES[:5]
        assert np.isfinite(score.bind(data_of(kind, table)).every_family(3)).all()
        assert note_few_rows(data_of(kind, table)) == ()


def test_constant_continuous_columns() -> None:
    data = continuous(with_column(VALUES, 2, 7.0))
    with pytest.raises(DataError, match=r"column 'c' is constant.*allow_degenerate=True"):
        BGe().bind(data)
    for score in (BGe(), BGe(standardize=False)):
        assert np.isfinite(score.bind(data, allow_degenerate=True).every_family(3)).all()


def test_all_constant_columns_are_named() -> None:
    data = continuous(with_column(with_column(VALUES, 2, 7.0), 0, 1.0))
    with pytest.raises(DataError, match=r"columns 'a' and 'c' are constant.*drop=\[.a., .c.\]"):
        BGe().bind(data)


def test_categorical_columns_of_one_level() -> None:
    data = categorical(with_column(CODES, 2, 0), [3, 3, 1, 3])
    with pytest.raises(DataError, match=r"column 'c' is constant"):
        BDeu().bind(data)
    assert np.isfinite(BDeu().bind(data, allow_degenerate=True).every_family(3)).all()


def test_a_constant_column_with_unobserved_levels_is_informative() -> None:
    BDeu().bind(categorical(with_column(CODES, 2, 0), [3, 3, 2, 3]))


# The wrong kind of data


def refusal(score: BGe | BDeu | BIC, data: Dataset) -> str:
    with pytest.raises(DataError) as caught:
        score.bind(data)
    return str(caught.value)


def test_bge_wants_numbers() -> None:
    message = refusal(BGe(), MIXED)
    assert "BGe needs continuous columns, but 'g' is categorical" in message
    assert 'drop=["g"]' in message
    assert "continuous=" not in message, "f and m are no numbers"
    message = refusal(BGe(), Dataset(("a", "b"), [[0, 1]], (("1", "2"), ("no", "yes"))))
    assert "'a' and 'b' are categorical" in message
    assert 'continuous=["a"]' in message
    assert "drop=" not in message, "nothing would be left"


def test_bdeu_wants_levels() -> None:
    message = refusal(BDeu(), MIXED)
    assert "BDeu needs categorical columns, but 'x' and 'y' are continuous" in message
    assert 'drop=["x", "y"]' in message
    assert "discretize={'all': 3}" in message
    assert "categorical=" not in message, "measurements are no categories"
    message = refusal(BDeu(), Dataset(("a", "b"), [[1, 0.5], [2, 1.5]]))
    assert 'categorical=["a"]' in message


# Names of scores


def test_auto_goes_by_the_kind_of_data() -> None:
    assert resolve_score("auto", continuous(VALUES)) == BGe()
    assert resolve_score("auto", categorical(CODES, [3] * 4)) == BDeu()
    assert resolve_score("auto", MIXED) == Blocks()


def test_bic_refuses_mixed_data_and_names_both_kinds() -> None:
    message = refusal(BIC(), MIXED)
    assert "continuous columns ('x' and 'y') and categorical ones ('g')" in message
    assert "discretize={'all': 3}" in message
    assert 'drop=["g"]' in message


def test_what_could_be_of_the_other_kind_is_told() -> None:
    levels = (("1", "2"), None, None, ("f", "m"))
    data = Dataset(("q", "count", "x", "g"), [[0, 17, 0.5, 1], [1, 30, 1.5, 0]], levels)
    message = r"as continuous with continuous=\[.q.\].* as categorical with categorical=\[.count.\]"
    with pytest.raises(DataError, match=message):
        BIC().bind(data)


def test_names_and_objects() -> None:
    data = continuous(VALUES)
    assert resolve_score("bge", data) == BGe()
    assert resolve_score("bdeu", data) == BDeu()
    for score in (BGe(alpha_mu=0.1), BDeu(equivalent_sample_size=3), CustomScore(len)):
        assert resolve_score(score, data) is score
    assert all(make().name == name for name, make in SCORES.items())


@pytest.mark.parametrize("name", ["aic", "BGe", ""])
def test_unknown_names(name: str) -> None:
    with pytest.raises(OptionError, match=f"unknown score '{name}': choose one of auto, bge, bdeu"):
        resolve_score(name, continuous(VALUES))


@pytest.mark.parametrize("thing", [None, 3, len])
def test_things_that_are_no_score(thing: object) -> None:
    with pytest.raises(
        OptionError, match=r"a score must be a name, BGe\(\), BDeu\(\), Blocks\(\), "
    ):
        resolve_score(thing, continuous(VALUES))

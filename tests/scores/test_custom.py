"""Scores given as a function."""

from math import inf, nan

import numpy as np
import pytest

from outpoint.errors import OptionError
from outpoint.scores import CustomScore

from .helpers import categorical, continuous, family

DATA = continuous(np.zeros((1, 4)))


def test_the_function_sees_numbers() -> None:
    seen = []

    def function(child: int, parents: tuple[int, ...]) -> float:
        seen.append((child, parents))
        return 10.0 * child + sum(parents)

    scorer = CustomScore(function).bind(DATA)
    assert family(scorer, 3, (0, 2)) == 32.0
    assert family(scorer, 1, ()) == 10.0
    assert seen == [(3, (0, 2)), (1, ())]
    assert all(type(u) is int for child, parents in seen for u in (child, *parents))


def test_the_function_sees_names() -> None:
    table = {("d", ("a", "c")): -1.5, ("b", ()): 2.5}
    scorer = CustomScore(lambda child, parents: table[child, parents], by_name=True).bind(DATA)
    assert family(scorer, 3, (0, 2)) == -1.5
    assert family(scorer, 1, ()) == 2.5


def test_each_family_is_asked_once_with_ascending_parents() -> None:
    seen = []
    CustomScore(lambda child, parents: seen.append((child, parents)) or 0.0).bind(
        DATA
    ).every_family(3)
    assert len(seen) == len(set(seen)) == 4 * 8
    assert all(list(parents) == sorted(set(parents) - {child}) for child, parents in seen)


@pytest.mark.parametrize("value", [-inf, 0, np.float32(0.5), np.int64(-3), True])
def test_numbers_and_minus_infinity_are_scores(value: float) -> None:
    assert family(CustomScore(lambda child, parents: value).bind(DATA), 0, (1,)) == float(value)


@pytest.mark.parametrize("value", [nan, inf, None, "high", [1.0, 2.0], np.nan, 1j])
def test_anything_else_is_refused_with_its_family(value: object) -> None:
    scorer = CustomScore(lambda child, parents: value).bind(DATA)
    with pytest.raises(OptionError, match=r"custom score of a given b, d is .*number or -inf"):
        family(scorer, 0, (1, 3))
    with pytest.raises(OptionError, match="custom score of c given no parents is"):
        family(scorer, 2, ())


def test_one_bad_family_among_many_is_found() -> None:
    scorer = CustomScore(lambda child, parents: nan if (child, parents) == (2, (1, 3)) else 0.0)
    scorer.bind(DATA).every_family(1)
    with pytest.raises(OptionError, match="custom score of c given b, d is nan"):
        scorer.bind(DATA).every_family(2)


def test_errors_of_the_function_are_the_users_own() -> None:
    with pytest.raises(ZeroDivisionError):
        family(CustomScore(lambda child, parents: 1 / 0).bind(DATA), 0, ())


def test_any_kind_of_data_will_do() -> None:
    mixed = categorical([[0, 0]], [1, 2])
    assert family(CustomScore(lambda child, parents: 1.0).bind(mixed), 0, (1,)) == 1.0
    assert CustomScore(len).name == "custom"

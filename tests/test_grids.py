"""Every value of every axis is tested always, and every combination at length."""

import pytest

from tests.grids import covering, first


@pytest.mark.parametrize("axes", [("abc", "xy"), ("ab", "xyz"), ("abcd", "xy", "123"), ("a", "x")])
def test_covering(axes: tuple[str, ...]) -> None:
    grid = covering(*axes)
    size = 1
    for axis in axes:
        size *= len(axis)
    assert len({case.values for case in grid}) == size
    always = [case.values for case in grid if not case.marks]
    assert len(always) == max(map(len, axes))
    assert [set(values) for values in zip(*always, strict=True)] == [set(axis) for axis in axes]


def test_first() -> None:
    cases = first({"a": 1, "b": 2, "c": 3}, 2)
    assert [case.values for case in cases] == [("a",), ("b",), ("c",)]
    assert [bool(case.marks) for case in cases] == [False, False, True]


def test_first_of_cases_with_several_values() -> None:
    cases = first([(1, "a"), (2, "b")])
    assert [case.values for case in cases] == [(1, "a"), (2, "b")]
    assert [bool(case.marks) for case in cases] == [False, True]

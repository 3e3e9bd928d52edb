"""Wrong values for every argument of every public function: one sentence, never a raw exception."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import outpoint as op
from outpoint.arguments import takes
from outpoint.errors import OptionError
from outpoint.kinds import whole
from tests.attacks.hostile_values import HOSTILE
from tests.attacks.wrong_calls import Call, other_calls, posterior_calls

ATTACK = pytest.mark.attack("arguments of wrong types", "one sentence, nothing written")

SOME = ("array", "huge", "null byte", "deep list", "fails in everything", "dict of what fails")
"""Values that have got furthest in the past."""

SOME_KINDS = ("exact", "sampled")

Record = Callable[[str, object], None]


@pytest.fixture(autouse=True)
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def check(calls: Iterable[Call], labels: Iterable[str], record: Record) -> None:
    said = [call.complaint(label) for call in calls for label in labels]
    record("attacks", len(said))
    assert [one for one in said if one] == []


@ATTACK
def test_some_with_posteriors(record_property: Record) -> None:
    seen: set[tuple[object, str]] = set()
    calls = []
    for call in posterior_calls(SOME_KINDS):  # each method once, not for every class that has it
        key = (getattr(call.function, "__func__", call.function), call.argument)
        calls += [call] if key not in seen else []
        seen.add(key)
    check(calls, SOME, record_property)


@ATTACK
def test_some_with_functions(record_property: Record) -> None:
    check(other_calls(), SOME, record_property)


@ATTACK
@pytest.mark.long
def test_all_with_posteriors(record_property: Record) -> None:
    check(posterior_calls(), HOSTILE, record_property)


@ATTACK
@pytest.mark.long
def test_all_with_functions(record_property: Record) -> None:
    check(other_calls(), HOSTILE, record_property)


def test_methods_check_what_those_check_that_they_stand_for() -> None:
    """A method of a kind of posterior that replaces a checked one is checked as well."""
    kinds, waiting = [], [op.Posterior]
    while waiting:
        kinds.append(waiting.pop())
        waiting += kinds[-1].__subclasses__()
    replaced = [
        (kind.__name__, name, hasattr(own, "__wrapped__"))
        for kind in kinds
        for name, own in vars(kind).items()
        if any(hasattr(vars(base).get(name), "__wrapped__") for base in kind.__mro__[1:])
    ]
    assert len(replaced) > 4
    assert [one for one in replaced if not one[-1]] == []


REFUSED = {
    *("Knowledge.read", "load", "read_dag", "read_edges", "read_jkl"),  # have no file to read
    *("exact.effects_over_time", "sampled.effects_over_time"),  # are about series
    "learner.predict_proba",  # is about levels
}
"""Calls that cannot be good; whatever else they are given is refused for this reason or another."""


@pytest.mark.filterwarnings("ignore")  # a few draws are worth little
def test_the_calls_are_good_without_the_hostile_value() -> None:
    """Otherwise all would be refused for another reason."""
    refused = set()
    calls = {call.name: call for call in [*other_calls(), *posterior_calls(SOME_KINDS)]}
    for name, call in calls.items():
        try:
            call.function(**call.good)
        except op.OutpointError:
            refused.add(name)
    assert len(calls) > 100
    assert refused == REFUSED


class Raw:
    """Functions that answer a hostile value in the ways that a user must not see."""

    @staticmethod
    def raises(count: int = 5) -> int:
        return count + 1

    @staticmethod
    def rambles(count: int = 5) -> None:
        raise op.OptionError("one line\nand another")

    @staticmethod
    def writes(count: int = 5) -> None:
        Path("left").touch()
        raise op.OptionError("count is wrong.")


@pytest.mark.parametrize(
    ("name", "said"),
    [("raises", "raised TypeError"), ("rambles", "got 'one line"), ("writes", "a file written")],
)
def test_what_is_raw_is_found(name: str, said: str) -> None:
    assert said in Call(name, getattr(Raw, name), "count", {}).complaint("text")


@takes(count=whole(1))
def counted(data: object, count: int = 5) -> int:
    return count


def test_what_is_refused_is_not_begun() -> None:
    assert counted(None) == 5
    assert counted(None, 3) == 3
    with pytest.raises(OptionError, match=r"count must be a whole number from 1 to .*, not 'many'"):
        counted(None, count="many")
    with pytest.raises(TypeError, match=r"counted\(\) missing a required argument: 'data'"):
        counted()
    assert op.random_dag.__doc__.startswith("Draw a DAG")

"""Wrong values of every option: one sentence before anything is computed, never a raw exception.

Values of other types, made once for all options, are given to every function one by one. Most are
refused by the check of the option alone; those that pass it are taken through the whole function.
"""

import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint.errors import OptionError, OutpointError
from outpoint.options import FIT, LEARN, LOAD, MAP, OPTIONS, SCORE, Options, options_of

RNG = np.random.default_rng(3)
FRAME = pd.DataFrame(RNG.normal(size=(25, 3)), columns=list("abc"))
DAG = op.Dag.from_edges(list("abc"), [("a", "b")])


class Stubborn:
    """An object that fails whatever is done with it."""

    def __repr__(self) -> str:
        raise RuntimeError("cannot be shown")

    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError("cannot be listed")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("cannot be compared")

    def __hash__(self) -> int:
        raise RuntimeError("has no hash")


VALUES: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "truth": lambda: True,
    "minus one": lambda: -1,
    "half": lambda: 1.5,
    "huge": lambda: 10**400,
    "too large for text": lambda: 10**5000,
    "nan": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "complex": lambda: 1 + 2j,
    "decimal": lambda: Decimal("0.5"),
    "empty text": lambda: "",
    "text": lambda: "nonsense",
    "null byte": lambda: "a\0b",
    "bytes": lambda: b"abc",
    "empty list": list,
    "nested list": lambda: [1, [2, [None]]],
    "pairs of lists": lambda: [([1], ["a"]), (None, np.arange(3))],
    "set": lambda: {"a", 1},
    "empty dict": dict,
    "dict": lambda: {"a": object(), 2: [3]},
    "dict of arrays": lambda: {"a": np.arange(3), "b": pd.Series([1, 2])},
    "array": lambda: np.arange(3.0),
    "array of one": lambda: np.array(5),
    "table": lambda: np.full((3, 3), 0.5),
    "array of objects": lambda: np.array([None, "a", object()], dtype=object),
    "series": lambda: pd.Series([1.0, 2.0], index=list("ab")),
    "frame": lambda: pd.DataFrame({"a": [1, 2], "b": ["x", None]}),
    "time that is none": lambda: pd.NaT,
    "function": lambda: lambda *values: 0,
    "class": lambda: int,
    "object": object,
    "generator": lambda: (name for name in ("a", 5)),
    "stubborn": Stubborn,
    "list of stubborn": lambda: [Stubborn()],
}

SHORT = {"steps": 40, "chains": 2, "draws": 10, "seed": 1}
CALLS: dict[str, Callable[[dict[str, Any]], Any]] = {
    LEARN: lambda given: op.learn(FRAME, **given),
    MAP: lambda given: op.find_map(FRAME, **given),
    SCORE: lambda given: op.log_score(FRAME, DAG, **given),
    LOAD: lambda given: op.load_dataset(FRAME, **given),
    FIT: lambda given: op.OutpointLearner(**given).fit(FRAME),
}


def given_to(function: str, name: str, value: Any) -> dict[str, Any]:
    """The value of an option, with those that keep a run short."""
    if function in (LEARN, FIT) and OPTIONS.get(name, OPTIONS["score"]).is_of_sampling:
        return {"method": "mcmc", **SHORT, name: value}
    return {name: value}


def refusal(function: str, name: str, value: Any) -> str:
    """What the check of the option alone says to a value; nothing if it takes it."""
    plain = "score" if name == "local_score" else name
    try:
        Options.read(function, {plain: value})
    except OptionError as error:
        return str(error)
    return ""


def answer(function: str, name: str, value: Any) -> str:
    """What a call says to a value; nothing if it has a result. Other exceptions are not caught."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            CALLS[function](given_to(function, name, value))
        except OutpointError as error:
            return str(error)
    return ""


QUICK = (LOAD, SCORE)
CASES = [
    pytest.param(function, one.name, marks=() if function in QUICK else pytest.mark.long)
    for function in CALLS
    for one in options_of(function)
]


@pytest.mark.attack("options of wrong types", "one sentence that names the option", times=2)
@pytest.mark.parametrize("function", CALLS)
def test_the_check_alone(function: str) -> None:
    """Every option of every function with every value: a plain value or the one sentence."""
    n_refused = n_given = 0
    for one in options_of(function):
        for label, make in VALUES.items():
            said = refusal(function, one.name, make())
            n_given += 1
            if said:
                n_refused += 1
                assert said.startswith(f"{one.name} is {one.kind.words}, not "), label
                assert said.endswith(".")
                assert "\n" not in said
                assert len(said) < 300
        assert refusal(function, one.name, Stubborn()), one.name
    assert n_refused > n_given / 2


@pytest.mark.parametrize(("function", "name"), CASES)
def test_what_passes_the_check(
    function: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values of the right type that make no sense in other ways: no raw exception either."""
    monkeypatch.chdir(tmp_path)
    for label, make in VALUES.items():
        if not refusal(function, name, make()):
            assert "\n" not in answer(function, name, make()), label


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("forbidden", "nested list"),
        ("required", "pairs of lists"),
        ("tiers", "array of objects"),
        ("roots", "list of stubborn"),
        ("interventions", "frame"),
        ("edge_prior", "frame"),
        ("candidates", "dict of arrays"),
        ("score", "text"),
        ("knowledge", "text"),
    ],
)
def test_some_that_pass_the_check_of_learn(name: str, label: str) -> None:
    """Of each kind one, in every run of the tests."""
    assert refusal(LEARN, name, VALUES[label]()) == ""
    assert answer(LEARN, name, VALUES[label]()).endswith(".")

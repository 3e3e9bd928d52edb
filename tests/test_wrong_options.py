"""Wrong values of every option: one sentence before anything is computed, never a raw exception.

Hostile values, made once for all options, are given to every function one by one. Most are
refused by the check of the option alone; those that pass it are taken through the whole function.
"""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint.errors import OptionError, OutpointError
from outpoint.options import FIT, LEARN, LOAD, MAP, OPTIONS, SCORE, Options, options_of
from tests.attacks.hostile_values import HOSTILE, Failing, OwnError

RNG = np.random.default_rng(3)
FRAME = pd.DataFrame(RNG.normal(size=(25, 3)), columns=list("abc"))
DAG = op.Dag.from_edges(list("abc"), [("a", "b")])


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
        except OwnError:  # of a function that was given
            return ""
    return ""


QUICK = (LOAD, SCORE)
CASES = [
    pytest.param(function, one.name, marks=() if function in QUICK else pytest.mark.long)
    for function in CALLS
    for one in options_of(function)
]


@pytest.mark.attack("options of wrong types", "one sentence that names the option")
@pytest.mark.parametrize("function", CALLS)
def test_the_check_alone(function: str, record_property: Callable[[str, object], None]) -> None:
    """Every option of every function with every value: a plain value or the one sentence."""
    n_refused = n_given = 0
    for one in options_of(function):
        for label, make in HOSTILE.items():
            said = refusal(function, one.name, make())
            n_given += 1
            if said:
                n_refused += 1
                assert said.startswith(f"{one.name} must be {one.kind.words}, not "), label
                assert said.endswith(".")
                assert "\n" not in said
                assert len(said) < 300
        assert refusal(function, one.name, Failing()), one.name
    assert n_refused > n_given / 2
    record_property("attacks", n_given)


@pytest.mark.attack("options of wrong types")
@pytest.mark.parametrize(("function", "name"), CASES)
def test_what_passes_the_check(
    function: str,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    """Values of the right type that make no sense in other ways: no raw exception either."""
    monkeypatch.chdir(tmp_path)
    passing = [label for label, make in HOSTILE.items() if not refusal(function, name, make())]
    record_property("attacks", len(passing))
    for label in passing:
        assert "\n" not in answer(function, name, HOSTILE[label]()), label


@pytest.mark.attack("options of wrong types")
@pytest.mark.parametrize("function", CALLS)
def test_nothing_is_done_before_the_check(
    function: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    """The data are not looked at before all options have passed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tests.test_wrong_options.FRAME", Failing())
    n_refused = 0
    for one in options_of(function):
        for label, make in HOSTILE.items():
            if refusal(function, one.name, make()):
                said = answer(function, one.name, make())
                assert said.startswith(f"{one.name} must be {one.kind.words}, not "), label
                n_refused += 1
    record_property("attacks", n_refused)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("forbidden", "nested list"),
        ("required", "pairs of lists"),
        ("tiers", "array of objects"),
        ("roots", "list that fails"),
        ("interventions", "frame"),
        ("edge_prior", "frame"),
        ("candidates", "dict of arrays"),
        ("score", "text"),
        ("knowledge", "text"),
    ],
)
def test_some_that_pass_the_check_of_learn(name: str, label: str) -> None:
    """Of each kind one, in every run of the tests."""
    assert refusal(LEARN, name, HOSTILE[label]()) == ""
    assert answer(LEARN, name, HOSTILE[label]()).endswith(".")

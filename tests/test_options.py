"""The declaration of the options: signatures follow it, and so does all that is said of them."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import outpoint as op
from outpoint.errors import OptionError
from outpoint.mcmc import SAMPLERS
from outpoint.naming import command_line
from outpoint.options import FIT, LEARN, OPTIONS, Options, Role, names_of, options_of
from outpoint.pacing import LEAST_PILOT, LEAST_SEARCH, MOST_PILOTS
from outpoint.registry import METHODS
from outpoint.scores import STRUCTURE_PRIORS
from outpoint.search import PATIENCE, SPACES, TABU

FUNCTIONS = [op.learn, op.find_map, op.log_score, op.load_dataset, op.OutpointLearner]
NO_OPTIONS = ("data", "dag")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_signatures_are_those_of_the_declaration(function: Callable[..., Any]) -> None:
    """Names, order and defaults."""
    found = {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in NO_OPTIONS
    }
    declared = {one.name: one.default for one in options_of(function.__name__)}
    assert list(found.items()) == list(declared.items())


def test_every_option_belongs_to_a_function() -> None:
    known = {function.__name__ for function in FUNCTIONS}
    for name, one in OPTIONS.items():
        assert one.of, name
        assert set(one.of) <= known, name
        assert set(one.others) <= set(one.of), name


def test_commands_have_all_options_but_those_that_mean_nothing_there() -> None:
    """Commands show their progress and know their own words; estimators predict one variable."""
    functions = [function.__name__ for function in FUNCTIONS]
    of_python = {one.name for name in functions for one in options_of(name) if one.help is None}
    assert of_python == {"command", "progress", "threshold", "target", "keep", "prefer"}


def test_every_default_is_in_its_plain_form() -> None:
    for function in FUNCTIONS:
        for one in options_of(function.__name__):
            assert one.read(one.default) == one.default
            assert not one.differs(one.read(one.default))
    nothing = Options.read(LEARN, {one.name: one.default for one in options_of(LEARN)})
    assert nothing.record(*Role) == {}


def test_words_that_may_be_chosen_are_those_that_exist() -> None:
    assert tuple(SAMPLERS) == METHODS
    kinds = {
        name: OPTIONS[name].kind.choices  # type: ignore[attr-defined]
        for name in ("space", "structure_prior")
    }
    assert kinds == {"space": SPACES, "structure_prior": STRUCTURE_PRIORS}
    assert (OPTIONS["tabu"].default, OPTIONS["patience"].default) == (TABU, PATIENCE)
    bounds = {
        name: (OPTIONS[name].kind.least, OPTIONS[name].kind.most)  # type: ignore[attr-defined]
        for name in ("search_effort", "pilots")
    }
    assert bounds == {"search_effort": (LEAST_SEARCH, 1), "pilots": (LEAST_PILOT, MOST_PILOTS)}


def test_the_help_names_options_that_exist() -> None:
    for name, one in OPTIONS.items():
        if one.help is not None:
            assert one.help.format_map({name: name for name in OPTIONS}), name
            assert one.help.endswith((".", "or ,")), name


def test_roles() -> None:
    """Which options a run is compared by, and which may change when it is continued."""
    assert names_of(Role.STOP) == ("steps", "time", "until_converged", "planned_steps")
    assert names_of(Role.PACE) == ("warmup", "search_effort", "pilots")
    assert {"score", "max_parents", "knowledge", "allow_degenerate"} <= set(
        names_of(Role.POSTERIOR)
    )
    assert {"chains", "draws", "moves", "start", "n_candidates"} <= set(names_of(Role.DRAWS))
    assert {"engine", "threads", "out", "memory_limit"} <= set(names_of(Role.PLACE))
    assert {"drop", "missing", "interventions"} <= set(names_of(Role.READING))


def test_a_record_holds_what_was_changed_as_json() -> None:
    dag = op.Dag.from_edges(["a", "b"], [("a", "b")])
    given = {"chains": 2, "draws": 1000, "start": dag, "steps": 5, "seed": 1, "threads": 3}
    asked = Options.read(LEARN, given)
    start = {"names": ["a", "b"], "edges": [["a", "b"]]}
    assert asked.record(Role.DRAWS) == {"chains": 2, "start": start}
    assert asked.record(Role.STOP) == {"steps": 5}
    assert OPTIONS["start"].kind.from_json(start) == dag
    written = OPTIONS["start"].kind.as_python(start)
    assert eval(written, {"op": op}) == dag


def test_one_wording() -> None:
    """The option as its reader writes it, what it takes, and what it got."""
    for name, value, message in (
        ("chains", 0, "chains must be a whole number from 1 to 1,000, not 0."),
        ("pilots", "2", "pilots must be a number from 0.125 to 5, not '2'."),
        ("engine", "spark", "engine must be one of threads, dask, not 'spark'."),
        ("resume", "yes", "resume must be True or False, not 'yes'."),
        (
            "n_candidates",
            -1,
            "n_candidates must be a whole number from 0 to 1,000,000,000,000, not -1.",
        ),
    ):
        with pytest.raises(OptionError) as caught:
            Options.read(LEARN, {name: value})
        assert str(caught.value) == message
    with command_line(), pytest.raises(OptionError, match=r"^--candidates must be a whole number"):
        Options.read(LEARN, {"n_candidates": -1})
    with pytest.raises(OptionError, match=r"^local_score must be a name"):
        Options.read(FIT, {"score": 5})


class Unshowable:
    """An object that cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("no")


def test_a_refusal_is_short_whatever_was_given() -> None:
    for value in ("x" * 10**5, [0] * 10**5, 10**5000, Unshowable(), type, lambda: 1):
        with pytest.raises(OptionError) as caught:
            Options.read(LEARN, {"chains": value})
        assert len(str(caught.value)) < 160
        assert "\n" not in str(caught.value)

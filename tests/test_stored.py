"""The one check of arrays in files: names, types, shapes and ranges, each with its sentence."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import outpoint as op
from outpoint.runs import RunDirectory, saved_arrays
from outpoint.runs.checkpoint import write_checkpoint
from outpoint.runs.manifest import FIELDS
from outpoint.store import Field, checked_arrays

Arrays = dict[str, NDArray[Any]]


def description() -> Arrays:
    """The arrays of a run of four variables with two candidates each."""
    return {
        "candidates": np.array([[1, 2], [0, 3], [0, 1], [1, 2]], dtype=np.int32),
        "scores": np.array([-1.0, -2.0, -np.inf, 4.0]),
        "start": np.zeros(4, dtype=np.int32),
        "starts": np.ones((3, 4), dtype=np.int32),
        "hottest": np.zeros(1),
        "effort": np.array([1.0, 32.0]),
        "limits": np.array([2, 0, 1, 2], dtype=np.int32),
    }


def put(name: str, value: Any) -> Callable[[Arrays], None]:
    return lambda arrays: arrays.update({name: np.asarray(value)})


WRONG = {
    "missing": (lambda arrays: arrays.pop("effort"), "'effort' is missing"),
    "no candidates": (lambda arrays: arrays.pop("candidates"), "'candidates' is missing"),
    "unknown": (put("surprise", [1.0]), "'surprise' is not known"),
    "real codes": (put("start", np.zeros(4)), "'start' has the wrong type"),
    "texts": (put("scores", list("abcd")), "'scores' has the wrong type"),
    "flat": (put("candidates", np.arange(4)), "'candidates' has the shape"),
    "too long": (put("scores", np.zeros(5)), "'scores' has the shape (5,) and not (4,)"),
    "other nodes": (put("starts", np.zeros((2, 3), dtype=np.int32)), "'starts' has the shape"),
    "beyond 32 bits": (put("start", [1 << 40, 0, 0, 0]), "'start' has values out of range"),
    "not cooled": (put("hottest", [1.0]), "'hottest' has values out of range"),
    "fewer than no parents": (
        put("limits", np.array([2, -1, 1, 2], dtype=np.int32)),
        "'limits' has values out of range",
    ),
    "no power": (put("hottest", [np.nan]), "'hottest' has values out of range"),
    "no effort": (put("effort", [0.0, 1.0]), "'effort' has values out of range"),
    "endless effort": (put("effort", [1.0, np.inf]), "'effort' has values out of range"),
    "itself": (put("candidates", [[0, 1]] * 4), "a node is its own candidate"),
}


@pytest.mark.attack(
    "descriptions of runs with crafted arrays", "one sentence that says what is wrong"
)
@pytest.mark.parametrize(("change", "sentence"), WRONG.values(), ids=WRONG.keys())
def test_a_crafted_description_is_refused(
    tmp_path: Path, change: Callable[[Arrays], None], sentence: str
) -> None:
    run = RunDirectory(tmp_path)
    run.checkpoint.mkdir()
    arrays = description()
    write_checkpoint(run.identity, {}, arrays)
    assert {name: found.tolist() for name, found in saved_arrays(run).items()} == {
        name: array.tolist() for name, array in arrays.items()
    }
    change(arrays)
    write_checkpoint(run.identity, {}, arrays)
    with pytest.raises(op.CheckpointError) as refused:
        saved_arrays(run)
    assert sentence in str(refused.value)
    assert "does not describe a run" in str(refused.value)


def test_a_run_whose_replicas_start_together(tmp_path: Path) -> None:
    """Such runs hold an empty list of states, which has no second dimension."""
    run = RunDirectory(tmp_path)
    run.checkpoint.mkdir()
    write_checkpoint(run.identity, {}, {**description(), "starts": np.zeros(0, dtype=np.int32)})
    assert len(saved_arrays(run)["starts"]) == 0


def test_numbers_of_another_width_become_those_of_the_field() -> None:
    arrays = {**description(), "start": np.array([0, 3, 0, 0], dtype=np.uint8)}
    taken = checked_arrays(arrays, FIELDS, {})["start"]
    assert taken.dtype == np.int32
    assert taken.tolist() == [0, 3, 0, 0]


def test_only_fields_that_may_hold_what_is_not_finite_do() -> None:
    arrays = {"a": np.array([np.nan, 0.5])}
    checked_arrays(arrays, {"a": Field(("x",), least=0.0, most=1.0, finite=False)}, {})
    for field in (Field(("x",)), Field(("x",), least=0.6, finite=False)):
        with pytest.raises(ValueError, match="out of range"):
            checked_arrays(arrays, {"a": field}, {})

"""Every function that takes data takes the options on reading, and they mean the same."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint.options import Role, names_of
from outpoint.posterior.files import run_again

READING = names_of(Role.READING)
RNG = np.random.default_rng(5)
FRAME = pd.DataFrame(RNG.normal(size=(40, 3)).round(3), columns=list("xyz"))
FRAME["x"] += FRAME["y"]
FRAME.insert(0, "id", [f"P-{i}" for i in range(40)])
FRAME["group"] = np.arange(40) % 3
FRAME.loc[3, "y"] = np.nan

OPTIONS: dict[str, Any] = {
    "drop": ["id"],
    "missing": "drop",
    "continuous": ["group"],
    "discretize": {"z": 2},
}
READ = op.load_dataset(FRAME, **OPTIONS)
DAG = op.Dag.from_edges(READ.names, [("y", "x")])


@pytest.mark.parametrize("function", [op.learn, op.find_map, op.log_score, op.OutpointLearner])
def test_signatures(function: Callable[..., Any]) -> None:
    """A new option of ``load_dataset`` is one of these too: name, type and default."""
    wanted = inspect.signature(op.load_dataset, eval_str=True).parameters
    found = inspect.signature(function, eval_str=True).parameters
    assert {"drop", "missing", "interventions"} <= set(READING)
    for name in READING:
        assert name in found, f"{function.__name__} lacks {name}"
        assert found[name].default == wanted[name].default, name
        assert found[name].annotation == wanted[name].annotation, name
        assert found[name].kind is inspect.Parameter.KEYWORD_ONLY, name


@pytest.mark.parametrize("function", [op.learn, op.find_map])
def test_they_are_described(function: Callable[..., Any]) -> None:
    text = inspect.getdoc(function) or ""
    described = " ".join(line for line in text.splitlines() if not line.startswith(" "))
    assert set(READING) <= set(described.replace(",", " ").split())


def test_learn() -> None:
    direct = op.learn(FRAME, seed=1, **OPTIONS)
    read = op.learn(READ, seed=1)
    assert direct.info.fingerprint == read.info.fingerprint
    assert direct.log_evidence == read.log_evidence
    assert direct.info.reading == OPTIONS
    assert direct.info.notes == READ.notes


def test_find_map() -> None:
    direct, read = op.find_map(FRAME, seed=1, **OPTIONS), op.find_map(READ, seed=1)
    assert direct.dag == read.dag
    assert direct.info.fingerprint == read.info.fingerprint
    assert direct.info.reading == OPTIONS
    assert direct.info.options == {}


def test_log_score() -> None:
    assert op.log_score(FRAME, DAG, **OPTIONS) == op.log_score(READ, DAG)


def test_the_estimator() -> None:
    learner = op.OutpointLearner(seed=1, **OPTIONS)
    assert "drop=['id']" in repr(learner)
    assert learner.get_params()["discretize"] == {"z": 2}
    posterior = learner.fit(FRAME).posterior_
    assert posterior.info.fingerprint == op.learn(READ, seed=1).info.fingerprint
    assert posterior.info.reading == OPTIONS


def test_a_run_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    FRAME.to_csv(path, index=False)
    first = op.learn(path, seed=1, **OPTIONS)
    room: dict[str, Any] = {}
    exec(run_again(first), room)
    assert room["post"].info.fingerprint == first.info.fingerprint
    assert room["post"].log_evidence == first.log_evidence
    assert room["post"].info.reading == first.info.reading


def test_a_run_is_continued(tmp_path: Path) -> None:
    sampling = {"method": "partition", "chains": 2, "draws": 20, "seed": 3}
    whole = op.learn(FRAME, steps=400, **sampling, **OPTIONS)
    op.learn(FRAME, steps=200, out=tmp_path / "run", **sampling, **OPTIONS)
    with pytest.raises(op.CheckpointError, match="data was"):
        op.learn(
            FRAME, steps=400, out=tmp_path / "run", resume=True, drop=["id", "z"], missing="drop"
        )
    longer = op.learn(FRAME, steps=400, out=tmp_path / "run", resume=True, **OPTIONS)
    assert longer.info.reading == OPTIONS
    assert longer.info.fingerprint == whole.info.fingerprint
    assert longer.info.taken["steps"] == 400


def test_a_data_set_follows_the_rules_of_load_dataset() -> None:
    assert op.learn(READ, drop=["z"]).names == ("x", "y", "group")
    with pytest.raises(op.OptionError, match="separator say how cells are read"):
        op.learn(READ, separator=";")
    with pytest.raises(op.OptionError, match="drop names 'q'"):
        op.find_map(READ, drop=["q"])
    with pytest.raises(op.OptionError, match="apply to files only"):
        op.log_score(FRAME, DAG, decimal=",")

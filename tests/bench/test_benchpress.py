"""The Benchpress module keeps the contract of its scripts: data in, matrix, time, tests out."""

import json
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest

import outpoint as op

MODULE = Path(__file__).parents[2] / "contrib" / "benchpress" / "outpoint_learn"
SCHEMA = json.loads((MODULE / "schema.json").read_text())
EXAMPLE = SCHEMA["items"]["examples"][0] | {"threshold": 0.5}


def snakemake(data: Path, folder: Path, **fields) -> SimpleNamespace:
    """The global of a script: every field of the JSON object is a string."""
    return SimpleNamespace(
        input={"data": str(data)},
        output={name: str(folder / name) for name in ("adjmat", "time", "ntests")},
        wildcards={name: str(value) for name, value in (EXAMPLE | fields).items()},
    )


def run(data: Path, folder: Path, **fields) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The matrix that the script writes, and its functions."""
    given = snakemake(data, folder, **{"seed": 1} | fields)
    names = runpy.run_path(str(MODULE / "script.py"), init_globals={"snakemake": given})
    assert float(Path(given.output["time"]).read_text()) > 0
    assert Path(given.output["ntests"]).read_text() == "None\n"
    return pd.read_csv(given.output["adjmat"]), names


@pytest.fixture
def continuous(tmp_path):
    dag = op.Dag.from_edges(["x", "y", "z"], [("x", "z"), ("y", "z")])
    path = tmp_path / "continuous.csv"
    op.simulate(dag, 200, 1).to_frame().to_csv(path, index=False)
    return path


@pytest.fixture
def categorical(tmp_path):
    """Codes with a row of cardinalities first; the third level of the last never occurs."""
    rng = np.random.default_rng(1)
    a = rng.integers(0, 2, 300)
    b = np.where(rng.random(300) < 0.9, a, 1 - a)
    c = rng.integers(0, 2, 300)
    path = tmp_path / "categorical.csv"
    pd.DataFrame([[2, 2, 3], *np.stack([a, b, c], 1).tolist()], columns=["a", "b", "c"]).to_csv(
        path, index=False
    )
    return path


def test_a_collider_is_found(continuous, tmp_path):
    matrix, _ = run(continuous, tmp_path)
    assert list(matrix.columns) == ["x", "y", "z"]
    assert matrix.to_numpy().tolist() == [[0, 0, 1], [0, 0, 1], [0, 0, 0]]


def test_the_best_dag(continuous, tmp_path):
    matrix, _ = run(continuous, tmp_path, estimator="map")
    expected = op.learn(continuous, "bge", structure_prior="fair", seed=1).map_dag
    assert matrix.to_numpy().tolist() == expected.adjacency.astype(int).tolist()


def test_the_row_of_cardinalities_is_no_observation(categorical, tmp_path):
    matrix, names = run(categorical, tmp_path, score="bdeu", estimator="map")
    assert matrix.to_numpy().sum() == 1
    assert matrix["a"].iloc[1] + matrix["b"].iloc[0] == 1
    data = names["read"](categorical, "bdeu")
    assert data.n_obs == 300
    assert [len(levels) for levels in data.levels] == [2, 2, 3]


def test_sampling_for_some_steps_or_some_time(continuous, tmp_path):
    matrix, _ = run(continuous, tmp_path, method="mcmc", steps=500, timeout=5.0)
    assert matrix.to_numpy().tolist() == [[0, 0, 1], [0, 0, 1], [0, 0, 0]]


def test_the_seed_had_another_name(continuous, tmp_path):
    _, names = run(continuous, tmp_path)
    assert names["seed_of"]({"seed": "4"}) == 4
    assert names["seed_of"]({"replicate": "5"}) == 5


def test_examples_fit_the_schema_and_nonsense_does_not():
    examples = SCHEMA["items"]["examples"]
    jsonschema.validate(examples, SCHEMA)
    for wrong in ({"score": "bic"}, {"threshold": 0}, {"max_parents": 0}, {"speed": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate([examples[0] | wrong], SCHEMA)


def test_the_script_uses_every_field_and_the_rule_every_file():
    script, rule = ((MODULE / name).read_text() for name in ("script.py", "rule.smk"))
    for field in SCHEMA["items"]["required"]:
        assert field == "id" or f'wildcards["{field}"]' in script
    for file in ("data", "adjmat", "time", "ntests"):
        assert f'["{file}"]' in script
        assert f"{file}=alg_" in rule

"""``outpoint learn`` where the posterior is sampled."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import outpoint as op
from outpoint.posterior.diagnostics import Status
from tests.cli.conftest import Run, table
from tests.grids import first


@pytest.mark.parametrize("method", first(["mcmc", "partition", "partition+rev", "structure+rev"]))
def test_files_and_summary(run: Run, method: str) -> None:
    outcome = run(
        "learn", "data.csv", "--method", method, "--steps", "2000", "--chains", "2", "--seed", "3"
    )
    assert outcome.code == 0
    assert "2 chains of 2,000 steps, 2,000 draws" in outcome.out
    assert "Evidence" not in outcome.out
    folder = Path("outpoint-run-data")
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["method"] == method
    assert summary["log_evidence"] is None
    assert summary["log_evidence_normalized"] is None
    rows = list(csv.DictReader((folder / "edges.csv").read_text().splitlines()))
    assert len(rows) == 12
    assert {row["status"] for row in rows} <= set(Status)
    same = op.learn("data.csv", method=method, steps=2000, chains=2, seed=3)
    found = {(row["parent"], row["child"]): float(row["probability"]) for row in rows}
    for (parent, child), probability in found.items():
        assert probability == same.edge_probabilities.loc[parent, child]
    assert op.Dag.from_dot((folder / "map.dot").read_text()) == same.map_dag


def test_order_mcmc_says_that_it_is_biased(run: Run) -> None:
    outcome = run("learn", "data.csv", "--method", "order", "--steps", "1000")
    assert outcome.code == 0
    assert "biased" in outcome.out


@pytest.mark.long
def test_many_variables_are_sampled_by_default(run: Run) -> None:
    numbers = np.random.default_rng(1).normal(size=(60, 25)).round(3)
    names = ",".join(f"v{i}" for i in range(25))
    Path("many.csv").write_text(table(names, numbers))
    outcome = run("learn", "many.csv", "--max-parents", "2", "--steps", "100", "--chains", "2")
    assert outcome.code == 0
    assert "mcmc (too many variables to sum over all DAGs)" in outcome.out
    assert "outside the 10 candidates of each node" in " ".join(outcome.out.split())


OTHERS = {"a": "b,c", "b": "a,c", "c": "a,b", "d": "a,b"}
SAMPLED = {"method": "mcmc", "steps": 200, "chains": 2, "draws": 20, "seed": 3}
AS_IN_PYTHON: dict[str, tuple[list[str], dict[str, Any]]] = {
    "moves": (
        ["--moves", "split_join=1,node_gibbs=2", "--moves", "rev=.5"],
        {"moves": {"split_join": 1.0, "node_gibbs": 2.0, "rev": 0.5}},
    ),
    "the paper's moves": (["--moves", "paper"], {"moves": "paper"}),
    "start": (["--start", "empty"], {"start": "empty"}),
    "start at a file": (
        ["--start", "first.dot"],
        {"start": op.Dag.from_edges(list("abcd"), [("a", "b"), ("b", "c")])},
    ),
    "candidates": (
        [w for v in "abcd" for w in ("--candidates-of", f"{v}:{OTHERS[v]}")],
        {"candidates": {v: OTHERS[v].split(",") for v in "abcd"}},
    ),
    "no reversals": (
        ["--method", "structure", "--no-edge-reversals"],
        {"method": "structure", "edge_reversals": False},
    ),
}


@pytest.mark.parametrize(("words", "options"), AS_IN_PYTHON.values(), ids=AS_IN_PYTHON.keys())
def test_options_of_sampling_are_those_of_python(
    run: Run, words: list[str], options: dict[str, Any]
) -> None:
    op.write_dag(AS_IN_PYTHON["start at a file"][1]["start"], "first.dot")
    plain = [word for name in SAMPLED for word in (f"--{name}", str(SAMPLED[name]))]
    places = ["--memory-limit", "2GB", "--checkpoint-seconds", "5"]
    assert run("learn", "data.csv", "--out", "run", *plain, *words, *places).code == 0
    stored, expected = op.load("run"), op.learn("data.csv", **{**SAMPLED, **options})
    assert np.array_equal(stored.dags(), expected.dags())
    assert stored.info.options == expected.info.options
    assert stored.info.options.keys() > {"steps", "chains", "draws"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--moves", "fast"],
            "--moves must be 'paper' or a dictionary of weights by move, not 'fast'.",
        ),
        (["--moves", "rev=much"], "such as split_join=1, or paper, not 'rev=much'."),
        (["--start", "nowhere.dot"], "or the file of a DAG; there is no file 'nowhere.dot'."),
        (
            ["--candidates-of", "a"],
            "must be written NAME:NAMES, such as y:a,b, not 'a'.",
        ),
        (
            ["--quiet", "--method", "mcmc", "--candidates-of", "a:b"],
            "--candidates-of must give for every variable a list of other variables",
        ),
        (
            ["--memory-limit", "much"],
            "--memory-limit must be a number of bytes from 0, such as 4e9",
        ),
        (
            ["--method", "mcmc", "--steps", "0"],
            "steps must be a whole number from 1 to 1,000,000,000,000, not 0.",
        ),
        (
            ["--method", "mcmc", "--chains", "0"],
            "chains must be a whole number from 1 to 1,000, not 0",
        ),
        (
            ["--method", "mcmc", "--draws", "-1"],
            "draws must be a whole number from 1 to 100,000,000, not -1.",
        ),
        (["--method", "gibbs"], "structure, structure+rev, not 'gibbs'."),
    ],
)
def test_bad_options(run: Run, words: list[str], message: str) -> None:
    outcome = run("learn", "data.csv", *words)
    assert outcome.code == 2
    assert message in outcome.err
    assert len(outcome.err.splitlines()) == 1
    assert outcome.out == ""
    assert [path.name for path in Path().iterdir()] == ["data.csv"]

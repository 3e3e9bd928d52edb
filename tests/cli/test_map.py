"""``outpoint map``: what it prints and writes, what its options change, what it refuses."""

import json
from pathlib import Path

import numpy as np
import pytest

import outpoint as op
from tests.cli.conftest import KNOWN, Run, check_schema, listing, table, without_colours


def map_json(run: Run, *words: str) -> dict:
    """The result of a search that must succeed."""
    outcome = run("map", *words, "--json", "--quiet")
    assert (outcome.code, outcome.err) == (0, "")
    return json.loads(outcome.out, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))


def test_printed_result(run: Run) -> None:
    paper = ["--max-parents", "3", "--raw-units", "--structure-prior", "uniform"]
    outcome = run("map", "boston", *paper)
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0] == "Data      boston: 506 observations of 14 continuous variables"
    columns = ", ".join(op.datasets.load("boston").names)
    assert lines[1] == f"Kinds     continuous: {columns}"
    assert lines[2] == "Model     BGe(standardize=False) score, uniform prior, at most 3 parents"
    model = "Model     BGe score, fair prior, 1 forbidden edge, no limit on parents\n"
    assert model in run("map", "data.csv", "--forbid", "a->b").out
    assert lines[3].startswith("Method    exact, ")
    assert lines[4].startswith("Best DAG  log score -20419.7780, 30 edges, 27 of them")
    arrows = [line.split() for line in lines[5:-1]]
    raw = op.BGe(standardize=False)
    best = op.find_map("boston", raw, max_parents=3, structure_prior="uniform").dag
    assert [(a, b) for a, _, b in arrows] == list(best.edges)
    directed = [(a, b) for a, arrow, b in arrows if arrow == "->"]
    assert directed == [edge for edge in best.edges if edge in best.cpdag().directed]
    assert lines[-1].startswith("Verdict   This is the best DAG")
    assert listing() == ["data.csv"]
    assert all(line == line.rstrip() for line in lines)


def test_the_dag_is_written_as_dot(run: Run) -> None:
    outcome = run("map", "asia", "--out", "best.dot", "--quiet")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    assert op.Dag.from_dot(Path("best.dot").read_text()) == op.find_map("asia").dag
    assert run("map", "asia", "-o", "best.dot").out.endswith("Files     best.dot, best.dot.json\n")
    for suffix in ("graphml", "csv", "bn", "dagitty"):
        assert run("map", "asia", "--out", f"best.{suffix}", "--quiet").code == 0
        assert op.read_dag(f"best.{suffix}") == op.read_dag("best.dot")


def test_the_record_is_that_of_a_run(run: Run) -> None:
    """Data, model and versions as ``learn`` writes them, beside the DAG and as JSON."""
    words = ["data.csv", "--seed", "1", "--require", "c->d", "--raw-units", "--max-parents", "2"]
    found = map_json(run, *words, "--out", "best.csv", "--method", "search", "--runs", "3")
    written = json.loads(Path("best.csv.json").read_text())
    assert written == found
    check_schema(written, "map")
    run("learn", *words, "--out", "run", "--quiet")
    summary = json.loads(Path("run/summary.json").read_text())
    shared = summary.keys() & found.keys() - {"elapsed_seconds", "options", "method", "verdict"}
    assert {"knowledge", "score_settings", "data_sha256", "libraries", "notes"} <= shared
    assert {name: found[name] for name in shared} == {name: summary[name] for name in shared}
    assert found["options"] == {"runs": 3}
    assert found["score_settings"] == "BGe(standardize=False)"
    assert found["knowledge"] == {"required": [["c", "d"]]}


def test_no_place_for_the_record(run: Run) -> None:
    Path("best.dot.json").mkdir()
    outcome = run("map", "data.csv", "--out", "best.dot")
    assert (outcome.code, outcome.out) == (2, "")
    assert "best.dot.json is a directory" in outcome.err
    assert not Path("best.dot").exists()


def test_json(run: Run) -> None:
    found = map_json(run, "asia", "--method", "search", "--runs", "6", "--seed", "3")
    same = op.find_map("asia", method="search", runs=6, seed=3)
    assert found["log_score"] == same.log_score
    assert [tuple(edge) for edge in found["edges"]] == list(same.dag.edges)
    assert [tuple(edge) for edge in found["compelled_edges"]] == list(same.cpdag.directed)
    assert found["miss_probability"] == same.miss_probability
    assert (found["hits"], found["runs"], found["seed"]) == (same.hits, 6, 3)
    assert (found["method"], found["space"], found["score"]) == ("search", "order", "bdeu")
    assert found["n_linear_extensions"] == same.n_linear_extensions
    assert found["verdict"] == same.verdict


OPTIONS = {
    "method": (["--method", "hill_climb"], {"method": "hill_climb"}),
    "space": (["--space", "partition"], {"space": "partition"}),
    "steps": (["--steps", "300"], {"steps": 300}),
    "score": (["--score", "bic"], {"score": "bic"}),
    "raw units": (["--raw-units"], {"score": op.BGe(standardize=False)}),
    "parents": (["--max-parents", "1"], {"max_parents": 1}),
    "prior": (["--structure-prior", "uniform"], {"structure_prior": "uniform"}),
    "edge prior": (["--edge-prior", "0.01"], {"edge_prior": 0.01}),
    "forbid": (["--forbid", "a->b", "--forbid", "b->a"], {"forbidden": [("a", "b"), ("b", "a")]}),
    "require": (["--require", "c->d"], {"required": [("c", "d")]}),
    "knowledge": (["--knowledge", "known.toml"], {"knowledge": KNOWN}),
    "tiers": (["--tier", "b,d", "--tier", "a"], {"tiers": [["b", "d"], ["a"]]}),
    "root": (["--root", "b", "--root", "d"], {"roots": ["b", "d"]}),
    "climbs": (
        ["--method", "hill_climb", "--tabu", "2", "--patience", "3"],
        {"method": "hill_climb", "tabu": 2, "patience": 3},
    ),
    "candidates": (
        ["--method", "search", "--candidates", "2", "--runs", "3"],
        {"method": "search", "n_candidates": 2, "runs": 3},
    ),
}


@pytest.mark.parametrize(("words", "options"), OPTIONS.values(), ids=list(OPTIONS))
def test_every_option_means_what_it_means_in_python(run: Run, words, options) -> None:
    KNOWN.write("known.toml")
    found = map_json(run, "data.csv", *words, "--seed", "1")
    same = op.find_map("data.csv", seed=1, **options)
    assert found["log_score"] == same.log_score
    assert [tuple(edge) for edge in found["edges"]] == list(same.dag.edges)
    assert (found["method"], found["space"], found["runs"]) == (same.method, same.space, same.runs)
    assert found["options"] == same.info.options


def test_many_variables_are_searched(run: Run) -> None:
    numbers = np.random.default_rng(1).normal(size=(60, 25)).round(3)
    Path("many.csv").write_text(table(",".join(f"v{i}" for i in range(25)), numbers))
    outcome = run("map", "many.csv", "--max-parents", "1", "--runs", "3", "--steps", "500")
    assert outcome.code == 0
    assert outcome.err == "scoring parent sets ...\nsearching ...\n"
    assert "search over orders" in outcome.out
    assert "of 3 runs found it" in outcome.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.csv"], "There is no file 'nowhere.csv'"),
        (
            ["data.csv", "--method", "best"],
            "--method must be one of auto, exact, search, hill_climb, not 'best'",
        ),
        (["data.csv", "--score", "aic"], "unknown score 'aic'"),
        (["data.csv", "--runs", "0"], "runs must be a whole number from 1 to 10,000,000, not 0"),
        (["data.csv", "--method", "exact", "--steps", "5"], "steps belongs to method 'search'"),
        (["data.csv", "--out", "."], "is a directory"),
        (["data.csv", "--out", "best.png"], "best.png has no suffix of a known graph format"),
        (["data.csv", "--out", "no/such/best.dot"], "there is no directory no/such"),
        (["data.csv", "--require", "a-b"], "an edge must be written 'A->B'"),
        (["data.csv", "--colour"], "no such option"),
        ([], "missing argument 'DATA'"),
    ],
)
def test_bad_input(run: Run, words: list[str], message: str) -> None:
    outcome = run("map", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert len(outcome.err.splitlines()) == 1
    assert outcome.err.startswith("outpoint: ")
    assert listing() == ["data.csv"]


def test_help(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    out = without_colours(run("map", "--help").out)
    assert "Example: outpoint map boston --max-parents 3 --out boston.dot" in out
    for option in ("--method", "--runs", "--space", "--forbid", "--tier", "--json", "--out"):
        assert option in out
    assert "map" in without_colours(run("--help").out)

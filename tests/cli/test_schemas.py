"""The JSON that commands print: what its schemas promise, whatever the names and the numbers."""

import json
import math
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from outpoint.cli.terminal import print_json
from tests.cli.conftest import HOSTILE, NUMBERS, Run, check_schema, strict_json

RUNS = {
    "exact": [],
    "sampled": ["--method", "mcmc", "--steps", "200", "--chains", "2"],
    "one chain": ["--method", "partition", "--steps", "200", "--chains", "1"],
    "order": ["--method", "order", "--steps", "200", "--chains", "2"],
    "structure": ["--method", "structure", "--steps", "200", "--chains", "2"],
}
SCHEMAS = [
    "summary",
    "map",
    "score",
    "compare_runs",
    "compare_graph",
    "effects",
    "probability",
    "adjustment_sets",
    "next_experiment",
    "effect",
    "effects_over_time",
    "predict",
    "parameters",
]


@pytest.mark.parametrize("words", RUNS.values(), ids=RUNS.keys())
def test_summary(run: Run, words: list[str]) -> None:
    outcome = run("learn", "data.csv", "--out", "run", "--json", "-q", *words)
    assert (outcome.code, outcome.err) == (0, "")
    printed = strict_json(outcome.out)
    check_schema(printed, "summary")
    assert printed == strict_json(Path("run/summary.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("method", ["exact", "search", "hill_climb"])
def test_map(run: Run, method: str) -> None:
    outcome = run("map", "data.csv", "--method", method, "--json", "--seed", "1", "-q")
    assert (outcome.code, outcome.err) == (0, "")
    check_schema(strict_json(outcome.out), "map")


def test_summary_of_an_interrupted_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from outpoint.showing import RunProgress

    def interrupt(self: RunProgress, progress) -> None:
        if progress.chains and min(chain.step for chain in progress.chains) > 2000:
            raise KeyboardInterrupt

    monkeypatch.setattr(RunProgress, "__call__", interrupt)
    words = ["--method", "mcmc", "--steps", "1000000", "--warmup", "100", "--chains", "2"]
    outcome = run("learn", "data.csv", *words, "--json", "--out", "run")
    assert outcome.code == 130
    assert "--resume" in outcome.err
    check_schema(strict_json(outcome.out), "summary")
    assert strict_json(outcome.out)["verdict"].startswith("interrupted after")


def test_hostile_names(run: Run) -> None:
    import csv

    with open("[bold]\n😀.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HOSTILE, *NUMBERS.tolist()])
    outcome = run("learn", "[bold]\n😀.csv", "--json", "--out", "run")
    assert outcome.code == 0
    assert outcome.out.isascii()
    check_schema(strict_json(outcome.out), "summary")
    assert strict_json(outcome.out)["data"] == "[bold]\n😀.csv"


def test_numbers_that_are_not_finite(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": [math.nan, (math.inf, {"b": -math.inf})], "c": 1.5, "d": "\x9b\x7f"})
    out = capsys.readouterr().out
    assert strict_json(out) == {"a": [None, [None, {"b": None}]], "c": 1.5, "d": "\x9b\x7f"}
    assert out.replace("\n", "").isprintable()


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_closed_and_described(name: str) -> None:
    """Every object lists all its keys and requires them, or is a table of its own."""
    schema = json.loads((files("outpoint.cli") / "schemas" / f"{name}.json").read_text())
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"

    def visit(part: dict) -> None:
        assert "description" in part
        if part.get("type") == "object" and "properties" not in part:
            assert part["additionalProperties"]
        elif part.get("type") == "object":
            assert part["additionalProperties"] is False
            assert part["required"] == list(part["properties"])
        for child in (*part.get("properties", {}).values(), *part.get("$defs", {}).values()):
            visit(child)
        if "items" in part:
            visit(part["items"])

    visit(schema)
    with pytest.raises(jsonschema.ValidationError):
        check_schema({}, name)


def test_there_are_no_other_schemas() -> None:
    found = {path.name for path in (files("outpoint.cli") / "schemas").iterdir()}
    assert found == {f"{name}.json" for name in SCHEMAS}

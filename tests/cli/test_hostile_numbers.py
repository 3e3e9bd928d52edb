"""Numbers that no machine would come to the end of: one sentence, at once, and nothing written."""

import gzip
from pathlib import Path

import pytest

from tests.cli.test_bad_input import check_refusal as check_learn
from tests.cli.test_bad_input_commands import check_refusal

from .conftest import Run

BIG = "99999999999999999999"
SAMPLED = ["data.csv", "--method", "mcmc"]

LEARN: dict[str, tuple[list[str], str]] = {
    "steps": (["--steps", BIG], "--steps must be a whole number from 1 to 1,000,000,000,000"),
    "steps of 64 bits": (
        ["--steps", str(2**63 - 1)],
        "--steps must be a whole number from 1 to 1,000,000,000,000",
    ),
    "chains": (["--chains", BIG], "--chains must be a whole number from 1 to 1,000"),
    "many chains": (["--chains", "1000000"], "--chains must be a whole number from 1 to 1,000"),
    "draws": (["--draws", BIG], "--draws must be a whole number from 1 to 100,000,000"),
    "warmup": (["--warmup", BIG], "--warmup must be a whole number from 0 to 1,000,000,000,000"),
    "parents": (["--max-parents", BIG], "from 1 to 3 for 4 variables"),
    "candidates": (
        ["--quiet", "--candidates", BIG],
        "--candidates must be a whole number from 0 to 1,000,000,000,000",
    ),
    "no candidates": (["--quiet", "--candidates", "0"], "at least one candidate parent"),
    "no seed": (["--seed", "-" + BIG], "seed must be a whole number from 0"),
    "time inf": (["--time", "inf"], "90s, 10m or 2h, not 'inf'"),
    "time nan": (["--time", "nan"], "90s, 10m or 2h, not 'nan'"),
    "time with an exponent": (["--time", "1e400"], "90s, 10m or 2h, not '1e400'"),
    "no time": (["--time", "0"], "positive"),
    "time beyond": (["--time", "9" * 400 + "s"], "at most 100 years"),
    "sample size inf": (
        ["asia", "--equivalent-sample-size", "inf"],
        "positive equivalent sample size",
    ),
}

COMMANDS: dict[str, tuple[list[str], str]] = {
    "runs": (
        ["map", "data.csv", "--runs", BIG],
        "--runs must be a whole number from 1 to 10,000,000",
    ),
    "steps": (
        ["map", "data.csv", "--steps", BIG],
        "--steps must be a whole number from 1 to 1,000,000,000,000",
    ),
    "nodes": (["simulate", "--nodes", BIG], "--nodes must be at most 10,000"),
    "graph": (["score", "data.csv", "many.dot"], "at most 10,000 nodes"),
    "graph to simulate": (["simulate", "many.dot"], "at most 10,000 nodes"),
    "endless table": (["learn", "/dev/zero"], "/dev/zero"),
    "bomb": (["learn", "bomb.csv.gz"], "bomb.csv.gz"),
}


@pytest.mark.attack("hostile numbers in options", "one sentence, at once, nothing written")
@pytest.mark.parametrize(("words", "fragment"), LEARN.values(), ids=LEARN.keys())
def test_options_of_learn(run: Run, words: list[str], fragment: str) -> None:
    check_learn(run, words if words[0] == "asia" else [*SAMPLED, *words], [fragment])


@pytest.mark.attack("hostile numbers in options")
@pytest.mark.parametrize("name", ["runs", "steps", "nodes"])
def test_options_of_other_commands(run: Run, name: str) -> None:
    check_refusal(run, *COMMANDS[name])


@pytest.mark.attack("endless and huge inputs", "one sentence in bounded memory")
@pytest.mark.parametrize("name", ["graph", "graph to simulate", "endless table", "bomb"])
def test_huge_inputs(run: Run, name: str) -> None:
    nodes = "".join(f"n{i};" for i in range(200_000))
    Path("many.dot").write_text(f"digraph {{{nodes}}}")
    zeros = gzip.compress(bytes(1 << 22))
    Path("bomb.csv.gz").write_bytes(gzip.compress(b"a,b\n") + 300 * zeros)
    check_refusal(run, *COMMANDS[name])

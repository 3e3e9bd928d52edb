"""``outpoint score``: the number, in words, alone and as JSON."""

from math import inf, lgamma, log
from pathlib import Path

import pandas as pd
import pytest

import outpoint as op
from tests.cli.conftest import KNOWN, TRUTH, Run, check_schema, strict_json

OPTIONS = {
    "default": ([], {}),
    "raw units": (["--raw-units"], {"score": op.BGe(standardize=False)}),
    "edge prior": (["--edge-prior", "0.1"], {"edge_prior": 0.1}),
    "knowledge": (["--knowledge", "known.toml"], {"knowledge": KNOWN}),
    "uniform": (["--structure-prior", "uniform"], {"structure_prior": "uniform"}),
    "forbid": (["--forbid", "b->a"], {"forbidden": [("b", "a")]}),
    "require": (["--require", "a->b"], {"required": [("a", "b")]}),
    "tiers": (["--tier", "a,c", "--tier", "b,d"], {"tiers": [["a", "c"], ["b", "d"]]}),
    "root": (["--root", "d"], {"roots": ["d"]}),
}


@pytest.mark.parametrize(("words", "options"), OPTIONS.values(), ids=OPTIONS.keys())
def test_number(run: Run, words: list[str], options: dict) -> None:
    Path("truth.dot").write_text(TRUTH.to_dot())
    KNOWN.write("known.toml")
    expected = op.log_score("data.csv", TRUTH, **options)
    assert float(run("score", "data.csv", "truth.dot", "-q", *words).out) == expected
    outcome = run("score", "data.csv", "truth.dot", "--json", *words)
    found = strict_json(outcome.out)
    check_schema(found, "score")
    empty = op.log_score("data.csv", op.Dag.empty(list("abcd")), **options)
    for name, number in {"log_score": expected, "empty_log_score": empty}.items():
        assert found[name] == (None if number == -inf else number)
    assert (found["graph"], found["data"], found["n_edges"]) == ("truth.dot", "data.csv", 2)


def test_a_column_that_is_usually_left_out(run: Run) -> None:
    rows = ["a,b,who", *(f"{i * i % 7},{i % 5}.5,p{i}" for i in range(20))]
    Path("people.csv").write_text("\n".join(rows), encoding="utf-8")
    Path("graph.dot").write_text("digraph {a -> b; who}")
    found = float(run("score", "people.csv", "graph.dot", "-q").out)
    dag = op.Dag.from_edges(["a", "b", "who"], [("a", "b")])
    assert found == op.log_score("people.csv", dag)
    Path("graph.dot").write_text("digraph {a -> b; nobody}")
    outcome = run("score", "people.csv", "graph.dot", "-q")
    assert outcome.code == 2
    assert "graph.dot has a node nobody, which is not a variable" in outcome.err


def test_what_the_knowledge_excludes(run: Run) -> None:
    Path("truth.dot").write_text(TRUTH.to_dot())
    Path("known.csv").write_text("kind,parent,child\nrequired,a,b\n")
    printed = run("score", "data.csv", "truth.dot", "--knowledge", "known.csv").out
    assert "log score -inf without edges, which the knowledge excludes\n" in printed
    Path("known.csv").write_text("kind,parent,child\nforbidden,a,b\n")
    words = ("score", "data.csv", "truth.dot", "--knowledge", "known.csv")
    printed = run(*words).out
    assert "log score -inf: the knowledge excludes this DAG\n" in printed
    assert printed.endswith(" without edges, which the knowledge allows\n")
    assert run(*words, "-q").out == "-inf\n"
    found = strict_json(run(*words, "--json").out)
    check_schema(found, "score")
    assert found["log_score"] is None
    assert found["empty_log_score"] == op.log_score("data.csv", op.Dag.empty(list("abcd")))


def test_difference_by_hand(run: Run) -> None:
    """One edge changes one family: BDeu (equivalent sample size 1) from counts and lgamma.

    The fair prior shares the weight of one parent among the seven that it may be.
    """
    frame = op.datasets.load("asia").to_frame()

    def family(groups: list[pd.Series], n_configurations: int) -> float:
        a = 1 / n_configurations
        total = 0.0
        for group in groups:
            total += lgamma(a) - lgamma(a + len(group))
            counts = group.value_counts()
            total += sum(lgamma(a / 2 + int(count)) - lgamma(a / 2) for count in counts)
        return total

    given = [group["lung"] for _, group in frame.astype(str).groupby("smoke")]
    expected = family(given, 2) - family([frame["lung"].astype(str)], 1)
    Path("edge.csv").write_text("parent,child\nsmoke,lung\n")
    found = strict_json(run("score", "asia", "edge.csv", "--json").out)
    gained = found["log_score"] - found["empty_log_score"]
    assert gained == pytest.approx(expected - log(7), abs=1e-8)


@pytest.mark.parametrize("suffix", ["dot", "graphml", "csv", "bn", "dagitty"])
def test_every_format_gives_the_same(run: Run, suffix: str) -> None:
    from outpoint.graphs import write_dag

    reordered = op.Dag.from_edges(list("dbca"), TRUTH.edges)
    write_dag(reordered, f"truth.{suffix}")
    number = float(run("score", "data.csv", f"truth.{suffix}", "--quiet").out)
    assert number == pytest.approx(op.log_score("data.csv", TRUTH), abs=1e-9)


def test_in_words(run: Run) -> None:
    Path("truth.dot").write_text(TRUTH.to_dot())
    Path("empty.dot").write_text(op.Dag.empty(list("abcd")).to_dot())
    lines = run("score", "data.csv", "truth.dot").out.splitlines()
    assert [line.split()[0] for line in lines] == ["Data", "Kinds", "Graph", "Score", "Empty"]
    assert lines[1] == "Kinds     continuous: a, b, c, d"
    assert lines[2] == "Graph     truth.dot: 4 nodes, 2 edges"
    assert lines[4].endswith("lower")
    assert run("score", "data.csv", "empty.dot").out.endswith("without edges, the same\n")

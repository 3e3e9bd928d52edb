"""``outpoint predict``, ``sample`` and ``parameters``: the tables of the Python interface."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import outpoint as op
from outpoint import showing
from outpoint.cli.summary import print_table
from tests.cli.conftest import Run, Runs, check_schema, strict_json

ROWS = "id,smoke,dysp,xray\n1,yes,no,yes\n2,no,,no\n3,,yes,\n"


def test_probabilities_of_levels(run: Run, runs: Runs) -> None:
    Path("new.csv").write_text(ROWS)
    words = ["predict", str(runs.categories), "new.csv", "--target", "lung"]
    found = strict_json(run(*words, "--json", "--out", "p.csv").out)
    check_schema(found, "predict")
    expected = op.load(runs.categories).predict("new.csv", "lung")
    for rows in (pd.DataFrame(found["rows"]), pd.read_csv("p.csv").drop(columns="row")):
        pd.testing.assert_frame_equal(rows, expected, check_names=False)
    shown = run(*words).out.splitlines()
    assert shown[0] == "predictions of lung"
    assert shown[1].split() == ["row", "no", "yes"]
    assert shown[-1].startswith("Verdict   exact")


def test_numbers_and_densities(run: Run, runs: Runs) -> None:
    Path("new.csv").write_text("a\n1.5\n-2\n")  # one column is enough
    words = ["predict", str(runs.exact), "new.csv"]
    found = strict_json(run(*words, "--target", "b", "--quantiles", "0.1,0.9", "--json").out)
    assert list(found["rows"][0]) == ["mean", "sd", "q10", "q90"]
    assert found["rows"][0]["mean"] > found["rows"][1]["mean"]
    densities = strict_json(run(*words, "--json").out)
    check_schema(densities, "predict")
    frame = pd.DataFrame({"a": [1.5, -2.0]})
    expected = op.load(runs.exact).log_predictive(frame)
    assert [row["log_predictive"] for row in densities["rows"]] == expected.tolist()
    assert run(*words).out.startswith("log predictive densities")
    assert run(*words, "-q").out == ""


def test_simulated_rows(run: Run, runs: Runs) -> None:
    words = ["sample", str(runs.categories), "-n", "20", "--do", "smoke=yes", "--seed", "3"]
    printed = run(*words).out
    expected = op.load(runs.categories).sample(20, do={"smoke": "yes"}, seed=3)
    assert printed == expected.to_csv(index=False)
    assert run(*words, "--out", "rows.csv").out == ""
    assert Path("rows.csv").read_text() == printed


def test_names_of_all_kinds(run: Run, runs: Runs) -> None:
    assert run("sample", str(runs.hostile), "-n", "2", "--do", "[/]=1").code == 0
    found = strict_json(run("parameters", str(runs.hostile), "--json").out)
    check_schema(found, "parameters")
    assert run("parameters", str(runs.hostile)).code == 0


def test_rounding_errors_are_shown_as_nothing() -> None:
    """Numbers in the same row tell what is large; a column of probabilities does not."""
    frame = pd.DataFrame(
        {
            "term": ["intercept", "b", "c"],
            "mean": [1e-17, 2e-13, 0.5],
            "sd": [0.03, 1e-13, np.nan],
            "probability": [1e-17, 0.25, 1.0],
        }
    )
    console = Console(file=io.StringIO(), width=80)
    print_table(console, frame, "a", significant=("mean", "sd"))
    rows = [line.split() for line in console.file.getvalue().splitlines()[2:5]]
    assert rows == [
        ["intercept", "0", "0.0300", "0.000"],
        ["b", "2e-13", "1e-13", "0.250"],
        ["c", "0.500", "-", "1.000"],
    ]


def test_tables_of_parameters(run: Run, runs: Runs) -> None:
    found = strict_json(run("parameters", str(runs.categories), "--json").out)
    check_schema(found, "parameters")
    assert [one["variable"] for one in found["parameters"]] == list(op.load(runs.categories).names)
    graph = op.Dag.from_edges(list("abcd"), [("a", "b")])
    Path("g.dot").write_text(graph.to_dot())
    shown = run("parameters", str(runs.exact), "--of", "b", "--dag", "g.dot").out
    assert shown.startswith("b given a\n")
    assert "(noise sd)" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["predict", "new.csv", "--target", "zz"], "'zz' is not one of the variables"),
        (["predict", "none.csv"], "no file"),
        (["predict", "new.csv", "--quantiles", "x", "--target", "b"], "probabilities such as"),
        (["predict", "new.csv", "--quantiles", "2", "--target", "b"], "between 0 and 1"),
        (["predict", "odd.csv", "--target", "b"], "'green' in row 1 (line 2)"),
        (["predict", "new.csv", "--out", "no/x.csv"], "there is no directory no"),
        (["sample", "--do", "a"], "written NAME=VALUE"),
        (["sample", "--do", "zz=1"], "do names 'zz'"),
        (["sample", "-n", "-1"], "from 0 to 10,000,000, not -1"),
        (["parameters", "--of", "zz"], "'zz' is not one of the variables"),
    ],
)
def test_refusals(run: Run, runs: Runs, words: list[str], message: str) -> None:
    Path("new.csv").write_text("a,c\n1.5,2\n-2,1\n")
    Path("odd.csv").write_text("a,c\ngreen,2\n-2,1\n")
    outcome = run(words[0], str(runs.exact), *words[1:])
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("words", [["predict", "new.csv", "--target", "b"], ["effects"]])
def test_what_takes_long_says_how_far_it_is(
    run: Run, runs: Runs, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("new.csv").write_text("a\n1.5\n-2\n")
    words = [words[0], str(runs.exact), *words[1:]]
    assert run(*words).err == ""
    monkeypatch.setattr(showing, "PATIENCE", -1.0)
    stage = "predicting" if words[0] == "predict" else "drawing effects"
    assert run(*words).err == f"{stage} ...\n"
    assert run(*words, "--quiet").err == ""

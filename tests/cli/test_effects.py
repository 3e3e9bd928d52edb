"""``outpoint effects``: the table of the Python interface, on screen, in a file, as JSON."""

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from tests.cli.conftest import HOSTILE, Run, Runs, check_schema, strict_json


def test_same_as_python(run: Run, runs: Runs) -> None:
    words = ["effects", str(runs.exact), "--draws", "300", "--seed", "5", "--level", "0.8"]
    found = strict_json(run(*words, "--units", "sd", "--json", "--out", "e.csv").out)
    check_schema(found, "effects")
    posterior = op.load(runs.exact)
    expected = posterior.causal_effects(n_draws=300, seed=5, level=0.8, units="sd").table()
    assert (found["n_draws"], found["level"], found["units"]) == (300, 0.8, "sd")
    for rows in (pd.DataFrame(found["effects"]), pd.read_csv("e.csv")):
        pd.testing.assert_frame_equal(rows, expected.reset_index(drop=True), check_dtype=False)
    path = posterior.ancestor_probabilities
    for row in found["effects"]:  # 300 draws: 5 standard errors of a frequency
        assert row["probability"] == pytest.approx(path.loc[row["cause"], row["effect"]], abs=0.15)


@pytest.mark.parametrize(("words", "n_rows"), [(["--cause", "a"], 3), (["--effect", "b"], 3)])
def test_selection(run: Run, runs: Runs, words: list[str], n_rows: int) -> None:
    rows = strict_json(run("effects", str(runs.exact), *words, "--json").out)["effects"]
    assert len(rows) == n_rows
    assert {row[words[0][2:]] for row in rows} == {words[1]}
    both = ["--cause", "a", "--effect", "b", "--json"]
    assert len(strict_json(run("effects", str(runs.exact), *both).out)["effects"]) == 1


def test_screen(run: Run, runs: Runs) -> None:
    lines = run("effects", str(runs.exact), "--draws", "100").out.splitlines()
    assert lines[0] == "strongest effects"
    assert len([line for line in lines if line[:1] in "abcd" and line[1:2] == " "]) == 12
    assert all(line == line.rstrip() for line in lines)
    assert "-0.000" not in "\n".join(lines)
    assert lines[-3] == (
        "Meaning   how much one unit more of the cause changes the mean of the effect; probability "
        "is that of a directed path"
    )
    assert lines[-2] == (
        "Draws     100 DAGs, each with new parameters; 95% of the effects drawn lie between "
        "lower and upper, in the units of the data"
    )
    assert lines[-1].startswith("Verdict   exact")
    assert run("effects", str(runs.exact), "--draws", "10", "-q").out == ""


def test_the_largest_in_standard_deviations_come_first(run: Run) -> None:
    """Whatever the units; numbers that are small in them keep their digits."""
    rng = np.random.default_rng(3)
    weak, strong = rng.normal(size=(2, 400))
    out = 0.3 * weak + 0.9 * strong + 0.3 * rng.normal(size=400)
    frame = pd.DataFrame({"weak": weak / 1000, "strong": 1000 * strong, "out": out})
    frame.to_csv("units.csv", index=False)
    words = ["--tier", "weak,strong", "--tier", "out", "--out", "r", "--seed", "1", "-q"]
    assert run("learn", "units.csv", *words).code == 0
    shown = run("effects", "r", "--effect", "out", "--draws", "100", "--seed", "1").out.splitlines()
    assert [line.split()[0] for line in shown[2:4]] == ["strong", "weak"]
    by_name = dict(zip(shown[1].split(), shown[2].split(), strict=True))
    assert 0.0008 < float(by_name["mean"]) < 0.001
    assert by_name["mean"] == f"{float(by_name['mean']):.6f}", "three digits"
    assert float(by_name["mean_in_sd"]) > 0.8
    in_sd = run("effects", "r", "--units", "sd", "--effect", "out", "--draws", "100", "--seed", "1")
    assert [line.split()[0] for line in in_sd.out.splitlines()[2:4]] == ["strong", "weak"]
    assert "mean_in_sd" not in in_sd.out


def test_categories_have_effects(run: Run) -> None:
    options = ["--categorical", "chas", "--max-parents", "1", "--out", "r", "-q"]
    assert run("learn", "boston", *options).code == 0
    found = strict_json(run("effects", "r", "--draws", "20", "--json").out)
    check_schema(found, "effects")
    assert found["left_out"] == []
    assert {row["cause"] for row in found["effects"]} == set(op.datasets.boston().names)
    one_more, of_mean = "one unit more of the cause", "the mean of the effect"
    last, of_last = "its last level instead of its first (chas: 1 to 2)", "probability of"
    for words, meaning in {
        (): f"{one_more}, or {last}, changes {of_mean}, or the {of_last} its last level",
        ("--cause", "chas"): "the last level of the cause instead of its first (chas: 1 to 2) "
        f"changes {of_mean}",
        ("--cause", "age"): f"{one_more} changes {of_mean}, or the {of_last} its last level "
        "(chas: 2)",
        ("--effect", "chas"): f"{one_more} changes the {of_last} the last level of the effect "
        "(chas: 2)",
        ("--cause", "age", "--effect", "tax"): f"{one_more} changes {of_mean}",
    }.items():
        shown = run("effects", "r", *words, "--draws", "20").out
        expected = f"Meaning   how much {meaning}; probability is that of a directed path\n"
        assert expected in shown


def test_effects_in_series(run: Run) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=80).cumsum()
    frame = pd.DataFrame({"t": range(80), "x": x, "y": rng.normal(size=80) + np.roll(x, 1)})
    frame["g"] = np.where(x > x.mean(), "high", "low")
    frame.to_csv("s.csv", index=False)
    assert run("learn", "s.csv", "--time-column", "t", "--out", "r", "-q").code == 0
    between = "in this series only continuous variables have effects"
    out = run("effects", "r", "--draws", "20").out
    assert f"Left out  g, g[-1] (categorical): {between}" in out
    refused = run("effects", "r", "--cause", "g")
    assert refused.code == 2
    assert f"'g' is categorical: {between}" in refused.err
    words = ["effects", "r", "--steps", "2", "--draws", "20", "--seed", "1"]
    found = strict_json(run(*words, "--json", "--out", "e.csv").out)
    check_schema(found, "effects_over_time")
    expected = op.load("r").effects_over_time(2, n_draws=20, seed=1)
    for table in (pd.DataFrame(found["effects"]), pd.read_csv("e.csv")):
        pd.testing.assert_frame_equal(table, expected, check_dtype=False)
    assert "effects over time" in run(*words, "--cause", "x").out


def test_several_variables_are_set_together(run: Run, runs: Runs) -> None:
    words = ["effects", str(runs.exact), "--effect", "d", "--set", "a=0,1", "--set", "b=2,2"]
    found = strict_json(run(*words, "--seed", "1", "--json").out)
    check_schema(found, "effect")
    both = {"a": ("0", "1"), "b": ("2", "2")}
    expected = op.load(runs.exact).effect(both, "d", n_draws=2000, seed=1)
    assert found["mean"] == pytest.approx(expected.mean)
    assert found["question"] == "d when setting a from 0 to 1 and b from 2 to 2"


def test_hostile_names(run: Run, runs: Runs) -> None:
    words = ["effects", str(runs.hostile), "--draws", "50"]
    out = run(*words).out
    assert "\x1b" not in out
    assert "[bold]x[/]" in out
    assert "a\\x1b[31m\\nb" in out
    rows = strict_json(run(*words, "--json").out)["effects"]
    assert {row["cause"] for row in rows} == set(HOSTILE)


def test_a_pair_without_a_path_has_a_dash(run: Run) -> None:
    """No DAG has a path into a root: there is no mean given a path, and none is shown."""
    run("learn", "data.csv", "--root", "a", "--root", "c", "--out", "r", "--seed", "1")
    words = ["effects", "r", "--draws", "50", "--effect", "a", "--seed", "1"]
    outcome = run(*words, "--out", "e.csv")
    assert "nan" not in outcome.out
    lines = outcome.out.splitlines()
    assert lines[0] == "strongest effects on a"
    rows = [line.split() for line in lines[2:5]]
    assert [row[1:] for row in rows] == [["a", "0", "0", "0", "0", "0.000", "-", "0.000"]] * 3
    assert pd.read_csv("e.csv")["effect"].tolist() == ["a"] * 3
    assert all(
        row["mean_given_path"] is None for row in strict_json(run(*words, "--json").out)["effects"]
    )


def test_the_title_says_what_is_shown(run: Run, runs: Runs) -> None:
    def title(*words: str, of: str = str(runs.exact)) -> str:
        return run("effects", of, "--draws", "20", *words).out.splitlines()[0]

    assert title("--cause", "a") == "strongest effects of a"
    assert title("--cause", "a", "--effect", "b") == "effect of a on b"
    run("learn", "boston", "--max-parents", "1", "--out", "r", "-q")
    assert title(of="r") == "strongest effects (20 of 182 pairs)"
    assert title("--effect", "medv", of="r") == "strongest effects on medv"


@pytest.mark.parametrize("score", ["bge", "bdeu"])
def test_one_effect_in_detail(run: Run, monkeypatch: pytest.MonkeyPatch, score: str) -> None:
    """What Python answers about two values of a cause, and all pairs of categorical variables."""
    name = {"bge": "boston", "bdeu": "asia"}[score]
    cause, effect, two = {"bge": ("rm", "medv", "6,7"), "bdeu": ("smoke", "dysp", "no,yes")}[score]
    posterior = op.learn(name, max_parents=2, seed=1)
    monkeypatch.setattr("outpoint.cli.terminal.load_run", lambda path: posterior)
    words = ["effects", "r", "--cause", cause, "--effect", effect, "--levels", two]
    words += ["--draws", "50", "--seed", "1"]
    expected = posterior.effect(cause, effect, two.split(","), n_draws=50, seed=1)
    found = strict_json(run(*words, "--json", "--out", "e.csv").out)
    check_schema(found, "effect")
    for key, value in expected.rows():
        assert found[key] == value
    written = pd.read_csv("e.csv").set_index("what")["value"]
    assert written["mean"] == pytest.approx(expected.mean)
    shown = run(*words).out
    assert shown.startswith(expected.question)
    assert "sd_structure" in shown
    assert run(*words, "-q").out == ""
    pairs = run("effects", "r", "--effect", effect, "--draws", "20")
    assert pairs.code == 0
    assert pairs.out.startswith(f"strongest effects on {effect}")

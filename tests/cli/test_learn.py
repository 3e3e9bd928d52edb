"""``outpoint learn``: what it prints, what it writes, and what every option changes."""

import csv
import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import outpoint as op
from outpoint.naming import flag
from outpoint.options import options_of
from outpoint.posterior.admissible import judge_certainty
from outpoint.processors import n_threads
from tests.cli.conftest import KNOWN, NUMBERS, Run, listing, strict_json, table, without_colours
from tests.grids import first

COLUMNS = ["parent", "child", "probability", "mcse", "rhat", "ess", "status"]
KEYS = {
    "method",
    "n_nodes",
    "n_observations",
    "max_parents",
    "map_log_score",
    "log_evidence",
    "converged",
    "verdict",
    "round_trips",
    "elapsed_seconds",
    "seed",
    "version",
}
FILES = ["edges.csv", "map.dot", "posterior.npz", "report.html", "summary.json"]


def read_edges(directory: str) -> list[dict[str, str]]:
    with open(Path(directory) / "edges.csv", encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        assert reader.fieldnames == COLUMNS
        return list(reader)


def read_summary(directory: str) -> dict[str, Any]:
    return strict_json((Path(directory) / "summary.json").read_text(encoding="utf-8"))


def learn_json(run: Run, *words: str) -> dict[str, Any]:
    """The summary of a run that must succeed."""
    outcome = run("learn", *words, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    return strict_json(outcome.out)


# the known answers for Boston Housing; the evidence of asia is that of the Python interface
PAPER = ["--raw-units", "--structure-prior", "uniform"]
BUNDLED = [
    ("boston", 14, 506, 3, op.BGe(standardize=False), "uniform", PAPER, -20414.638948995),
    ("asia", 8, 1000, 7, op.BDeu(), "fair", [], None),
]


@pytest.mark.parametrize(
    ("name", "n", "n_obs", "limit", "score", "prior", "words", "log_evidence"), BUNDLED
)
def test_files_of_a_bundled_data_set(
    run: Run,
    name: str,
    n: int,
    n_obs: int,
    limit: int,
    score: Any,
    prior: str,
    words: list[str],
    log_evidence: float | None,
) -> None:
    outcome = run("learn", name, "--max-parents", str(limit), *words, "--seed", "5", "-o", "run")
    assert (outcome.code, outcome.err) == (0, "")
    posterior = op.learn(name, score, max_parents=limit, structure_prior=prior)
    assert sorted(path.name for path in Path("run").iterdir()) == FILES

    summary = read_summary("run")
    assert summary.keys() >= KEYS
    assert (summary["n_nodes"], summary["n_observations"]) == (n, n_obs)
    assert (summary["max_parents"], summary["seed"]) == (limit, 5)
    assert (summary["method"], summary["converged"]) == ("exact", True)
    assert summary["version"] == op.__version__
    assert 0 < summary["elapsed_seconds"] < 100
    assert summary["verdict"] == posterior.verdict
    expected = posterior.log_evidence if log_evidence is None else log_evidence
    assert summary["log_evidence"] == pytest.approx(expected, abs=1e-8)
    assert summary["map_log_score"] == pytest.approx(posterior.map_log_score, abs=1e-8)

    rows = read_edges("run")
    assert len({(row["parent"], row["child"]) for row in rows}) == len(rows) == n * (n - 1)
    probabilities = [float(row["probability"]) for row in rows]
    assert probabilities == sorted(probabilities, reverse=True)
    for row in rows:
        exact = posterior.edge_probabilities.loc[row["parent"], row["child"]]
        assert float(row["probability"]) == pytest.approx(exact, abs=1e-12)
        assert (float(row["mcse"]), row["rhat"], row["ess"], row["status"]) == (0, "", "", "exact")

    assert op.Dag.from_dot(Path("run/map.dot").read_text()) == posterior.map_dag
    best = op.log_score(name, posterior.map_dag, score, structure_prior=prior)
    assert best == pytest.approx(summary["map_log_score"])


def test_printed_summary(run: Run) -> None:
    out = run("learn", "boston", "--max-parents", "3", *PAPER).out
    lines = out.splitlines()
    assert lines[0] == "Data      boston: 506 observations of 14 continuous variables"
    columns = ", ".join(op.datasets.load("boston").names)
    assert lines[1] == f"Kinds     continuous: {columns}"
    assert lines[2] == "Model     BGe(standardize=False) score, uniform prior, at most 3 parents"
    assert lines[3].startswith("Method    exact (few enough variables to sum over all DAGs), ")
    assert "log evidence -20414.6389" in out
    assert "log score -20419.7780, probability 0.00586" in out
    settled = judge_certainty(op.load("outpoint-run-boston")).counts
    assert lines[6] == f"Settled   {settled}"
    table_start = next(i for i, line in enumerate(lines) if line.startswith("strongest edges"))
    pairs = [lines[i].split()[:3] for i in range(table_start + 1, table_start + 16)]
    assert pairs[0] == ["rm", "->", "medv"]
    assert len({frozenset((a, b)) for a, _, b in pairs}) == 15, "each pair once"
    assert (
        lines[-1] == "Files     outpoint-run-boston/ (edges.csv, map.dot, posterior.npz, "
        "report.html, summary.json)"
    )
    assert "fair prior, no limit on parents\n" in run("learn", "data.csv").out
    assert "fair prior, at most 2 parents\n" in run("learn", "data.csv", "--max-parents", "2").out
    assert "at most 1 parent\n" in run("learn", "data.csv", "--max-parents", "1").out
    assert all(line == line.rstrip() for line in lines)
    assert "few enough" not in run("learn", "asia", "--method", "exact").out


@pytest.mark.usefixtures("reports")
def test_the_default_limit_on_parents_is_said(run: Run) -> None:
    codes = np.random.default_rng(1).integers(0, 2, (40, 8))
    rows = ["abcdefgh", *("".join("xy"[code] for code in row) for row in codes)]
    Path("levels.csv").write_text("\n".join(",".join(row) for row in rows))
    remark = (
        "at most 5 parents, as more can have more joint levels than there are rows; "
        "--max-parents allows more"
    )
    found = run("learn", "levels.csv", "--out", "found", "--seed", "1")
    assert found.out.count(remark) == 1
    assert "at most 5 parents\n" in found.out
    assert remark in read_summary("found")["notes"]
    assert "more joint levels" in Path("found/report.html").read_text(encoding="utf-8")
    assert run("map", "levels.csv").out.count(remark) == 1
    more = run("learn", "levels.csv", "--out", "more", "--max-parents", "7")
    assert "no limit on parents\n" in more.out
    assert "joint levels" not in more.out


def test_json_is_the_summary_and_nothing_else(run: Run) -> None:
    printed = learn_json(run, "data.csv", "--out", "run")
    assert printed == read_summary("run")


def test_quiet(run: Run) -> None:
    outcome = run("learn", "data.csv", "--quiet", "--out", "run")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    assert sorted(path.name for path in Path("run").iterdir()) == FILES


@pytest.mark.parametrize(
    ("suffix", "separator", "options"),
    first(
        [
            ("csv", ";", []),
            ("tsv", "\t", ["--separator", "tab"]),
            ("tsv", "\t", []),
            ("txt", " ", []),
            ("txt", "|", ["--separator", "|"]),
            ("tsv", "\t", ["--separator", "\\t"]),
        ],
        2,
    ),
)
def test_every_separator_gives_the_same(
    run: Run, suffix: str, separator: str, options: list[str]
) -> None:
    Path(f"other.{suffix}").write_text(table(separator=separator))
    comma = learn_json(run, "data.csv")
    other = learn_json(run, f"other.{suffix}", *options)
    for key in ("log_evidence", "map_log_score", "data_sha256", "n_observations"):
        assert other[key] == comma[key]


@pytest.mark.parametrize(
    ("options", "kind", "threads"),
    [
        ([], "exact, bge", None),
        (["--score", "bic", "--threads", "1"], "exact, bic", 1),
        (["--method", "order", "--steps", "200"], "order, bge", None),
    ],
)
def test_what_is_compiled_beforehand(
    run: Run, monkeypatch: pytest.MonkeyPatch, options: list[str], kind: str, threads: int | None
) -> None:
    usual, asked = n_threads(), []

    @contextmanager
    def helpers(run: str) -> Iterator[None]:
        asked.append((run, n_threads()))
        yield

    monkeypatch.setattr("outpoint.ahead.helpers", helpers)
    run("learn", "data.csv", *options)
    assert asked == [(kind, usual if threads is None else threads)]


def test_default_directory_is_numbered(run: Run) -> None:
    for expected in ("outpoint-run-data", "outpoint-run-data-2", "outpoint-run-data-3"):
        assert f"{expected}/ (" in run("learn", "data.csv").out
        assert Path(expected, "summary.json").exists()
    Path(".csv").write_text(table())
    run("learn", ".csv")
    assert Path("outpoint-run-data-4").is_dir()
    assert learn_json(run, "data.csv", "--overwrite")["n_nodes"] == 4
    assert Path("outpoint-run-data-5").is_dir(), "--overwrite replaces only what --out names"


def test_default_directory_has_the_whole_name(run: Run) -> None:
    Path("psych.bfi.csv").write_text(table())
    with gzip.open("psych.sat.act.csv.gz", "wt") as file:
        file.write(table())
    for name in ("psych.bfi", "psych.sat.act"):
        run("learn", f"{name}.csv" + ".gz" * name.endswith("act"), "-q")
        assert Path(f"outpoint-run-{name}").is_dir()


def test_edges_without_any_probability_are_not_listed(run: Run) -> None:
    """Two columns are crossed, the third mostly tells the first."""
    rows = [f"a{i % 6},b{i // 6 % 6},c{(i + (i % 7 == 0)) % 6}" for i in range(360)]
    Path("crossed.csv").write_text("\n".join(["a,b,c", *rows, ""]))
    lines = run("learn", "crossed.csv").out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("strongest edges"))
    assert {*lines[start + 1].split()[:3:2]} == {"a", "c"}
    assert lines[start + 2] == ""


def test_directory_of_a_long_file_name(run: Run) -> None:
    Path("x" * 240 + ".csv").write_text(table())
    assert run("learn", "x" * 240 + ".csv").code == 0
    assert Path("outpoint-run-" + "x" * 100).is_dir()


@pytest.mark.parametrize("place", ["run", "new/deep/run", "empty", "empty/.", "link"])
def test_out(run: Run, place: str) -> None:
    Path("empty").mkdir()
    Path("target").mkdir()
    Path("link").symlink_to("target")
    assert run("learn", "data.csv", "--out", place).code == 0
    assert sorted(path.name for path in Path(place).iterdir()) == FILES
    assert Path("link").is_symlink()
    assert not [name for name in listing() if "outpoint-" in name], "no temporary leftovers"


def test_overwrite(run: Run) -> None:
    run("learn", "data.csv", "--out", "run", "--max-parents", "1")
    before = {name: Path("run", name).read_bytes() for name in FILES}
    refused = run("learn", "data.csv", "--out", "run", "--max-parents", "2")
    assert (refused.code, refused.out) == (2, "")
    assert "run holds an earlier run" in refused.err
    assert "--overwrite" in refused.err
    assert {name: Path("run", name).read_bytes() for name in FILES} == before
    assert run("learn", "data.csv", "--out", "run", "--max-parents", "2", "--overwrite").code == 0
    assert read_summary("run")["max_parents"] == 2
    assert listing() == ["data.csv", "run", *(f"run/{name}" for name in FILES)]


def test_overwrite_where_the_user_stands(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the earlier run nor the working directory may get lost on the way."""
    Path("here").mkdir()
    monkeypatch.chdir("here")
    assert run("learn", "../data.csv", "--out", ".").code == 0
    assert run("learn", "../data.csv", "--out", ".", "--max-parents", "2", "--overwrite").code == 0
    assert listing() == FILES
    assert read_summary(".")["max_parents"] == 2


def test_permissions_follow_the_umask(run: Run) -> None:
    Path("plain").mkdir()
    assert run("learn", "data.csv", "--out", "run").code == 0
    assert Path("run").stat().st_mode == Path("plain").stat().st_mode
    assert Path("run/edges.csv").stat().st_mode == Path("data.csv").stat().st_mode


@pytest.mark.parametrize("place", ["run", "run/deep/er"])
def test_nothing_is_left_of_a_failed_write(
    run: Run, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: op.Dag) -> str:
        raise OSError(28, "No space left on device")

    Path("run").mkdir()
    monkeypatch.setattr(op.Dag, "to_dot", fail)
    outcome = run("learn", "data.csv", "--out", place)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert f"cannot write to {place} (No space left on device)" in outcome.err
    assert [path for path in Path().rglob("*") if path.is_file()] == [Path("data.csv")]
    assert not list(Path().rglob(".outpoint-*"))


def test_failed_overwrite_keeps_the_earlier_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: op.Dag) -> str:
        raise KeyboardInterrupt

    run("learn", "data.csv", "--out", "run")
    before = {name: Path("run", name).read_bytes() for name in FILES}
    monkeypatch.setattr(op.Dag, "to_dot", fail)
    assert run("learn", "data.csv", "--out", "run", "--overwrite").code == 130
    assert {path.name: path.read_bytes() for path in Path("run").iterdir()} == before


OPTIONS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "max parents": (["--max-parents", "1"], {"max_parents": 1}),
    "method": (["--method", "exact", "--score", "bge"], {"method": "exact", "score": "bge"}),
    "raw units": (["--raw-units"], {"score": op.BGe(standardize=False)}),
    "structure prior": (["--structure-prior", "uniform"], {"structure_prior": "uniform"}),
    "edge prior": (["--edge-prior", "0.1"], {"edge_prior": 0.1}),
    "forbid": (
        ["--forbid", "a->b", "--forbid", " b -> a "],
        {"forbidden": [("a", "b"), ("b", "a")]},
    ),
    "require": (
        ["--require", "a->c", "--require", "d->c"],
        {"required": [("a", "c"), ("d", "c")]},
    ),
    "knowledge": (
        ["--knowledge", "known.toml", "--forbid", "d->a"],
        {"knowledge": KNOWN, "forbidden": [("d", "a")]},
    ),
    "tiers": (["--tier", "d, c", "--tier", "a"], {"tiers": [["d", "c"], ["a"]]}),
    "roots": (["--root", "a", "--root", "d"], {"roots": ["a", "d"]}),
}


@pytest.mark.parametrize(("words", "options"), OPTIONS.values(), ids=OPTIONS.keys())
def test_option_means_what_it_means_in_python(
    run: Run, words: list[str], options: dict[str, Any]
) -> None:
    KNOWN.write("known.toml")
    summary = learn_json(run, "data.csv", "--out", "run", *words)
    posterior = op.learn("data.csv", **options)
    assert summary["log_evidence"] == pytest.approx(posterior.log_evidence, abs=1e-9)
    assert summary["map_log_score"] == pytest.approx(posterior.map_log_score, abs=1e-9)
    for row in read_edges("run"):
        expected = posterior.edge_probabilities.loc[row["parent"], row["child"]]
        assert float(row["probability"]) == pytest.approx(expected, abs=1e-12)
    plain = op.learn("data.csv")
    is_default = words[0] == "--method"
    assert (summary["log_evidence"] == pytest.approx(plain.log_evidence)) == is_default


def test_constraints_show_in_the_edges(run: Run) -> None:
    run("learn", "data.csv", "-o", "run", "--forbid", "a->b", "--require", "b->d", "--root", "c")
    probability = {
        (row["parent"], row["child"]): float(row["probability"]) for row in read_edges("run")
    }
    assert probability["a", "b"] == 0
    assert probability["b", "d"] == pytest.approx(1)
    assert [probability[u, "c"] for u in "abd"] == [0, 0, 0]


def test_equivalent_sample_size(run: Run) -> None:
    summary = learn_json(run, "asia", "--equivalent-sample-size", "10", "--score", "bdeu")
    expected = op.learn("asia", score=op.BDeu(equivalent_sample_size=10)).log_evidence
    assert summary["log_evidence"] == pytest.approx(expected, abs=1e-9)
    assert summary["log_evidence"] != pytest.approx(op.learn("asia").log_evidence, abs=1)


def test_kinds_of_columns(run: Run) -> None:
    codes = (NUMBERS > 0).astype(int) + 1
    Path("codes.csv").write_text(table(rows=codes))
    assert learn_json(run, "codes.csv")["score"] == "bdeu"
    assert learn_json(run, "codes.csv", "--continuous", "all")["score"] == "bge"
    assert learn_json(run, "codes.csv", "--continuous", "a,b", "--continuous", "c,d")["score"] == (
        "bge"
    )
    assert learn_json(run, "codes.csv", "--continuous", "c")["score"] == "blocks"
    other = learn_json(run, "codes.csv", "--continuous", "c", "--score", "conditional-gaussian")
    assert other["score_settings"] == "ConditionalGaussian()"
    Path("codes.csv").write_text(table('"a,b",b,c,d', rows=codes))
    assert run("learn", "codes.csv", "--continuous", '"a,b",b,c,d').code == 0


def test_reading_options_are_those_of_python(run: Run) -> None:
    rows = NUMBERS.round(1).astype(str)
    rows[3, 1] = "NA"
    Path("data.tsv").write_text(table(rows=rows, separator="\t").replace(".", ","))
    words = ["--decimal", ",", "--missing", "drop", "--drop", "d", "--discretize", "a:2,b:3"]
    outcome = run("learn", "data.tsv", *words, "--discretize", "c:2", "--out", "run")
    assert outcome.code == 0, outcome.err
    expected = op.data.load_dataset(
        "data.tsv", decimal=",", missing="drop", drop=["d"], discretize={"a": 2, "b": 3, "c": 2}
    )
    assert expected.cardinalities.tolist() == [2, 3, 2]
    assert op.load("run").info.fingerprint == expected.fingerprint()
    assert "data.tsv: 29 observations of 3 categorical variables" in outcome.out
    assert "\nKinds     categorical: a (2 levels), b (3 levels), c (2 levels)\n" in outcome.out
    dropped = (
        "1 row of 30 had missing values, in 'b' (1), and was dropped; refuse such rows with "
        "--missing refuse"
    )
    assert f"\nNote      {dropped}\n" in outcome.out
    refused = ["--missing", "refuse", "--decimal", ",", "--drop", "d"]
    assert run("learn", "data.tsv", *refused).code == 2


def test_every_command_that_reads_data_has_the_same_options(run: Run) -> None:
    for command in ("learn", "map", "score", "report"):
        shown = without_colours(run(command, "--help").out)
        for option in ("columns", "drop", "categorical", "continuous", "discretize", "decimal"):
            assert f"--{option}" in shown, (command, option)
        assert "--missing" in shown
        assert "--separator" in shown


def test_every_command_with_a_model_has_the_same_options(run: Run) -> None:
    options = [one.name for one in options_of("log_score") if one.help is not None]
    assert {"score", "edge_prior", "tiers", "drop"} <= set(options)
    for command in ("learn", "map", "score"):
        shown = without_colours(run(command, "--help").out)
        for option in (*options, "raw_units", "equivalent_sample_size"):
            assert re.search(rf"{flag(option)}[ -]", shown), (command, option)


@pytest.mark.parametrize(
    ("column", "why", "both"),
    [
        (NUMBERS[:, 0], "says the same as 'a'", "both"),
        (32 + 1.8 * NUMBERS[:, 0], "says the same as 'a'", "both"),
        (np.ones(30), "is constant", "it"),
    ],
    ids=["identical", "linear copy", "constant"],
)
def test_allow_degenerate(run: Run, column: np.ndarray, why: str, both: str) -> None:
    Path("odd.csv").write_text(table("a,b,c,d,e", np.column_stack([NUMBERS, column])))
    without = learn_json(run, "odd.csv")
    note = f"left out 'e', which {why}; keep {both} with --allow-degenerate"
    assert (without["n_nodes"], without["notes"]) == (4, [note])
    assert without["log_evidence"] == learn_json(run, "data.csv")["log_evidence"]
    assert f"\nNote      {note}\n" in run("learn", "odd.csv").out
    refused = run("learn", "odd.csv", "--strict")
    assert refused.code == 2
    assert refused.err.endswith("with --drop e, or go on with --allow-degenerate.\n")
    for words in ([], ["--strict"]):
        kept = learn_json(run, "odd.csv", "--allow-degenerate", *words)
        assert (kept["n_nodes"], kept["notes"]) == (5, [])
        assert np.isfinite(kept["log_evidence"])


def test_few_rows_are_noted(run: Run) -> None:
    rows = np.column_stack([NUMBERS, NUMBERS[::-1, 0]])[:4]
    Path("few.csv").write_text(table("a,b,c,d,e", rows))
    note = "with fewer rows (4) than columns (5) the prior decides most edges"
    summary = learn_json(run, "few.csv")
    assert (summary["n_nodes"], summary["notes"]) == (5, [note])
    assert np.isfinite(summary["log_evidence"])
    assert f"\nNote      {note}\n" in run("learn", "few.csv").out


def test_seed(run: Run) -> None:
    assert learn_json(run, "data.csv", "--seed", "0")["seed"] == 0
    assert learn_json(run, "data.csv", "--seed", str(2**80))["seed"] == 2**80
    chosen = {learn_json(run, "data.csv")["seed"] for _ in range(3)}
    assert len(chosen) == 3


NASTY = [
    "<script>alert(1)</script>",
    "[red]x[/red]",
    'say "hi"',
    "one, two",
    "😀 naïve",
    "n" * 200,
    "two\nlines",
    "a->b",
    "back\\slash\\n",
    "=1+1",
    ":smile:",
    "tab\there",
]


def test_hostile_names_survive(run: Run) -> None:
    values = np.random.default_rng(3).normal(size=(20, len(NASTY)))
    values[:, 1:] += values[:, :1]
    with open("nasty.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([NASTY, *values.tolist()])
    outcome = run(
        "learn",
        "nasty.csv",
        *("--out", "run", "--max-parents", "2"),
        *("--require", "a->b->[red]x[/red]", "--forbid", "one, two->a->b"),
        *("--tier", '"one, two", <script>alert(1)</script>', "--tier", "=1+1"),
        *("--root", 'say "hi"'),
    )
    assert (outcome.code, outcome.err) == (0, "")
    rows = read_edges("run")
    safe = {"'=1+1" if name == "=1+1" else name for name in NASTY}
    assert {row["parent"] for row in rows} == {row["child"] for row in rows} == safe
    assert set(op.read_edges("run/edges.csv")["parent"]) == set(NASTY)
    assert (rows[0]["parent"], rows[0]["child"]) == ("a->b", "[red]x[/red]")
    dag = op.Dag.from_dot(Path("run/map.dot").read_text(encoding="utf-8"))
    expected = op.learn(
        "nasty.csv",
        max_parents=2,
        required=[("a->b", "[red]x[/red]")],
        forbidden=[("one, two", "a->b")],
        tiers=[["one, two", "<script>alert(1)</script>"], ["=1+1"]],
        roots=['say "hi"'],
    )
    assert dag.names == tuple(NASTY)
    assert dag == expected.map_dag
    assert "a->b -> [red]x[/red]" in outcome.out


@pytest.mark.parametrize("name", first(NASTY, 4))
def test_hostile_name_is_printed_in_one_line(run: Run, name: str) -> None:
    with open("nasty.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([[name, "b"], *NUMBERS[:, :2].tolist()])
    out = run("learn", "nasty.csv").out
    escaped = name.replace("\n", "\\n").replace("\t", "\\t")
    assert f"\n{escaped} -> b  " in out or f"\nb -> {escaped}  " in out
    assert f"\nKinds     continuous: {escaped}, b\n" in out
    labels = ["Data", "Kinds", "Model", "Method", "Evidence", "Best DAG", "Settled"]
    lines = out.splitlines()
    assert [line[:10].rstrip() for line in lines[:7]] == labels
    assert [line[:10].rstrip() for line in lines[-2:]] == ["Verdict", "Files"]
    assert len(lines) == 13


def test_both_ends_of_an_edge_are_seen_on_a_narrow_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edge between two long names fits, and neither name pushes the other out."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    names = ["first" + "n" * 90, "second" + "n" * 90]
    Path("long.csv").write_text(table(",".join(names), NUMBERS[:, :2]))
    out = without_colours(run("learn", "long.csv").out)
    edge = next(line for line in out.splitlines() if " -> " in line)
    assert len(edge) <= 60
    assert "first" in edge
    assert "second" in edge
    assert len(edge.split()) == 5, "parent, arrow, child and both probabilities"


def test_interrupted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("outpoint.learning.learn", interrupt)
    outcome = run("learn", "data.csv")
    assert (outcome.code, outcome.out) == (130, "")
    assert outcome.err == "outpoint: interrupted; nothing was written.\n"
    assert listing() == ["data.csv"]


def fail_strangely(*args: Any, **options: Any) -> None:
    raise RuntimeError("first line\nsecond line")


def test_unexpected_failure_has_no_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outpoint.learning.learn", fail_strangely)
    outcome = run("learn", "data.csv")
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (1, "", 1)
    assert "unexpected failure (RuntimeError: first line" in outcome.err
    assert "OUTPOINT_TRACEBACK=1" in outcome.err
    assert "Traceback" not in outcome.err
    assert listing() == ["data.csv"]
    monkeypatch.setenv("OUTPOINT_TRACEBACK", "1")
    with pytest.raises(RuntimeError, match="first line"):
        run("learn", "data.csv")


def test_out_of_memory(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhaust(*args: Any, **options: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("outpoint.learning.learn", exhaust)
    outcome = run("learn", "data.csv")
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert "fewer variables" in outcome.err


def test_progress_goes_to_standard_error(run: Run) -> None:
    values = np.random.default_rng(0).normal(size=(40, 17))
    Path("wide.csv").write_text(table(",".join(f"v{i}" for i in range(17)), values))
    loud = run("learn", "wide.csv", "--max-parents", "1", "--json")
    assert loud.err == "scoring parent sets ...\nsumming over all DAGs ...\n"
    assert strict_json(loud.out)["n_nodes"] == 17
    assert run("learn", "wide.csv", "--max-parents", "1", "--quiet").err == ""


def test_options_that_an_exact_run_ignores_are_named(run: Run) -> None:
    words = ["learn", "data.csv", "--overwrite", "--out", "run"]
    sampling = ["--steps", "100", "--time", "1m", "--chains", "4", "--until-converged"]
    line = (
        "outpoint: the posterior is exact and nothing is sampled: --chains, --steps, --time and "
        "--until-converged are not used.\n"
    )
    for method in ("auto", "exact"):
        outcome = run(*words, *sampling, "--method", method)
        assert (outcome.code, outcome.err) == (0, line)
    outcome = run(*words, "--candidates", "2", "--json")
    assert outcome.err.endswith("sampled: --candidates is not used.\n")
    assert strict_json(outcome.out)["method"] == "exact"
    assert run(*words).err == ""
    assert run(*words, *sampling, "--quiet").err == ""
    sampled = run(*words, "--steps", "100", "--chains", "2", "--method", "mcmc")
    assert "not used" not in sampled.err

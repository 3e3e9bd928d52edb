"""Series on the command line."""

import pandas as pd

import outpoint as op
from tests.series.test_series import panel


def test_a_panel(run, tmp_path):
    path, out = tmp_path / "panel.csv", tmp_path / "run"
    panel().to_csv(path, index=False)
    options = "--time-column time --subject-column subject --lags 1 --static site --seed 1"
    found = run("learn", str(path), *options.split(), "--out", str(out))
    assert found.code == 0, found.out
    assert "pairs of slices from 5 subjects; 1 gap skipped" in " ".join(found.out.split())
    data = op.load_series(panel(), "time", "subject", static=["site"])
    expected = op.learn(data, seed=1).edge_probabilities
    posterior = op.load(out)
    pd.testing.assert_frame_equal(posterior.edge_probabilities, expected)
    edges = pd.read_csv(out / "edges.csv")
    assert {"a[-1]", "site"} <= set(edges["parent"])
    assert edges.loc[edges["child"] == "a[-1]", "probability"].max() == 0


def test_lags_alone_take_rows_in_order_and_bad_input_is_one_sentence(run, tmp_path):
    path = tmp_path / "series.csv"
    panel().query("subject == 's0'").sort_values("time")[["a", "b", "c"]].to_csv(path, index=False)
    found = run(
        "learn", str(path), "--lags", "1", "--no-contemporaneous", "-o", str(tmp_path / "r")
    )
    assert found.code == 0, found.out
    assert "11 pairs of slices" in found.out
    bad = run("learn", str(path), "--lags", "20", "-o", str(tmp_path / "bad"))
    assert bad.code == 2
    assert "20 lags would need 21 rows without a gap" in bad.err
    panel().to_csv(path, index=False)
    twice = run("learn", str(path), "--time-column", "time", "-o", str(tmp_path / "bad"))
    assert twice.code == 2
    assert "--subject-column" in " ".join(twice.err.split())
    unknown = run("learn", str(path), "--time-column", "when", "-o", str(tmp_path / "bad"))
    assert unknown.code == 2
    assert "--time-column names 'when', which is not a column here" in unknown.err


def test_series_are_simulated_from_the_graph_of_one(run, tmp_path):
    graph, out = tmp_path / "truth.dot", tmp_path / "made.csv"
    graph.write_text('digraph { a; b; sex; "a[-1]" -> a; "a[-1]" -> b; sex -> b; }')
    options = ["-n", "30", "--subjects", "4", "--static", "sex", "--seed", "2"]
    found = run("simulate", str(graph), *options, "--out", str(out))
    assert found.code == 0, found.err
    assert "made.csv: 30 times of 4 subjects" in " ".join(found.out.split())
    dag = op.Dag.from_edges(
        ["a", "b", "sex", "a[-1]"], [("a[-1]", "a"), ("a[-1]", "b"), ("sex", "b")]
    )
    made = op.simulate_series(dag, 30, 2, n_subjects=4, static=["sex"])
    pd.testing.assert_frame_equal(pd.read_csv(out)[list(made)], made)
    learned = run(
        "learn", str(out), "--time-column", "time", "--subject-column", "subject", "--seed", "1"
    )
    assert "took 'sex' as static" in " ".join(learned.out.split())
    for wrong, message in (
        (["--kind", "mixed"], "series are simulated as gaussian"),
        (["--intervene", "a:3"], "series are simulated as gaussian and without interventions"),
        (["--static", "b"], "'b' is static and cannot have parents"),
    ):
        bad = run("simulate", str(graph), *wrong)
        assert bad.code == 2
        assert message in bad.err
    plain = run("simulate", "--nodes", "3", "--subjects", "2")
    assert plain.code == 2
    assert "--subjects and --static belong to series" in plain.err


def test_every_command_reads_a_series(run, tmp_path):
    path, out, dag = tmp_path / "panel.csv", tmp_path / "run", tmp_path / "best.dot"
    panel().to_csv(path, index=False)
    options = ["--time-column", "time", "--subject-column", "subject", "--static", "site"]
    assert run("learn", str(path), *options, "--seed", "1", "-o", str(out)).code == 0
    best = run("map", str(path), *options, "--out", str(dag))
    assert "b[-1] -> b" in best.out
    shown = " ".join(best.out.split())
    assert "Best DAG log score" in shown
    assert "that data can tell or that is known (->)" in shown
    scored = run("score", str(path), str(dag), *options, "-q")
    assert abs(float(scored.out) - op.load(out).map_log_score) < 1e-6
    for words in (
        ["probability", str(out), "a[-1] -> b", "a[-1] -> ... -> c"],
        ["effects", str(out), "--cause", "a[-1]", "--effect", "b"],
        ["adjustment-sets", str(out), "b", "c"],
        ["next-experiment", str(out)],
        ["compare", str(out), str(out)],
        ["export", str(out), str(tmp_path / "x.graphml")],
        ["report", str(out), "--out", str(tmp_path / "x.html")],
    ):
        found = run(*words)
        assert found.code == 0, (words, found.err)

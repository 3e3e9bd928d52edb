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
    assert "No 21 rows follow each other" in bad.err
    panel().to_csv(path, index=False)
    twice = run("learn", str(path), "--time-column", "time", "-o", str(tmp_path / "bad"))
    assert twice.code == 2
    assert "--subject-column" in " ".join(twice.err.split())
    unknown = run("learn", str(path), "--time-column", "when", "-o", str(tmp_path / "bad"))
    assert unknown.code == 2
    assert "--time-column names 'when', which is not a column here" in unknown.err

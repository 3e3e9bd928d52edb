"""Time series and panels: how they are read, what is learned, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint.errors import DataError, OptionError

DYNAMIC = op.Dag.from_edges(
    ["a", "b", "c", "a[-1]", "b[-1]", "c[-1]"],
    [("a[-1]", "a"), ("a[-1]", "b"), ("b[-1]", "b"), ("b", "c"), ("c[-1]", "c")],
)


def panel(seed=1, n_subjects=6, n_times=12):
    """Subjects of unequal length with gaps and one of a single row, rows out of order."""
    frame = op.simulate_series(DYNAMIC, n_times, seed, n_subjects=n_subjects)
    frame["site"] = frame["subject"].map(lambda s: "north" if int(s[1:]) % 2 else "south")
    gone = (frame.subject == "s1") & (frame.time > 7)
    gone |= (frame.subject == "s2") & (frame.time == 4)
    gone |= (frame.subject == "s3") & (frame.time > 0)
    return frame[~gone].sample(frac=1.0, random_state=seed).reset_index(drop=True)


def pairs_by_hand(frame):
    """The table of pairs, made row by row."""
    rows = {(r.subject, r.time): r for r in frame.itertuples()}
    made = []
    for subject, time in sorted(rows):
        now, before = rows[subject, time], rows.get((subject, time - 1))
        if before is not None:
            made.append([now.a, now.b, now.c, before.a, before.b, before.c, now.site])
    names = ["a", "b", "c", "a[-1]", "b[-1]", "c[-1]", "site"]
    return pd.DataFrame(made, columns=names)


def test_an_unequal_panel_is_the_table_of_pairs_made_by_hand():
    frame = panel()
    data = op.load_series(frame, time="time", subject="subject", static="site")
    made = pairs_by_hand(frame)
    hand = op.load_dataset(made)
    assert data.names == hand.names
    assert np.array_equal(data.values, hand.values)
    assert data.notes[-1] == (
        f"{len(made)} pairs of slices from 5 subjects; 1 gap skipped; "
        "1 subject with too few rows left out"
    )
    numbered = frame.assign(subject=frame["subject"].str[1:].astype(int))
    again = op.load_series(numbered, time="time", subject="subject", static="site")
    assert again == data
    assert again.notes[-1] == data.notes[-1]
    given = ["a[-1]", "b[-1]", "c[-1]", "site"]
    found, same = op.learn(data, seed=1), op.learn(hand, roots=given, seed=1)
    assert found.edge_probabilities.equals(same.edge_probabilities)
    assert (found.dags() == same.dags()).all()
    scores = op.scores.bind_score(op.Blocks(), hand, allow_degenerate=False)
    own = sum(
        float(scores.families(v, np.zeros((1, 0), dtype=np.int16))[0])
        for v in range(hand.n_nodes)
        if hand.names[v] in given
    )
    assert found.info.score == "blocks"
    assert same.log_evidence - found.log_evidence == pytest.approx(own, abs=1e-8)


def test_columns_may_name_time_and_subject():
    frame = op.simulate_series(DYNAMIC, 20, 5).assign(subject="one", more=1.0)
    named = op.load_series(frame, "time", "subject", columns=["time", "subject", "a", "b"])
    other = op.load_series(frame, "time", "subject", columns=["a", "b"])
    assert named.names == other.names == ("a", "b", "a[-1]", "b[-1]")
    assert np.array_equal(named.values, other.values)


def test_without_times_rows_are_in_order_and_dropped_ones_are_gaps():
    frame = op.simulate_series(DYNAMIC, 50, 2).drop(columns="time")
    assert op.load_series(frame, lags=2).notes[-1] == "48 runs of 3 slices"
    frame.loc[20, "b"] = np.nan
    assert op.load_series(frame).missing.sum() == 2
    data = op.load_series(frame, missing="drop")
    assert data.notes[-1] == "47 pairs of slices; 1 gap skipped"
    assert data.n_obs == 47
    kept = [*range(1, 20), *range(22, 50)]
    np.testing.assert_array_equal(data.values[:, 0], frame["a"].to_numpy()[kept])


@pytest.mark.parametrize(
    "times",
    [
        [f"2020-{month:02d}-01" for month in range(1, 11)],
        ["2020-01-31", "2020-02-29", "2020-03-31", "2020-04-30", "2020-05-31"] * 2,
        [f"20{year}" for year in range(10, 30, 2)],
        list(np.arange(10) / 4),
    ],
    ids=["months", "ends of months", "every second year", "quarters"],
)
def test_times(times):
    frame = op.simulate_series(DYNAMIC, 10, 3).drop(columns="time").assign(t=times)
    if times[0] == times[5]:
        frame = frame.assign(t=times, who=["x"] * 5 + ["y"] * 5)
        assert op.load_series(frame, "t", "who").n_obs == 8
    else:
        assert op.load_series(frame, "t").n_obs == 9
    if str(times[0]).startswith("2020-01-0"):
        stamps = frame.assign(t=pd.to_datetime(frame["t"]))
        assert op.load_series(stamps, "t").n_obs == 9


def test_bad_input_is_refused_in_one_sentence():
    frame = panel()
    twice = pd.concat([frame, frame[frame.subject == "s0"]])
    with pytest.raises(DataError, match=r"Subject 's0' has more than one row for time"):
        op.load_series(twice, "time", "subject")
    with pytest.raises(DataError, match="occurs more than once in column 'time': name the column"):
        op.load_series(frame.drop(columns="subject"), "time")
    rows = frame.assign(row=[f"r{i}" for i in range(len(frame))])
    with pytest.raises(DataError, match="a subject of its own in column 'row'"):
        op.load_series(rows, "time", "row")
    with pytest.raises(
        DataError, match=r"30 lags would need 31 rows .* at most 12 follow each other: use fewer"
    ):
        op.load_series(frame, "time", "subject", lags=30)
    with pytest.raises(DataError, match="Column 'a' is not static, as it changes within a subject"):
        op.load_series(frame, "time", "subject", static=["a"])
    with pytest.raises(DataError, match="neither numbers nor dates"):
        op.load_series(frame, "site", "subject")
    with pytest.raises(OptionError, match="names 'when'"):
        op.load_series(frame, "when", "subject")
    with pytest.raises(OptionError, match="is not that of a time series"):
        op.learn(frame[["a", "b", "c"]], seed=1).lagged_probabilities  # noqa: B018


@pytest.fixture(scope="module")
def learned():
    data = op.load_series(op.simulate_series(DYNAMIC, 300, 5), time="time")
    return op.learn(data, seed=1)


def test_the_network_is_found_and_without_time_it_is_not(learned):
    edges = learned.lagged_probabilities
    assert edges.shape == (6, 3)
    assert edges.loc[(1, "a"), "b"] > 0.99
    assert edges.loc[(1, "c"), "c"] > 0.99
    assert edges.loc[(1, "c"), "a"] < 0.2
    within = edges.loc[(0, "b"), "c"] + edges.loc[(0, "c"), "b"]
    assert within > 0.99
    assert edges.loc[(0, "b"), "c"] > 0.9  # the past tells the direction
    frame = op.simulate_series(DYNAMIC, 300, 5)[["a", "b", "c"]]
    flat = op.learn(frame, seed=1).edge_probabilities
    assert flat.loc["b", "c"] < 0.9
    assert "one part of 3 variables and 3 variables on their own" in learned.verdict


def test_the_graph_rolled_up(learned):
    rolled, edges = learned.rolled_up_probabilities, learned.lagged_probabilities
    assert rolled.loc["c", "c"] == pytest.approx(edges.loc[(1, "c"), "c"], abs=1e-9)
    for parent, child in [("a", "b"), ("c", "a"), ("b", "a")]:
        both = edges.loc[(0, parent), child], edges.loc[(1, parent), child]
        assert max(both) - 1e-9 <= rolled.loc[parent, child] <= sum(both) + 1e-9


def test_effects_after_some_steps(learned):
    """Against the coefficients of the simulation, five standard deviations of the posterior."""
    table = learned.effects_over_time(2, n_draws=500).set_index(["steps", "cause", "effect"])
    total = learned.causal_effects(n_draws=500).mean
    assert table.loc[(0, "b", "c"), "mean"] == pytest.approx(total.loc["b", "c"], abs=0.02)
    assert table.loc[(1, "a", "b"), "mean"] == pytest.approx(total.loc["a[-1]", "b"], abs=0.03)
    one = total.loc["a[-1]", "a"]
    assert table.loc[(2, "a", "a"), "mean"] == pytest.approx(one**2, abs=0.03)
    assert table.loc[(0, "a", "a"), "mean"] == 1


def test_knowledge_by_name_and_edges_of_lags_only():
    frame = op.simulate_series(DYNAMIC, 120, 5)
    data = op.load_series(frame, "time")
    known = op.learn(data, forbidden=[("a[-1]", "b")], tiers=[["c"], ["a", "b"]], seed=1)
    assert known.lagged_probabilities.loc[(1, "a"), "b"] == 0
    assert known.lagged_probabilities.loc[(0, "b"), "c"] == 0
    alone = op.learn(op.load_series(frame, "time", contemporaneous=False), seed=1)
    assert (alone.lagged_probabilities.loc[0] == 0).all(axis=None)
    assert "6 variables on their own" in alone.verdict
    with pytest.raises(OptionError, match="root"):
        op.learn(data, required=[("a", "a[-1]")], seed=1)


@pytest.mark.long
def test_sampling_agrees_with_the_exact_answer(learned):
    """Edges of 4 chains of our sampler: within 0.05 of the exact ones."""
    data = op.load_series(op.simulate_series(DYNAMIC, 300, 5), time="time")
    sampled = op.learn(data, method="mcmc", steps=4000, seed=1)
    assert abs(sampled.edge_probabilities - learned.edge_probabilities).max(axis=None) < 0.05
    assert sampled.map_log_score == pytest.approx(learned.map_log_score, abs=1e-6)


def test_categorical_series_and_interventions():
    rng = np.random.default_rng(4)
    values = rng.integers(0, 2, (80, 2))
    values[1:, 1] = np.where(rng.random(79) < 0.9, values[:-1, 0], values[1:, 1])
    frame = pd.DataFrame(np.array(["no", "yes"])[values], columns=["x", "y"])
    frame["set"] = np.where(np.arange(80) % 10 == 0, "y", "")
    data = op.load_series(frame, interventions="set")
    assert data.levels == (("no", "yes"),) * 4
    assert sum(map(bool, data.interventions)) == 7
    posterior = op.learn(data, seed=1)
    assert posterior.lagged_probabilities.loc[(1, "x"), "y"] > 0.99


def test_files_keep_the_answers(learned, tmp_path):
    learned.save(tmp_path / "p.nc")
    found = op.load(tmp_path / "p.nc")
    assert found.lagged_probabilities.equals(learned.lagged_probabilities)
    pd.testing.assert_frame_equal(found.rolled_up_probabilities, learned.rolled_up_probabilities)


def test_the_run_can_be_made_again(tmp_path):
    from outpoint.posterior.files import run_again

    path = tmp_path / "panel.csv"
    panel().to_csv(path, index=False)
    data = op.load_series(path, "time", "subject", static=["site"])
    posterior = op.learn(data, seed=1)
    scope = {}
    exec(run_again(posterior), scope)
    assert scope["post"].edge_probabilities.equals(posterior.edge_probabilities)


def test_simulation_refuses_what_is_no_series():
    with pytest.raises(OptionError, match="is not that of a series"):
        op.simulate_series(op.Dag.from_edges(["a", "b"], [("a", "b")]), 10)
    backward = op.Dag.from_edges(["a", "a[-1]"], [("a", "a[-1]")])
    with pytest.raises(OptionError, match="cannot have parents"):
        op.simulate_series(backward, 10)
    assert op.simulate_series(DYNAMIC, 5, 1).equals(op.simulate_series(DYNAMIC, 5, 1))


def test_the_report_shows_the_times_side_by_side_and_rolled_up(learned, tmp_path):
    text = learned.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Over time" in text
    assert "The times of the series side by side" in text
    assert "an edge stands for any lag" in text
    ax = op.plots.slices(learned)
    names = {text.get_text() for text in ax.texts}
    assert {"a", "a[-1]", "c[-1]"} <= names
    assert {text.get_text() for text in op.plots.rolled_up(learned).texts} >= {"a", "b", "c"}


def test_static_columns_do_not_change_within_a_simulated_series():
    names = ["a", "a[-1]", "sex"]
    dag = op.Dag.from_edges(names, [("a[-1]", "a"), ("sex", "a")])
    frame = op.simulate_series(dag, 20, 1, n_subjects=3, static=["sex"])
    assert (frame.groupby("subject")["sex"].nunique() == 1).all()
    assert frame["sex"].nunique() == 3
    for wrong, message in (
        (["b"], "names 'b', which is not one of its variables"),
        (["a"], "'a' is static and"),
    ):
        with pytest.raises(OptionError, match=message):
            op.simulate_series(dag, 20, 1, static=wrong)
    clash = op.Dag.from_edges(["time", "time[-1]"], [("time[-1]", "time")])
    with pytest.raises(OptionError, match="A variable is called 'time'"):
        op.simulate_series(clash, 20, 1)

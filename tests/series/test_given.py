"""Columns of slices that say nothing new, the score of one DAG, and what is counted as settled."""

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint.errors import DataError
from outpoint.posterior.admissible import judge_certainty
from tests.series.test_series import DYNAMIC, panel


def with_clocks():
    """A panel with a column that never changes, one that counts, and one that is 0 but at last."""
    frame = panel()
    frame["age"] = 20.0 + frame["subject"].str[1:].astype(int) ** 2 + frame["time"]
    frame["school"] = frame["subject"].str[1:].astype(int) ** 2 * 1.5
    frame["end"] = np.where(frame["time"] == frame["time"].max(), 1.0, 0.0)
    return frame


def load(frame, **options):
    return op.load_series(frame, "time", "subject", lags=2, static=["site"], **options)


def test_what_the_past_tells_is_given():
    data = load(with_clocks(), continuous=["end"])
    assert data.slices.static == ("site", "age", "school")
    assert set(data.slices.variables(data.names)) == {"a", "b", "c", "end"}
    assert "age[-1]" not in data.names
    assert "end[-1]" not in data.names
    told = " ".join(data.notes)
    assert "left out 'end[-1]' and 'end[-2]', which are constant; keep them with" in told
    assert "took 'age' and 'school' as static, as earlier values determine them; keep them" in told
    found = op.learn(data, seed=1)
    assert found.edge_probabilities[["age", "school", "site"]].to_numpy().max() == 0
    assert found.lagged_probabilities.loc[(1, "end")].max() == 0
    assert list(found.lagged_probabilities) == ["a", "b", "c", "end"]
    assert list(found.rolled_up_probabilities) == ["a", "b", "c", "end"]


def test_strict_reading_refuses_it_and_degenerate_tables_keep_it():
    with pytest.raises(DataError, match=r"'age' and 'school', determined by earlier values; 'end"):
        load(with_clocks(), strict=True, continuous=["end"])
    kept = load(with_clocks(), allow_degenerate=True, continuous=["end"])
    assert kept.n_nodes == 3 * 6 + 1
    clocks = with_clocks()[["subject", "time", "age", "school"]]
    with pytest.raises(DataError, match=r"No variable is left in 49 rows .* 'age' and 'school'"):
        op.load_series(clocks, "time", "subject")


def test_unevenly_spaced_times_are_told():
    frame = op.simulate_series(DYNAMIC, 12, 1).assign(time=[*range(5), 9, 12, 17, 25, 40, 60, 90])
    assert "gaps skipped, as times are not evenly spaced" in op.load_series(frame, "time").notes[-1]


@pytest.mark.parametrize("score", ["auto", "bge", "conditional-gaussian"])
def test_the_score_of_the_best_dag(score):
    """Given columns are not scored, as in learning, whatever the score makes of the columns."""
    data = op.load_series(panel(), "time", "subject", static=["site"])
    if score == "bge":
        data = op.load_series(panel().drop(columns="site"), "time", "subject")
    found = op.learn(data, score=score, seed=1)
    assert op.log_score(data, found.map_dag, score=score) == pytest.approx(
        found.map_log_score, abs=1e-8
    )
    backward = op.Dag.from_edges(data.names, [("a", "a[-1]")])
    assert op.log_score(data, backward, score=score) == -np.inf


def test_kinds_that_were_said_hold_for_the_values_before():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.integers(0, 4, (60, 2)), columns=["x", "y"])
    data = op.load_series(frame, categorical=["x"])
    again = op.load_dataset(data, prefer="continuous")
    assert again.kinds == ("categorical", "continuous", "categorical", "continuous")
    assert again.slices == data.slices


def test_pairs_that_cannot_be_connected_are_not_settled_by_data():
    found = judge_certainty(op.learn(op.load_series(panel(), "time", "subject"), seed=1))
    n_pairs = found.connected + found.apart + found.undecided
    assert n_pairs == 7 * 6 / 2 - 4 * 3 / 2  # none among a[-1], b[-1], c[-1] and the site


def test_static_columns_are_drawn_below_the_times():
    posterior = op.learn(load(with_clocks(), continuous=["end"]), seed=1)
    names = {text.get_text() for text in op.plots.slices(posterior, at_least=0.0).texts}
    assert {"age", "school", "site", "a[-2]", "end"} <= names
    assert "end[-1]" not in names

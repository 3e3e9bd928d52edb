"""``outpoint compare``: two runs, or a run and the truth."""

from pathlib import Path

import numpy as np
import pytest

import outpoint as op
from tests.cli.conftest import TRUTH, Run, Runs, check_schema, strict_json


def test_two_runs(run: Run, runs: Runs) -> None:
    words = ["compare", str(runs.exact), str(runs.limited)]
    found = strict_json(run(*words, "--json").out)
    check_schema(found, "compare_runs")
    p, q = (op.load(place).edge_probabilities for place in (runs.exact, runs.limited))
    differences = [abs(p.loc[u, v] - q.loc[u, v]) for u in "abcd" for v in "abcd" if u != v]
    assert found["largest_difference"] == pytest.approx(max(differences))
    assert found["mean_absolute_difference"] == pytest.approx(np.mean(differences))
    assert len(found["edges"]) == 12
    for edge in found["edges"]:
        assert edge["first"] == pytest.approx(p.loc[edge["parent"], edge["child"]])
        assert edge["difference"] == pytest.approx(edge["first"] - edge["second"])
    assert float(run(*words, "-q").out) == found["largest_difference"]
    lines = run(*words).out.splitlines()
    assert lines[0] == "largest differences"
    assert all(line == line.rstrip() for line in lines)
    assert f"largest difference {max(differences):.4f}" in lines[-1]


def test_what_is_the_same_is_not_listed(run: Run, runs: Runs) -> None:
    """Rows of 0.000 tell nothing."""
    lines = run("compare", str(runs.exact), str(runs.exact)).out.splitlines()
    assert [line.split()[:3] for line in lines] == [["Agreement", "largest", "difference"]]
    listed = run("compare", str(runs.exact), str(runs.limited)).out.splitlines()[2:-2]
    assert listed
    assert all(abs(float(line.split()[-1])) >= 0.001 for line in listed)


@pytest.mark.parametrize("kind", ["exact", "sampled"])
def test_truth(run: Run, runs: Runs, kind: str) -> None:
    place = getattr(runs, kind)
    Path("truth.csv").write_text("from, to\na, b\nb, d\n")
    found = strict_json(run("compare", str(place), "truth.csv", "--json").out)
    check_schema(found, "compare_graph")
    p = op.load(place).edge_probabilities.to_numpy()
    true = TRUTH.adjacency
    free = ~np.eye(4, dtype=bool)
    counts = found["directed"]["counts"]
    assert counts["true_positives"] == ((p >= 0.5) & true).sum()
    assert counts["false_positives"] == ((p >= 0.5) & ~true & free).sum()
    higher = (p[true][:, None] > p[~true & free]) + 0.5 * (p[true][:, None] == p[~true & free])
    assert found["directed"]["auroc"] == pytest.approx(higher.mean())
    quiet = run("compare", str(place), "truth.csv", "-q").out
    assert float(quiet) == found["expected_shd"]
    assert found["threshold"] == 0.5


@pytest.mark.parametrize("suffix", ["dot", "bn", "dagitty"])
def test_formats_of_the_truth(run: Run, runs: Runs, suffix: str) -> None:
    op.write_dag(TRUTH, f"truth.{suffix}")
    expected = op.load(runs.exact).compare(TRUTH).expected_shd
    assert float(run("compare", str(runs.exact), f"truth.{suffix}", "-q").out) == expected


def test_undefined_is_null(run: Run, runs: Runs) -> None:
    Path("none.dot").write_text(op.Dag.empty(list("abcd")).to_dot())
    found = strict_json(run("compare", str(runs.exact), "none.dot", "--json").out)
    check_schema(found, "compare_graph")
    assert found["directed"]["auroc"] is None


def test_threshold(run: Run, runs: Runs) -> None:
    Path("truth.dot").write_text(TRUTH.to_dot())
    words = ["compare", str(runs.exact), "truth.dot"]
    low = strict_json(run(*words, "--threshold", "1e-9", "--json").out)["directed"]["counts"]
    assert low["true_positives"] + low["false_positives"] == 12
    assert "at 0.25: TPR" in run(*words, "--threshold", "0.25").out

"""The comparison with other programs: any command can take part, and is judged rightly."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.large import skeleton_auc
from benchmarks.peers import programs_for
from benchmarks.peers.comparison import Row, compare, distance
from benchmarks.peers.contract import write_edges
from benchmarks.peers.networks import Network
from benchmarks.peers.page import load, merge, save, table, update_page
from benchmarks.peers.programs import fill_in, run_program
from benchmarks.peers.reference import find_reference

import outpoint as op

ENUMERATOR = f"{{python}} {Path(__file__).with_name('enumerator.py')} {{scores}} {{edges}}"


@pytest.fixture(scope="module")
def network():
    rng = np.random.default_rng(5)
    dag = op.Dag.from_edges(list("abcd"), [("a", "b"), ("b", "d"), ("c", "d")])
    data = op.simulate(dag, 40, rng, kind="categorical")
    return Network("four", data.to_frame(), dag, 2)


@pytest.fixture(scope="module")
def exact(network):
    post = op.learn(
        network.data, "bdeu", "exact", network.max_parents, structure_prior="fair", seed=1
    )
    return post.edge_probabilities.loc[list("abcd"), list("abcd")].to_numpy()


def test_a_program_from_elsewhere_gets_our_scores_and_our_prior(network, exact):
    run = run_program(ENUMERATOR, network, seed=1, seconds=1)
    assert run.failure is None
    assert run.work == "all DAGs"
    np.testing.assert_allclose(run.edges, exact, atol=1e-9)
    assert run.seconds > 0
    assert run.processor_seconds > 0
    assert run.peak_bytes > 1e6


def test_another_posterior_would_be_noticed(network, exact):
    uniform = op.learn(
        network.data, "bdeu", "exact", network.max_parents, structure_prior="uniform", seed=1
    )
    edges = uniform.edge_probabilities.loc[list("abcd"), list("abcd")].to_numpy()
    assert distance(edges, [exact])[0] > 0.01


def test_values_stand_where_their_names_are(tmp_path):
    values = {"data": tmp_path / "a b.csv", "seed": 3, "seconds": 2.5}
    words = fill_in("run --seed {seed} '{data}' --t={seconds}", values)
    assert words == ["run", "--seed", "3", str(tmp_path / "a b.csv"), "--t=2.5"]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise SystemExit('no licence')", "no licence"),
        ("raise SystemExit(3)", "exit code 3"),
        ("", "no edges that can be read"),
        ("print('parent,child,probability\\na,b,1.5', file=open('{edges}', 'w'))", "not prob"),
        ("print('parent,child,probability\\na,x,0.5', file=open('{edges}', 'w'))", "'x'"),
        pytest.param("import time; time.sleep(60)", "not done after 2 s", marks=pytest.mark.long),
    ],
)
def test_a_program_that_fails_says_why(network, code, message):
    run = run_program(f'{{python}} -c "{code}"', network, seed=1, seconds=1, limit=2)
    assert run.edges is None
    assert message in run.failure


def test_a_command_that_is_not_there(network):
    run = run_program("no-such-program {data}", network, seed=1, seconds=1)
    assert "no-such-program" in run.failure


@pytest.fixture
def luck(network, exact, tmp_path):
    """A program that is right with even seeds, and off by .3 with odd ones."""
    right, wrong = tmp_path / "right.csv", tmp_path / "wrong.csv"
    write_edges(right, "abcd", exact)
    write_edges(wrong, "abcd", np.where(np.eye(4, k=1) > 0, (exact + 0.3) % 1, exact))
    return (
        '{python} -c "import shutil, sys; print(sys.argv[1]);'
        f" shutil.copy(['{right}', '{wrong}'][{{seed}} % 2], '{{edges}}')\" {{seconds}}"
    )


def test_seeds_that_failed_are_named(network, exact, luck):
    reference, first = find_reference(network, {"outpoint, exact": ENUMERATOR})
    np.testing.assert_allclose(reference, exact, atol=1e-9)
    assert (first.program, first.largest) == ("outpoint, exact", [0])
    (row,) = compare(network, {"luck": luck}, [1, 2], reference)
    assert row.failures == {"1": "off by 0.30"}
    np.testing.assert_allclose(row.largest, [0.3, 0], atol=1e-9)
    np.testing.assert_allclose(row.between, [0.3, 0.3], atol=1e-9)
    assert "| 1: off by 0.30 |" in table("exact", [row])


def test_long_runs_stand_in_for_an_unknown_posterior(network, exact, luck, tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.peers.networks.LARGEST_EXACT", 3)
    programs = {"outpoint, long run": luck}
    reference, row = find_reference(network, programs, tmp_path / "kept")
    assert np.abs(reference - exact).max() == pytest.approx(0.15)
    np.testing.assert_allclose(row.largest, [0.15, 0.15], atol=1e-9)
    np.testing.assert_allclose(row.between, [0.3, 0.3], atol=1e-9)
    again, nothing = find_reference(network, {}, tmp_path / "kept")
    assert nothing is None
    np.testing.assert_array_equal(again, reference)


def test_a_network_without_a_limit_on_parents_is_judged_by_its_dag(network, luck, monkeypatch):
    monkeypatch.setattr("benchmarks.peers.networks.LARGEST_EXACT", 3)
    free = network._replace(max_parents=None)
    assert find_reference(free, {"outpoint, long run": luck}) == (None, None)
    assert programs_for(free, {"a": luck, "b": ENUMERATOR}) == {"a": luck}
    (row,) = compare(free, {"luck": luck}, [1, 2], None)
    assert (row.largest, row.mean, row.failures) == ([], [], {})
    assert len(row.auc) == 2


def test_others_get_the_time_that_ours_took(network, luck, monkeypatch):
    monkeypatch.setattr("benchmarks.peers.comparison.LEAST_SECONDS", 0.001)
    programs = {"outpoint": luck, "other": luck}
    ours, other = compare(network, programs, [1], None)
    assert float(other.work[0]) == round(ours.processor_seconds[0], 1)
    _, other = compare(network, programs, [1], None, seconds=7)
    assert other.work == ["7"]


def test_distance_counts_each_ordered_pair_once():
    edges = np.zeros((3, 3))
    edges[0, 1], edges[1, 2] = 0.3, 0.6
    assert distance(edges, [np.zeros((3, 3)), edges]) == (0.6, pytest.approx(0.15))


def test_area_under_the_curve():
    truth = np.zeros((3, 3), dtype=bool)
    truth[0, 1] = True
    edges = np.array([[0, 0.2, 0.1], [0.3, 0, 0], [0.1, 0.5, 0]])
    assert skeleton_auc(edges, truth) == 0.75  # equal to 1-2, above 0-2


def test_results_are_kept_and_shown(tmp_path):
    page, results = tmp_path / "page.md", tmp_path / "results" / "peers.json"
    page.write_text("before\n<!-- exact -->\n<!-- end -->\n<!-- long -->old<!-- end -->\nafter\n")
    rows = [
        Row("asia", "outpoint, exact", [1], [0.0], [0.0], [1.0], [2.0], [3.0], [4e2], ["exact"]),
        Row("asia", "p", [1, 2], [0.1, 0.3], [0.01, 0.02], [1, 1], [1, 2], [1, 2], [5], ["x", "y"]),
        Row("m", "p", [1], failures={"all": "p is not installed"}),
        Row("asia", "outpoint", [1], [0.02], [0.01], [1.0], [2.0], [3.0], [4e2], ["z"]),
    ]
    save(rows, results)
    assert load(results) == rows
    assert merge(rows, rows[1]) == rows
    assert merge(rows[:2], rows[2]) == rows[:3]
    update_page(rows, page)
    text = page.read_text()
    assert text.index("| asia | outpoint |") < text.index("| asia | p |")
    assert "| asia | p | 0.200 (0.100 to 0.300) | 0.0150 (0.0100 to 0.0200) | 1.5 |" in text
    assert "| m | p |  |  |  |  |  |  |  | all: p is not installed |" in text
    assert "old" not in text
    assert text.startswith("before")
    assert text.endswith("after\n")
    update_page(rows, page)
    assert page.read_text() == text

"""A sampled part beside exact ones, against the exact posterior of the whole.

Draws are 4,000 with an efficiency of a half or more, so that the standard error of a share is at
most 0.012. The limit of 0.06 on the largest of some 300 deviations is five of them: a false alarm
in 10,000 seeds, and seeds are fixed.
"""

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint.errors import CheckpointError, DataError
from outpoint.mcmc import SWEEP
from outpoint.parts import split as splitting
from outpoint.parts.folding import FoldedScorer
from outpoint.posterior import assembling
from outpoint.posterior.partly import PartlyExactPosterior
from outpoint.scores.base import subsets_of_size
from tests.figures import leave_out_reports
from tests.grids import first
from tests.parts.test_learn import changed, tiered
from tests.posterior.crafted import altered

TOLERANCE = 0.06
SIZES = [3, 4, 3]


@pytest.fixture(autouse=True)
def part_of_four_is_large(monkeypatch):
    monkeypatch.setattr(splitting, "MOST_BESIDE", 3)


def learn(method="mcmc", **options):
    data, tiers = tiered(SIZES, 120, seed=5)
    given = {"tiers": tiers, "seed": 4, "max_parents": 2, "steps": 8000, **options}
    if method == "exact":
        del given["steps"]
    return op.learn(data, method=method, **given)


@pytest.fixture(scope="module")
def exact():
    return learn("exact")


@pytest.fixture(scope="module")
def partly():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splitting, "MOST_BESIDE", 3)
        return learn()


def deviations(found, exact):
    """The largest difference of edges, of ancestors and of parent sets."""
    sets = []
    for name in exact.names:
        one, other = (dict(p.parent_set_probabilities(name)) for p in (found, exact))
        sets += [one.get(key, 0.0) - other.get(key, 0.0) for key in {*one, *other}]
    return {
        "edges": abs(found.edge_probabilities - exact.edge_probabilities).to_numpy().max(),
        "ancestors": abs(found.ancestor_probabilities - exact.ancestor_probabilities)
        .to_numpy()
        .max(),
        "parent sets": np.abs(sets).max(),
        "draws": abs(found.dags().mean(("chain", "draw")) - exact.edge_probabilities.to_numpy())
        .max()
        .item(),
    }


KNOWN = {
    "tiers": {},
    "a narrow table": {"n_candidates": 2},
    "fair": {"structure_prior": "fair"},
    "required and edge prior": {"required": [("x0", "x4")], "edge_prior": 0.3},
    "interventions": {"interventions": [["x4"]] * 30 + [["x1", "x8"]] * 30 + [[]] * 60},
    "categories": {"discretize": {"all": 2}, "steps": 12000},
}


@pytest.mark.parametrize("name", first(KNOWN, 2))
def test_agrees_with_the_exact_posterior(name):
    known = KNOWN[name]
    found = learn(**known)
    of_sampling = ("n_candidates", "steps")
    whole = learn("exact", **{k: v for k, v in known.items() if k not in of_sampling})
    assert isinstance(found, PartlyExactPosterior)
    for what, deviation in deviations(found, whole).items():
        assert deviation < TOLERANCE, what
    small = np.array([v < 3 or v >= 7 for v in range(10)])
    differences = abs(found.edge_probabilities - whole.edge_probabilities).to_numpy()
    assert differences[:, small].max() < 1e-12
    assert found.map_log_score == pytest.approx(whole.map_log_score, abs=1e-9)
    assert found.log_evidence is None


def test_log_scores_are_those_of_the_draws(partly):
    data, tiers = tiered(SIZES, 120, seed=5)
    graphs = list(partly.iter_dags())[::801]
    scores = partly.log_scores.to_numpy().ravel()[::801]
    for dag, score in zip(graphs, scores, strict=True):
        assert op.log_score(data, dag, tiers=tiers) == pytest.approx(score, abs=1e-8)


def without_limit(self, child, n_within):
    nodes = self._earlier[child]
    for size in range(len(nodes) + 1):
        yield nodes[subsets_of_size(len(nodes), size)]


def without_earlier(self, child, n_within):
    yield self._earlier[child][subsets_of_size(len(self._earlier[child]), 0)]


@pytest.mark.parametrize("wrong", [without_limit, without_earlier])
def test_wrong_folds_are_noticed(monkeypatch, exact, wrong):
    """A fold without the limit on parents, and one without earlier parents.

    The first needs sets of more parents than there may be, for which a list has no room.
    """
    monkeypatch.setattr(FoldedScorer, "_sets_before", wrong)
    lists = assembling.SetList
    monkeypatch.setattr(assembling, "SetList", lambda width: lists(9))
    assert deviations(learn(), exact)["edges"] > 2 * TOLERANCE


def test_a_part_that_is_left_out_is_noticed(monkeypatch, exact):
    def without_exact(self, exact, sets):
        self._codes[: self._n_draws, exact.children] = sets.encode(
            np.zeros((1, self._n), dtype=np.bool_)
        )

    monkeypatch.setattr(assembling._Whole, "_add_exact", without_exact)
    found = learn()
    assert deviations(found, exact)["draws"] > 2 * TOLERANCE
    assert deviations(found, exact)["ancestors"] > 2 * TOLERANCE


def test_the_verdict_says_which_part_was_sampled(partly):
    words = "partly exact: two parts of 3 and 3 variables computed over all DAGs, one part of 4 "
    assert partly.verdict.startswith(f"{words}variables sampled. For the sampled parts: ")
    assert "6 nodes exact" in repr(partly)
    rows = partly.diagnostics()
    of_exact = rows["child"].isin(["x0", "x1", "x2", "x7", "x8", "x9"])
    assert (rows.loc[of_exact, "status"] == "exact").all()
    assert (rows.loc[of_exact, "mcse"] == 0).all()
    assert not (rows.loc[~of_exact, "status"] == "exact").any()
    assert partly.estimate("x0 -> x8").mcse == 0
    assert partly.estimate("x0 -> x4").mcse > 0
    assert partly.estimate("root(x0)").status == "exact"
    assert partly.probability("x8 -> x4") == 0
    assert partly.causal_effects(n_draws=20).mean.shape == (10, 10)


def test_files_give_the_same_answers(partly, tmp_path):
    partly.save(tmp_path / "first.nc")
    found = op.load(tmp_path / "first.nc")
    assert found.verdict == partly.verdict
    assert found.map_dag == partly.map_dag
    pd.testing.assert_frame_equal(found.edge_probabilities, partly.edge_probabilities)
    pd.testing.assert_frame_equal(found.diagnostics(), partly.diagnostics())
    for name in partly.names:
        assert found.parent_set_probabilities(name) == partly.parent_set_probabilities(name)
    assert (found.dags() == partly.dags()).all()
    found.save(tmp_path / "again.nc")
    assert (tmp_path / "again.nc").read_bytes() == (tmp_path / "first.nc").read_bytes()


CRAFTED = {
    "other sizes": (changed("part_size", lambda old: old.fill(9)), "not made of the variables"),
    "no sizes": (changed("sampled_size", lambda old: old.fill(0)), "not made of the variables"),
    "sets of one node": (changed("set_child", lambda old: old.fill(0)), "add up to 1"),
    "edges everywhere": (changed("exact_edges", lambda old: old.fill(0.5)), "is exact"),
}


@pytest.mark.attack("files of sampled parts with crafted content", "one sentence on what is wrong")
@pytest.mark.parametrize("craft", CRAFTED)
def test_crafted_files_are_refused(partly, tmp_path, craft):
    change, fragment = CRAFTED[craft]
    partly.save(tmp_path / "good.nc")
    (tmp_path / "bad.nc").write_bytes(altered((tmp_path / "good.nc").read_bytes(), change))
    with pytest.raises(DataError, match=fragment):
        op.load(tmp_path / "bad.nc")


def test_a_run_is_continued(tmp_path, monkeypatch):
    leave_out_reports(monkeypatch)
    whole = learn(steps=40 * SWEEP, planned_steps=20 * SWEEP, out=tmp_path / "whole")
    learn(steps=20 * SWEEP, out=tmp_path / "run")
    more = learn(steps=40 * SWEEP, out=tmp_path / "run", resume=True)
    assert (more.dags() == whole.dags()).all()
    assert "one part of 4 variables sampled" in (tmp_path / "run" / "summary.json").read_text()
    monkeypatch.setattr(splitting, "MOST_BESIDE", 1)
    with pytest.raises(CheckpointError, match="it has sampled 4 variables and would now sample 10"):
        learn(steps=80 * SWEEP, out=tmp_path / "run", resume=True)


def test_problems_that_are_sampled_whole():
    start = op.Dag([f"x{v}" for v in range(10)], np.zeros((10, 10)))
    assert not isinstance(learn(start=start, steps=100), PartlyExactPosterior)
    assert not isinstance(learn(method="partition", steps=100), PartlyExactPosterior)
    assert not isinstance(learn(memory_limit=1e6, steps=100), PartlyExactPosterior)


def test_the_best_dag_is_searched_in_large_parts_only():
    data, tiers = tiered(SIZES, 120, seed=5)
    options = {"tiers": tiers, "max_parents": 2, "seed": 1}
    found = op.find_map(data, method="search", runs=10, **options)
    proven = op.find_map(data, method="exact", **options)
    assert found.log_score == pytest.approx(proven.log_score, abs=1e-9)
    assert found.dag.cpdag() == proven.dag.cpdag()
    assert op.log_score(data, found.dag, tiers=tiers) == pytest.approx(found.log_score, abs=1e-8)
    assert found.n_linear_extensions <= 24  # of four variables, not of ten
    assert found.verdict.startswith(
        "two parts of 3 and 3 variables solved by dynamic programming, one part of 4 variables "
        "searched. For the searched parts: 10 of 10 runs found it; "
    )
    assert not found.is_proven
    whole = op.find_map(data, method="hill_climb", **options)
    assert whole.searched_sizes == ()

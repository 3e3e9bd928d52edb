"""Learning by parts: what a user sees of it, files, limits, and the best DAG."""

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint.errors import DataError, TooLargeError
from outpoint.parts import Split
from tests.posterior.crafted import altered


def tiered(sizes, n_obs, seed=1):
    """A table whose columns depend on earlier ones, and its tiers."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    values = rng.normal(size=(n_obs, n))
    for v in range(1, n):
        parents = rng.choice(v, min(v, 2), replace=False)
        values[:, v] += values[:, parents] @ rng.uniform(0.4, 1.0, len(parents))
    names = np.array([f"x{v}" for v in range(n)])
    tiers = [own.tolist() for own in np.split(names, np.cumsum(sizes)[:-1])]
    return pd.DataFrame(values, columns=names), tiers


@pytest.fixture(scope="module")
def posterior():
    data, tiers = tiered([4, 3], 120)
    return op.learn(data, tiers=tiers, seed=4)


def test_the_same_as_all_at_once(posterior, monkeypatch):
    data, tiers = tiered([4, 3], 120)

    def unsplit(scorer, prior):
        return Split(np.ones((7, 7), dtype=np.bool_), (np.arange(7),))

    monkeypatch.setattr("outpoint.learning.find_split", unsplit)
    whole = op.learn(data, seed=4, tiers=tiers)
    assert "parts" not in whole.verdict
    table = posterior.edge_probabilities
    np.testing.assert_allclose(table, whole.edge_probabilities, atol=1e-10)
    assert posterior.log_evidence == pytest.approx(whole.log_evidence, abs=1e-9)
    assert posterior.log_prior_sum == pytest.approx(whole.log_prior_sum, abs=1e-10)


def test_the_verdict_names_the_parts(posterior):
    assert posterior.method == "exact"
    assert posterior.converged
    assert posterior.verdict.startswith("exact: two parts of 4 and 3 variables; every probability")


def test_every_answer(posterior):
    sets = posterior.parent_set_probabilities("x5")
    assert sum(p for _, p in sets) == pytest.approx(1, abs=1e-3)
    assert posterior.probability("root(x0)") <= 1
    parents, probability = sets[0]
    text = f"parents(x5) = {{{', '.join(parents)}}}"
    assert posterior.estimate(text).mcse == 0
    assert posterior.probability(text) == pytest.approx(probability)
    assert posterior.probability("x5 -> ... -> x0") == 0
    assert 0 < posterior.probability("x0 -> ... -> x6") <= 1
    assert posterior.dags().shape == (1, 1000, 7, 7)
    assert posterior.map_dag.names == posterior.names
    assert posterior.top_dags(3)["probability"].iloc[0] == pytest.approx(posterior.map_probability)
    assert posterior.causal_effects(n_draws=20).mean.shape == (7, 7)


def test_files_give_the_same_answers(posterior, tmp_path):
    posterior.save(tmp_path / "posterior.npz")
    found = op.load(tmp_path / "posterior.npz")
    assert found.verdict == posterior.verdict
    assert found.log_evidence == posterior.log_evidence
    pd.testing.assert_frame_equal(found.edge_probabilities, posterior.edge_probabilities)
    pd.testing.assert_frame_equal(found.ancestor_probabilities, posterior.ancestor_probabilities)
    for name in posterior.names:
        assert found.parent_set_probabilities(name) == posterior.parent_set_probabilities(name)
    assert found.probability("root(x3)") == pytest.approx(posterior.probability("root(x3)"))
    assert (found.dags() == posterior.dags()).all()
    found.save(tmp_path / "again.npz")
    again, first = ((tmp_path / f"{name}.npz").read_bytes() for name in ("again", "posterior"))
    assert again == first


def test_more_variables_than_one_sum_could_take():
    data, tiers = tiered([15, 15], 200)
    posterior = op.learn(data, tiers=tiers, max_parents=2, seed=1)
    assert posterior.method == "exact"
    assert "two parts of 15 and 15 variables" in posterior.verdict


def test_roots_cost_only_their_scores():
    data, tiers = tiered([200, 8], 60)
    posterior = op.learn(data, roots=tiers[0], seed=1)
    assert posterior.method == "exact"
    assert "one part of 8 variables and 200 variables on their own" in posterior.verdict


def test_the_limit_on_parents_follows_the_parts_and_is_said():
    data, tiers = tiered([50, 3], 60)
    posterior = op.learn(data, roots=tiers[0], seed=1)
    assert posterior.info.max_parents == 4
    assert any("at most 4 parents, as more" in note for note in posterior.info.notes)
    with pytest.raises(TooLargeError, match="families to be scored: allow fewer with max_parents"):
        op.learn(data, roots=tiers[0], seed=1, max_parents=12, method="exact")


def test_the_best_dag_by_parts():
    data, tiers = tiered([4, 3], 120)
    found = op.find_map(data, tiers=tiers)
    backward = [(b, a) for b in tiers[1] for a in tiers[0]]
    posterior = op.learn(data, forbidden=backward, seed=1)
    assert found.is_proven
    assert found.log_score == pytest.approx(posterior.map_log_score, abs=1e-9)
    assert found.dag == posterior.map_dag
    data, tiers = tiered([15, 15], 200)
    large = op.find_map(data, tiers=tiers, max_parents=2)
    assert large.is_proven
    assert op.log_score(data, large.dag) == pytest.approx(large.log_score, abs=1e-8)


def test_a_run_is_written_and_read(tmp_path):
    data, tiers = tiered([4, 3], 80)
    posterior = op.learn(data, tiers=tiers, seed=4, out=tmp_path / "run")
    found = op.load(tmp_path / "run")
    assert found.edge_probabilities.equals(posterior.edge_probabilities)
    assert "two parts" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


def changed(name, change):
    return lambda file: change(file.arrays[name])


def make_cycle(dags):
    dags[0, :2, :2] = [[0, 1], [1, 0]]


CRAFTED = {
    "a cycle": (changed("dags", make_cycle), "a graph has a cycle"),
    "too many parts": (changed("part_size", lambda old: old.fill(9)), "not made of the variables"),
    "a set of no node": (changed("set_child", lambda old: old.fill(99)), "belongs to no node"),
    "sets of one node only": (changed("set_child", lambda old: old.fill(0)), "add up to 1"),
    "a member of no set": (changed("set_members", lambda old: old.fill(7)), "is not a node"),
    "a member twice": (changed("set_members", lambda old: old.fill(0)), "a node twice"),
}


@pytest.mark.attack("files of parts with crafted content", "one sentence that says what is wrong")
@pytest.mark.parametrize("craft", CRAFTED)
def test_crafted_files_are_refused(posterior, tmp_path, craft):
    change, fragment = CRAFTED[craft]
    posterior.save(tmp_path / "good.npz")
    (tmp_path / "bad.npz").write_bytes(altered((tmp_path / "good.npz").read_bytes(), change))
    with pytest.raises(DataError, match=fragment):
        op.load(tmp_path / "bad.npz")

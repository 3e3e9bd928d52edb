"""The best DAGs and the largest effects, as the report lists them."""

import numpy as np
import pytest

import outpoint as op
from outpoint.posterior.effects import GaussianModel
from outpoint.report import answers
from outpoint.scores import BGe
from tests.report.posteriors import Fabricated, exact, fabricated, sampled


def test_best_dags_of_an_exact_posterior():
    posterior = exact(5)
    rows = answers.list_dags(posterior)
    assert len(rows) == answers.N_DAGS
    assert rows[0].dag == posterior.map_dag
    assert rows[0].probability == pytest.approx(posterior.map_probability)
    for row in rows:
        wanted = np.exp(row.log_score - posterior.log_evidence)
        assert row.probability == pytest.approx(wanted, rel=1e-6)
    assert len({row.dag for row in rows}) == len(rows)
    assert rows[0].changes == ""
    assert all(row.changes for row in rows[1:])


def test_dags_that_were_hardly_drawn_are_left_out():
    rows = answers.list_dags(fabricated(30))
    assert len(rows) == 1
    assert rows[0].probability is None
    repeated = np.zeros((1, 40, 3, 3), dtype=bool)
    repeated[0, :15, 0, 1] = True
    repeated[0, 15:19, 1, 2] = True
    rows = answers.list_dags(Fabricated(repeated, ("a", "b", "c")))
    assert [row.probability for row in rows] == [15 / 40, 21 / 40]
    assert rows[1].changes == "leaves out a → b"


def test_changes_are_told_edge_by_edge():
    best = op.Dag.from_edges(tuple("abcd"), [("a", "b"), ("b", "c")])
    other = op.Dag.from_edges(tuple("abcd"), [("b", "a"), ("c", "d")])
    assert answers.describe_changes(best, other) == "turns b → a; adds c → d; leaves out b → c"
    assert answers.describe_changes(best, best) == ""
    names = tuple(f"v{i}" for i in range(12))
    many = op.Dag.from_edges(names, [("v0", name) for name in names[1:]])
    text = answers.describe_changes(op.Dag.from_edges(names, []), many)
    assert text.endswith(" and 3 more")


def test_largest_effects_first_and_in_the_units_of_the_data():
    rng = np.random.default_rng(5)
    a = rng.normal(size=400)
    b = 2 * a + rng.normal(size=400)
    c = 1000 * (b + rng.normal(size=400))  # large numbers, but a weaker effect than a on b
    data = op.Dataset(("a", "b", "c"), np.column_stack([a, b, c]))
    posterior = op.learn(data, required=[("a", "b"), ("b", "c")], forbidden=[("a", "c")], seed=1)
    table = answers.list_effects(posterior)
    assert table is not None
    first = table.rows[0]
    sizes = [abs(row.standardized) for row in table.rows]
    assert sizes == sorted(sizes, reverse=True)
    assert {(row.cause, row.effect) for row in table.rows} == {("a", "b"), ("b", "c"), ("a", "c")}
    effects = {(row.cause, row.effect): row for row in table.rows}
    row = effects["a", "b"]
    assert row.mean == pytest.approx(2, abs=0.2)
    assert row.lower < row.mean < row.upper
    assert row.standardized == pytest.approx(row.mean * a.std() / b.std(), rel=0.01)
    assert effects["b", "c"].mean == pytest.approx(1000, rel=0.1)
    assert first.probability == 1


def test_no_effects_without_a_gaussian_model():
    assert answers.list_effects(fabricated(5)) is None
    assert answers.list_effects(sampled(5)) is not None


def test_effects_of_many_variables_fit_in_memory(monkeypatch):
    monkeypatch.setattr(answers, "EFFECT_BYTES", 4 * 30 * 30 * 17)
    rng = np.random.default_rng(1)
    posterior = Fabricated(fabricated(30)._adjacencies, fabricated(30).names)
    data = op.Dataset(posterior.names, rng.normal(size=(50, 30)))
    posterior.model = GaussianModel.from_scorer(BGe().bind(data), posterior.names)
    table = answers.list_effects(posterior)
    assert table is not None
    assert table.n_draws == 17
    assert len(table.rows) == answers.N_EFFECTS

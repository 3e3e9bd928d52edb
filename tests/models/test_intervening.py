"""What setting variables does in a DAG: against sums over all joint levels, and simulations."""

from itertools import product

import numpy as np
import pytest

import outpoint as op
from outpoint.data import Dataset
from outpoint.models import NetworkModel
from outpoint.models.intervening import Intervened, Target, follow, list_levels
from outpoint.posterior.effects import GaussianModel, sample_effects
from tests.reference import all_dags

SIZES = (2, 3, 2, 2)


def categorical_data(n: int = 4, n_rows: int = 60) -> Dataset:
    rng = np.random.default_rng(4)
    first = rng.integers(0, 2, n_rows)
    columns = [first]
    for size in SIZES[1:n]:
        columns.append((columns[-1] + first + (rng.random(n_rows) < 0.4)) % size)
    levels = tuple(tuple("rst"[:size]) for size in SIZES[:n])
    return Dataset(tuple("abcd"[:n]), np.column_stack(columns).astype(float), levels=levels)


def mean_tables(data: Dataset, dag: np.ndarray, ess: float) -> list[np.ndarray]:
    """Posterior means of all tables, counted cell by cell; parents in ascending order."""
    values = data.values.astype(int)
    sizes = [len(one or ()) for one in data.levels]
    tables = []
    for v in range(len(sizes)):
        parents = np.flatnonzero(dag[:, v])
        shape = [*(sizes[u] for u in parents), sizes[v]]
        counts = np.full(shape, ess / np.prod(shape))
        for row in values:
            counts[(*row[parents], row[v])] += 1
        tables.append(counts / counts.sum(axis=-1, keepdims=True))
    return tables


def summed(
    tables: list[np.ndarray], dag: np.ndarray, do: dict[int, int], target: int, *, cuts: bool = True
) -> np.ndarray:
    """The law of the target by listing all joint levels; a wrong variant conditions instead."""
    sizes = [table.shape[-1] for table in tables]
    law = np.zeros(sizes[target])
    for state in product(*map(range, sizes)):
        if any(state[v] != value for v, value in do.items()):
            continue
        probability = 1.0
        for v, table in enumerate(tables):
            if v not in do or not cuts:
                parents = np.flatnonzero(dag[:, v])
                probability *= table[(*(state[u] for u in parents), state[v])]
        law[state[target]] += probability
    return law / law.sum()


@pytest.mark.parametrize("causes", [{0: (0, 1)}, {1: (0, 2)}, {0: (0, 1), 1: (2, 1)}])
def test_tables_are_summed_exactly(causes):
    data = categorical_data()
    model = NetworkModel.from_score(op.BDeu(equivalent_sample_size=2.0), data)
    assert model is not None
    rng = np.random.default_rng(1)
    settings = {v: np.array(two, dtype=float) for v, two in causes.items()}
    differs = 0
    for dag in all_dags(4)[::7]:
        tables = mean_tables(data, dag, 2.0)
        cut = Intervened(model, dag, settings, Target(3, 1))
        found = cut.expected(rng)
        for arm in range(2):
            do = {v: two[arm] for v, two in causes.items()}
            right = summed(tables, dag, do, 3)[1]
            assert found[arm] == pytest.approx(right, abs=1e-12)
            differs += abs(summed(tables, dag, do, 3, cuts=False)[1] - right) > 1e-3
    assert differs > 10, "not cutting the edges into what is set is another answer"


def test_drawn_parameters_average_to_the_expectation():
    """Dirichlet draws of another road: means within five standard errors, and the same spread."""
    data = categorical_data(3)
    model = NetworkModel.from_score(op.BDeu(equivalent_sample_size=2.0), data)
    assert model is not None
    rng = np.random.default_rng(2)
    dag = np.zeros((3, 3), dtype=bool)
    dag[0, 1] = dag[0, 2] = dag[1, 2] = True
    cut = Intervened(model, dag, {1: np.array([0.0, 2.0])}, Target(2, 1))
    draws = np.array([cut.drawn(rng) for _ in range(2000)])
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - cut.expected(rng)) < 5 * error).all()
    values = data.values.astype(int)
    reference = []
    for _ in range(2000):
        first = rng.dirichlet(np.bincount(values[:, 0], minlength=2) + 1.0)
        arms = []
        for level in (0, 2):
            rows = [values[(values[:, 0] == u) & (values[:, 1] == level), 2] for u in range(2)]
            last = [rng.dirichlet(np.bincount(own, minlength=2) + 2 / 12)[1] for own in rows]
            arms.append(first @ last)
        reference.append(arms)
    spread = np.std(reference, axis=0)
    np.testing.assert_allclose(draws.std(axis=0), spread, rtol=0.1)  # sd is good to 1.6 %


@pytest.mark.parametrize("standardize", [True, False])
def test_linear_effects_are_total_effects(standardize):
    rng = np.random.default_rng(3)
    values = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4)) * [1, 10, 0.1, 3] + 5
    data = Dataset(tuple("abcd"), values)
    score = op.BGe(standardize=standardize)
    model = NetworkModel.from_score(score, data)
    gaussian = GaussianModel.from_scorer(score.bind(data), data.names)
    assert model is not None
    assert gaussian is not None
    for dag in all_dags(4)[::11]:
        total = sample_effects(dag[None], gaussian, rng).means
        cut = Intervened(model, dag, {0: np.array([2.0, 3.0])}, Target(3))
        first, second = cut.expected(rng)
        assert second - first == pytest.approx(total[0, 3], abs=1e-9)
        assert cut.is_reached == (total[0, 3] != 0)


def mixed_data() -> Dataset:
    rng = np.random.default_rng(6)
    group = rng.integers(0, 3, 120)
    other = (group + (rng.random(120) < 0.3)) % 2
    x = rng.normal(size=120) + group
    y = x * (1 + other) - group + rng.normal(size=120)
    levels = (("u", "v", "w"), ("no", "yes"), None, None)
    return Dataset(("g", "o", "x", "y"), np.column_stack([group, other, x, y]), levels=levels)


def test_conditional_gaussian_against_long_simulation():
    data = mixed_data()
    model = NetworkModel.from_score(op.ConditionalGaussian(), data)
    assert model is not None
    dag = np.zeros((4, 4), dtype=bool)
    dag[0, 1] = dag[0, 2] = dag[1, 3] = dag[2, 3] = dag[0, 3] = True
    network = model.sample_parameters(dag, np.random.default_rng(9))
    long = [
        network.simulate(200_000, np.random.default_rng(1), do={"x": value})[:, 3].mean()
        for value in (0.0, 1.0)
    ]
    rows = 4000
    fixed = {2: (np.arange(2 * rows), np.repeat([0.0, 1.0], rows))}
    families = dict(enumerate(network.families))
    columns, weights = follow(
        model.coding, network.order, families, fixed, 2 * rows, rows, np.random.default_rng(2)
    )
    found = (Target(3).from_columns(model.coding, columns) * weights).reshape(2, rows).sum(axis=1)
    np.testing.assert_allclose(found, long, atol=0.15)  # 4,000 rows: sd .02; wrong by units: 1
    listed = list_levels(model.coding, [0, 1], 6)
    assert listed is not None
    fixed = {2: (np.arange(12), np.repeat([0.0, 1.0], 6))}
    columns, weights = follow(
        model.coding, network.order, families, fixed, 12, 6, np.random.default_rng(2), listed=listed
    )
    np.testing.assert_allclose(weights.reshape(2, 6).sum(axis=1), 1.0)
    found = (Target(3).from_columns(model.coding, columns) * weights).reshape(2, 6).sum(axis=1)
    np.testing.assert_allclose(found, long, atol=0.03)  # 200,000 rows: sd .005
    assert list_levels(model.coding, [0, 1], 5) is None
    assert abs(long[1] - long[0]) > 0.5


def test_blocks_set_levels_and_answer_in_probabilities():
    """The columns of levels are Gaussian: effects are linear in what their total effects are."""
    data = mixed_data()
    model = NetworkModel.from_score(op.Blocks(), data)
    scorer = op.Blocks().bind(data)
    gaussian = GaussianModel.from_scorer(scorer, data.names)
    assert model is not None
    assert gaussian is not None
    rng = np.random.default_rng(5)
    dag = np.zeros((4, 4), dtype=bool)
    dag[2, 1] = dag[1, 3] = dag[2, 3] = True
    total = sample_effects(dag[None], gaussian, rng).means[0, 1]
    first, second = Intervened(model, dag, {2: np.array([0.0, 1.0])}, Target(3)).expected(rng)
    assert second - first == pytest.approx(total, abs=1e-9)
    levels = [
        Intervened(model, dag, {2: np.array([0.0, 1.0])}, Target(1, one)).expected(rng)
        for one in range(2)
    ]
    np.testing.assert_allclose(np.sum(levels, axis=0), 1.0, atol=1e-12)
    assert levels[1][1] != pytest.approx(levels[1][0], abs=1e-3)
    at_mean = np.full(2, data.values[:, 2].mean())
    share = Intervened(model, dag, {2: at_mean}, Target(1, 1)).expected(rng)[0]
    assert share == pytest.approx(data.values[:, 1].mean(), abs=0.02), "at the mean, the mean"

"""Simulated data follow the law they were drawn from.

Seeds are fixed. Chi-square checks use a level of 1e-6 per table, coefficient checks 5 standard
errors (6e-7, two-sided): with a fresh seed the whole file would raise a false alarm less than once
in 20 000 runs.
"""

import numpy as np
import pytest
from scipy import stats

from outpoint.data import draw_tables, simulate, simulate_from_tables
from outpoint.errors import GraphError, OptionError, TooLargeError
from outpoint.graphs import Dag

LEVEL = 1e-6
# node order is not a topological order, on purpose
DIAMOND = Dag.from_edges(("d", "b", "a", "c"), [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])


def regression(values: np.ndarray, child: int, parents: list[int]) -> tuple[np.ndarray, ...]:
    """Coefficients with standard errors, and the residual sd with its standard error."""
    design = np.column_stack([values[:, parents], np.ones(len(values))])
    solution, *_ = np.linalg.lstsq(design, values[:, child], rcond=None)
    freedom = len(values) - design.shape[1]
    sd = np.sqrt(((values[:, child] - design @ solution) ** 2).sum() / freedom)
    errors = sd * np.sqrt(np.diag(np.linalg.inv(design.T @ design)))
    return solution, errors, sd, sd / np.sqrt(2 * freedom)


def assert_follows(values: np.ndarray, weights: np.ndarray, noise_sd: np.ndarray) -> None:
    for child in range(weights.shape[0]):
        parents = np.flatnonzero(weights[:, child]).tolist()
        solution, errors, sd, sd_error = regression(values, child, parents)
        expected = np.append(weights[parents, child], 0.0)
        assert (np.abs(solution - expected) < 5 * errors).all()
        assert abs(sd - noise_sd[child]) < 5 * sd_error


def test_gaussian_default_is_the_paper() -> None:
    ds = simulate(DIAMOND, 2000, 1)
    assert ds.names == DIAMOND.names
    assert ds.is_continuous
    assert_follows(ds.values, np.where(DIAMOND.adjacency, 2.0, 0.0), np.ones(4))


def test_gaussian_wrong_coefficients_are_noticed() -> None:
    """The checker's own negative control."""
    ds = simulate(DIAMOND, 2000, 1)
    for weights, noise in [(1.8, 1.0), (2.0, 1.2)]:
        with pytest.raises(AssertionError):
            assert_follows(ds.values, np.where(DIAMOND.adjacency, weights, 0.0), np.full(4, noise))


def test_gaussian_matrix_and_noise_per_node() -> None:
    weights = np.where(DIAMOND.adjacency, np.arange(16).reshape(4, 4) / 4 - 1.4, 0.0)
    noise = np.array([0.5, 1.0, 2.0, 4.0])
    ds = simulate(DIAMOND, 3000, 2, coefficients=weights, noise_sd=noise)
    assert_follows(ds.values, weights, noise)


def test_gaussian_range_of_coefficients() -> None:
    """Without noise below the root, the coefficients can be read off exactly."""
    names = tuple(f"v{i}" for i in range(201))
    star = Dag.from_edges(names, [("v0", name) for name in names[1:]])
    noise = [1.0] + [0.0] * 200
    ds = simulate(star, 5, 3, coefficients=(0.5, 1.5), noise_sd=noise)
    ratios = ds.values[:, 1:] / ds.values[:, :1]
    assert np.allclose(ratios, ratios[0])
    assert stats.kstest(ratios[0], stats.uniform(0.5, 1).cdf).pvalue > LEVEL
    assert ratios[0].min() >= 0.5
    assert ratios[0].max() <= 1.5


def assert_tables(codes: np.ndarray, dag: Dag, tables: list[np.ndarray]) -> None:
    """One chi-square test per node, over all parent configurations and possible levels."""
    for v, table in enumerate(tables):
        parents = np.flatnonzero(dag.adjacency[:, v])
        counts = np.zeros(table.shape)
        np.add.at(counts, (*(codes[:, p] for p in parents), codes[:, v]), 1)
        expected = counts.sum(axis=-1, keepdims=True) * table
        assert (counts[table == 0] == 0).all()
        cells = expected > 0
        statistic = ((counts - expected)[cells] ** 2 / expected[cells]).sum()
        freedom = cells.sum() - (counts.sum(axis=-1) > 0).sum()
        assert freedom > 0
        assert stats.chi2.sf(statistic, freedom) > LEVEL


def test_categorical_follows_its_tables() -> None:
    sizes = [2, 3, 4, 2]
    tables = draw_tables(DIAMOND, 11, levels=sizes, concentration=5.0)
    assert [table.shape for table in tables] == [(3, 2, 2), (4, 3), (4,), (4, 2)]
    ds = simulate_from_tables(DIAMOND, tables, 20000, 12)
    assert ds.cardinalities.tolist() == sizes
    assert_tables(ds.codes, DIAMOND, tables)


def test_categorical_other_tables_are_noticed() -> None:
    """The checker's own negative control: parents the wrong way round."""
    sizes = [2, 3, 2, 3]
    tables = draw_tables(DIAMOND, 13, levels=sizes, concentration=5.0)
    ds = simulate_from_tables(DIAMOND, tables, 20000, 14)
    assert_tables(ds.codes, DIAMOND, tables)
    tables[0] = tables[0].swapaxes(0, 1)
    with pytest.raises(AssertionError):
        assert_tables(ds.codes, DIAMOND, tables)


def test_simulate_categorical_uses_its_generator_for_tables_and_rows() -> None:
    rng = np.random.default_rng(15)
    tables = draw_tables(DIAMOND, rng, levels=3, concentration=2.0)
    expected = simulate_from_tables(DIAMOND, tables, 50, rng)
    ds = simulate(DIAMOND, 50, 15, kind="categorical", levels=3, concentration=2.0)
    assert ds == expected
    assert ds.levels == (("0", "1", "2"),) * 4


@pytest.mark.parametrize(("concentration", "low", "high"), [(0.05, 0.9, 1), (1000, 0.3, 0.4)])
def test_concentration(concentration: float, low: float, high: float) -> None:
    dag = Dag.from_edges(("a", "b"), [("a", "b")])
    _, table = draw_tables(dag, 16, levels=[300, 3], concentration=concentration)
    assert low < table.max(axis=-1).mean() < high


def test_tables_by_name_with_labels() -> None:
    dag = Dag.from_edges(("a", "b"), [("b", "a")])
    tables = {"b": [0.0, 1.0], "a": [[1.0, 0.0], [0.0, 1.0]]}
    ds = simulate_from_tables(dag, tables, 5, 0, labels=[("no", "yes")] * 2)
    assert ds.to_frame().to_numpy().tolist() == [["yes", "yes"]] * 5


def test_seeds() -> None:
    for kind in ("gaussian", "categorical", "mixed"):
        first = simulate(DIAMOND, 30, 7, kind=kind)
        assert simulate(DIAMOND, 30, np.random.default_rng(7), kind=kind) == first
        assert simulate(DIAMOND, 30, 8, kind=kind) != first
    assert simulate(DIAMOND, 30) != simulate(DIAMOND, 30)


BAD_OPTIONS = {
    "n_obs zero": ({"n_obs": 0}, "n_obs must be a whole number from 1"),
    "n_obs float": ({"n_obs": 2.5}, "n_obs must be a whole number from 1"),
    "kind": ({"kind": "poisson"}, "not 'poisson'"),
    "rng negative": ({"rng": -1}, "rng must be a NumPy Generator"),
    "rng text": ({"rng": "one"}, "rng must be a NumPy Generator"),
    "noise negative": ({"noise_sd": -1}, "noise_sd must be"),
    "noise shape": ({"noise_sd": [1, 2]}, "noise_sd must be .* 4 of them"),
    "range reversed": ({"coefficients": (2, 1)}, r"\(low, high\)"),
    "matrix shape": ({"coefficients": np.ones((3, 3))}, "4 x 4 matrix"),
    "not an edge": ({"coefficients": np.ones((4, 4))}, "d -> d, which is not an edge"),
    "coefficients text": ({"coefficients": "two"}, "coefficients must be a number"),
    "coefficients nan": ({"coefficients": float("nan")}, "finite"),
    "overflow": ({"coefficients": 1e200}, "overflow"),
    "levels one": ({"kind": "categorical", "levels": 1}, "levels must be"),
    "levels shape": ({"kind": "categorical", "levels": [2, 3]}, "levels must be .* 4 of them"),
    "levels float": (
        {"kind": "categorical", "levels": [2, 2, 2, 2.5]},
        "levels must be a whole number",
    ),
    "levels of a mixture": ({"kind": "mixed", "levels": [2, None]}, "levels must be .* 4 of them"),
    "one level": ({"kind": "mixed", "levels": [None, 1, None, 2]}, "levels must be"),
    "noise of a mixture": ({"kind": "mixed", "noise_sd": -1}, "noise_sd must be"),
    "concentration": ({"kind": "categorical", "concentration": 0}, "concentration must be"),
}


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS.values(), ids=BAD_OPTIONS.keys())
def test_bad_options(options: dict, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        simulate(DIAMOND, **{"n_obs": 10, "rng": 1, **options})


PAIR = Dag.from_edges(("a", "b"), [("a", "b")])
BAD_TABLES = {
    "number of tables": ([[0.5, 0.5]], "1 tables for 2 nodes"),
    "names": ({"a": [0.5, 0.5], "z": [0.5, 0.5]}, "one entry for each"),
    "axes": ([[0.5, 0.5], [0.5, 0.5]], r"table of 'b' has shape \(2,\)"),
    "parent levels": ([[0.2, 0.3, 0.5], [[0.5, 0.5]] * 2], "table of 'b' has shape"),
    "scalar": ([1.0, [[0.5, 0.5]]], "table of 'a' has shape"),
    "sum": ([[0.5, 0.6], [[0.5, 0.5]] * 2], "table of 'a' does not hold probabilities"),
    "negative": ([[1.5, -0.5], [[0.5, 0.5]] * 2], "table of 'a' does not hold probabilities"),
    "nan": ([[float("nan"), 1], [[0.5, 0.5]] * 2], "table of 'a' does not hold"),
    "text": ([["x", "y"], [[0.5, 0.5]] * 2], "tables must hold numbers"),
}


@pytest.mark.parametrize(("tables", "message"), BAD_TABLES.values(), ids=BAD_TABLES.keys())
def test_bad_tables(tables: object, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        simulate_from_tables(PAIR, tables, 5, 1)  # type: ignore[arg-type]


def test_bad_labels() -> None:
    with pytest.raises(OptionError, match="labels must name every level"):
        simulate_from_tables(PAIR, [[0.5, 0.5], [[0.5, 0.5]] * 2], 5, 1, labels=[("x",), ("y",)])


def test_too_many_parents() -> None:
    names = tuple(f"v{i}" for i in range(31))
    dag = Dag.from_edges(names, [(name, "v30") for name in names[:-1]])
    with pytest.raises(TooLargeError, match="'v30' with 30 parents"):
        simulate(dag, 5, 1, kind="categorical")


def test_cycle() -> None:
    class Cycle:
        names = ("a", "b")
        adjacency = np.array([[False, True], [True, False]])

    with pytest.raises(GraphError, match="cycle"):
        simulate(Cycle(), 5, 1)


def test_bounded_coefficients_scale_only_what_exceeds_the_bound() -> None:
    """a -> b -> c, a -> c: b keeps its coefficient of 2; those of c shrink in proportion.

    Then c -> d, a -> d: their covariance, after the shrinking, decides on d.
    """
    edges = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("a", "d")]
    dag = Dag.from_edges(list("abcd"), edges)
    n_obs = 40_000
    values = simulate(dag, n_obs, 1, coefficients="bounded").values
    a, b, c, d = values.T
    error = 5 / np.sqrt(n_obs)
    assert np.polyfit(a, b, 1)[0] == pytest.approx(2, abs=error)
    of_b, of_a = np.linalg.lstsq(np.column_stack([b, a]), c, rcond=None)[0]
    # 2 (a + b) has variance 4 (1 + 5 + 2 * 2) = 40, and may have 4
    expected = 2 / np.sqrt(10)
    assert of_b == pytest.approx(expected, abs=error)
    assert of_a == pytest.approx(expected, abs=3 * error)  # a and b are correlated
    for last in (b, c, d):
        assert last.var() == pytest.approx(5, rel=5 * np.sqrt(2 / n_obs))
    tenfold = simulate(dag, n_obs, 1, coefficients="bounded", noise_sd=10).values
    np.testing.assert_allclose(tenfold, 10 * values)


CHAIN = Dag.from_edges(
    ("size", "group", "answer", "weight"),
    [("group", "size"), ("size", "answer"), ("group", "weight"), ("answer", "weight")],
)


def test_mixed_values_follow_their_law() -> None:
    """Means by level and shares given a number, within 5 standard errors of the law's."""
    n_obs = 40_000
    data = simulate(CHAIN, n_obs, 3, kind="mixed", coefficients=1.5, levels=[None, 4, 2, 3])
    assert data.kinds == ("continuous", "categorical", "categorical", "categorical")
    size, group, answer, weight = data.values.T
    assert np.bincount(group.astype(int)) == pytest.approx(n_obs / 4, abs=5 * np.sqrt(n_obs / 4))
    means = np.array([size[group == k].mean() for k in range(4)])
    assert np.sort(means) == pytest.approx(1.5 * np.linspace(-1, 1, 4), abs=5 * 2 / np.sqrt(n_obs))
    assert (size - means[group.astype(int)]).std() == pytest.approx(1, abs=5 / np.sqrt(n_obs))
    chance = 1 / (1 + np.exp(-3.0 * size))  # log odds of the levels: 1.5 and -1.5 times the size
    chance = chance if np.corrcoef(size, answer)[0, 1] > 0 else 1 - chance
    for low, high in [(-9, -1), (-1, 0), (0, 1), (1, 9)]:
        chosen = (size > low) & (size <= high)
        error = 5 * 0.5 / np.sqrt(chosen.sum())
        assert answer[chosen].mean() == pytest.approx(chance[chosen].mean(), abs=error)
    shares = np.array(
        [
            [np.bincount(weight[(group == g) & (answer == a)].astype(int)) for a in range(2)]
            for g in range(4)
        ]
    )
    odds = np.log(shares / shares.sum(axis=2, keepdims=True))
    additive = odds - odds[:, :, :1]  # contributions of two parents add up in log odds
    gap = (additive[0] - additive[1]) - (additive[0] - additive[1])[:1]
    assert np.abs(gap).max() < 5 * np.sqrt(8 / shares[:2].min())


def test_every_second_node_is_categorical_where_only_a_number_is_given() -> None:
    data = simulate(DIAMOND, 50, 1, kind="mixed", levels=3)
    assert data.kinds == ("continuous", "categorical") * 2
    assert data.levels[1] == ("0", "1", "2")


def test_bounded_coefficients_of_mixtures_keep_variances_bounded() -> None:
    names = [f"v{i}" for i in range(12)]
    edges = [(a, b) for i, b in enumerate(names) for a in names[:i]]
    data = simulate(Dag.from_edges(names, edges), 5000, 2, kind="mixed", coefficients="bounded")
    assert data.values[:, ::2].var(axis=0).max() < 5 * 1.2

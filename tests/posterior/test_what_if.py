"""Effects of any kind of variable, against all DAGs with parameters drawn by another road.

Comparisons of draws allow five standard errors: each fails by chance once in two million runs.
"""

from dataclasses import dataclass

import numpy as np
import pytest

import outpoint as op
from outpoint.errors import OptionError
from outpoint.posterior.what_if import spread_by_weight
from tests.models.test_intervening import categorical_data, mixed_data, summed
from tests.reference import bdeu_family_score, enumerate_posterior

N_DRAWS = 4000
ESS = 2.0


@dataclass(frozen=True)
class Truth:
    """Draws of an effect (DAG, draw), and the probabilities of the DAGs."""

    draws: np.ndarray
    probabilities: np.ndarray
    reached: np.ndarray

    @property
    def mean(self) -> float:
        return float(self.probabilities @ self.draws.mean(axis=1))

    @property
    def sd_structure(self) -> float:
        means = self.draws.mean(axis=1)
        return float(np.sqrt(self.probabilities @ (means - self.mean) ** 2))

    @property
    def sd_parameters(self) -> float:
        return float(np.sqrt(self.probabilities @ self.draws.var(axis=1)))

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        variances = self.draws.var(axis=1) / self.draws.shape[1]
        return float(np.sqrt(self.probabilities**2 @ variances))

    def below(self, value: float) -> float:
        return float(self.probabilities @ (self.draws < value).mean(axis=1))


def list_truth(n: int, n_draws: int, *, cuts: bool = True, logs: bool = False) -> Truth:
    """The effect of a from r to s on P(last = s); wrong variants keep parents, or average logs."""
    data = categorical_data(n)
    values = data.values.astype(int)
    sizes = [len(one or ()) for one in data.levels]

    def score(child: int, parents: tuple[int, ...]) -> float:
        return bdeu_family_score(values, sizes, child, parents, ESS)

    listed = enumerate_posterior(n, score)
    rng = np.random.default_rng(8)
    every = []
    for dag in listed.adjacencies:
        own = []
        for _ in range(n_draws):
            tables = [_draw_table(values, sizes, dag, v, rng) for v in range(n)]
            arms = [summed(tables, dag, {0: a}, n - 1, cuts=cuts)[-1] for a in (0, 1)]
            own.append(np.log(arms[1]) - np.log(arms[0]) if logs else arms[1] - arms[0])
        every.append(own)
    reached = np.array([_reaches(dag, n - 1) for dag in listed.adjacencies])
    draws = np.array(every) if not cuts else np.array(every) * reached[:, None]  # else rounding
    return Truth(draws, listed.probabilities, reached)


def allowed(truth: Truth) -> float:
    """The standard error of the difference: of the DAGs drawn, and of the parameters listed."""
    return float(np.hypot(truth.sd_structure / np.sqrt(N_DRAWS), truth.error))


def _draw_table(values, sizes, dag, v, rng) -> np.ndarray:
    parents = np.flatnonzero(dag[:, v])
    shape = [*(sizes[u] for u in parents), sizes[v]]
    counts = np.full(shape, ESS / np.prod(shape))
    for row in values:
        counts[(*row[parents], row[v])] += 1
    flat = counts.reshape(-1, sizes[v])
    return np.array([rng.dirichlet(np.maximum(one, 1e-12)) for one in flat]).reshape(shape)


def _reaches(dag: np.ndarray, target: int) -> bool:
    return bool(np.linalg.matrix_power(np.eye(len(dag)) + dag, len(dag))[0, target] > 0)


@pytest.fixture(scope="module")
def three() -> Truth:
    return list_truth(3, 60)


@pytest.fixture(scope="module")
def found() -> "op.posterior.what_if.Effect":
    score = op.BDeu(equivalent_sample_size=ESS)
    posterior = op.learn(categorical_data(3), score, structure_prior="uniform", seed=1)
    return posterior.effect("a", "c", levels=("r", "s"), n_draws=N_DRAWS, seed=2)


def test_mean_and_split_of_variance(three, found):
    assert abs(found.mean - three.mean) < 5 * allowed(three)
    assert found.sd_structure == pytest.approx(three.sd_structure, rel=0.1)
    assert found.sd_parameters == pytest.approx(three.sd_parameters, rel=0.1)
    assert found.sd == pytest.approx(found.draws.std(), rel=0.05), "the law of total variance"


def test_quantiles(three, found):
    for q in (0.025, 0.25, 0.75, 0.975):
        value = found.quantile(q)
        share = three.below(value)
        at = three.below(value + 1e-9) - share
        assert (
            share - 5 * np.sqrt(q * (1 - q) / 1000)
            < q
            < share + at + 5 * np.sqrt(q * (1 - q) / 1000)
        )
    assert found.interval == (found.quantile(0.025), found.quantile(0.975))


def test_probabilities_of_signs(three, found):
    zero = 1 - three.probabilities @ three.reached
    assert 0.02 < zero < 0.98
    assert found.p_zero == pytest.approx(zero, abs=5 * np.sqrt(zero * (1 - zero) / 10_000))
    positive = three.probabilities @ (three.draws * three.reached[:, None] > 0).mean(axis=1)
    assert found.p_positive == pytest.approx(positive, abs=0.05)
    assert found.p_zero + found.p_positive + found.p_negative == pytest.approx(1.0)


def test_wrong_variants_are_caught(three, found):
    """Edges into the cause kept, and averages of logs: both far outside what is allowed above."""
    kept = list_truth(3, 20, cuts=False)
    assert abs(found.mean - kept.mean) > 5 * np.hypot(allowed(three), kept.error)
    logs = list_truth(3, 20, logs=True)
    first = found.levels_mean[0]
    by_logs = first * (np.exp(logs.mean) - 1)
    assert abs(found.mean - by_logs) > 0.1 * abs(found.mean)


@pytest.mark.long
def test_four_variables():
    truth = list_truth(4, 12)
    score = op.BDeu(equivalent_sample_size=ESS)
    posterior = op.learn(categorical_data(4), score, structure_prior="uniform", seed=1)
    found = posterior.effect("a", "d", n_draws=N_DRAWS, seed=2)
    assert abs(found.mean - truth.mean) < 5 * allowed(truth)
    assert found.sd_structure == pytest.approx(truth.sd_structure, rel=0.15)
    zero = 1 - truth.probabilities @ truth.reached
    assert found.p_zero == pytest.approx(zero, abs=5 * np.sqrt(zero * (1 - zero) / 10_000))


# Numbers


@pytest.fixture(scope="module")
def linear() -> op.Posterior:
    rng = np.random.default_rng(3)
    a = rng.normal(size=80) * 10
    b = 0.3 * a + rng.normal(size=80)
    c = b - 0.05 * a + rng.normal(size=80)
    return op.learn(op.Dataset(("a", "b", "c"), np.column_stack([a, b, c])), seed=1)


def test_linear_effects_are_those_of_all_pairs(linear):
    """In the units of the data; standard deviations, the wrong unit, are far off."""
    found = linear.effect("a", "c", n_draws=2000, seed=1)
    pairs = linear.causal_effects(n_draws=2000, seed=2)
    error = 5 * found.sd / np.sqrt(2000)
    assert found.mean == pytest.approx(pairs.mean.loc["a", "c"], abs=error)
    assert found.sd == pytest.approx(pairs.sd.loc["a", "c"], rel=0.1)
    assert found.p_zero == pytest.approx(1 - pairs.probability_nonzero.loc["a", "c"], abs=0.06)
    in_sd = linear.causal_effects(n_draws=2000, seed=2, units="sd")
    assert abs(found.mean - in_sd.mean.loc["a", "c"]) > error
    assert linear.effect("a", "c", (0, 10), n_draws=200).mean == pytest.approx(
        10 * linear.effect("a", "c", (5, 6), n_draws=200).mean
    )
    assert found.ratio is None


def test_several_variables_at_once(linear):
    """With b held, what is left of a is its direct effect."""
    both = linear.effect({"a": (0, 1), "b": (0, 0)}, "c", n_draws=500, seed=1)
    alone = linear.effect("a", "c", n_draws=500, seed=1)
    assert abs(both.mean) < abs(alone.mean)
    assert both.p_zero > alone.p_zero
    assert "a from 0 to 1 and b from 0 to 0" in both.question


def test_a_sign_that_an_orientation_decides():
    """y falls with x given z: the sign of the effect depends on whether z comes before x."""
    rng = np.random.default_rng(2)
    z = rng.normal(size=150)
    x = z + 0.5 * rng.normal(size=150)
    y = 2 * z - x + 0.3 * rng.normal(size=150)
    data = op.Dataset(("x", "z", "y"), np.column_stack([x, z, y]))
    found = op.learn(data, seed=1, tiers=[["x", "z"], ["y"]]).effect("x", "y", seed=1)
    assert min(found.p_positive, found.p_negative) > 0.1
    turned = ("x -> z", "z -> x")
    assert any(f"where {edge} is turned around" in found.note for edge in turned)
    assert f"{min(found.p_positive, found.p_negative):.0%} of the posterior" in found.note
    first = op.learn(data, seed=1, tiers=[["z"], ["x"], ["y"]]).effect("x", "y", seed=1)
    assert first.note == ""
    assert first.p_negative > 0.99


@pytest.mark.parametrize("score", ["blocks", "conditional-gaussian"])
@pytest.mark.parametrize(
    ("cause", "effect"), [("g", "y"), ("g", "o"), ("x", "y")], ids=["cat-num", "cat-cat", "num-num"]
)
def test_mixed_tables(score, cause, effect):
    posterior = op.learn(mixed_data(), score, seed=1)
    found = posterior.effect(cause, effect, n_draws=200, seed=1)
    assert np.isfinite(found.mean)
    assert found.p_zero + found.p_positive + found.p_negative == pytest.approx(1.0)
    assert ("P(o = yes)" in found.question) == (effect == "o")
    assert found.question in repr(found)
    assert "sd_parameters" in found._repr_html_()


def test_same_seed_same_effect_and_weights_count(linear):
    first, second = (linear.effect("a", "c", n_draws=50).draws for _ in range(2))
    np.testing.assert_array_equal(first, second)
    weighted = linear.reweighted(lambda dag: 0.0 if "a" in dag.ancestors("c") else -50.0)
    assert weighted.effect("a", "c", n_draws=50).p_zero < 1e-6


def test_spread_by_weight():
    numbers, counts = spread_by_weight(np.array([0.5, 0.0, 0.3, 0.2]), 10)
    assert numbers.tolist() == [0, 2, 3]
    assert counts.tolist() == [5, 3, 2]


@pytest.mark.parametrize(
    ("words", "options", "message"),
    [
        (("a", "zz"), {}, "'zz' is not one of the variables"),
        (("a", "a"), {}, "both the cause and the effect"),
        (("a", "c", ("r", "x")), {}, "'x' is not one of them"),
        (("a", "c", ("r",)), {}, "levels must be a pair of values"),
        (("a", "c"), {"level": "x"}, "'x' is not one of them"),
        (({"a": ("r", "s")}, "c", ("r", "s")), {}, "levels belong to one cause"),
        (({}, "c"), {}, "at least one variable"),
        (("a", "c", ("r", "r")), {}, "two different settings"),
        (("a", "c"), {"n_draws": 0}, "from 1 to .*, not 0"),
        (("a", "c"), {"interval_level": 1.0}, "between 0 and 1"),
    ],
)
def test_refusals(words, options, message):
    posterior = op.learn(categorical_data(3), seed=1)
    with pytest.raises(OptionError, match=message):
        posterior.effect(*words, **options)


def test_scores_without_a_model_are_refused():
    posterior = op.learn(categorical_data(3), "bic", seed=1)
    with pytest.raises(OptionError, match="need a score with a model"):
        posterior.effect("a", "c")

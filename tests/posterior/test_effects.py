"""Causal effects against closed forms, other samplers of the same law, and known truths."""

from dataclasses import replace
from fractions import Fraction
from math import lgamma, log, pi

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import outpoint as op
from outpoint.errors import GraphError, OptionError, TooLargeError
from outpoint.posterior import effects as module
from outpoint.posterior.effects import GaussianModel, sample_effects, spread_evenly
from outpoint.scores import BDeu, BGe, Blocks
from tests.grids import first
from tests.reference import all_dags, ancestor_matrices, bge_family_score, enumerate_posterior
from tests.scores.helpers import (
    all_families,
    categorical,
    continuous,
    dependent_mixture,
    dependent_values,
    family,
    mixed,
)

ALPHA_W = {3: 5.0, 4: 6.0}  # n + alpha_mu + 1


def model_of(values, *, standardize=False, **settings):
    data = continuous(values)
    score = BGe(standardize=standardize, **settings)
    return GaussianModel.from_scorer(score.bind(data), data.names)


def plain_matrix(values):
    """R from its definition, with the default settings."""
    n_obs, n = values.shape
    mean = values.mean(axis=0)
    centred = values - mean
    t = 0.5  # alpha_mu (alpha_w - n - 1) / (alpha_mu + 1)
    return t * np.eye(n) + centred.T @ centred + n_obs / (n_obs + 1) * np.outer(mean, mean)


def plain_posterior(r, freedom, child, parents):
    """Location and precision of the coefficients, shape and rate of the variance."""
    parents = list(parents)
    inside = r[np.ix_(parents, parents)]
    location = np.linalg.solve(inside, r[parents, child])
    remaining = r[child, child] - r[parents, child] @ location
    return location, inside, (freedom + len(parents) + 1) / 2, remaining / 2


def plain_log_density(posterior, coefficients, variance):
    location, inside, shape, rate = posterior
    off = coefficients - location
    return (
        -len(off) / 2 * log(2 * pi * variance)
        + np.linalg.slogdet(inside)[1] / 2
        - off @ inside @ off / (2 * variance)
        + shape * log(rate)
        - lgamma(shape)
        - (shape + 1) * log(variance)
        - rate / variance
    )


# The law of the parameters


@pytest.mark.parametrize("wrong", [0.0, 1.0])
def test_the_score_is_likelihood_times_prior_over_posterior(wrong):
    """At any parameters; and not with another number of degrees of freedom."""
    rng = np.random.default_rng(1)
    values = dependent_values(rng, 12, 4)
    model = model_of(values)
    r = model.factor[0].T @ model.factor[0]
    np.testing.assert_allclose(r, plain_matrix(values), rtol=1e-12)
    spread = np.eye(12) + np.ones((12, 12))  # the mean, with prior weight 1, integrated out
    for child, parents in all_families(4):
        b, variance = rng.normal(size=len(parents)), 0.7
        likelihood = stats.multivariate_normal(cov=variance * spread).logpdf(
            values[:, child] - values[:, list(parents)] @ b
        )
        prior = plain_posterior(0.5 * np.eye(4), ALPHA_W[4] - 4, child, parents)
        freedom = model.degrees_of_freedom[0] + wrong
        posterior = plain_posterior(r, freedom, child, parents)
        found = likelihood + plain_log_density(prior, b, variance)
        found -= plain_log_density(posterior, b, variance)
        expected = bge_family_score(values, child, parents)
        assert (found == pytest.approx(expected, abs=1e-8)) == (wrong == 0)


def collider(n):
    """All others point to the last node: effects on it are its coefficients."""
    dag = np.zeros((n, n), dtype=bool)
    dag[:-1, -1] = True
    return dag


def distances_to_student(model, truth):
    """p-values of coefficients against their marginal Student law; ``truth`` is the right model."""
    location, inside, shape, rate = plain_posterior(
        truth.factor[0].T @ truth.factor[0], truth.degrees_of_freedom[0], 3, [0, 1, 2]
    )
    found = sample_effects(
        collider(4)[None], model, np.random.default_rng(2), parameters_per_dag=20_000
    )
    scales = np.sqrt(rate / shape * np.diag(np.linalg.inv(inside)))
    return [
        stats.kstest(found.samples[:, u, 3], stats.t(2 * shape, location[u], scales[u]).cdf).pvalue
        for u in range(3)
    ]


def test_coefficients_have_their_student_law():
    """Kolmogorov-Smirnov on 20,000 draws; false alarms 3e-6. Wrong degrees of freedom are seen."""
    model = model_of(dependent_values(np.random.default_rng(3), 6, 4))
    assert min(distances_to_student(model, model)) > 1e-6
    for wrong in (-4.0, 4.0, 100.0):
        off = replace(model, degrees_of_freedom=model.degrees_of_freedom + wrong)
        assert min(distances_to_student(off, model)) < 1e-6


def test_a_complete_dag_against_the_wishart_posterior():
    """Effects computed from covariance matrices drawn from the inverse Wishart posterior."""
    values = dependent_values(np.random.default_rng(4), 8, 3)
    model = model_of(values)
    covariances = stats.invwishart(df=ALPHA_W[3] + 8, scale=plain_matrix(values)).rvs(
        20_000, random_state=np.random.default_rng(5)
    )
    expected = np.zeros((20_000, 3, 3))
    on_first = covariances[:, 0, 1] / covariances[:, 0, 0]
    on_both = np.linalg.solve(covariances[:, :2, :2], covariances[:, :2, 2, None])[:, :, 0]
    expected[:, 0, 1] = on_first
    expected[:, 1, 2] = on_both[:, 1]
    expected[:, 0, 2] = on_both[:, 0] + on_first * on_both[:, 1]
    complete = np.triu(np.ones((3, 3), dtype=bool), 1)
    found = sample_effects(
        complete[None], model, np.random.default_rng(6), parameters_per_dag=20_000
    )
    for u, v in ((0, 1), (1, 2), (0, 2)):
        test = stats.ks_2samp(found.samples[:, u, v], expected[:, u, v])
        assert test.pvalue > 1e-6, (u, v)


# Averages over all 543 DAGs of four nodes


def collider_values(rng, n_obs):
    """Columns a, b, c, d from a -> c <- b, c -> d, in units of different size."""
    a, b = rng.normal(size=(2, n_obs))
    c = 1.2 * a - 0.9 * b + rng.normal(size=n_obs)
    d = 0.6 * c + rng.normal(size=n_obs)
    return np.column_stack([a, 2 * b, 3 * c, d])


VALUES = collider_values(np.random.default_rng(7), 40)


def plain_mean_effects(r):
    """(I - E[B])^-1 of every DAG."""
    out = []
    for dag in all_dags(4):
        b = np.zeros((4, 4))
        for v in range(4):
            parents = np.flatnonzero(dag[:, v])
            b[parents, v] = np.linalg.solve(r[np.ix_(parents, parents)], r[parents, v])
        out.append(np.linalg.inv(np.eye(4) - b))
    return np.array(out)


@pytest.fixture(scope="module")
def reference():
    posterior = enumerate_posterior(4, lambda v, parents: bge_family_score(VALUES, v, parents))
    return posterior, plain_mean_effects(plain_matrix(VALUES))


def test_means_are_exact_given_the_dags(reference):
    posterior, by_dag = reference
    found = sample_effects(
        all_dags(4), model_of(VALUES), np.random.default_rng(8), weights=posterior.probabilities
    )
    expected = np.tensordot(posterior.probabilities, by_dag, axes=1)
    np.testing.assert_allclose(found.mean, expected, atol=1e-10)
    np.testing.assert_allclose(found.probability_nonzero, posterior.ancestors, atol=1e-12)
    transposed = np.tensordot(posterior.probabilities, by_dag.transpose(0, 2, 1), axes=1)
    assert np.abs(found.mean.to_numpy() - transposed).max() > 0.1


def plain_draws(r, freedom, dag, count, rng):
    """Effects with parameters drawn by NumPy."""
    b = np.zeros((count, 4, 4))
    for v in range(4):
        parents = np.flatnonzero(dag[:, v])
        if not parents.size:
            continue
        location, inside, shape, rate = plain_posterior(r, freedom, v, parents)
        variance = rate / rng.gamma(shape, size=count)
        noise = rng.multivariate_normal(np.zeros(len(parents)), np.linalg.inv(inside), count)
        b[:, parents, v] = location + np.sqrt(variance)[:, None] * noise
    return np.linalg.inv(np.eye(4) - b)


def test_second_moments_and_intervals(reference):
    """Against draws by NumPy from the same weighted DAGs.

    20,000 draws each: the limits below are more than six standard errors wide.
    """
    posterior, _ = reference
    rng = np.random.default_rng(9)
    chosen = rng.choice(543, 20_000, p=posterior.probabilities)
    model = model_of(VALUES)
    found = sample_effects(all_dags(4)[chosen], model, rng)
    counts = np.bincount(rng.choice(543, 20_000, p=posterior.probabilities), minlength=543)
    r, freedom = plain_matrix(VALUES), ALPHA_W[4] - 4 + 40
    plain = np.concatenate(
        [plain_draws(r, freedom, all_dags(4)[g], counts[g], rng) for g in np.flatnonzero(counts)]
    )
    scale = plain.std(axis=0)
    error = np.abs(found.sd.to_numpy() - scale)
    fourth = ((plain - plain.mean(axis=0)) ** 4).mean(axis=0)
    bound = 7 * np.sqrt(2 * np.maximum(fourth - scale**4, 0) / 20_000) / np.maximum(2 * scale, 1e-9)
    assert (error <= bound + 1e-9).all()
    for q in (0.05, 0.5, 0.95):
        below = (plain <= found.quantile(q).to_numpy()).mean(axis=0)
        strictly = (plain < found.quantile(q).to_numpy() - 1e-6).mean(axis=0)
        off_diagonal = ~np.eye(4, dtype=bool)
        assert (below[off_diagonal] > q - 0.025).all()
        assert (strictly[off_diagonal] < q + 0.025).all()
    certain = replace(
        model, degrees_of_freedom=np.array([1e14])
    )  # coefficients without uncertainty
    wrong = sample_effects(all_dags(4)[chosen], certain, rng)
    assert (np.abs(wrong.sd.to_numpy() - scale) > bound + 1e-9).sum() >= 4


@pytest.mark.parametrize("method", ["exact", "mcmc"])
def test_draws_of_a_posterior(method, reference):
    """Six standard errors of 4,000 independent, or of 400 effective, draws."""
    posterior, by_dag = reference
    expected = np.tensordot(posterior.probabilities, by_dag, axes=1)
    spread = np.sqrt(np.tensordot(posterior.probabilities, (by_dag - expected) ** 2, axes=1))
    learned = op.learn(
        continuous(VALUES),
        BGe(standardize=False),
        method,
        structure_prior="uniform",
        seed=3,
        **({} if method == "exact" else {"steps": 20_000, "draws": 1000}),
    )
    dags = (learned.dags(4000) if method == "exact" else learned.dags()).to_numpy()
    found = sample_effects(dags, model_of(VALUES), np.random.default_rng(10))
    assert found.n_draws == 4000
    effective = 4000 if method == "exact" else 400
    assert (np.abs(found.means - expected) <= 6 * spread / np.sqrt(effective) + 1e-9).all()
    assert np.abs(found.means - expected.T).max() > 0.1


# Known truths


def test_large_data_recover_the_effects():
    """Two v-structures fix every arrow: a -> c <- b, c -> d <- e."""
    rng = np.random.default_rng(11)
    a, b, e = rng.normal(size=(3, 5000))
    c = 0.8 * a - 0.6 * b + rng.normal(size=5000)
    d = 1.5 * c + 0.7 * e + rng.normal(size=5000)
    data = pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": e})
    learned = op.learn(data, "bge", "exact")
    dataset = op.Dataset(tuple(data), data.to_numpy())
    model = GaussianModel.from_scorer(BGe().bind(dataset), dataset.names)
    found = sample_effects(learned.dags(2000).to_numpy(), model, np.random.default_rng(12))
    truth = {
        ("a", "d"): 1.2,
        ("b", "d"): -0.9,
        ("a", "c"): 0.8,
        ("c", "d"): 1.5,
        ("e", "d"): 0.7,
    }
    table = found.table().set_index(["cause", "effect"])
    for pair, value in truth.items():
        row = table.loc[pair]
        draws = found.draws(*pair)
        error = stats.median_abs_deviation(draws, scale="normal")
        assert row["probability"] > 0.9
        assert 0.005 < error < 0.05
        assert abs(np.median(draws) - value) < 4.5 * error
        assert row["lower"] < np.median(draws) < row["upper"]
    assert abs(table.loc[("d", "a"), "mean"]) < 0.01


N_RUNS, MANY_RUNS = 600, 1500
"""Enough for wrong spreads to be seen, and for effects that are transposed."""


def ranks_of_truths(n_runs, change=lambda model: model, transpose=False):
    """Simulation-based calibration: ranks of true effects among 99 posterior draws, (run, pair).

    DAG, parameters and 100 observations come from the prior; ties are broken at random.
    """
    rng = np.random.default_rng(13)
    dags = all_dags(3)
    pairs = [(u, v) for u in range(3) for v in range(3) if u != v]
    ranks = np.empty((n_runs, 6))
    for run in range(n_runs):
        dag = dags[rng.integers(len(dags))]
        values, b = np.zeros((100, 3)), np.zeros((3, 3))
        for v in sorted(range(3), key=lambda v: dag[:, v].sum() + 3 * (dag @ dag)[:, v].any()):
            shape = (ALPHA_W[3] - 3 + dag[:, v].sum() + 1) / 2
            variance = 0.25 / rng.gamma(shape)
            b[dag[:, v], v] = rng.normal(size=dag[:, v].sum()) * np.sqrt(variance / 0.5)
            values[:, v] = values @ b[:, v] + rng.normal(0, np.sqrt(variance))  # the intercept
            values[:, v] += rng.normal(0, np.sqrt(variance), size=100)
        truth = np.linalg.inv(np.eye(3) - b)
        data = continuous(values)
        scorer = BGe(standardize=False).bind(data)
        scores = {f: family(scorer, *f) for f in all_families(3)}
        logs = np.array(
            [sum(scores[v, tuple(np.flatnonzero(g[:, v]))] for v in range(3)) for g in dags]
        )
        weights = np.exp(logs - logs.max())
        chosen = rng.choice(len(dags), 99, p=weights / weights.sum())
        model = change(GaussianModel.from_scorer(scorer, data.names))
        found = sample_effects(dags[chosen], model, rng).samples
        if transpose:
            found = found.transpose(0, 2, 1)
        for i, (u, v) in enumerate(pairs):
            less = (found[:, u, v] < truth[u, v] - 1e-7).sum()
            same = (np.abs(found[:, u, v] - truth[u, v]) <= 1e-7).sum()
            ranks[run, i] = less + rng.integers(same + 1)
    return ranks


def smallest_p_value(ranks):
    bins = (ranks // 10).astype(int)
    return min(
        stats.chisquare(np.bincount(bins[:, i], minlength=10)).pvalue for i in range(ranks.shape[1])
    )


@pytest.mark.parametrize("n_runs", first([N_RUNS, MANY_RUNS]))
def test_intervals_are_calibrated(n_runs):
    """Ranks are uniform (chi-squared, six pairs): false alarms 6e-6."""
    assert smallest_p_value(ranks_of_truths(n_runs)) > 1e-6


@pytest.mark.parametrize(
    "wrong",
    [
        {"change": lambda model: replace(model, degrees_of_freedom=np.array([1e14]))},
        {"change": lambda model: replace(model, degrees_of_freedom=np.array([1.0]))},
    ],
    ids=["coefficients without uncertainty", "observations not counted"],
)
def test_wrong_effects_are_not_calibrated(wrong):
    assert smallest_p_value(ranks_of_truths(N_RUNS, **wrong)) < 1e-6


@pytest.mark.long
def test_transposed_effects_are_not_calibrated():
    assert smallest_p_value(ranks_of_truths(MANY_RUNS, transpose=True)) < 1e-6


# Units, files, refusals


def test_units():
    values = dependent_values(np.random.default_rng(14), 60, 3) * [1.0, 10.0, 0.1]
    scales = values.std(axis=0, ddof=1)
    chain = np.zeros((1, 3, 3), dtype=bool)
    chain[0, [0, 1], [1, 2]] = True

    def means(units, **settings):
        found = sample_effects(
            chain, model_of(values, **settings), np.random.default_rng(0), units=units
        )
        assert found.units == units
        np.testing.assert_allclose(found.samples.std(axis=0)[0, 0], 0)
        return found.means

    for settings in ({}, {"standardize": True}):
        original, standard = means("original", **settings), means("sd", **settings)
        np.testing.assert_allclose(standard, original * scales[:, None] / scales[None, :])
    slope = np.polyfit(values[:, 0], values[:, 1], 1)[0]
    assert means("original", standardize=True)[0, 1] == pytest.approx(slope, rel=0.05)
    correlation = np.corrcoef(values[:, 0], values[:, 1])[0, 1]
    assert means("sd", standardize=True)[0, 1] == pytest.approx(correlation, rel=0.05)


@pytest.mark.parametrize(("offset", "tolerance"), [(1.0, 1e-12), (1e4, 1e-9), (1e7, 1e-6)])
def test_columns_far_from_zero_keep_their_digits(offset, tolerance):
    """Against rational arithmetic; the mean direction drowns the rest of R."""
    values = dependent_values(np.random.default_rng(15), 12, 3) + offset
    columns = [[Fraction(float(x)) for x in column] for column in values.T]
    means = [sum(column) / 12 for column in columns]
    r = [[Fraction(int(i == j), 2) for j in range(3)] for i in range(3)]
    for i in range(3):
        for j in range(3):
            products = sum(x * y for x, y in zip(columns[i], columns[j], strict=True))
            r[i][j] += products + (Fraction(12, 13) - 12) * means[i] * means[j]
    determinant = r[0][0] * r[1][1] - r[0][1] ** 2
    expected = float((r[0][0] * r[1][2] - r[0][1] * r[0][2]) / determinant)
    complete = np.triu(np.ones((3, 3), dtype=bool), 1)[None]
    found = sample_effects(complete, model_of(values), np.random.default_rng(0)).means
    assert found[1, 2] == pytest.approx(expected, rel=tolerance)
    if offset == 1e7:
        naive = plain_posterior(plain_matrix(values), 1, 2, [0, 1])[0][1]
        assert naive != pytest.approx(expected, rel=tolerance)


def test_blocks_do_not_matter_and_seeds_do():
    model = model_of(VALUES)
    dags = all_dags(4)[::5]
    whole = sample_effects(dags, model, np.random.default_rng(1))
    cut = sample_effects(
        (dags[i : i + 10] for i in range(0, len(dags), 10)), model, np.random.default_rng(1)
    )
    np.testing.assert_array_equal(whole.samples, cut.samples)
    np.testing.assert_allclose(whole.means, cut.means, rtol=1e-12)
    other = sample_effects(dags, model, np.random.default_rng(2))
    assert (other.samples != whole.samples).any()


def test_weights_are_like_repeated_dags():
    model = model_of(VALUES)
    dags = all_dags(4)[[10, 200, 400]]
    weighted = sample_effects(
        dags,
        model,
        np.random.default_rng(1),
        weights=np.array([3.0, 0, 1]),
        parameters_per_dag=5000,
    )
    repeated = sample_effects(
        dags[[0, 0, 0, 2]], model, np.random.default_rng(2), parameters_per_dag=5000
    )
    np.testing.assert_allclose(weighted.means, repeated.means, rtol=1e-12)
    np.testing.assert_allclose(weighted.paths, repeated.paths)
    np.testing.assert_allclose(weighted.sd, repeated.sd, rtol=0.15, atol=1e-6)
    np.testing.assert_allclose(weighted.quantile(0.9), repeated.quantile(0.9), atol=0.05)


def test_table_and_draws():
    model = model_of(VALUES)
    found = sample_effects(all_dags(4)[::3], model, np.random.default_rng(1), level=0.8)
    table = found.table()
    assert list(table) == [
        "cause",
        "effect",
        "mean",
        "sd",
        "lower",
        "upper",
        "probability",
        "mean_given_path",
    ]
    assert len(table) == 12
    assert (table["mean"].abs().diff().dropna() <= 0).all()
    row = table.iloc[0]
    draws = found.draws(row["cause"], row["effect"])
    assert row["lower"] == pytest.approx(np.quantile(draws, 0.1), rel=1e-5)
    assert row["sd"] == pytest.approx(draws.std(), rel=1e-4)
    assert row["mean_given_path"] * row["probability"] == pytest.approx(row["mean"])
    paths = ancestor_matrices(4)[::3].mean(axis=0)
    np.testing.assert_allclose(found.probability_nonzero, paths)
    assert found.mean.index.name == "cause"
    assert found.mean.columns.name == "effect"
    empty = sample_effects(np.zeros((3, 4, 4), dtype=bool), model, np.random.default_rng(1))
    assert empty.table()["mean_given_path"].isna().all()
    assert (empty.table()["mean"] == 0).all()


def test_a_model_survives_storage():
    model = model_of(VALUES, standardize=True)
    again = GaussianModel.from_arrays(model.names, model.arrays())
    one, other = (
        sample_effects(all_dags(4)[:9], m, np.random.default_rng(1)) for m in (model, again)
    )
    np.testing.assert_array_equal(one.samples, other.samples)


# Categorical variables among them


def mixed_model():
    rng = np.random.default_rng(21)
    x = rng.normal(size=80)
    group = np.digitize(x + rng.normal(size=80), [-0.5, 0.7])
    y = 0.5 * x + np.array([0.0, 2.0, 1.0])[group] + rng.normal(size=80)
    values = np.column_stack([x, group, y])
    scorer = Blocks().bind(mixed(values, [0, 3, 0]))
    return GaussianModel.from_scorer(scorer, ("x", "group", "y")), scorer.gaussian


def test_effects_pass_through_the_columns_of_a_categorical_variable():
    """Closed forms: that of a first node is its regression; along a chain, slopes multiply."""
    model, found = mixed_model()
    r = found.scatter + np.outer(found.shift, found.shift)
    x, group, y = [0], [1, 2], [3]
    complete = np.triu(np.ones((3, 3), dtype=bool), k=1)
    chain = complete.copy()
    chain[0, 2] = False
    apart = np.zeros((3, 3), dtype=bool)
    slopes = np.linalg.solve(r[np.ix_(group, group)], r[np.ix_(group, y)])
    expected = {
        "complete": (complete, r[0, 3] / r[0, 0]),
        "chain": (chain, float((r[np.ix_(x, group)] / r[0, 0] @ slopes)[0, 0])),
        "no path": (apart, 0.0),
    }
    for dag, effect in expected.values():
        effects = sample_effects(
            dag[None], model, np.random.default_rng(1), units="sd", parameters_per_dag=4000
        )
        assert effects.names == ("x", "y")
        assert effects.mean.loc["x", "y"] == pytest.approx(effect, abs=1e-9)
        assert effects.mean.loc["y", "x"] == 0.0
        assert effects.probability_nonzero.loc["x", "y"] == float(dag.any())
        error = 5 * effects.sd.loc["x", "y"] / np.sqrt(4000)
        assert effects.draws("x", "y").mean() == pytest.approx(effect, abs=error + 1e-12)


def test_effects_of_a_mixture_are_stored_and_have_units(tmp_path):
    frame = pd.DataFrame({"x": np.random.default_rng(3).normal(size=60)})
    frame["group"] = np.where(frame["x"] > 0, "high", "low")
    frame["y"] = 100 * (frame["x"] + np.random.default_rng(4).normal(size=60))
    post = op.learn(frame, forbidden=[("y", "x")], seed=1)
    post.save(tmp_path / "post.nc")
    again = op.load(tmp_path / "post.nc")
    for name, array in post.model.arrays().items():
        np.testing.assert_array_equal(array, again.model.arrays()[name])
    ratio = frame["y"].std() / frame["x"].std()
    original, sd = (
        again.causal_effects(n_draws=200, units=units).mean.loc["x", "y"]
        for units in ("original", "sd")
    )
    assert original == pytest.approx(sd * ratio)
    post.report(tmp_path / "report.html")
    assert "Blocks of standardized" in (tmp_path / "report.html").read_text()


def test_one_continuous_variable_has_no_effects():
    values = dependent_mixture(np.random.default_rng(5), 40, [0, 2, 3])
    model = GaussianModel.from_scorer(Blocks().bind(mixed(values, [0, 2, 3])), "abc")
    with pytest.raises(OptionError, match="at least two continuous variables"):
        sample_effects(np.zeros((1, 3, 3), dtype=bool), model, np.random.default_rng(0))


def test_draws_are_spread_evenly():
    assert spread_evenly(10, 5).tolist() == [0, 2, 4, 6, 8]
    assert spread_evenly(3, 5).tolist() == [0, 1, 2]
    assert len(set(spread_evenly(4001, 2000).tolist())) == 2000


def test_refusals(monkeypatch):
    codes = categorical(np.array([[0, 1], [1, 0], [1, 1], [0, 0]]), [2, 2])
    assert GaussianModel.from_scorer(BDeu().bind(codes), codes.names) is None
    model, rng = model_of(VALUES), np.random.default_rng(0)
    dags = all_dags(4)[:5]
    cyclic = np.zeros((1, 4, 4), dtype=bool)
    cyclic[0, [0, 1], [1, 0]] = True
    for options, message in [
        ({"units": "metres"}, "'original' or 'sd'"),
        ({"level": 95}, "between 0 and 1"),
        ({"parameters_per_dag": 0}, "from 1"),
        ({"weights": np.ones(3)}, "weights must be one"),
        ({"weights": -np.ones(5)}, "weights must be one"),
        ({"weights": np.ones(6)}, "one weight for each"),
        ({"weights": np.zeros(5)}, "one weight for each"),
    ]:
        with pytest.raises(OptionError, match=message):
            sample_effects(dags, model, rng, **options)
    with pytest.raises(OptionError, match="at least one DAG"):
        sample_effects(dags[:0], model, rng)
    with pytest.raises(GraphError, match="cycle"):
        sample_effects(cyclic, model, rng)
    with pytest.raises(OptionError, match="'q' is not one"):
        sample_effects(dags, model, rng).draws("q", "a")
    with pytest.raises(OptionError, match="from 0 to 1"):
        sample_effects(dags, model, rng).quantile(95)
    monkeypatch.setattr(module, "MAX_BYTES", 200)
    with pytest.raises(TooLargeError, match="at most 3 draws"):
        sample_effects(dags, model, rng)

"""R-hat, effective draws and Monte Carlo errors, against plain transcriptions and known laws."""

from statistics import NormalDist

import numpy as np
import pytest
from arviz_stats.base import array_stats

from outpoint.errors import OptionError
from outpoint.posterior.diagnostics import Limits, Status, diagnose, quick_rhat
from tests.grids import covering, first

AS_THEY_ARE = Limits(tolerance=0.0)


# A plain transcription of Vehtari et al. (2021), one series at a time


def plain_halves(x):
    half = x.shape[1] // 2
    return np.array([part for chain in x for part in (chain[:half], chain[-half:])])


def plain_normal_scores(x):
    flat = x.ravel()
    ranks = np.array([(flat < v).sum() + ((flat == v).sum() + 1) / 2 for v in flat])
    inverse = NormalDist().inv_cdf
    return np.array([inverse((r - 3 / 8) / (flat.size + 1 / 4)) for r in ranks]).reshape(x.shape)


def plain_split_rhat(x):
    n = x.shape[1]
    within = np.mean([np.var(chain, ddof=1) for chain in x])
    between = n * np.var([chain.mean() for chain in x], ddof=1)
    return np.sqrt(((n - 1) / n * within + between / n) / within)


def plain_rhat(x):
    halves = plain_halves(x)
    folded = np.abs(halves - np.median(halves))
    ranked = [plain_normal_scores(halves), plain_normal_scores(folded)]
    return max(plain_split_rhat(values) for values in [*ranked, halves])


def plain_ess(x):
    """From the definition: autocovariances by sums, Geyer's sequence by a loop."""
    m, n = x.shape
    centred = x - x.mean(axis=1, keepdims=True)
    gamma = [np.mean([c[: n - t] @ c[t:] / n for c in centred]) for t in range(n)]
    within = gamma[0] * n / (n - 1)
    total = within * (n - 1) / n + x.mean(axis=1).var(ddof=1)
    rho = [1.0] + [1 - (within - g) / total for g in gamma[1:]]
    tau, k, previous = -1.0, 0, np.inf
    while 2 * k + 3 < n - 1 and rho[2 * k] + rho[2 * k + 1] > 0:
        previous = min(previous, rho[2 * k] + rho[2 * k + 1])
        tau += 2 * previous
        k += 1
    tau += max(rho[2 * k], 0.0)
    return m * n / max(tau, 1 / np.log10(m * n))


def autoregressive(rng, shape, correlation):
    """Stationary AR(1) series with variance 1 along the second axis."""
    x = rng.normal(size=shape)
    for t in range(1, shape[1]):
        x[:, t] = correlation * x[:, t - 1] + np.sqrt(1 - correlation**2) * x[:, t]
    return x


def examples():
    rng = np.random.default_rng(5)
    sticky = autoregressive(rng, (4, 120), 0.9)
    shifted = rng.random((4, 60)) + np.array([[0], [0], [0], [0.4]])
    wider = rng.normal(size=(4, 60)) * [[1], [1], [1], [4]]
    return {
        "independent": rng.random((4, 100)),
        "sticky": 1 / (1 + np.exp(-sticky)),
        "one chain off": shifted,
        "one chain wider": wider,
        "indicators": (sticky > 0.5).astype(float),
        "odd length": rng.random((3, 51)),
        "alternating": np.tile([0.2, 0.8], 30) + 0.1 * rng.random((2, 60)),
    }


@pytest.mark.parametrize("name", examples())
def test_against_the_plain_transcription(name):
    x = examples()[name]
    found = diagnose(x, AS_THEY_ARE)
    halves = plain_halves(x)
    assert found.rhat == pytest.approx(plain_rhat(x), rel=1e-9)
    smaller = min(plain_ess(plain_normal_scores(halves)), plain_ess(halves))
    assert found.ess == pytest.approx(smaller, rel=1e-9)
    assert found.mcse == pytest.approx(x.std(ddof=1) / np.sqrt(plain_ess(halves)), rel=1e-9)
    assert found.mean == pytest.approx(x.mean())


@pytest.mark.parametrize(("n_chains", "n_batches"), covering([1, 2, 4], [4, 5, 7, 8, 11, 20, 257]))
def test_all_series_at_once_are_those_of_arviz(n_chains, n_batches):
    rng = np.random.default_rng(n_batches)
    x = rng.normal(size=(n_chains, n_batches, 60))
    x[:, :, 20:40] = autoregressive(rng, (n_chains, n_batches, 20), 0.9)
    x[:, :, 40:] = x[:, :, 40:] > 0.5
    x = x[:, :, np.ptp(x, axis=(0, 1)) > 0]
    found = diagnose(x, AS_THEY_ARE)
    series = np.moveaxis(x, 2, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = {
            "ess": np.minimum(array_stats.ess(series), array_stats.ess(series, method="mean")),
            "ess_tail": array_stats.ess(series, method="tail", prob=(0.05, 0.95)),
            "mcse": array_stats.mcse(series),
        }
        if n_chains > 1:
            split = array_stats.rhat(series, method="split")
            expected["rhat"] = np.maximum(array_stats.rhat(series), split)
    for name, values in expected.items():
        np.testing.assert_allclose(getattr(found, name), values, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_the_error_of_the_mean_is_calibrated(correlation):
    """AR(1) has mean 0 and a known variance of the mean; 400 runs of 4 x 500.

    The standardised errors have variance 1 up to the noise of estimating the mcse; the bounds are
    six standard errors of a variance from 400 values (sqrt(2/400) = 0.07): false alarms < 1e-6.
    """
    x = autoregressive(np.random.default_rng(11), (4, 500, 400), correlation)
    found = diagnose(x, AS_THEY_ARE)
    truth = np.sqrt((1 + correlation) / (1 - correlation) / 2000)
    assert np.median(found.mcse) == pytest.approx(truth, rel=0.1)
    z = found.mean / found.mcse
    assert 0.6 < np.mean(z**2) < 1.45
    naive = found.mean / (1 / np.sqrt(2000))  # as if the draws were independent
    assert correlation == 0 or np.mean(naive**2) > 2


# Statuses


def only(series, limits=None):
    found = diagnose(np.asarray(series, dtype=float), limits)
    return found, str(found.status)


def noise(seed=0, shape=(4, 256)):
    return np.random.default_rng(seed).random(shape)


def test_independent_series_are_ok():
    found, status = only(noise())
    assert status == Status.OK
    assert found.rhat < 1.02
    assert found.ess > 700
    assert found.ess_tail > 400
    assert found.difference < 0.1


@pytest.mark.parametrize("value", [0.0, 1.0, 0.3])
def test_a_value_that_never_varies_is_constant(value):
    found, status = only(np.full((4, 50), value))
    assert status == Status.CONSTANT
    assert np.isnan(found.rhat)
    assert np.isnan(found.ess)
    assert (found.mean, found.mcse, found.difference) == (pytest.approx(value), 0, 0)


def test_chains_that_stay_at_different_values_differ():
    found, status = only(np.repeat([[0.0], [0.0], [0.05], [0.0]], 50, axis=1))
    assert status == Status.DIFFERS
    assert found.rhat == np.inf
    assert found.ess < 10
    assert found.difference == pytest.approx(0.05)
    assert found.mcse > 0.01


def test_tiny_noise_does_not_hide_that_chains_stay_apart():
    stay = np.repeat([[0.2], [0.2], [0.25], [0.2]], 50, axis=1)
    found, status = only(stay + 1e-5 * noise(1, (4, 50)))
    assert status == Status.DIFFERS
    assert found.rhat == np.inf


@pytest.mark.parametrize("apart", [0.0012, 0.005, 0.0099])
def test_chains_that_stay_closer_than_the_precision_do_not_differ(apart):
    """A difference that vanishes in the digits shown is no reason to run on."""
    stay = np.repeat([[0.0003], [0.0003], [0.0003 + apart], [0.0003]], 50, axis=1)
    found, status = only(stay + 1e-4 * noise(1, (4, 50)))
    assert status == Status.PRECISE
    assert found.is_precise
    strict, status = only(stay, Limits(precision=0.5 * apart))
    assert status == Status.DIFFERS
    assert strict.rhat == np.inf


def test_a_large_difference_between_means_differs():
    found, status = only(0.3 * noise() + [[0], [0], [0], [0.2]])
    assert status == Status.DIFFERS
    assert 1.2 < found.rhat < np.inf


def test_noise_of_no_consequence_is_negligible():
    orders_of_magnitude = 10 ** (-4 - 12 * autoregressive(np.random.default_rng(2), (4, 99), 0.99))
    found, status = only(np.minimum(orders_of_magnitude, 9e-4))
    assert status == Status.NEGLIGIBLE
    assert np.isnan(found.rhat)
    assert found.mcse <= 5e-4
    found, status = only(1 - np.minimum(orders_of_magnitude, 9e-4))
    assert status == Status.NEGLIGIBLE


def test_tiny_probabilities_with_rare_excursions_are_judged_by_the_excursions():
    """Each chain has its own level of 1e-9 to 1e-12, which ranks alone would take seriously."""
    rng = np.random.default_rng(3)
    levels = np.array([[1e-12], [1e-11], [1e-10], [1e-9]]) * (1 + rng.random((4, 512)))
    series = np.where(rng.random((4, 512)) < 0.02, 0.4, levels)
    assert only(series)[1] == Status.PRECISE
    assert only(series, Limits(precision=0.0))[1] == Status.OK
    assert only(series, Limits(tolerance=0.0, precision=0.0))[1] == Status.HIGH_RHAT


def test_rare_bursts_are_no_problem_once_the_mean_is_precise():
    """Edges of a real run: means of a few per mille, bursts that chains see unequally often."""
    rng = np.random.default_rng(5)
    series = np.full((4, 512), 1e-6)
    for chain, n_bursts in enumerate((1, 6, 3, 1)):
        for start in rng.choice(480, size=n_bursts, replace=False):
            series[chain, start : start + 30] = 0.1
    numbers, status = only(series)
    assert numbers.rhat > 1.01
    assert numbers.ess < 100
    assert numbers.mcse < 0.01
    assert status == Status.PRECISE
    assert only(series, Limits(precision=0.0))[1] in (Status.HIGH_RHAT, Status.LOW_ESS)


@pytest.mark.parametrize("height", [0.06, 0.09, 0.5, 1.0])
def test_chains_stuck_apart_are_never_precise(height):
    """Two of four chains in another mode: the spread between the chains counts as error."""
    rng = np.random.default_rng(6)
    series = np.clip(rng.normal(0.1, 0.01, size=(4, 512)), 0, None)
    series[2:] += height
    numbers, status = only(series)
    assert numbers.mcse > 0.0
    assert not numbers.is_precise
    assert status in (Status.HIGH_RHAT, Status.DIFFERS)


def test_a_mode_that_ranks_do_not_show():
    """Where the edge is certain for a while in one chain, and elsewhere all ranks are noise."""
    x = 0.02 * noise(3, (4, 512))
    x[3, 200:235] = 1
    found, status = only(x)
    assert array_stats.rhat(x) < 1.03
    assert array_stats.ess(x) > 200
    assert status == Status.HIGH_RHAT
    assert found.ess < 100


def test_sticky_series_have_few_effective_draws():
    x = 1 / (1 + np.exp(-autoregressive(np.random.default_rng(4), (4, 256), 0.98)))
    found, status = only(x, Limits(max_difference=1.0))
    assert status == Status.HIGH_RHAT
    assert found.ess < 100
    lenient, status = only(x, Limits(max_difference=1.0, max_rhat=3.0))
    assert status == Status.LOW_ESS
    assert lenient.rhat == found.rhat


def test_a_late_jump_is_seen_although_means_and_rhat_hardly_move():
    late = np.zeros((4, 512))
    late[2, -8:] = 1.0
    found, status = only(late)
    assert status == Status.LATE_JUMP
    assert found.rhat < 1.05
    assert found.difference < 0.02
    assert only(1 - late)[1] == Status.LATE_JUMP
    seen_before = late.copy()
    seen_before[0, 40:60] = 1.0
    assert only(seen_before)[1] != Status.LATE_JUMP


def test_a_single_chain():
    found, status = only(noise(6, (1, 256)))
    assert status == Status.SINGLE_CHAIN
    assert found.rhat < 1.05
    assert found.ess > 100
    assert np.isnan(found.difference)
    trend = np.linspace(0, 0.9, 256)[None] + 0.1 * noise(7, (1, 256))
    assert only(trend)[1] == Status.HIGH_RHAT
    assert only(np.repeat([[0.0, 1.0]], 50, axis=1))[0].rhat == np.inf


@pytest.mark.parametrize("n_batches", [1, 2, 3])
def test_short_chains(n_batches):
    found, status = only(noise(8, (4, n_batches)))
    assert status == Status.SHORT
    assert np.isnan([found.rhat, found.ess, found.ess_tail, found.mcse]).all()
    assert np.isfinite(found.mean)


@pytest.mark.parametrize("n_chains", [1, 4])
def test_nothing_is_undefined_without_a_reason(n_chains):
    rng = np.random.default_rng(9)
    kinds = [
        np.zeros((n_chains, 40)),
        1e-9 * rng.random((n_chains, 40)),
        rng.random((n_chains, 40)),
        (rng.random((n_chains, 40)) < 0.5).astype(float),
        np.repeat(rng.random((n_chains, 1)), 40, axis=1),
        np.repeat(rng.random((n_chains, 2)), 20, axis=1),
    ]
    found = diagnose(np.stack(kinds, axis=2))
    undefined = np.isnan(found.rhat) | np.isnan(found.ess)
    excused = np.isin(found.status.astype(str), ["short", "constant", "negligible"])
    np.testing.assert_array_equal(undefined, excused)
    assert np.isfinite(found.mcse).all()


def test_shapes_are_kept():
    series = noise(10, (4, 30, 5, 3))
    found = diagnose(series)
    assert all(array.shape == (5, 3) for array in found)
    assert found.rhat[2, 1] == diagnose(series[:, :, 2, 1]).rhat


def test_many_series_are_the_same_as_one_by_one():
    series = noise(12, (4, 24, 700))
    series[:, :, ::3] = 0
    found = diagnose(series)
    for column in (1, 299, 511, 698):
        assert found.ess[column] == pytest.approx(diagnose(series[:, :, column]).ess, rel=1e-12)
    assert (found.status[::3] == "constant").all()


def test_no_series_at_all():
    assert diagnose(np.zeros((4, 20, 0))).rhat.shape == (0,)


@pytest.mark.parametrize("series", [np.zeros(4), np.zeros((0, 4)), np.full((2, 5), np.nan)])
def test_what_is_not_a_series_is_refused(series):
    with pytest.raises(OptionError):
        diagnose(series)


# The cheap R-hat


def sticky_coins(p: float, stay: float, size: tuple[int, ...], seed: int) -> np.ndarray:
    """Chains of 0 and 1 with mean p that keep a value with probability ``stay``, or draw anew."""
    rng = np.random.default_rng(seed)
    anew = (rng.random(size) < p).astype(float)
    kept = rng.random(size) < stay
    for t in range(1, size[1]):
        anew[:, t] = np.where(kept[:, t], anew[:, t - 1], anew[:, t])
    return anew


@pytest.mark.parametrize(("p", "stay"), first([(0.1, 0.5), (0.3, 0.0), (0.5, 0.8)]))
def test_long_batches_are_judged_by_single_draws(p, stay):
    """Effective draws are those of the 0s and 1s: as many as there are, or fewer if they stick."""
    n_draws, n_batches = 6400, 32
    coins = np.stack([sticky_coins(p, stay, (4, n_draws), seed) for seed in range(40)], axis=2)
    batches = coins.reshape(4, n_batches, -1, 40).mean(axis=2)
    found = diagnose(batches, Limits(precision=0.0), long_batches=True)
    expected = 4 * n_draws * (1 - stay) / (1 + stay)
    assert np.median(found.ess) == pytest.approx(expected, rel=0.35)
    assert (found.status == Status.OK).mean() > 0.9
    assert found.rhat.max() < 1.01
    # Taken for draws, the batches would never have more effective draws than there are batches.
    assert np.median(diagnose(batches, Limits(precision=0.0)).ess) < 4 * n_batches * 1.5


def test_long_batches_of_chains_that_differ_have_few_effective_draws():
    coins = sticky_coins(0.3, 0.0, (4, 6400), 1)
    batches = coins.reshape(4, 32, -1).mean(axis=2)
    batches[0] += 0.09
    found = diagnose(batches[:, :, None], long_batches=True)
    assert found.ess[0] < 1000
    assert found.rhat[0] > 1.003


def test_long_batches_of_a_single_chain():
    batches = sticky_coins(0.3, 0.0, (1, 6400), 1).reshape(1, 32, -1).mean(axis=2)
    found = diagnose(batches[:, :, None], Limits(precision=0.0), long_batches=True)
    assert np.isnan(found.rhat[0])
    assert 2000 < found.ess[0] < 20_000


def test_quick_rhat():
    x = noise(13, (4, 100))
    assert quick_rhat(x) == pytest.approx(plain_split_rhat(plain_halves(x)), rel=1e-12)
    assert quick_rhat(np.repeat([[0.0], [1.0]], 10, axis=1)) == np.inf
    assert quick_rhat(np.zeros((2, 10))) is None
    assert quick_rhat(np.zeros((2, 3))) is None

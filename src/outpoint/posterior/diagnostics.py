"""Have the chains converged? R-hat, effective draws and Monte Carlo errors of every edge.

A series holds, for each chain and batch of steps, a mean: of the probability of an edge given the
visited partitions, or of the edge being there. R-hat (rank-normalised and split) and effective
sample sizes are those of Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021), the
same as in arviz-stats but of all series at once. Three things are particular to edges:

* Probabilities such as 1e-12 fluctuate by orders of magnitude without meaning anything, and ranks
  would take that seriously. Series are therefore rounded to steps of ``tolerance``, counted from
  their median, before they are ranked. Means and their errors come from the numbers as they are.
* What is wanted is the mean, and a mode in which an edge is rare or certain can hide in the noise
  of the ranks. R-hat is therefore the largest of three, with ranks, with folded ranks and without
  ranks, and the effective sample size the smaller of bulk and mean.
* Where a number is undefined it is NaN, and the status says why.

The status of a series is the first of these that holds:

short         fewer than 4 batches: only the mean is known
constant      one single value in all chains and batches
negligible    all values lie within ``tolerance`` of each other
differs       chains differ by more than ``max_difference`` in their means (by less with few
              effective draws, see below) and it is not known to be chance, or each chain stays
              within ``tolerance`` of a value of its own and these values differ by more than
              ``precision`` (then R-hat is infinite)
late jump     at its end (the last 64th, 32nd or 16th) the mean of a chain is more than a half
              beyond that of any earlier stretch of the same length in any chain
high rhat     R-hat above ``max_rhat``, and the mean is not known to within ``precision``
low ess       fewer effective draws than ``min_ess``, and the same
precise       the mean is known to within ``precision``, whatever R-hat and effective draws say
single chain  none of the above, but there is no second chain to compare with
ok            none of the above

An edge that is hardly ever there, in rare bursts, has a high R-hat and few effective draws long
after its probability is known to be 0.01 give or take 0.002. R-hat and effective draws are
therefore held against a run only where the standard error of the mean, by the spread within the
chains or by that between them, is larger than ``precision``.

With 400 effective draws in all, the means of four chains that have converged still differ by more
than 0.1 every other time where an edge is as likely as not. A difference up to twice the limit is
therefore taken for chance where R-hat sees nothing in it, there are ``CHANCE_ESS`` effective draws,
and it is at most five standard errors of the mean of a chain, by what happens in the chains alone:
chains that stay apart have small errors. With fewer effective draws there is more chance, but none
of it is known: chains that agree then may have done so by luck, and a longer run would take it
back. They must therefore differ by less, at most ``CLOSE`` times the limit, unless the mean is
known to within ``precision``.

R-hat is undefined for short, constant and negligible series. Their effective sample size is too;
the error of the mean is 0 for a constant one, and half the range for a negligible one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from outpoint.arrays import Booleans, Floats
from outpoint.errors import OptionError

MIN_BATCHES = 4
"""With fewer, half a chain has no variance."""

RARE = 0.02
"""Probabilities so close to 0 or 1 may depend on what has hardly been seen, or never."""

LATE_SHARES = (64, 32, 16)
LATE_MARGIN = 0.5

_CHUNK = 256  # series ranked at a time, which bounds the memory


class Status(StrEnum):
    """What can be said of a series; the module's docstring has the rules."""

    SHORT = "short"
    CONSTANT = "constant"
    NEGLIGIBLE = "negligible"
    DIFFERS = "differs"
    LATE_JUMP = "late jump"
    HIGH_RHAT = "high rhat"
    LOW_ESS = "low ess"
    PRECISE = "precise"
    SINGLE_CHAIN = "single chain"
    OK = "ok"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When chains are said to have converged.

    For chains that have converged, R-hat² is about 1 + (2C / (2C - 1)) X / E with C chains, E
    effective draws and X chi-squared with 2C - 1 degrees of freedom. The largest X among 400 edges
    and three R-hats each is below 36 in 99 of 100 runs of four chains, so R-hat stays below 1.05 if
    there are 400 effective draws or more; 1.01 would take 2,000. A limit of 1.05 is thus the
    recommended 400 effective draws for every edge, said in another way.
    """

    max_difference: float = 0.1
    max_rhat: float = 1.05
    min_ess: float = 100.0
    tolerance: float = 1e-3
    precision: float = 0.01


RECOMMENDED_ESS = 400

CHANCE_ESS = 300.0
"""Least number of effective draws with which a difference may be known to be chance."""

CLOSE = 0.7
"""The share of the largest difference that is allowed with fewer: after a quarter more of the steps
few of those within it are beyond the limit."""

CHANCE_ERRORS = 5.0
"""Standard errors of a mean beyond which the largest difference between chains is not chance: means
of four that are equal differ by more once in two hundred times."""


class SeriesDiagnostics(NamedTuple):
    """Numbers for every series; arrays in the shape of the series' trailing dimensions."""

    mean: Floats
    mcse: Floats
    rhat: Floats
    ess: Floats
    ess_tail: Floats
    difference: Floats
    disagrees: Booleans
    is_precise: Booleans
    status: NDArray[np.object_]


def diagnose(
    series: ArrayLike, limits: Limits | None = None, *, long_batches: bool = False
) -> SeriesDiagnostics:
    """Diagnostics of ``series`` (chain, batch, ...).

    A few ``long_batches`` of what is there or not, such as an edge, would give few effective draws
    however long the chains are. R-hat and effective draws are then those of single draws: errors
    are compared with the variance p (1 - p) of such a draw.

    ``difference`` is the largest difference between two chains' means, NaN for a single chain;
    ``disagrees`` whether it is too large, and more than chance;
    ``is_precise`` whether the mean is known so well that R-hat does not matter.
    """
    limits = limits or Limits()
    values = np.asarray(series, dtype=np.float64)
    if values.ndim < 2 or values.shape[0] < 1 or values.shape[1] < 1:
        raise OptionError(f"series must have the shape (chain, batch, ...), not {values.shape}.")
    if not np.isfinite(values).all():
        raise OptionError("series to diagnose must be finite numbers.")
    shape = values.shape[2:]
    columns = np.ascontiguousarray(np.moveaxis(values.reshape(*values.shape[:2], -1), 2, 0))
    flat = _diagnose_columns(columns, limits, long_batches)
    return SeriesDiagnostics._make([array.reshape(shape) for array in flat])


def _diagnose_columns(columns: Floats, limits: Limits, long_batches: bool) -> SeriesDiagnostics:
    """Diagnostics of ``columns`` (series, chain, batch)."""
    n, n_chains, n_batches = columns.shape
    chain_means = columns.mean(axis=2)
    spread = np.ptp(columns, axis=(1, 2))
    rhat, ess, ess_tail, mcse = (np.full(n, np.nan) for _ in range(4))
    difference = np.ptp(chain_means, axis=1) if n_chains > 1 else np.full(n, np.nan)
    if n_batches >= MIN_BATCHES:
        mcse = spread / 2
        varying = np.flatnonzero(spread > limits.tolerance)
        for start in range(0, varying.size, _CHUNK):
            some = varying[start : start + _CHUNK]
            rhat[some], ess[some], ess_tail[some], mcse[some] = _measure(
                columns[some], limits.tolerance
            )
    error = mcse
    if n_chains > 1:
        error = np.fmax(mcse, chain_means.std(axis=1, ddof=1) / np.sqrt(n_chains))
    if long_batches:
        measured = np.isfinite(ess) & (error > 0)
        ess[measured], rhat[measured] = _of_single_draws(chain_means[measured], error[measured])
        ess_tail[measured] = ess[measured]
    still = (np.ptp(columns, axis=2) <= limits.tolerance).all(axis=1)
    apart = still & (difference > limits.precision)
    rhat[apart & (n_batches >= MIN_BATCHES)] = np.inf
    is_precise = (error <= limits.precision) & ~apart
    is_known = is_precise | (np.nan_to_num(ess, nan=np.inf) >= CHANCE_ESS)
    disagrees = _find_disagreeing(columns, difference, rhat, is_known, limits)
    rules = {
        Status.SHORT: np.full(n, n_batches < MIN_BATCHES),
        Status.CONSTANT: spread == 0,
        Status.NEGLIGIBLE: spread <= limits.tolerance,
        Status.DIFFERS: apart | disagrees,
        Status.LATE_JUMP: late_jumps(columns).any(axis=1),
        Status.HIGH_RHAT: (rhat > limits.max_rhat) & ~is_precise,
        Status.LOW_ESS: (ess < limits.min_ess) & ~is_precise,
        Status.PRECISE: is_precise & (n_chains > 1),
    }
    otherwise = Status.OK if n_chains > 1 else Status.SINGLE_CHAIN
    status = np.select(list(rules.values()), [np.array(s.value, object) for s in rules], otherwise)
    return SeriesDiagnostics(
        chain_means.mean(axis=1),
        mcse,
        rhat,
        ess,
        ess_tail,
        difference,
        disagrees,
        is_precise,
        status,
    )


def _find_disagreeing(
    columns: Floats, difference: Floats, rhat: Floats, is_known: Booleans, limits: Limits
) -> Booleans:
    """Where chains differ by more than the limit, and more than by known chance."""
    disagrees = difference > limits.max_difference * np.where(is_known, 1.0, CLOSE)
    may_be_chance = (difference <= 2 * limits.max_difference) & (rhat <= limits.max_rhat) & is_known
    for place in np.flatnonzero(disagrees & may_be_chance):
        error = np.sqrt(np.mean(mean_errors(columns[place]) ** 2))
        disagrees[place] = difference[place] > CHANCE_ERRORS * error
    return disagrees


def _of_single_draws(chain_means: Floats, error: Floats) -> tuple[Floats, Floats]:
    """Effective draws and R-hat from the errors of probabilities (series, chain)."""
    mean = chain_means.mean(axis=1)
    variance = mean * (1.0 - mean)
    ess = variance / error**2
    if chain_means.shape[1] == 1:
        return ess, np.full(len(mean), np.nan)
    with np.errstate(divide="ignore"):
        return ess, np.sqrt(1.0 + chain_means.var(axis=1, ddof=1) / variance)


def late_jumps(columns: Floats) -> Booleans:
    """Whether (series, chain) the end of a chain is unlike anything seen before.

    A chain that finds another mode shortly before its end hardly moves its mean, nor R-hat.
    """
    n, n_chains, n_batches = columns.shape
    found = np.zeros((n, n_chains), dtype=np.bool_)
    for width in {max(MIN_BATCHES, n_batches // share) for share in LATE_SHARES}:
        n_windows = n_batches // width
        if n_windows < min(LATE_SHARES):
            continue
        windows = columns[:, :, n_batches - n_windows * width :]
        means = windows.reshape(n, n_chains, n_windows, width).mean(axis=3)
        before, last = means[:, :, :-1], means[:, :, -1]
        above = last - before.max(axis=(1, 2))[:, None]
        below = before.min(axis=(1, 2))[:, None] - last
        found |= np.maximum(above, below) > LATE_MARGIN
    return found


def _measure(columns: Floats, tolerance: float) -> tuple[Floats, Floats, Floats, Floats]:
    """R-hat, bulk and tail effective draws, and the error of the mean, of series that vary."""
    rounded = _rounded(columns, tolerance)
    split = _split(rounded)
    ranked = _rank_normalised(split)
    middle = np.median(split, axis=(1, 2), keepdims=True)
    folded = _rank_normalised(np.abs(split - middle))
    rhat = np.fmax(np.fmax(_rhat(ranked), _rhat(folded)), _rhat(_split(columns)))
    low, high = np.quantile(rounded, (0.05, 0.95), axis=(1, 2))[..., None, None]
    ess_tail = np.minimum(
        _effective_draws((split <= low).astype(np.float64)),
        _effective_draws((split <= high).astype(np.float64)),
    )
    ess_mean = effective_sizes(columns)
    mcse = _error_of_mean(columns, ess_mean)
    return rhat, np.minimum(_effective_draws(ranked), ess_mean), ess_tail, mcse


def standard_errors(columns: Floats) -> Floats:
    """Monte Carlo standard errors of the means of ``columns`` (series, chain, draw)."""
    return _error_of_mean(columns, effective_sizes(columns))


def effective_sizes(columns: Floats) -> Floats:
    """Effective sample sizes of the means of ``columns`` (series, chain, draw)."""
    return _effective_draws(_split(columns))


def _error_of_mean(columns: Floats, effective_draws: Floats) -> Floats:
    errors: Floats = columns.std(axis=(1, 2), ddof=1) / np.sqrt(effective_draws)
    return errors


def with_rare_events(mcse: ArrayLike, probability: ArrayLike, n_effective: float) -> Floats:
    """Standard errors of probabilities, enlarged for what was seen seldom or never.

    What happens once in N draws is missed by N draws every third time, and the smaller k is, the
    less is known about the spread of what has happened k times. The error is therefore enlarged by
    what one further draw of the rarer kind would change: one of as many independent draws as the
    error itself stands for, p (1 - p) / mcse², and within ``RARE`` of 0 or 1 at most
    ``n_effective``, what the chains are worth altogether. Where k independent draws have shown
    something the variance k / N² thus becomes (k + 1) / N².
    """
    error, p = np.asarray(mcse, dtype=np.float64), np.asarray(probability, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = p * (1.0 - p) / error**2
    is_rare = np.minimum(p, 1.0 - p) < RARE
    worth = np.where(is_rare, np.fmin(worth, n_effective), worth)
    enlarged = np.hypot(error, 1.0 / np.maximum(worth, 1.0))
    return np.minimum(enlarged, 0.5)  # no probability is more uncertain


def _rounded(columns: Floats, tolerance: float) -> Floats:
    if tolerance == 0:
        return columns
    middle = np.median(columns, axis=(1, 2), keepdims=True)
    return middle + tolerance * np.round((columns - middle) / tolerance)


def _split(columns: Floats) -> Floats:
    """Each chain's first and second half as chains of their own."""
    half = columns.shape[2] // 2
    return np.concatenate([columns[:, :, :half], columns[:, :, -half:]], axis=1)


def _rank_normalised(columns: Floats) -> Floats:
    """Normal scores of the ranks within each series; values that are equal share their rank."""
    import pandas as pd
    from scipy.special import ndtri

    size = columns.shape[1] * columns.shape[2]
    ranks = pd.DataFrame(columns.reshape(len(columns), size)).rank(axis=1).to_numpy()
    return ndtri((ranks - 0.375) / (size + 0.25)).reshape(columns.shape)


def _rhat(columns: Floats) -> Floats:
    """R-hat; infinite if only the chains vary, not what is in them; NaN if nothing varies."""
    length = columns.shape[2]
    between = columns.mean(axis=2).var(axis=1, ddof=1)
    within = columns.var(axis=2, ddof=1).mean(axis=1)
    inside = np.ptp(columns, axis=2).max(axis=1) > 0
    rhat = np.sqrt((length - 1) / length + between / np.where(inside, within, 1.0))
    return np.where(inside, rhat, np.where(np.ptp(columns, axis=(1, 2)) > 0, np.inf, np.nan))


def _effective_draws(columns: Floats) -> Floats:
    """Effective sample size of all series at once (section 3.2 of the paper).

    Autocorrelations of all chains together are added up in pairs, by Geyer's initial monotone
    sequence: up to the first pair that is not positive, none larger than the one before.
    """
    n, n_chains, length = columns.shape
    size = n_chains * length
    spectrum = np.fft.rfft(columns - columns.mean(axis=2, keepdims=True), 2 * length, axis=2)
    power = (spectrum.real**2 + spectrum.imag**2).mean(axis=1)
    covariance = np.fft.irfft(power, 2 * length, axis=1)[:, :length] / length
    within = covariance[:, :1] * length / (length - 1)
    total = covariance[:, :1] + columns.mean(axis=2).var(axis=1, ddof=1)[:, None]
    varies = np.ptp(columns, axis=(1, 2)) > np.finfo(np.float64).resolution
    rho = 1.0 - (within - covariance) / np.where(varies[:, None], total, 1.0)
    rho[:, 0] = 1.0
    even, odd = rho[:, 0 : length - 1 : 2], rho[:, 1:length:2]
    pairs = even + odd
    last = max(0, (length - 3) // 2)
    end = np.minimum(np.argmax(np.pad(pairs, ((0, 0), (0, 1))) <= 0, axis=1), last)
    falling = np.minimum.accumulate(pairs, axis=1)
    falling[np.arange(pairs.shape[1]) >= end[:, None]] = 0.0
    at_end = even[np.arange(n), end]
    at_end = np.where(pairs[np.arange(n), end] < 0, np.maximum(at_end, 0.0), at_end)
    tau = -1.0 + 2.0 * falling.sum(axis=1) + at_end
    return np.where(varies, size / np.maximum(tau, 1.0 / np.log10(size)), float(size))


def mean_errors(series: Floats) -> Floats:
    """Standard error of the mean of each chain, from its batches (chain, batch) alone.

    A chain that drifts has few effective draws, and a large error.
    """
    each = _split(series[:, None, :])
    return series.std(axis=1, ddof=1) / np.sqrt(_effective_draws(each))


def quick_rhat(log_scores: ArrayLike) -> float | None:
    """Split R-hat of ``log_scores`` (chain, draw), without ranks: cheap enough for live progress.

    Infinite if the chains stay at different values, None if there are fewer than 4 draws or
    nothing varies.
    """
    values = np.asarray(log_scores, dtype=np.float64)
    if values.shape[1] < MIN_BATCHES:
        return None
    rhat = float(_rhat(_split(values[None]))[0])
    return None if np.isnan(rhat) else rhat

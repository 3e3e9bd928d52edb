"""Parent sets drawn from sums over subsets follow the law of their scores."""

import numpy as np
import pytest
from scipy import stats

from outpoint.exact.draws import sample_parents
from outpoint.exact.sums import sum_scores
from outpoint.tables.dense import subset_maxima
from tests.grids import covering

FALSE_ALARM = 1e-4
"""Probability, over seeds, that a correct sampler fails one of these checks; seeds are fixed."""

N_DRAWS = 20_000
N = 6
SIZES = np.bitwise_count(np.arange(1 << N)).astype(float)


def scores_of(kind):
    scores = np.random.default_rng(1).standard_normal(1 << N)
    if kind == "wide":
        return 4 * scores
    if kind == "at most two":
        return np.where(SIZES <= 2, scores, -np.inf)
    if kind == "many parents":
        return scores + 1.5 * SIZES
    if kind == "gaps":
        return np.where(np.arange(1 << N) % 3 == 0, -np.inf, scores)
    if kind == "rare":  # sets with member 0 or 1 have 1e-12 of the weight
        return np.where(np.arange(1 << N) & 3, scores - 28.0, scores)
    return scores


def law(scores, allowed, required):
    """Probabilities of all sets, those outside ``allowed`` or without ``required`` 0."""
    masks = np.arange(len(scores))
    fits = (masks & ~allowed == 0) & (masks & required > 0)
    weights = np.where(fits, np.exp(scores - scores[fits].max()), 0.0)
    return weights / weights.sum()


def draw(scores, allowed, required, seed=7):
    weights = sum_scores(scores[None], subset_maxima(scores[None]))
    rng = np.random.default_rng(seed)
    return np.array(
        [
            sample_parents(scores, weights.mantissa[0], weights.exponent[0], allowed, required, rng)
            for _ in range(N_DRAWS)
        ]
    )


def p_value(drawn, probabilities):
    counts = np.bincount(drawn, minlength=len(probabilities))
    if counts[probabilities == 0].any():
        return 0.0
    expected = probabilities * len(drawn)
    rare = expected < 10
    observed, wanted = [*counts[~rare]], [*expected[~rare]]
    if expected[rare].sum() > 1e-6:
        observed.append(counts[rare].sum())
        wanted.append(expected[rare].sum())
    return stats.chisquare(observed, wanted, sum_check=False).pvalue


@pytest.mark.parametrize(
    ("kind", "which"),
    covering(
        ["plain", "wide", "at most two", "many parents", "gaps", "rare"],
        [(0b111111, 0b000011), (0b110111, 0b000010), (0b101011, 0b101011)],
    ),
)
def test_frequencies_are_the_law(kind, which):
    allowed, required = which
    scores = scores_of(kind)
    drawn = draw(scores, allowed, required)
    assert p_value(drawn, law(scores, allowed, required)) > FALSE_ALARM


def test_the_check_catches_wrong_laws():
    """A member that is in too often, and sets that need not meet the last layer."""
    scores = scores_of("plain")
    drawn = draw(scores, 0b111111, 0b000011)
    shifted = scores + 0.3 * (np.arange(1 << N) >> 4 & 1)
    assert p_value(drawn, law(shifted, 0b111111, 0b000011)) < FALSE_ALARM
    anywhere = draw(scores, 0b111111, 0b111111)
    assert p_value(anywhere, law(scores, 0b111111, 0b000011)) < FALSE_ALARM

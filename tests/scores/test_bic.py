"""BIC against regressions and observed frequencies, and what it must not depend on."""

import numpy as np
import pytest

from outpoint.data import Dataset
from outpoint.errors import DataError, OptionError
from outpoint.scores import BIC
from tests.reference import categorical_bic_family_score, gaussian_bic_family_score
from tests.scores.test_structure_of_scores import scores_by_class

from .helpers import (
    all_families,
    categorical,
    continuous,
    dependent_codes,
    dependent_values,
    family,
)

VALUES = dependent_values(np.random.default_rng(1), 40, 5)
CARDINALITIES = [2, 3, 4, 2, 1]
CODES = dependent_codes(np.random.default_rng(2), 60, CARDINALITIES)


@pytest.mark.parametrize("penalty", [1.0, 0.3, 7.0])
def test_every_gaussian_family(penalty: float) -> None:
    scorer = BIC(penalty=penalty).bind(continuous(VALUES))
    for child, parents in all_families(5):
        expected = gaussian_bic_family_score(VALUES, child, parents, penalty)
        assert family(scorer, child, parents) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("penalty", [1.0, 0.3, 7.0])
def test_every_categorical_family(penalty: float) -> None:
    data = categorical(CODES, CARDINALITIES)
    scorer = BIC(penalty=penalty).bind(data, allow_degenerate=True)
    for child, parents in all_families(5):
        expected = categorical_bic_family_score(CODES, CARDINALITIES, child, parents, penalty)
        assert family(scorer, child, parents) == pytest.approx(expected, rel=1e-10, abs=1e-9)


def test_the_comparison_notices_a_forgotten_parameter() -> None:
    scorer = BIC().bind(continuous(VALUES))
    wrong = gaussian_bic_family_score(VALUES, 0, (1, 2)) - np.log(40) / 2
    assert family(scorer, 0, (1, 2)) != pytest.approx(wrong, rel=1e-10)


@pytest.mark.parametrize(
    "scorer",
    [
        BIC().bind(continuous(VALUES[:, :4])),
        BIC().bind(categorical(CODES[:, :4], CARDINALITIES[:4])),
    ],
    ids=["continuous", "categorical"],
)
def test_equivalent_dags_score_the_same(scorer) -> None:
    classes = scores_by_class(lambda child, parents: family(scorer, child, parents))
    assert max(max(totals) - min(totals) for totals in classes) < 1e-9


def test_units_and_location_do_not_matter() -> None:
    """Log likelihoods shift by N log(unit), whatever the parents."""
    units = np.array([1e-6, 1.0, 1e8, 3.0, 10.0])
    moved = BIC().bind(continuous(VALUES * units + units * [5, 0, -3, 100, 0]))
    plain = BIC().bind(continuous(VALUES))
    for child, parents in all_families(5):
        shift = 40 * np.log(units[child])
        expected = family(plain, child, parents) - shift
        assert family(moved, child, parents) == pytest.approx(expected, abs=1e-5)


def test_degenerate_data() -> None:
    same = VALUES.copy()
    same[:, 3] = same[:, 1]
    with pytest.raises(DataError, match="identical"):
        BIC().bind(continuous(same))
    scores = BIC().bind(continuous(same), allow_degenerate=True).every_family(4)
    assert np.isfinite(scores).all()
    constant = VALUES.copy()
    constant[:, 2] = 4.0
    with pytest.raises(DataError, match=r"column 'c' is constant"):
        BIC().bind(continuous(constant), allow_degenerate=True)
    few = BIC().bind(continuous(VALUES[:4])).every_family(1)
    assert not np.isnan(few).any(), "few rows are a note and no refusal"
    mixed = Dataset(("x", "g"), [[0.5, 0], [2.5, 1]], (None, ("f", "m")))
    with pytest.raises(DataError, match="columns of one kind"):
        BIC().bind(mixed)


@pytest.mark.parametrize("penalty", [0, -1.0, np.nan, "much", True])
def test_bad_penalties(penalty: object) -> None:
    with pytest.raises(OptionError, match="penalty that is a positive number"):
        BIC(penalty=penalty)  # type: ignore[arg-type]

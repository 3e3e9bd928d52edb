"""BDeu against the textbook sum over parent configurations."""

import numpy as np
import pytest

from outpoint.data import bundled
from outpoint.errors import OptionError
from outpoint.scores import BDeu
from outpoint.scores.bdeu import KEPT_COUNTS, KEPT_PRIORS
from tests.reference import bdeu_family_score

from .helpers import all_families, categorical, dependent_codes, family

CARDINALITIES = {
    "binary": [2, 2, 2, 2, 2],
    "mixed": [2, 3, 5, 4, 2],
    "one level": [3, 1, 2, 1, 4],
    "only one level": [1, 1, 1],
    "high": [50, 2, 120, 3],
    "higher than the rows": [500, 1000, 40],
}


@pytest.mark.parametrize("ess", [1e-6, 0.5, 1.0, 37.0, 1e4])
@pytest.mark.parametrize("cardinalities", CARDINALITIES.values(), ids=list(CARDINALITIES))
def test_every_family(cardinalities: list[int], ess: float) -> None:
    codes = dependent_codes(np.random.default_rng(1), 60, cardinalities)
    data = categorical(codes, cardinalities)
    scorer = BDeu(equivalent_sample_size=ess).bind(data, allow_degenerate=True)
    for child, parents in all_families(len(cardinalities)):
        expected = bdeu_family_score(codes, cardinalities, child, parents, ess)
        assert family(scorer, child, parents) == pytest.approx(expected, rel=1e-11, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_random_families_of_many_columns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cardinalities = rng.integers(2, 6, 20).tolist()
    codes = dependent_codes(rng, 300, cardinalities)
    scorer = BDeu().bind(categorical(codes, cardinalities))
    for _ in range(20):
        child, *parents = rng.permutation(20)[: rng.integers(1, 20)].tolist()
        parents.sort()
        expected = bdeu_family_score(codes, cardinalities, child, parents, 1.0)
        assert family(scorer, child, parents) == pytest.approx(expected, rel=1e-11, abs=1e-9)


def test_levels_that_never_occur_count() -> None:
    codes = dependent_codes(np.random.default_rng(2), 50, [2, 2, 2])
    declared = [2, 4, 9]
    scorer = BDeu(equivalent_sample_size=3.0).bind(categorical(codes, declared))
    as_observed = BDeu(equivalent_sample_size=3.0).bind(categorical(codes, [2, 2, 2]))
    for child, parents in all_families(3):
        expected = bdeu_family_score(codes, declared, child, parents, 3.0)
        assert family(scorer, child, parents) == pytest.approx(expected, abs=1e-10)
        involved = {child, *parents} & {1, 2}
        changed = abs(expected - family(as_observed, child, parents)) > 1e-6
        assert changed == bool(involved)


def test_the_order_and_repetition_of_rows() -> None:
    rng = np.random.default_rng(3)
    codes = dependent_codes(rng, 40, [2, 3, 2])
    scores = BDeu().bind(categorical(codes, [2, 3, 2])).every_family(2)
    shuffled = BDeu().bind(categorical(rng.permutation(codes), [2, 3, 2])).every_family(2)
    np.testing.assert_allclose(scores, shuffled, rtol=0, atol=1e-10)
    twice = np.vstack([codes, codes])
    scorer = BDeu().bind(categorical(twice, [2, 3, 2]))
    for child, parents in all_families(3):
        expected = bdeu_family_score(twice, [2, 3, 2], child, parents, 1.0)
        assert family(scorer, child, parents) == pytest.approx(expected, abs=1e-10)


def test_one_row() -> None:
    """Any single observation has probability 1/r given any parents."""
    scorer = BDeu(equivalent_sample_size=2.5).bind(
        categorical([[1, 0, 2]], [2, 3, 5]), allow_degenerate=True
    )
    for child, parents in all_families(3):
        assert family(scorer, child, parents) == pytest.approx(-np.log([2, 3, 5][child]))


def test_many_parents_with_many_cells() -> None:
    """2 ** 25 cells of 10 rows: only what was observed costs anything."""
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 32, (10, 6))
    scorer = BDeu().bind(categorical(codes, [32] * 6))
    expected = bdeu_family_score(codes, [32] * 6, 5, range(5), 1.0)
    assert family(scorer, 5, range(5)) == pytest.approx(expected, abs=1e-9)


def test_terms_that_are_kept_are_not_mixed_up() -> None:
    """Sets of one size whose numbers of cells, 4 and 255, fall into the same row of kept terms."""
    cardinalities = [2, 2, 15, 17]
    assert 4 % KEPT_PRIORS == 255 % KEPT_PRIORS
    codes = dependent_codes(np.random.default_rng(6), 300, cardinalities)
    scores = BDeu().bind(categorical(codes, cardinalities)).every_family(3)
    expected = [
        bdeu_family_score(codes, cardinalities, 0, parents, 1.0)
        for parents in [(), (1,), (2,), (3,), (1, 2), (1, 3), (2, 3), (1, 2, 3)]
    ]
    np.testing.assert_allclose(scores[0], expected, rtol=1e-11)


def test_more_rows_in_a_cell_than_terms_are_kept_for() -> None:
    rng = np.random.default_rng(7)
    codes = (rng.random((3 * KEPT_COUNTS, 3)) < 0.05).astype(np.int64)
    scorer = BDeu().bind(categorical(codes, [2, 2, 2]))
    for child, parents in all_families(3):
        expected = bdeu_family_score(codes, [2, 2, 2], child, parents, 1.0)
        assert family(scorer, child, parents) == pytest.approx(expected, rel=1e-11)


def test_asia_data() -> None:
    data = bundled.asia()
    scorer = BDeu(equivalent_sample_size=10.0).bind(data)
    rng = np.random.default_rng(5)
    for child, parents in rng.permutation(np.array(all_families(8, 4), dtype=object))[:60]:
        expected = bdeu_family_score(data.codes, data.cardinalities, child, parents, 10.0)
        assert family(scorer, child, parents) == pytest.approx(expected, rel=1e-11, abs=1e-9)


@pytest.mark.parametrize("ess", [0, -1.0, float("nan"), float("inf")])
def test_impossible_sample_sizes(ess: float) -> None:
    with pytest.raises(OptionError, match=f"positive equivalent sample size, not {ess}"):
        BDeu(equivalent_sample_size=ess)


def test_settings_are_values() -> None:
    assert BDeu() == BDeu(equivalent_sample_size=1.0)
    assert BDeu().name == "bdeu"

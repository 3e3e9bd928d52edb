"""Sums over tables, against a listing of all joint levels."""

from itertools import product

import numpy as np
import pytest

from outpoint.errors import TooLargeError
from outpoint.graphs.layers import order_of
from outpoint.models import summing
from outpoint.models.summing import TableSums

SIZES = (2, 3, 2, 4, 1, 3)
N_SETS = 3


def random_tables(rng: np.random.Generator, dag: np.ndarray) -> summing.Tables:
    tables = {}
    for v, size in enumerate(SIZES):
        parents = tuple(np.flatnonzero(dag[:, v]).tolist())
        shares = rng.random((N_SETS, *(SIZES[u] for u in parents), size))
        tables[v] = parents, shares / shares.sum(axis=-1, keepdims=True)
    return tables


def listed(
    tables: summing.Tables, held: dict[int, int], wanted: int, *, cuts: bool = True
) -> np.ndarray:
    """The laws (set, level) of a variable; a wrong variant keeps the tables of what is set."""
    law = np.zeros((N_SETS, SIZES[wanted]))
    for state in product(*map(range, SIZES)):
        if all(state[v] == level for v, level in held.items()):
            share = np.ones(N_SETS)
            for v, (parents, table) in tables.items():
                if v not in held or not cuts:
                    share *= table[(slice(None), *(state[u] for u in parents), state[v])]
            law[:, state[wanted]] += share
    return law


@pytest.mark.parametrize("seed", range(6))
def test_laws_are_those_of_a_listing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dag = np.triu(rng.random((6, 6)) < 0.7, 1)
    names = rng.permutation(6)
    dag = dag[names][:, names]
    tables = random_tables(rng, dag)
    settings = {1: np.array([0.0, 2.0, 1.0]), 3: np.array([3.0, 0.0, 0.0])}
    order = [v for v in order_of(dag) if v not in settings]
    found = TableSums(tables).laws(order, settings, order)
    assert list(found) == order
    for v in order:
        for arm in range(3):
            held = {u: int(values[arm]) for u, values in settings.items()}
            right = listed(tables, held, v)
            np.testing.assert_allclose(found[v][:, arm], right, rtol=0, atol=1e-14)
    uncut = [listed(tables, {1: 0, 3: 3}, v, cuts=False) for v in order]
    assert (
        max(np.abs(one - found[v][:, 0]).max() for one, v in zip(uncut, order, strict=True)) > 0.1
    )


def test_variables_that_are_only_set_need_no_table() -> None:
    """Values before the first slice, and one array that serves several times."""
    shares = np.array([[[0.25, 0.75], [0.5, 0.5]]])
    sums = TableSums({0: ((-1,), shares), 1: ((0,), shares)})
    found = sums.laws([0, 1], {-1: np.array([0.0, 1.0]), -2: np.array([5.0, 5.0])}, {1})
    assert list(found) == [1]
    np.testing.assert_allclose(found[1][0], [[0.4375, 0.5625], [0.375, 0.625]], atol=1e-15)


def test_large_joint_laws_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of three parents are kept beside the third: 2 x 2 x 2 cells, for each of two arms."""
    half = np.full((1, 2), 0.5)
    collider = np.full((1, 2, 2, 2, 2), 0.5)
    tables = {0: ((), half), 1: ((), half), 2: ((), half), 3: ((0, 1, 2), collider)}
    sums, settings = TableSums(tables), {9: np.zeros(2)}
    monkeypatch.setattr(summing, "MOST_CELLS", 16)
    assert sums.laws([0, 1, 2, 3], settings, [3])[3].tolist() == [[[0.5, 0.5]] * 2]
    monkeypatch.setattr(summing, "MOST_CELLS", 15)
    with pytest.raises(TooLargeError, match="allow fewer parents"):
        sums.laws([0, 1, 2, 3], settings, [3])

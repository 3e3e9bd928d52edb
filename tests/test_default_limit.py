"""The default limit on parents where a score counts levels of parents: no more than rows can tell.

Exact and sampled runs, parts, holes, series and the best DAG all take it, and say that they did.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint.scores import BDeu, Blocks, ConditionalGaussian
from outpoint.scores.contingency import count_sensible_parents

REMARK = "at most {} parents, as more can have more joint levels than there are rows; "
SHORT: dict[str, Any] = {"seed": 1, "progress": False}
SAMPLED: dict[str, Any] = {**SHORT, "method": "mcmc", "chains": 2, "steps": 400}


def levels(n_columns: int, n_rows: int, shares: tuple[float, ...] = (0.5, 0.5)) -> pd.DataFrame:
    """Independent columns of categories."""
    rng = np.random.default_rng(1)
    codes = rng.choice(len(shares), size=(n_rows, n_columns), p=shares)
    return pd.DataFrame(
        np.array(list("abcdefgh"))[codes], columns=[f"x{v}" for v in range(n_columns)]
    )


TABLE = levels(8, 40)
"""Five columns have 32 joint levels, six have 64."""


def remarks(result: Any) -> list[str]:
    """What is said about the limit."""
    return [note for note in result.info.notes if note.startswith("at most")]


def said(limit: int) -> list[str]:
    """The only remark that there should be."""
    return [f"{REMARK.format(limit)}max_parents allows more"]


# The rule


@pytest.mark.parametrize(
    ("cardinalities", "n_rows", "limit"),
    [
        ([2] * 18, 127, 6),
        ([2] * 18, 128, 7),
        ([2] * 18, 200, 7),
        ([3] * 18, 200, 4),
        ([2, 9, 2, 2, 5, 2, 2, 2], 180, 4),  # 9 * 5 * 2 * 2
        ([2, 9, 2, 2, 5, 2, 2, 2], 179, 3),
        ([50] * 10, 200, 3),
        ([2] * 18, 1, 3),
        ([1] * 18, 5, None),
        ([2] * 8, 127, 6),
        ([2] * 8, 128, None),
        ([50] * 4, 5, None),
        ([], 5, None),
    ],
)
def test_the_largest_sets_that_rows_can_tell(
    cardinalities: list[int], n_rows: int, limit: int | None
) -> None:
    """Joint levels of the largest columns, at least 3; none where no child can have more."""
    assert count_sensible_parents(cardinalities, n_rows) == limit


def test_children_of_another_kind_can_have_them_all() -> None:
    assert count_sensible_parents([2] * 8, 128, is_child=False) == 7
    assert count_sensible_parents([2] * 8, 256, is_child=False) is None


def test_which_scores_have_one() -> None:
    mixed = TABLE.assign(y=np.random.default_rng(2).normal(size=40))
    both = op.load_dataset(mixed)
    one = op.load_dataset(TABLE)
    assert BDeu().bind(one).sensible_parents == 5
    assert ConditionalGaussian().bind(both).sensible_parents == 5
    assert ConditionalGaussian().bind(one).sensible_parents == 5
    for other in (op.BIC().bind(one), Blocks().bind(one), Blocks().bind(both)):
        assert other.sensible_parents is None
    custom = op.CustomScore(lambda child, parents: 0.0).bind(one)
    assert custom.sensible_parents is None


def test_interventions_leave_the_rows_of_the_node_that_has_fewest() -> None:
    data = op.load_dataset(TABLE, interventions=["x0"] * 30 + [""] * 10)
    assert BDeu().bind(data).sensible_parents == 3
    assert op.learn(data, **SHORT).info.max_parents == 3


def test_weights_count() -> None:
    """Rows that stand for several are as many."""
    weighted = TABLE.assign(n=4)
    assert op.learn(weighted, weights="n", **SHORT).info.max_parents == 7
    assert op.learn(weighted, drop="n", **SHORT).info.max_parents == 5


# What takes it


@pytest.mark.parametrize("options", [SHORT, SAMPLED], ids=["exact", "mcmc"])
def test_runs(options: dict[str, Any]) -> None:
    posterior = op.learn(TABLE, **options)
    assert posterior.info.max_parents == 5
    assert remarks(posterior) == said(5)


def test_the_best_dag() -> None:
    for method in ("exact", "search", "hill_climb"):
        found = op.find_map(TABLE, method=method, seed=1, progress=False)
        assert found.max_parents == 5
        assert remarks(found) == said(5)


def test_a_given_limit_wins() -> None:
    for limit in (2, 6, 7):
        posterior = op.learn(TABLE, max_parents=limit, **SHORT)
        assert posterior.info.max_parents == limit
        assert not remarks(posterior)
        assert op.find_map(TABLE, max_parents=limit).max_parents == limit


def test_the_same_posterior_as_with_the_limit_given() -> None:
    default, given = op.learn(TABLE, **SHORT), op.learn(TABLE, max_parents=5, **SHORT)
    pd.testing.assert_frame_equal(default.edge_probabilities, given.edge_probabilities)
    assert default.log_evidence == given.log_evidence


@pytest.mark.parametrize("n_roots", [1, 4, 7])
def test_parts(n_roots: int) -> None:
    """Also where the problem falls into parts; seven roots can be parents of the last variable."""
    roots = list(TABLE)[:n_roots]
    posterior = op.learn(TABLE, roots=roots, **SHORT)
    assert posterior.info.max_parents == 5
    assert remarks(posterior) == said(5)
    assert op.find_map(TABLE, roots=roots).max_parents == 5


def test_no_remark_where_nothing_is_excluded() -> None:
    """Two parts of four: nobody can have more than four parents and one beside."""
    first, second = list(TABLE)[:4], list(TABLE)[4:]
    apart = [(u, v) for u in first for v in second]
    apart += [(v, u) for u, v in apart]
    posterior = op.learn(TABLE, forbidden=apart, **SHORT)
    assert posterior.info.max_parents == 7
    assert not remarks(posterior)


def test_required_parents_are_always_allowed() -> None:
    required = [(name, "x7") for name in list(TABLE)[:6]]
    posterior = op.learn(TABLE, required=required, **SHORT)
    assert posterior.info.max_parents == 6
    assert remarks(posterior) == said(6)


def test_many_variables() -> None:
    """Beyond 20 variables it is the lower of the two limits."""
    wide = op.load_dataset(levels(22, 40))
    assert op.find_map(wide, runs=1, steps=100, seed=1).max_parents == 5
    long = op.load_dataset(levels(22, 3000))
    found = op.find_map(long, runs=1, steps=100, seed=1)
    assert found.max_parents == 10
    assert not remarks(found)


@pytest.mark.parametrize("method", ["exact", "mcmc"])
def test_holes(method: str) -> None:
    table = TABLE.astype(object)
    table.iloc[0, 0] = None
    options = {**SHORT, "method": method, "chains": 2, "steps": 8}
    posterior = op.learn(table, **options)
    assert posterior.info.max_parents == 5
    assert remarks(posterior) == said(5)


def test_series() -> None:
    """41 rows are 40 pairs of slices."""
    data = op.load_series(levels(4, 41))
    posterior = op.learn(data, **SHORT)
    assert posterior.info.max_parents == 5
    assert remarks(posterior) == said(5)


def test_runs_that_go_on(tmp_path: Path) -> None:
    """The limit is recorded, and a run keeps the one that it was begun with."""
    begun = op.learn(TABLE, out=tmp_path / "run", **SAMPLED)
    assert op.load(tmp_path / "run").info.max_parents == 5
    assert remarks(op.load(tmp_path / "run")) == said(5)
    more = op.learn(TABLE, out=tmp_path / "run", **{**SAMPLED, "steps": 800}, resume=True)
    assert more.info.max_parents == begun.info.max_parents
    wider = op.learn(TABLE, out=tmp_path / "wide", max_parents=7, **SAMPLED)
    more = op.learn(TABLE, out=tmp_path / "wide", **{**SAMPLED, "steps": 800}, resume=True)
    assert more.info.max_parents == wider.info.max_parents == 7


# What it is for


def test_independent_columns_have_few_edges() -> None:
    """Without a limit there are 54."""
    posterior = op.learn(levels(18, 200), **SHORT)
    assert posterior.info.max_parents == 7
    assert posterior.edge_probabilities.to_numpy().sum() < 2.5

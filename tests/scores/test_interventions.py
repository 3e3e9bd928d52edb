"""Scores of data in which variables were set: a node is scored by the rows it was not set in."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import outpoint as op
from outpoint.data import Dataset
from outpoint.data.interventions import sets_of_rows
from outpoint.errors import DataError, OptionError
from outpoint.graphs.blocks import compute_cpdags
from outpoint.graphs.validation import find_separated
from outpoint.model import prepare
from outpoint.options import Options
from outpoint.scores import FamilyScorer, bind_score
from outpoint.scores.binding import InterventionScorer, score_observed
from tests.reference import all_dags, gaussian_bic_family_score, subsets

from .helpers import dependent_codes, dependent_values, letters
from .prequential import (
    code_levels,
    predict_categorical,
    predict_conditional,
    predict_gaussian,
)

TARGETS = [(), ("a",), ("b", "c"), ("c",)]
ENTRIES = [TARGETS[i % 4] for i in range(40)]
CARDINALITIES = (2, 3, 2, 4)
Reference = Callable[[Dataset, np.ndarray, int, tuple[int, ...]], float]


def numbers() -> Dataset:
    values = dependent_values(np.random.default_rng(1), 40, 4)
    values[1::4, 0] = 5.0  # the same value at each intervention
    return Dataset(letters(4), values, interventions=ENTRIES)


def categories() -> Dataset:
    codes = dependent_codes(np.random.default_rng(2), 40, CARDINALITIES)
    levels = tuple(tuple(str(k) for k in range(r)) for r in CARDINALITIES)
    return Dataset(letters(4), codes, levels, interventions=ENTRIES)


def both_kinds() -> Dataset:
    """Levels of b that interventions bring alone, and values of a far from the others."""
    values = numbers().values.copy()
    values[:, 1] = dependent_codes(np.random.default_rng(3), 40, (2, 2))[:, 1]
    values[2::4, 1] = 2
    values[:, 3] = np.random.default_rng(4).integers(0, 2, 40)
    return Dataset(
        letters(4), values, (None, ("0", "1", "2"), None, ("0", "1")), interventions=ENTRIES
    )


def columns_of(data: Dataset, *, standardize: bool = True) -> list[np.ndarray]:
    """The columns of each node, coded and standardised over all rows."""
    values = data.standardized().values if standardize else data.values
    return [
        values[:, [v]] if levels is None else code_levels(values[:, v])
        for v, levels in enumerate(data.levels)
    ]


CASES: dict[str, tuple[op.scores.LocalScore, Callable[[], Dataset], Reference]] = {
    "bge": (
        op.BGe(),
        numbers,
        lambda data, rows, v, parents: predict_gaussian(columns_of(data), rows, v, parents),
    ),
    "raw bge": (
        op.BGe(standardize=False, alpha_mu=0.5),
        numbers,
        lambda data, rows, v, parents: predict_gaussian(
            columns_of(data, standardize=False), rows, v, parents, 0.5
        ),
    ),
    "bdeu": (
        op.BDeu(equivalent_sample_size=3.0),
        categories,
        lambda data, rows, v, parents: predict_categorical(
            data.codes, data.cardinalities.tolist(), rows, v, parents, 3.0
        ),
    ),
    "bic": (
        op.BIC(),
        numbers,
        lambda data, rows, v, parents: gaussian_bic_family_score(data.values[rows], v, parents),
    ),
    "blocks": (
        op.Blocks(),
        both_kinds,
        lambda data, rows, v, parents: predict_gaussian(columns_of(data), rows, v, parents),
    ),
    "conditional gaussian": (
        op.ConditionalGaussian(equivalent_sample_size=3.0),
        both_kinds,
        lambda data, rows, v, parents: predict_conditional(
            data.standardized().values, (0, 3, 0, 2), rows, v, parents, 3.0
        ),
    ),
}


def check(scorer: FamilyScorer, data: Dataset, reference: Reference) -> None:
    """All families against the reference on the rows in which the child was not set."""
    for child in range(data.n_nodes):
        rows = ~data.is_set[:, child]
        for parents in subsets(set(range(data.n_nodes)) - {child}):
            found = scorer.families(child, np.array([parents], dtype=np.int16))[0]
            assert found == pytest.approx(reference(data, rows, child, parents), abs=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_against_prediction_row_by_row(case):
    score, make, reference = CASES[case]
    check(score.bind(make()), make(), reference)


@pytest.mark.parametrize("case", CASES)
def test_scores_of_all_rows_are_caught(case):
    score, make, reference = CASES[case]
    data = make()
    with pytest.raises(AssertionError):
        check(score.bind(Dataset(data.names, data.values, data.levels)), data, reference)


class _Dropping(FamilyScorer):
    """Wrong: leaves out the rows in which any member of the family was set."""

    def __init__(self, score: op.scores.LocalScore, data: Dataset) -> None:
        self.n_nodes = data.n_nodes
        self._score, self._data = score, data

    def families(self, child: int, parents: np.ndarray) -> np.ndarray:
        out = []
        for row in parents:
            left = ~self._data.is_set[:, [child, *row]].any(axis=1)
            part = Dataset(self._data.names, self._data.take(left).values, self._data.levels)
            scorer = self._score.bind(part, allow_degenerate=True)
            out.append(scorer.families(child, row[None])[0])
        return np.array(out)


@pytest.mark.parametrize("case", CASES)
def test_leaving_out_rows_of_set_parents_is_caught(case):
    score, make, reference = CASES[case]
    data = make()
    if getattr(score, "standardize", False):  # units are not the question here
        score, data = replace(score, standardize=False), data.standardized()
    with pytest.raises(AssertionError):
        check(_Dropping(score, data), data, reference)


@pytest.mark.parametrize("case", CASES)
def test_tables_hold_what_families_say(case):
    score, make, _ = CASES[case]
    scorer = score.bind(make())
    for max_parents in (0, 2, 3):
        table = scorer.every_family(max_parents)
        with ThreadPoolExecutor(2) as pool:
            assert np.array_equal(table, scorer.every_family(max_parents, pool))
        plain = np.empty_like(table)
        FamilyScorer.fill_families(scorer, np.arange(4), max_parents, plain)
        np.testing.assert_allclose(table, plain, rtol=0, atol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_without_targets_nothing_changes(case):
    score, make, _ = CASES[case]
    data = make()
    plain = score.bind(Dataset(data.names, data.values, data.levels))
    same = score.bind(Dataset(data.names, data.values, data.levels, interventions=[""] * 40))
    assert type(same) is type(plain)
    assert not isinstance(plain, InterventionScorer)
    assert np.array_equal(plain.every_family(3), same.every_family(3))


def dag_scores(scorer: FamilyScorer) -> np.ndarray:
    families = {
        (v, parents): scorer.families(v, np.array([parents], dtype=np.int16))[0]
        for v in range(4)
        for parents in subsets(set(range(4)) - {v})
    }
    return np.array(
        [
            sum(families[v, tuple(np.flatnonzero(dag[:, v]).tolist())] for v in range(4))
            for dag in all_dags(4)
        ]
    )


@pytest.mark.parametrize("case", CASES)
def test_scores_are_equal_within_the_classes_of_the_targets(case):
    """All 543 DAGs: one score for each class, and the Markov equivalence classes split."""
    score, make, _ = CASES[case]
    data = make()
    scores = dag_scores(score.bind(data))
    separated = find_separated(data.names, TARGETS)
    classes = [graph.tobytes() for graph in compute_cpdags(all_dags(4), separated)]
    markov = [graph.tobytes() for graph in compute_cpdags(all_dags(4))]
    first: dict[bytes, float] = {}
    spread = {}
    for key, wider, value in zip(classes, markov, scores, strict=True):
        if value > -np.inf:  # no edge from a continuous to a categorical variable
            assert value == pytest.approx(first.setdefault(key, value), abs=1e-9)
            spread.setdefault(wider, []).append(value)
    assert max(np.ptp(values) for values in spread.values()) > 1.0


def test_rows_are_shared():
    """Nodes that were set in the same rows ask the same scorer, built once."""
    built = []
    score = op.BGe()

    def make(rows: np.ndarray) -> FamilyScorer:
        built.append(int(rows.sum()))
        return score.bind(Dataset(data.names, data.values[rows]))

    entries = [["a", "b"]] * 10 + [["c"]] * 5 + [[]] * 25
    data = Dataset(letters(4), numbers().values, interventions=entries)
    scorer = score_observed(data, make)
    assert sorted(built) == [30, 35, 40]
    assert scorer.of(0) is scorer.of(1)
    assert scorer.of(0) is not scorer.of(3)


def test_a_variable_that_was_always_set():
    data = Dataset(letters(4), numbers().values, interventions=[["b"]] * 40)
    scorer = op.BGe().bind(data)
    assert not scorer.every_family(3)[1].any()
    sentence = r"'b' was set in every row, .*nothing about its parents.*roots=\[\"b\"\], or go on"
    with pytest.raises(DataError, match=sentence):
        prepare(data, Options(structure_prior="uniform"))
    prepare(data, Options(structure_prior="uniform", allow_degenerate=True))
    prepare(data, Options(structure_prior="uniform", knowledge=op.Knowledge(roots=["b"])))


def test_edges_that_a_score_excludes_stay_excluded():
    """A categorical variable that was always set has no continuous parents all the same."""
    data = both_kinds()
    always = Dataset(data.names, data.values, data.levels, interventions=[["b"]] * 40)
    scorer = op.ConditionalGaussian().bind(always)
    parents = np.array([[0], [2], [3]], dtype=np.int16)
    assert scorer.families(1, parents).tolist() == [-np.inf, -np.inf, 0.0]


def test_scores_that_know_no_rows(tmp_path):
    data = numbers()
    op.write_jkl(tmp_path / "scores.jkl", Dataset(data.names, data.values))
    for score in (op.CustomScore(lambda v, s: 0.0), op.JklScore(tmp_path / "scores.jkl")):
        with pytest.raises(OptionError, match="knows nothing of the rows"):
            bind_score(score, data, allow_degenerate=False)
        with pytest.raises(OptionError, match="knows nothing of the rows"):
            op.learn(data, score=score)


def test_scores_in_files(tmp_path):
    """Scores of experiments can be written, and read by whoever has no rows."""
    data = numbers()
    op.write_jkl(tmp_path / "scores.jkl", data)
    plain = Dataset(data.names, data.values)
    there = op.JklScore(tmp_path / "scores.jkl").bind(plain).every_family(3)
    np.testing.assert_allclose(there, op.BGe().bind(data).every_family(3), atol=1e-6)


def test_bic_needs_values_that_differ_in_the_rows_it_uses():
    values = numbers().values.copy()
    values[:30, 2] = 1.0
    data = Dataset(letters(4), values, interventions=[[]] * 30 + [["a"]] * 10)
    with pytest.raises(DataError, match="'c' is constant in 30 rows"):
        op.BIC().bind(data)


@pytest.mark.parametrize("n_columns", [1, 7, 30])
def test_sets_of_rows_are_told_apart(n_columns):
    """Like NumPy's distinct rows, in the same order, whatever the numbers of rows and columns."""
    rng = np.random.default_rng(n_columns)
    for n_obs in (1, 8, 37, 300):
        different = rng.random((n_obs, 4)) < 0.3
        is_set = different[:, rng.integers(4, size=n_columns)]
        patterns, group = sets_of_rows(is_set)
        expected, numbers = np.unique(~is_set.T, axis=0, return_inverse=True)
        np.testing.assert_array_equal(patterns, expected)
        np.testing.assert_array_equal(group, numbers.ravel())


def test_fewer_parents_leave_the_scores_alone():
    """A model with a lower limit is the one that would have been made with it."""
    known = Options(forbidden=[("a", "b")], edge_prior=0.2, structure_prior="fair")
    wide = prepare(numbers(), replace(known, max_parents=3))
    narrow = prepare(numbers(), replace(known, max_parents=2))
    made = wide.with_parents(2)
    assert made.scorer is wide.scorer
    assert (made.max_parents, made.knowledge) == (2, narrow.knowledge)
    assert made.scores_digest == narrow.scores_digest != wide.scores_digest

"""Simulation-based calibration with interventions: parameters and data from the prior, then scores.

A DAG is drawn uniformly, parameters from the prior that the score stands for, rows from the model,
with some variables set from outside in some of them. Over such replications an edge is there, on
average, as often as its posterior probability says. The posterior is that of all DAGs on three
nodes that the model allows, listed. Scores that use all rows, or leave out those in which a parent
was set, are not calibrated; both are shown to be caught.

Levels never come from the Gaussian model of Blocks, and it is calibrated in two ways where that
does not matter. Its columns can be real numbers, several for a node, from its prior. And a
categorical variable may have children if it is known to have no parents: its own score is the same
in all DAGs then, and those of continuous children are regressions on its coded levels. The prior of
ConditionalGaussian is one of mixed data, and needs no such care.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

import outpoint as op
from outpoint.data import Dataset
from outpoint.scores import FamilyScorer
from outpoint.scores.base import LocalScore
from outpoint.scores.binding import score_observed
from outpoint.scores.gaussian import GaussianScorer
from tests.grids import covering, first
from tests.reference import all_dags, subsets

from .prequential import code_levels
from .priors import draw_blocks, draw_conditional, order_of

NAMES = ("a", "b", "c")
DAGS = all_dags(3)
ESS = 3.0
LIMIT = 4.5
"""Standard errors; at most 7 numbers are looked at, so a false alarm has probability 5e-5."""

FAMILIES = [(v, s) for v in range(3) for s in subsets(set(range(3)) - {v})]
Rows = Callable[[Dataset, int, tuple[int, ...]], np.ndarray]
Drawn = tuple[LocalScore, Dataset]
Draw = Callable[[np.ndarray, np.random.Generator], Drawn]

ENTRIES = [()] * 8 + [("a",)] * 16 + [("b", "c")] * 16
"""Every variable is set in some rows, and so often that wrong rows show.

Chosen for that among five designs: averages of edges say little where few rows are set, or set to
nearly one value. With 16 rows, BDeu of all of them stayed within 1.7 standard errors in 400 runs if
values were set to 1 with probability 0.95, and was 5.0 off in 600 runs with 0.7.
"""
N_OBS = len(ENTRIES)
IS_SET = np.array([[name in entry for name in NAMES] for entry in ENTRIES])


def not_set(data: Dataset, child: int, parents: tuple[int, ...]) -> np.ndarray:
    """The right rows."""
    return ~data.is_set[:, child]


def all_rows(data: Dataset, child: int, parents: tuple[int, ...]) -> np.ndarray:
    return np.ones(data.n_obs, dtype=bool)


def no_member_set(data: Dataset, child: int, parents: tuple[int, ...]) -> np.ndarray:
    return ~data.is_set[:, [child, *parents]].any(axis=1)


def no_parent_set(data: Dataset, child: int, parents: tuple[int, ...]) -> np.ndarray:
    """Children of what was set are left out instead of what was set."""
    return ~data.is_set[:, list(parents)].any(axis=1)


def draw_numbers(dag: np.ndarray, rng: np.random.Generator) -> Drawn:
    """Coefficients, means and variances from the prior of BGe (alpha_mu = 1, alpha_w = 5)."""
    t = 0.5
    values = np.empty((N_OBS, 3))
    for v in order_of(dag):
        parents = np.flatnonzero(dag[:, v])
        variance = t / 2 / rng.standard_gamma((2 + len(parents) + 1) / 2)
        slopes = rng.normal(size=len(parents)) * np.sqrt(variance / t)
        mean = rng.normal() * np.sqrt(variance)
        noise = rng.normal(size=N_OBS) * np.sqrt(variance)
        natural = mean + values[:, parents] @ slopes + noise
        values[:, v] = np.where(IS_SET[:, v], 2 + rng.normal(size=N_OBS), natural)
    return op.BGe(standardize=False), Dataset(NAMES, values, interventions=ENTRIES)


def draw_categories(dag: np.ndarray, rng: np.random.Generator) -> Drawn:
    """Tables from the prior of BDeu: Dirichlet(e / (q r)) for each configuration of the parents."""
    codes = np.empty((N_OBS, 3), dtype=int)
    for v in order_of(dag):
        parents = np.flatnonzero(dag[:, v])
        q = 2 ** len(parents)
        chance = rng.beta(*[ESS / (2 * q)] * 2, size=q)
        natural = rng.random(N_OBS) < chance[codes[:, parents] @ (1 << np.arange(len(parents)))]
        codes[:, v] = np.where(IS_SET[:, v], rng.random(N_OBS) < 0.5, natural)
    data = Dataset(NAMES, codes, (("0", "1"),) * 3, interventions=ENTRIES)
    return op.BDeu(equivalent_sample_size=ESS), data


SIZES = (1, 2, 3)


@dataclass(frozen=True)
class GivenColumns:
    """Blocks without the coding: node v owns ``SIZES[v]`` of these columns."""

    columns: np.ndarray
    name: str = "given-columns"

    def bind(self, data: Dataset, *, allow_degenerate: bool = False) -> FamilyScorer:
        start, prior = np.cumsum([0, *SIZES]), op.Blocks(standardize=False)
        return score_observed(
            data, lambda rows: GaussianScorer(self.columns[rows], start, prior, np.ones(3))
        )


def draw_columns(dag: np.ndarray, rng: np.random.Generator) -> Drawn:
    """Real numbers in the place of coded levels; the data have one column of each node."""
    columns = draw_blocks(rng, dag, SIZES, IS_SET, 1.0)
    data = Dataset(NAMES, columns[:, [0, 1, 3]], interventions=ENTRIES)
    return GivenColumns(columns), data


def draw_treatment(dag: np.ndarray, rng: np.random.Generator) -> Drawn:
    """b has three levels, all as frequent, and a and c follow its coded levels."""
    levels = rng.permutation(np.arange(N_OBS) % 3)
    columns = draw_blocks(rng, dag, (1, 2, 1), IS_SET, 1.0, {1: code_levels(levels)})
    values = np.column_stack([columns[:, 0], levels, columns[:, 3]])
    kinds = (None, ("0", "1", "2"), None)
    return op.Blocks(standardize=False), Dataset(NAMES, values, kinds, interventions=ENTRIES)


def draw_both_kinds(cardinalities: tuple[int, ...]) -> Draw:
    """Tables and, for each state of categorical parents, regressions."""
    kinds = tuple(tuple(str(k) for k in range(r)) if r else None for r in cardinalities)

    def draw(dag: np.ndarray, rng: np.random.Generator) -> Drawn:
        values = draw_conditional(rng, dag, cardinalities, IS_SET, 1.0, ESS)
        score = op.ConditionalGaussian(standardize=False, equivalent_sample_size=ESS)
        return score, Dataset(NAMES, values, kinds, interventions=ENTRIES)

    return draw


WHERE_B_IS_A_ROOT = DAGS[~DAGS[:, :, 1].any(axis=1)]
WHERE_C_IS_A_LEAF = DAGS[~DAGS[:, 2].any(axis=1)]
MODELS: dict[str, tuple[Draw, np.ndarray]] = {
    "bge": (draw_numbers, DAGS),
    "bdeu": (draw_categories, DAGS),
    "blocks of numbers": (draw_columns, DAGS),
    "blocks, b of three levels": (draw_treatment, WHERE_B_IS_A_ROOT),
    "conditional gaussian, b of two levels": (draw_both_kinds((0, 2, 0)), WHERE_B_IS_A_ROOT),
    "conditional gaussian, a and b of levels": (draw_both_kinds((2, 3, 0)), WHERE_C_IS_A_LEAF),
}


def edge_probabilities(
    score: LocalScore, data: Dataset, rows: Rows, dags: np.ndarray
) -> np.ndarray:
    """From the scorer itself, which for other rows than the right ones is told wrong targets."""
    right = score.bind(data, allow_degenerate=True)
    known: dict[bytes, FamilyScorer] = {}
    scores = {}
    for v, parents in FAMILIES:
        scorer = right
        if rows is not not_set:
            used = rows(data, v, parents)
            if used.tobytes() not in known:
                wrong = [() if one else NAMES for one in used]
                told = Dataset(NAMES, data.values, data.levels, interventions=wrong)
                known[used.tobytes()] = score.bind(told, allow_degenerate=True)
            scorer = known[used.tobytes()]
        scores[v, parents] = scorer.families(v, np.array([parents], dtype=np.int16))[0]
    totals = [
        sum(scores[v, tuple(np.flatnonzero(dag[:, v]).tolist())] for v in range(3)) for dag in dags
    ]
    weights = np.exp(np.array(totals) - max(totals))
    return np.tensordot(weights / weights.sum(), dags, axes=1)


def largest_gap(model: str, rows: Rows, n_runs: int) -> float:
    """Indicators minus probabilities, in standard errors: of each edge and of their number."""
    draw, dags = MODELS[model]
    rng = np.random.default_rng(11)
    gaps = []
    for _ in range(n_runs):
        dag = dags[rng.integers(len(dags))]
        found = edge_probabilities(*draw(dag, rng), rows, dags)
        gaps.append((dag - found)[dags.any(axis=0)])
    sums = np.column_stack([gaps, np.sum(gaps, axis=1)])
    errors = sums.std(axis=0, ddof=1) / np.sqrt(n_runs)
    return float(np.abs(sums.mean(axis=0) / errors).max())


@pytest.mark.parametrize("model", first(MODELS, 3))
def test_calibrated(model):
    assert largest_gap(model, not_set, 400) < LIMIT


@pytest.mark.long
@pytest.mark.parametrize("model", MODELS)
def test_calibrated_over_many_runs(model):
    assert largest_gap(model, not_set, 10_000) < LIMIT


WRONG_ROWS = [(all_rows, 600), (no_parent_set, 150), (no_member_set, 150)]


@pytest.mark.parametrize(
    ("wrong", "model"),
    [*covering(WRONG_ROWS, list(MODELS)[:3]), *first(product(WRONG_ROWS, list(MODELS)[3:]), 0)],
)
def test_other_rows_are_not_calibrated(model, wrong):
    rows, n_runs = wrong
    assert largest_gap(model, rows, n_runs) > LIMIT

"""Series with holes against sums and integrals over what is missing, each value counted once.

The gold standards complete the *series*, read the completed series, and score it. What they know of
a table of slices is that of ``load_series`` for complete series; the law of values before the first
slices is written down here again. Seeds are fixed; tolerances are at least five standard errors of
the chains' means, and the wrong variants are off by more.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint.augmentation import prepare_completed
from outpoint.exact import ExactSolution, solve
from outpoint.missing import AugmentedChain, Solved, make_cells
from outpoint.missing.categorical import draw_levels
from outpoint.model import prepare
from outpoint.options import LEARN, Options
from outpoint.processors import limited_threads
from outpoint.scores import BDeu, BGe, Blocks, ConditionalGaussian, LocalScore, note_holes
from tests.reference import bdeu_family_score, bge_family_score, log_sum_exp

TOLERANCE = 0.04
LEVEL_TOLERANCE = 0.075
N_TABLES = 800
READING: dict[str, Any] = {"time": "time", "subject": "subject", "static": ["s"]}


@pytest.fixture(autouse=True)
def single_thread() -> Iterator[None]:
    with limited_threads(1):
        yield


def levels_frame(seed: int) -> pd.DataFrame:
    """Two binary variables and a static one, of three subjects, one of them with a gap."""
    rng = np.random.default_rng(seed)
    rows = []
    for subject in range(3):
        static, x, y = rng.integers(2, size=3)
        for time in range(7):
            x = x if rng.random() < 0.85 else 1 - x
            y = y if rng.random() < 0.85 else 1 - y
            rows.append((subject, time, x, y, static))
    frame = pd.DataFrame(rows, columns=["subject", "time", "x", "y", "s"])
    frame = frame[(frame.subject != 1) | (frame.time != 3)].reset_index(drop=True)
    for name in "xys":
        frame[name] = pd.Categorical(frame[name].map({0: "no", 1: "yes"}), ["no", "yes"])
    return frame


HOLES = [(0, 0, "x"), (0, 3, "x"), (0, 6, "y"), (1, 1, "x"), (1, 1, "y")]
"""Subject, time and variable: a first value, a last one, and two of one time."""


MIXED_HOLES = [(0, 0, "y"), (0, 3, "y"), (1, 1, "y"), (1, 6, "y")]


def mixed_frame(seed: int) -> pd.DataFrame:
    """The same with numbers for x, which follow y and their own past."""
    frame = levels_frame(seed)
    rng = np.random.default_rng(seed + 100)
    frame["x"] = rng.normal(size=len(frame)) + 1.5 * (frame["y"] == "yes")
    frame["x"] += 0.6 * frame.groupby("subject")["x"].shift(1, fill_value=0.0)
    return frame


def with_holes(
    frame: pd.DataFrame, holes: Sequence[tuple[int, int, str]] = tuple(HOLES)
) -> pd.DataFrame:
    holed = frame.copy()
    for subject, time, name in holes:
        holed.loc[(holed.subject == subject) & (holed.time == time), name] = np.nan
    holed.loc[holed.subject == 2, "s"] = np.nan
    return holed


def completions(holed: pd.DataFrame, lags: int) -> Iterator[op.Dataset]:
    """All completions of the series, as tables of slices."""
    places = [(row, "x") for row in np.flatnonzero(holed["x"].isna())]
    places += [(row, "y") for row in np.flatnonzero(holed["y"].isna())]
    for levels in product(["no", "yes"], repeat=len(places) + 1):
        frame = holed.copy()
        for (row, name), level in zip(places, levels, strict=False):
            frame.loc[frame.index[row], name] = level
        frame.loc[frame.subject == 2, "s"] = levels[-1]
        yield op.load_series(frame, **READING, lags=lags, allow_degenerate=True)


def given_rows(data: op.Dataset, starts: list[int], subjects: list[int]) -> Iterator[Any]:
    """Given columns from the first of their order on, each with its new rows and those before."""
    assert data.slices is not None
    order = ["s", *(f"{v}[-{lag}]" for lag in range(data.slices.lags, 0, -1) for v in "xy")]
    columns = [data.index(name) for name in order]
    for i, v in enumerate(columns):
        yield v, columns[:i], (subjects if order[i] == "s" else starts)


def log_beginning(
    data: op.Dataset,
    starts: list[int],
    subjects: list[int],
    family: Callable[[np.ndarray, list[int], int, tuple[int, ...]], float],
) -> float:
    """Log probability of the new given values: at most two parents each, with a fair prior."""
    total = 0.0
    for v, before, rows in given_rows(data, starts, subjects):
        logs = []
        for size in range(min(len(before), 2) + 1):
            sets = list(combinations(before, size))
            logs += [family(data.values, rows, v, one) - np.log(len(sets)) for one in sets]
        total += log_sum_exp(logs)
    return total


class Gold:
    """All completions of a series whose missing values are levels, with the posterior of each.

    Of categorical series both are computed anew, of others by the scores of completed tables.
    """

    def __init__(self, holed: pd.DataFrame, score: LocalScore, lags: int = 1) -> None:
        self.data = op.load_series(holed, **READING, lags=lags, allow_degenerate=True)
        self.score = score
        assert self.data.slices is not None
        assert self.data.slices.origin is not None
        subject, place = self.data.slices.origin.T
        starts = np.flatnonzero(np.diff(place, prepend=-9) != 1).tolist()
        starts = sorted({*starts, *np.unique(subject, return_index=True)[1].tolist()})
        subjects = np.unique(subject, return_index=True)[1].tolist()
        self._options = Options.read(LEARN, {"score": score, "allow_degenerate": True})
        self._cells = make_cells(self.data, score)
        self.solved: dict[bytes, ExactSolution] = {}
        logs, cells = [], []
        for data in completions(holed, lags):
            values = self._cells.data.values.copy()
            values[self.data.missing] = data.values[self.data.missing]
            found = self._solve(data, values)
            self.solved[values.tobytes()] = found
            cells.append(values[self.data.missing])
            beginning = log_beginning(replace(data, values=values), starts, subjects, self._family)
            logs.append(found.log_evidence + beginning)
        weights = np.exp(np.array(logs) - log_sum_exp(logs))
        self.edges = np.tensordot(weights, [one.edges for one in self.solved.values()], axes=1)
        self.levels = weights @ np.array(cells)

    def _solve(self, data: op.Dataset, values: np.ndarray) -> ExactSolution:
        if isinstance(self.score, BDeu):
            return solve(prepare(data, self._options).problem.tabulate(data.n_nodes - 1))
        model = prepare_completed(self.data, self._options)
        model = replace(model, scorer=self._cells.scorer(values))
        return solve(model.problem.tabulate(data.n_nodes - 1))

    def _family(
        self, values: np.ndarray, rows: list[int], v: int, parents: tuple[int, ...]
    ) -> float:
        if isinstance(self.score, BDeu):
            codes = values[rows].astype(int)
            return bdeu_family_score(codes, [2] * codes.shape[1], v, parents, 1.0)
        scorer = self._cells.score_rows(values, np.isin(np.arange(len(values)), rows))
        return float(scorer.families(v, np.array([parents], dtype=np.int16))[0])

    def errors(self, n_tables: int, kind: str = "right") -> tuple[float, float]:
        """The largest errors of edges and of missing levels by the chain of the package."""
        edges, levels = self.sampled(n_tables, kind)
        of_edges = np.abs(edges - self.edges).max()
        return float(of_edges), float(np.abs(levels - self.levels).max())

    def sampled(self, n_tables: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
        """Mean edges and levels of the chain of the package, or of one that draws wrongly."""
        solved, cells = self.solved, make_cells(self.data, self.score)
        sizes = np.full(self.data.n_nodes, 2)
        every = cells.unknowns
        alone = make_cells(replace(self.data, slices=None), self.score)
        now = np.isin(np.arange(len(sizes)), [self.data.index(name) for name in "xy"])

        def wrong(values: np.ndarray, dag: np.ndarray, rng: np.random.Generator) -> None:
            if kind == "lagged copies on their own":
                alone.draw(values, dag, rng)
                every.agree(values)
                return
            codes = values.astype(np.int64)
            if kind == "later children ignored":
                own = every.of(now)  # in the slice of its own time alone
                keep = now[own.nodes]
                first = np.arange(keep.sum() + 1)
                parts = (part[keep] for part in (own.rows, own.nodes, own.shifts, own.slopes))
                own = type(own)(first, *parts, first[:-1], first[:-1])  # type: ignore[arg-type]
                draw_levels(codes, own, dag, cells.is_used, sizes, 1.0, rng)
            if kind == "beginnings without a law":
                draw_levels(codes, every, dag, ~cells.data.is_set & now, sizes, 1.0, rng)
            values[cells.missing] = codes[cells.missing]
            every.agree(values)

        if kind != "right":
            cells.redraw = wrong  # type: ignore[method-assign]
        cells.scorer = lambda values: values.tobytes()  # type: ignore[assignment, method-assign, return-value]

        class LookedUp:
            def solve(self, scorer: object, dag: np.ndarray, seed: int) -> Solved:
                one = solved[scorer]  # type: ignore[index]
                dags, scores = one.draw(1, seed)
                return Solved(one.edges, one.ancestors, dags, scores, dags[0], one.log_evidence)

        chain = AugmentedChain(cells, LookedUp(), 20, np.random.SeedSequence(3))
        chain.advance(20)
        levels = []
        for _ in range(n_tables):
            chain.advance(1)
            levels.append(chain._values[cells.missing])
        return np.mean(chain.edges, axis=0), np.mean(levels, axis=0)


@pytest.fixture(scope="module")
def gold() -> Gold:
    with limited_threads(1):
        return Gold(with_holes(levels_frame(1)), BDeu())


def test_levels_summed_over_all_completions(gold: Gold) -> None:
    of_edges, of_levels = gold.errors(N_TABLES)
    assert of_edges < TOLERANCE
    assert of_levels < LEVEL_TOLERANCE


@pytest.mark.long
def test_two_lags() -> None:
    of_edges, of_levels = Gold(with_holes(levels_frame(2)), BDeu(), lags=2).errors(5000)
    assert of_edges < TOLERANCE / 2
    assert of_levels < LEVEL_TOLERANCE / 2


@pytest.mark.parametrize(
    "kind", ["lagged copies on their own", "later children ignored", "beginnings without a law"]
)
def test_wrong_variants_are_caught(gold: Gold, kind: str) -> None:
    of_edges, of_levels = gold.errors(N_TABLES, kind)
    assert of_edges > TOLERANCE or of_levels > LEVEL_TOLERANCE


@pytest.fixture(
    scope="module",
    params=[Blocks(), pytest.param(ConditionalGaussian(), marks=pytest.mark.long)],
    ids=["blocks", "conditional-gaussian"],
)
def mixed(request: pytest.FixtureRequest) -> Gold:
    with limited_threads(1):
        return Gold(with_holes(mixed_frame(1), MIXED_HOLES), request.param)


def test_levels_beside_numbers(mixed: Gold) -> None:
    of_edges, of_levels = mixed.errors(N_TABLES)
    assert of_edges < TOLERANCE
    assert of_levels < LEVEL_TOLERANCE


def test_wrong_draws_beside_numbers_are_caught(mixed: Gold) -> None:
    of_edges, of_levels = mixed.errors(N_TABLES, "lagged copies on their own")
    assert of_edges > TOLERANCE or of_levels > LEVEL_TOLERANCE


def integrate(seed: int, n_points: int) -> tuple[op.Dataset, np.ndarray, np.ndarray]:
    """A series of two numbers, the first and a later value missing: edges and both by quadrature.

    Columns of slices are scaled by the values that were observed in them.
    """
    rng = np.random.default_rng(seed)
    x = np.cumsum(rng.normal(size=9))
    y = x + 0.7 * rng.normal(size=9)
    series = np.column_stack([x, y])
    holes = series.copy()
    holes[0, 0] = holes[4, 1] = np.nan
    data = op.load_series(pd.DataFrame(holes, columns=["x", "y"]))
    mean, scale = np.nanmean(data.values, axis=0), np.nanstd(data.values, axis=0, ddof=1)
    points = np.sinh(np.linspace(-3.0, 3.0, n_points))
    widths = np.cosh(np.linspace(-3.0, 3.0, n_points))
    asked = Options.read(LEARN, {"score": BGe(standardize=False)})
    logs, edges, drawn = [], [], []
    for i, j in product(range(n_points), repeat=2):
        series[0, 0] = mean[2] + scale[2] * points[i]
        series[4, 1] = mean[1] + scale[1] * points[j]
        values = (np.hstack([series[1:], series[:-1]]) - mean) / scale
        found = solve(prepare(replace(data, values=values), asked).problem.tabulate(3))
        beginning = log_sum_exp([bge_family_score(values[:1], 2, ())])
        of_y = [bge_family_score(values[:1], 3, own) for own in ((), (2,))]
        logs.append(found.log_evidence + beginning + log_sum_exp(of_y))
        logs[-1] += np.log(widths[i] * widths[j])
        edges.append(found.edges)
        drawn.append([series[0, 0], series[4, 1]])
    weights = np.exp(np.array(logs) - log_sum_exp(logs))
    return data, np.tensordot(weights, np.array(edges), axes=1), weights @ np.array(drawn)


@pytest.mark.parametrize("seed", [8, pytest.param(9, marks=pytest.mark.long)])
def test_numbers_integrated(seed: int) -> None:
    data, gold_edges, gold_means = integrate(seed, 21)
    post = op.learn(data, "bge", seed=3, warmup=20, steps=400, threads=1, chains=2)
    assert np.abs(post.edge_probabilities.to_numpy() - gold_edges).max() < 1.5 * TOLERANCE
    tables = [post.completed(k) for k in range(post.n_completed)]
    first = np.array([table["x[-1]"].iloc[0] for table in tables])
    later = np.array([table["y"].iloc[3] for table in tables])
    np.testing.assert_allclose(later, [table["y[-1]"].iloc[4] for table in tables], rtol=1e-12)
    for found, gold in zip((first, later), gold_means, strict=True):
        assert abs(found.mean() - gold) < 5 * found.std() / np.sqrt(len(tables) / 2)


@pytest.mark.long
def test_sampled_slices_agree_with_exact_ones() -> None:
    """As beyond 16 variables, where nothing else is left; about five standard errors."""
    frame = op.simulate_series(
        op.Dag.from_edges(["x", "y", "x[-1]", "y[-1]"], [("x[-1]", "x"), ("x", "y")]), 40, 2
    ).drop(columns="time")
    data = op.load_series(frame.mask(np.random.default_rng(3).random(frame.shape) < 0.1))
    options: dict[str, Any] = {"seed": 1, "warmup": 10, "steps": 400, "chains": 2}
    exact, sampled = (op.learn(data, **options, method=how) for how in ("exact", "mcmc"))
    assert (exact.method, sampled.method) == ("augment", "augment+mcmc")
    assert (exact.edge_probabilities - sampled.edge_probabilities).abs().to_numpy().max() < 0.1
    sampled_effects = sampled.effects_over_time(1)
    assert len(sampled_effects) == len(exact.effects_over_time(1))


def test_a_column_that_is_mostly_empty_is_named_once() -> None:
    """By the name that it is read by, which its lagged copies do not have."""
    frame = pd.DataFrame(np.random.default_rng(1).normal(size=(60, 2)), columns=["x", "y"])
    frame.loc[frame.index % 4 > 0, "y"] = np.nan
    notes = note_holes(op.load_series(frame))
    assert len(notes) == 2
    assert notes[1].startswith("'y' lacks 76% of its values")
    assert notes[1].endswith('leave it out with drop=["y"]')

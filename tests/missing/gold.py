"""Gold standards: the posterior of a table with holes, by summing or integrating them out."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np

from outpoint.augmentation import prepare_completed
from outpoint.data import Dataset
from outpoint.exact import ExactSolution, solve
from outpoint.missing import AugmentedChain, Cells, Solved, make_cells
from outpoint.model import prepare
from outpoint.options import LEARN, Options
from outpoint.scores import BGe, LocalScore


def make_table(
    seed: int, n_obs: int, n_missing: int, sizes: tuple[int, ...] = (2, 2, 2, 2)
) -> Dataset:
    """Levels of a chain of variables, some of them missing, no row and no column empty."""
    rng = np.random.default_rng(seed)
    n = len(sizes)
    values = np.zeros((n_obs, n))
    for v, size in enumerate(sizes):
        noise = rng.integers(size, size=n_obs)
        copied = (rng.random(n_obs) < 0.75) & (v > 0)
        values[:, v] = np.where(copied, values[:, v - 1], noise) % size
    rows = rng.permutation(n_obs)[: max(4, n_missing // 2)]
    places = rng.permutation([(row, v) for row in rows for v in range(n - 1)])[:n_missing]
    values[places[:, 0], places[:, 1]] = np.nan
    names = tuple("abcdef"[:n])
    levels = tuple(tuple(f"l{k}" for k in range(size)) for size in sizes)
    return Dataset(names, values, levels)


def make_mixed(seed: int) -> Dataset:
    """Two continuous columns and two with three and two levels, five levels missing."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(20, 4))
    values[:, 1] = np.arange(20) % 3
    values[:, 2] = (values[:, 0] + values[:, 1] + rng.normal(size=20) > 1).astype(float)
    values[:, 3] += values[:, 2]
    for row, v in [(2, 1), (5, 1), (5, 2), (9, 2), (12, 2)]:
        values[row, v] = np.nan
    return Dataset(("x", "k", "l", "y"), values, (None, ("a", "b", "c"), ("no", "yes"), None))


class Completions:
    """All completions of a table whose missing cells are levels, each with its exact posterior."""

    def __init__(self, data: Dataset, score: LocalScore) -> None:
        self.data, self.score = data, score
        self.cells = make_cells(data, score)
        self._model = prepare_completed(data, Options.read(LEARN, {"score": score}))
        self._solved: dict[bytes, ExactSolution] = {}
        columns = np.nonzero(data.missing)[1]
        for levels in product(*[range(len(data.levels[v] or ())) for v in columns]):
            values = self.cells.data.values.copy()
            values[data.missing] = levels
            scorer = self.cells.scorer(values)
            table = replace(self._model, scorer=scorer).problem.tabulate(data.n_nodes - 1)
            self._solved[values.tobytes()] = solve(table)

    def _weights(self) -> np.ndarray:
        log_weights = np.array([one.log_evidence for one in self._solved.values()])
        weights = np.exp(log_weights - log_weights.max())
        return weights / weights.sum()

    def answers(self) -> tuple[np.ndarray, float]:
        """Edge probabilities, every completion weighed by its evidence, and its mean logarithm."""
        found = self._solved.values()
        edges = np.tensordot(self._weights(), np.array([one.edges for one in found]), axes=1)
        return edges, float(self._weights() @ [one.log_evidence for one in found])

    def sampled(
        self, n_tables: int, seed: int, redraw: Callable[..., None] | None = None
    ) -> tuple[np.ndarray, float]:
        """The same by the chain of the package, or by one that draws cells otherwise."""
        solved = self._solved
        cells: Cells = make_cells(self.data, self.score)
        cells.scorer = lambda values: values.tobytes()  # type: ignore[assignment, method-assign, return-value]
        if redraw is not None:
            cells.redraw = redraw  # type: ignore[method-assign]

        class LookedUp:
            def solve(self, scorer: object, dag: np.ndarray, seed: int) -> Solved:
                one = solved[scorer]  # type: ignore[index]
                dags, scores = one.draw(1, seed)
                return Solved(one.edges, one.ancestors, dags, scores, dags[0], one.log_evidence)

        chain = AugmentedChain(cells, LookedUp(), 50, np.random.SeedSequence(seed))
        chain.advance(50 + n_tables)
        return np.mean(chain.edges, axis=0), float(np.mean([score for _, score in chain.best]))


def integrate_gaussian(seed: int, n_points: int = 31) -> tuple[Dataset, np.ndarray]:
    """Three Gaussian columns with two missing cells, and edges by quadrature over both."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(7, 3))
    values[:, 1] += 1.5 * values[:, 0]
    values[:, 2] += 1.5 * values[:, 1]
    values[2, 1] = values[4, 0] = np.nan
    data = Dataset(("a", "b", "c"), values)
    scaled = (values - np.nanmean(values, axis=0)) / np.nanstd(values, axis=0, ddof=1)
    grid = np.linspace(-3.0, 3.0, n_points)
    points = list(zip(np.sinh(grid), np.cosh(grid), strict=True))
    asked = Options.read(LEARN, {"score": BGe(standardize=False)})
    log_weights, edges = [], []
    for (x, dx), (y, dy) in product(points, repeat=2):
        scaled[2, 1], scaled[4, 0] = x, y
        found = solve(prepare(Dataset(data.names, scaled), asked).problem.tabulate(2))
        log_weights.append(found.log_evidence + np.log(dx * dy))
        edges.append(found.edges)
    weights = np.exp(np.array(log_weights) - max(log_weights))
    return data, np.tensordot(weights / weights.sum(), np.array(edges), axes=1)

"""Missing cells of conditional Gaussian networks: parameters given the DAG, then cell by cell.

Parameters of all families are drawn from their posterior given the completed table. Rows are then
independent, so that a column is drawn in all rows at once, given the other columns. A level has a
probability proportional to the density of its own family and of its children's families at that
level. A number x has a normal law: with its own family normal(m, s), and children with residuals
r - b x of variance s_c, the precision is 1/s + sum b^2/s_c and the mean that times
m/s + sum b r/s_c.

Formulas: docs/math.md#missing-values.
"""

from typing import Any

import numpy as np

from outpoint.arrays import Booleans, Floats
from outpoint.data import Dataset
from outpoint.missing.cells import Cells
from outpoint.models.model import NetworkModel
from outpoint.models.network import Network
from outpoint.models.regression import DrawnRegression


class ConditionalCells(Cells):
    """Missing cells of both kinds under the conditional Gaussian score."""

    def __init__(self, data: Dataset, score: Any) -> None:
        super().__init__(data, score)
        self._rows = {
            int(v): np.flatnonzero(self.missing[:, v])
            for v in np.flatnonzero(self.missing.any(axis=0))
        }

    def redraw(self, values: Floats, dag: Booleans, rng: np.random.Generator) -> None:
        """Draw parameters, then all missing cells column by column, in place."""
        model = NetworkModel.from_score(self.score, self.complete(values), self.data)
        assert model is not None
        network = model.sample_parameters(dag, rng)
        for v, rows in self._rows.items():
            children = np.flatnonzero(dag[v]).tolist()
            block = values[rows]
            is_free = ~self.data.is_set[rows]
            if self.data.levels[v] is None:
                values[rows, v] = _draw_numbers(network, block, v, children, is_free, rng)
            else:
                values[rows, v] = _draw_levels(network, block, v, children, is_free, rng)


def _draw_levels(
    network: Network,
    block: Floats,
    v: int,
    children: list[int],
    is_free: Booleans,
    rng: np.random.Generator,
) -> Floats:
    """Levels of v in rows of which everything else is known."""
    n_levels = len(network.coding.levels[v] or ())
    logs = np.zeros((len(block), n_levels))
    for level in range(n_levels):
        block[:, v] = level
        logs[:, level] = network.families[v][0].log_density(block)
        for child in children:
            density = network.families[child][0].log_density(block)
            logs[:, level] += np.where(is_free[:, child], density, 0.0)
    return np.argmax(logs + rng.gumbel(size=logs.shape), axis=1).astype(np.float64)


def _draw_numbers(
    network: Network,
    block: Floats,
    v: int,
    children: list[int],
    is_free: Booleans,
    rng: np.random.Generator,
) -> Floats:
    """Numbers of v in rows of which everything else is known."""
    own = network.families[v][0]
    assert isinstance(own, DrawnRegression)
    block[:, v] = 0.0
    mean, variance = own.locations(block)
    precision, pull = 1.0 / variance, mean / variance
    for child in children:
        part = network.families[child][0]
        assert isinstance(part, DrawnRegression)
        slope = part.slopes[part.states.number(block), part.parents.index(v)]
        at_zero, noise = part.locations(block)
        free = is_free[:, child] / noise
        precision += free * slope**2
        pull += free * slope * (block[:, child] - at_zero)
    return np.asarray(pull / precision + rng.standard_normal(len(block)) / np.sqrt(precision))

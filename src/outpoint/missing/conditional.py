"""Missing cells of conditional Gaussian networks: parameters given the DAG, then cell by cell.

Parameters of all families are drawn from their posterior given the completed table. Rows are then
independent, so that a column is drawn in all rows at once, given the other columns. A level has a
probability proportional to the density of its own family and of its children's families at that
level. A number x has a normal law: with its own family normal(m, s), and children with residuals
r - b x of variance s_c, the precision is 1/s + sum b^2/s_c, and the mean times the precision is
m/s + sum b r/s_c. A value of a series that stands in several rows has the product over these, and
what stands in one row is drawn in turn.

Formulas: docs/math.md#missing-values.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from outpoint.arrays import Booleans, Floats, Integers
from outpoint.data import Dataset
from outpoint.missing.cells import Cells
from outpoint.models.conditionals import DrawnRegression
from outpoint.models.model import NetworkModel, RowStatistics
from outpoint.models.network import Network


class _Turn(NamedTuple):
    """Unknowns that are drawn at once: for each node that holds them, which ones, and where."""

    nodes: list[int]
    own: list[Integers]
    rows: list[Integers]
    shifts: list[Floats]
    slopes: list[Floats]


class ConditionalCells(Cells):
    """Missing cells of both kinds under the conditional Gaussian score."""

    def __init__(self, data: Dataset, score: Any) -> None:
        super().__init__(data, score)
        own = self.unknowns
        self._turns = [self._turn(own.turn[own.owner] == turn) for turn in np.unique(own.turn)]

    def _turn(self, chosen: Booleans) -> _Turn:
        """The turn in which these cells are drawn at once."""
        own = self.unknowns
        _, number = np.unique(own.owner[chosen], return_inverse=True)
        nodes = own.nodes[chosen]
        parts = number, own.rows[chosen], own.shifts[chosen], own.slopes[chosen]
        found = np.unique(nodes).tolist()
        return _Turn(found, *([part[nodes == node] for node in found] for part in parts))

    def draw(self, values: Floats, dag: Booleans, rng: np.random.Generator) -> None:
        """Draw parameters, then all missing cells turn by turn, in place."""
        network = self._model(values).sample_parameters(dag, rng)
        for turn in self._turns:
            is_number = self.data.levels[turn.nodes[0]] is None
            draw = _draw_numbers if is_number else _draw_levels
            drawn = draw(network, values, turn, dag, self.is_used, rng)
            for node, own, rows, shift, slope in zip(*turn, strict=True):
                values[rows, node] = shift + slope * drawn[own]

    def _model(self, values: Floats) -> NetworkModel:
        """The posteriors of all families, given columns among them, by the rows that count."""
        model = NetworkModel.from_score(self.score, self.complete(values), self.data)
        assert model is not None
        columns = model.coding.encode(values)
        statistics = RowStatistics(model.coding, columns, self.is_used)
        return replace(model, statistics=statistics, given=np.zeros_like(model.given))


def _draw_levels(
    network: Network,
    values: Floats,
    turn: _Turn,
    dag: Booleans,
    is_used: Booleans,
    rng: np.random.Generator,
) -> Floats:
    """Levels, given everything else."""
    n_levels = len(network.coding.levels[turn.nodes[0]] or ())
    logs = np.zeros((1 + max(own.max() for own in turn.own), n_levels))
    for v, own, rows in zip(turn.nodes, turn.own, turn.rows, strict=True):
        block, used = values[rows], is_used[rows]
        for level in range(n_levels):
            block[:, v] = level
            for one in [v, *np.flatnonzero(dag[v])]:
                density = network.families[one][0].log_density(block)
                np.add.at(logs[:, level], own, np.where(used[:, one], density, 0.0))
    return np.argmax(logs + rng.gumbel(size=logs.shape), axis=1).astype(np.float64)


def _draw_numbers(
    network: Network,
    values: Floats,
    turn: _Turn,
    dag: Booleans,
    is_used: Booleans,
    rng: np.random.Generator,
) -> Floats:
    """Numbers, given everything else."""
    size = 1 + max(own.max() for own in turn.own)
    precision, pull = np.zeros(size), np.zeros(size)
    for v, own, rows, shift, slope in zip(*turn, strict=True):
        block, used = values[rows], is_used[rows]
        block[:, v] = shift
        for one in [v, *np.flatnonzero(dag[v])]:
            part = network.families[one][0]
            assert isinstance(part, DrawnRegression)
            at_zero, noise = part.locations(block)
            slopes = np.full(len(rows), -1.0)
            if one != v:
                slopes = part.slopes[part.states.number(block), part.parents.index(v)]
            change, weight = slope * slopes, used[:, one] / noise
            np.add.at(precision, own, weight * change**2)
            np.add.at(pull, own, weight * change * (block[:, one] - at_zero))
    return np.asarray(pull / precision + rng.standard_normal(size) / np.sqrt(precision))

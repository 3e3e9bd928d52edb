"""The missing values of a table, each known once, wherever it stands.

In a table of slices a value stands in several rows: in the one of its own time, and as an earlier
value in those of later times of the same subject; a static one stands in all rows of its subject.
It is one unknown, and what is drawn for it is written to all of these cells. In any other table
every missing cell is an unknown of its own.

A value of a given column, an earlier or a static one, is *new* in the first of its rows. Values
before the first slices and static ones are new there; all others have been variables before.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from outpoint.arrays import Booleans, Floats, Integers
from outpoint.data import Dataset
from outpoint.errors import DataError
from outpoint.naming import option


@dataclass(frozen=True, eq=False)
class Unknowns:
    """The cells (``rows``, ``nodes``) of each unknown, one unknown after the other.

    The cells of unknown i are ``first[i]..first[i + 1]``, by row. On the scale of the model, whose
    columns have units of their own, the value of a cell is ``shifts + slopes * z`` if the first
    cell of its unknown holds z. Unknowns of one ``group`` stand in the same rows, one after the
    other. Those of one ``turn`` hold the same variable and never stand in the same row.
    """

    first: Integers
    rows: Integers
    nodes: Integers
    shifts: Floats
    slopes: Floats
    group: Integers
    turn: Integers

    @cached_property
    def owner(self) -> Integers:
        """The unknown of each cell."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    @cached_property
    def groups(self) -> Integers:
        """Where the unknowns of each group begin, and the end."""
        begin = np.flatnonzero(np.diff(self.group, prepend=-1))
        return np.append(begin, len(self.group))

    def of(self, nodes: Booleans) -> "Unknowns":
        """The unknowns of some nodes."""
        chosen = nodes[self.nodes[self.first[:-1]]]
        cells = chosen[self.owner]
        first = np.concatenate([[0], np.cumsum(np.diff(self.first)[chosen])])
        return Unknowns(
            first,
            self.rows[cells],
            self.nodes[cells],
            self.shifts[cells],
            self.slopes[cells],
            self.group[chosen],
            self.turn[chosen],
        )

    def agree(self, values: Floats) -> None:
        """Write the value in the first cell of each unknown to its other cells."""
        heads = self.first[:-1][self.owner]
        values[self.rows, self.nodes] = (
            self.shifts + self.slopes * values[self.rows[heads], self.nodes[heads]]
        )


def find_unknowns(data: Dataset, shift: Floats, scale: Floats) -> Unknowns:
    """The missing values of a table, of whose columns the model has (value - shift) / scale."""
    rows, nodes = np.nonzero(data.missing)
    keys, turns = _identify(data, rows, nodes)
    order = np.lexsort((rows, *keys[::-1]))
    rows, nodes, keys, turns = rows[order], nodes[order], keys[:, order], turns[order]
    changes = np.diff(keys, axis=1, prepend=-1) != 0
    begin = np.flatnonzero(changes.any(axis=0))
    first = np.append(begin, len(rows))
    head = nodes[np.repeat(begin, np.diff(first))]
    return Unknowns(
        first,
        rows,
        nodes,
        (shift[head] - shift[nodes]) / scale[nodes],
        scale[head] / scale[nodes],
        np.cumsum(changes[:3].any(axis=0))[begin] - 1,
        np.unique(np.vstack([keys[0], keys[3], turns]), axis=1, return_inverse=True)[1].ravel()[
            begin
        ],
    )


def _identify(data: Dataset, rows: Integers, nodes: Integers) -> tuple[Integers, Integers]:
    """What tells unknowns apart, (kind, time, company, variable), and when their turn comes.

    Values of one time keep company if their variables have the same lags as columns.
    """
    none = np.zeros(len(rows), dtype=np.intp)
    alone = np.stack([none, rows, none, nodes])
    slices = data.slices
    if slices is None:
        return alone, none
    subject, place = _origin(data).T
    past = slices.past(data.names)
    bases = sorted({name for name, _ in past})
    variable, lag = np.array([(bases.index(name), lag) for name, lag in past]).T
    columns = [tuple(sorted(lag[variable == v].tolist())) for v in variable.tolist()]
    company = np.array([sorted(set(columns)).index(one) for one in columns])
    time = place[rows] - lag[nodes]
    moving = np.stack([none + 1, time, company[nodes], variable[nodes]])
    fixed = np.stack([none + 2, subject[rows], none, nodes])
    is_static = np.isin(data.names, slices.static)
    is_fixed = is_static & _are_constant(data, subject)
    keys = np.where(is_fixed[nodes], fixed, np.where(is_static[nodes], alone, moving))
    turns = np.where(is_static[nodes], 0, time % (slices.lags + 1))
    return keys, turns


def find_new(data: Dataset) -> Booleans:
    """Whether the value of a given column is new in a row (row, node); false for variables."""
    new = np.zeros(data.values.shape, dtype=np.bool_)
    if data.slices is None:
        return new
    subject, place = _origin(data).T
    past = data.slices.past(data.names)
    is_static = np.isin(data.names, data.slices.static)
    for v, (name, lag) in enumerate(past):
        sooner = [own for other, own in past if other == name and own < lag]
        rows = [np.isin(place - lag + own, place) for own in sooner]  # which hold it, too
        new[:, v] = ~np.any(rows, axis=0) if lag else False
    is_first = np.zeros(len(place), dtype=np.bool_)
    is_first[np.unique(subject, return_index=True)[1]] = True
    is_constant = _are_constant(data, subject)
    new[:, is_static & is_constant] = is_first[:, None]
    new[:, is_static & ~is_constant] = True
    return new


def _are_constant(data: Dataset, subject: Integers) -> Booleans:
    """Which columns have one value for each subject, wherever it is known."""
    _, whose = np.unique(subject, return_inverse=True)
    shape = whose.max() + 1, data.n_nodes
    low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
    known = ~data.missing
    np.minimum.at(low, whose, np.where(known, data.values, np.inf))
    np.maximum.at(high, whose, np.where(known, data.values, -np.inf))
    return np.asarray((low >= high).all(axis=0))


def _origin(data: Dataset) -> Integers:
    """Subject and place of each slice; refuses slices for which they are not known."""
    origin = None if data.slices is None else data.slices.origin
    if origin is None:
        raise DataError(
            "These slices do not say which of their missing values are the same: read the series "
            f"with load_series, or drop rows with {option('missing', 'drop')}."
        )
    return origin

"""Laws of categorical variables in a network of tables in which others are set from outside.

The joint law of the variables that others still depend on is kept while one variable after the
other is added: its table is multiplied in, and whatever has had its last child is summed out. Every
variable is seen once with the law of all before it, so that one pass gives the laws of all. Cells
of the joint law are numbered in mixed radix, the variable that was added last counting fastest.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from outpoint.arrays import Floats, Integers
from outpoint.errors import TooLargeError
from outpoint.kernels import borrowed, inlined, kernel

Tables = Mapping[int, tuple[tuple[int, ...], Floats]]
"""Parents of categorical variables, and probabilities (set of parameters, parents..., level)."""

Settings = dict[int, Floats]
"""The values (arm,) that variables are set to; a level as its code. Every arm is one experiment."""

MOST_CELLS = 2**22
"""Most cells of a joint law that is kept while tables are summed."""


class Network(NamedTuple):
    """Tables in flat arrays, of variables that are numbered from 0.

    The parents of v are ``parents[first[v]:first[v + 1]]``, and the number of their state is the
    sum of their levels times ``strides``. Its probabilities (state, level, set of parameters) begin
    at ``start[v]`` in ``values``.
    """

    first: Integers
    parents: Integers
    strides: Integers
    sizes: Integers
    start: Integers
    values: Floats


class TableSums:
    """Sets of tables, ready for any setting of variables."""

    def __init__(self, tables: Tables) -> None:
        named = {u for v, (around, _) in tables.items() for u in (v, *around)}
        self._number = {u: place for place, u in enumerate(sorted(named))}
        self._n_sets = len(next(iter(tables.values()))[1])
        sizes, start = np.ones((2, len(named)), dtype=np.intp)
        parents: list[Integers] = []
        strides: list[Integers] = []
        values: list[Floats] = []
        begun: dict[int, int] = {}
        for u, v in self._number.items():
            around, array = tables.get(u, ((), None))
            own = np.array([self._number[one] for one in around], dtype=np.intp)
            parents.append(own)
            strides.append(own)
            if array is None:
                continue
            shape = array.shape[1:]
            sizes[own], sizes[v] = shape[:-1], shape[-1]
            strides[-1] = np.cumprod([1, *shape[-2:0:-1]], dtype=np.intp)[: len(own)][::-1]
            if id(array) not in begun:
                begun[id(array)] = sum(map(len, values))
                values.append(np.moveaxis(array, 0, -1).ravel())
            start[v] = begun[id(array)]
        first = np.cumsum([0, *map(len, parents)], dtype=np.intp)
        flat = (np.concatenate(parents), np.concatenate(strides))
        self._network = Network(first, *flat, sizes, start, np.concatenate(values))

    def laws(
        self, order: Sequence[int], settings: Settings, wanted: Collection[int]
    ) -> dict[int, Floats]:
        """The laws (set of parameters, arm, level) of wanted variables when others are set.

        ``order`` has all that they depend on and that is not set, parents first.
        """
        number, sizes = self._number, self._network.sizes
        held = np.full((len(number), len(next(iter(settings.values())))), -1, dtype=np.intp)
        for u, values in settings.items():
            if u in number:
                held[number[u]] = values
        found = np.full(len(number), -1, dtype=np.intp)
        found[[number[v] for v in wanted]] = np.arange(len(wanted))
        places = np.array([number[v] for v in order], dtype=np.intp)
        laws = _sum(places, held, found, self._network, self._n_sets, MOST_CELLS)
        if len(laws) < len(wanted):
            raise TooLargeError(
                "too many categorical variables depend on each other to sum over all their joint "
                "levels: allow fewer parents, or join levels."
            )
        return {
            v: law[:, : sizes[number[v]]].transpose(2, 0, 1)
            for v, law in zip(wanted, laws, strict=True)
        }


@kernel
def _sum(order, held, found, network, n_sets, most):
    """The laws (place, arm, level, set) of the variables that are to be ``found`` at a place.

    There are none if a joint law would have more than ``most`` cells.
    """
    network = borrowed(network)
    n_arms = held.shape[1]
    last = _last_uses(order, network)
    is_small = _largest(order, last, network) * n_arms * n_sets <= most
    n_found = found.max() + 1 if is_small else 0
    laws = np.zeros((n_found, n_arms, network.sizes.max(), n_sets))
    if not is_small:
        return laws
    live, digits, states, places = np.zeros((4, len(order)), dtype=np.intp)
    n_live = 0
    joint = np.ones((1, n_arms, n_sets))
    for place in range(len(order)):
        v = order[place]
        is_kept = last[v] > place
        n_cells = network.sizes[v] if is_kept else 1
        for i in range(n_live - 1, -1, -1):
            digits[i], states[i], places[i] = 0, 0, 0
            if last[live[i]] > place:
                places[i] = n_cells
                n_cells *= network.sizes[live[i]]
        in_arms = np.zeros(n_arms, dtype=np.intp)
        for k in range(network.first[v], network.first[v + 1]):
            u, stride = network.parents[k], network.strides[k]
            if held[u, 0] < 0:
                for i in range(n_live):
                    if live[i] == u:
                        states[i] = stride
            else:
                for arm in range(n_arms):
                    in_arms[arm] += held[u, arm] * stride
        after = np.zeros((n_cells, n_arms, n_sets))
        state, to = 0, 0
        for cell in range(joint.shape[0]):
            _add(v, joint[cell], state, in_arms, network, is_kept, after[to:], found[v], laws)
            for i in range(n_live - 1, -1, -1):
                digits[i] += 1
                state += states[i]
                to += places[i]
                if digits[i] < network.sizes[live[i]]:
                    break
                state -= digits[i] * states[i]
                to -= digits[i] * places[i]
                digits[i] = 0
        n_live = _keep(live, n_live, v, last, place)
        joint = after
    return laws


@inlined
def _add(v, cell, state, in_arms, network, is_kept, after, law, laws):
    """Multiply a cell (arm, set) of the joint law with the probabilities of a variable's levels."""
    n_arms, n_sets = cell.shape
    size = network.sizes[v]
    for arm in range(n_arms):
        at = network.start[v] + (state + in_arms[arm]) * size * n_sets
        if not is_kept:
            for s in range(n_sets):
                after[0, arm, s] += cell[arm, s]
        for level in range(size):
            for s in range(n_sets):
                product = cell[arm, s] * network.values[at]
                at += 1
                if is_kept:
                    after[level, arm, s] += product
                if law >= 0:
                    laws[law, arm, level, s] += product


@inlined
def _last_uses(order, network):
    """For each variable the last place in the order of one that depends on it, or -1."""
    last = np.full(len(network.sizes), -1, dtype=np.intp)
    for place in range(len(order)):
        for k in range(network.first[order[place]], network.first[order[place] + 1]):
            last[network.parents[k]] = place
    return last


@inlined
def _keep(live, n_live, v, last, place):
    """Keep only those that others still depend on; return how many these are."""
    n_kept = 0
    for i in range(n_live):
        if last[live[i]] > place:
            live[n_kept] = live[i]
            n_kept += 1
    if last[v] > place:
        live[n_kept] = v
        n_kept += 1
    return n_kept


@inlined
def _largest(order, last, network):
    """Cells of the largest joint law; a number with a fraction, as it may be beyond integers."""
    live = np.empty(len(order), dtype=np.intp)
    n_live, largest = 0, 1.0
    for place in range(len(order)):
        v = order[place]
        cells = float(network.sizes[v])
        for i in range(n_live):
            if last[live[i]] > place:
                cells *= network.sizes[live[i]]
        largest = max(largest, cells)
        n_live = _keep(live, n_live, v, last, place)
    return largest

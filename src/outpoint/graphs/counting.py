"""How many DAGs there are, with parent sets of any size or of a bounded size.

All counts are exact Python integers. Two recursions carry everything. Both add the nodes layer by
layer, outpoints first, and a node that may choose its parents freely among `p` placed nodes has
`c(p)` choices: 2^p, or the number of subsets of at most `max_parents` of them.

Let n be fixed and let `free(u)` count the ways to add u more nodes when n - u are placed and no
layer has to touch the last one. Inclusion and exclusion over the nodes that take parents only
among the placed ones gives (Robinson 1973, with c in place of 2^p)

    free(u) = sum_{r=1..u} (-1)^(r+1) C(u,r) c(n-u)^r free(u-r),      free(0) = 1,

and free(n) is the number of DAGs. Let `after(p, y)` count the ways to add the last y nodes when p
nodes are placed, then a layer of the n - p - y others, and each next node must have a parent in
the layer before it. The y nodes must then avoid having all their parents among those p:

    after(p, y) = sum_{j=0..y} (-1)^j C(y,j) c(p)^j free(y-j).

`after` is what an exact sampler needs (see `random`), and a_{n,k} = C(n,k) after(0, n-k) is the
number of DAGs with k outpoints.

Formulas: docs/math.md#counting-and-uniform-dags.

For large graphs the number of ways to go on adding layers is computed in floating point. The
integers above have about n^2/2 bits, too many beyond some hundred nodes. The same counts come from
a recursion without any subtraction, which floating point carries with ease in logs: with p nodes
placed, the last layer of s nodes among them,

    f(p, s) = sum_{r=1..n-p} C(n-p, r) (c(p) - c(p-s))^r f(p+r, r),      f(n, s) = 1,

c(p) being the number of parent sets among p nodes. Every term is positive, so the relative error of
f stays near n times that of one addition, some 1e-13 for n = 1000: no draws could ever show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import comb, log

import numpy as np
from numpy.typing import NDArray

from outpoint.arguments import takes
from outpoint.arrays import Floats
from outpoint.kinds import whole


class LayerCounts:
    """The two recursions of this module for one number of nodes and one bound on parents."""

    def __init__(self, n_nodes: int, max_parents: int | None = None) -> None:
        """Compute `free`; `after` is filled in as it is asked for."""
        self.n_nodes = n_nodes
        self.max_parents = max_parents
        self._after: dict[tuple[int, int], int] = {}
        self._free = [1]
        for unplaced in range(1, n_nodes + 1):
            # after() over the same nodes, without its first term, which is the one wanted here.
            self._free.append(-self._alternate(n_nodes - unplaced, unplaced, first=1))

    def choices(self, n_placed: int) -> int:
        """c(p), the number of parent sets available among p nodes."""
        if self.max_parents is None:
            return 1 << n_placed
        return sum(comb(n_placed, size) for size in range(self.max_parents + 1))

    def total(self) -> int:
        """The number of DAGs."""
        return self._free[self.n_nodes]

    def after(self, n_placed: int, n_left: int) -> int:
        """The ways to add the last `n_left` nodes after the layer that follows `n_placed` nodes."""
        key = (n_placed, n_left)
        if key not in self._after:
            self._after[key] = self._alternate(n_placed, n_left, first=0)
        return self._after[key]

    def _alternate(self, n_placed: int, n_left: int, first: int) -> int:
        """Sum of (-1)^j C(left, j) c(placed)^j free(left - j) over j from `first` on."""
        total = 0
        choices = self.choices(n_placed)
        power = choices**first
        for j in range(first, n_left + 1):
            term = comb(n_left, j) * self._free[n_left - j]
            if self.max_parents is None:
                term <<= n_placed * j  # c(p)^j is a power of two, and a shift is far cheaper
            else:
                term *= power
                power *= choices
            total += -term if j % 2 else term
        return total


@lru_cache(maxsize=32)
def layer_counts(n_nodes: int, max_parents: int | None = None) -> LayerCounts:
    """The counts for one size, kept because every exact draw of that size uses them again."""
    return LayerCounts(n_nodes, max_parents)


@takes(n_nodes=whole(0, 10**6), max_parents=whole(0))
def count_dags(n_nodes: int, *, max_parents: int | None = None) -> int:
    """The number of DAGs on labelled nodes, each with at most ``max_parents`` parents if given.

    Examples
    --------
    >>> [count_dags(n) for n in range(1, 7)]
    [1, 3, 25, 543, 29281, 3781503]
    """
    return layer_counts(n_nodes, max_parents).total()


def log_weight_of_dags(weights: Sequence[Fraction]) -> float:
    """Log of the sum, over all DAGs on as many nodes, of the product of their families' weights.

    ``weights[k]`` is that of every set of k parents; the recursion is that of the number of DAGs
    with c(p) = sum over k of C(p, k) weights[k], in exact fractions.

    Examples
    --------
    >>> round(log_weight_of_dags([Fraction(1)] * 5), 6) == round(log(count_dags(5)), 6)
    True
    """
    n = len(weights)
    free = [Fraction(1)]
    for unplaced in range(1, n + 1):
        n_placed = n - unplaced
        choices = sum(comb(n_placed, k) * weights[k] for k in range(n_placed + 1))
        terms = (
            (-1) ** (r + 1) * comb(unplaced, r) * choices**r * free[unplaced - r]
            for r in range(1, unplaced + 1)
        )
        free.append(sum(terms, Fraction(0)))
    return log(free[n].numerator) - log(free[n].denominator)


def partition_size_law(n_nodes: int) -> Floats:
    """How large the first layer of a uniformly drawn labelled partition is.

    Entry [m, k] is the probability that the first layer of m nodes has at most k of them. There are
    a(m) = sum over k of C(m, k) a(m - k) labelled partitions of m nodes, the Fubini numbers.
    """
    counts = [1]
    law = np.ones((n_nodes + 1, n_nodes + 1))
    for m in range(1, n_nodes + 1):
        terms = [comb(m, k) * counts[m - k] for k in range(1, m + 1)]
        counts.append(sum(terms))
        law[m, 0] = 0.0
        law[m, 1 : m + 1] = [done / counts[m] for done in accumulate(terms)]
    return law


LOWEST = -1e300
"""In place of minus infinity where logs are subtracted."""


class LayerWeights:
    """`log_f[p, s]` for one number of nodes and one bound on parents."""

    def __init__(self, n_nodes: int, max_parents: int | None = None) -> None:
        """Fill the table from the last nodes to the first; O(n^3) operations, O(n^2) memory."""
        n = n_nodes
        self.n_nodes = n
        self._log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
        self._log_choices = _log_choices(n, max_parents)
        self._log_f = np.full((n + 1, n + 1), -np.inf)
        self._log_f[n, 1:] = 0.0
        self._cumulative: dict[tuple[int, int], Floats] = {}
        for placed in range(n - 1, 0, -1):
            sizes = np.arange(1, placed + 1)
            terms = self._log_terms(placed, sizes)
            top = np.maximum(terms.max(axis=1), LOWEST)
            with np.errstate(divide="ignore"):  # no parents allowed: no way to go on
                total = np.log(np.exp(terms - top[:, None]).sum(axis=1))
            self._log_f[placed, sizes] = top + total

    def sample_size(self, placed: int, previous: int, rng: np.random.Generator) -> int:
        """Draw the size of the next layer after a layer of `previous` nodes."""
        key = (placed, previous)
        if key not in self._cumulative:
            self._cumulative[key] = np.cumsum(self.size_probabilities(placed, previous))
        cumulative = self._cumulative[key]
        return 1 + int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))

    def size_probabilities(self, placed: int, previous: int) -> Floats:
        """Probabilities of the next layer's size 1, 2, ... after a layer of `previous` nodes."""
        if placed == 0:
            log_weights = self._log_binomials(0) + self._diagonal(0)
        else:
            log_weights = self._log_terms(placed, np.array([previous]))[0]
        weights = np.exp(log_weights - log_weights.max())
        return weights / weights.sum()

    def _log_terms(self, placed: int, sizes: NDArray[np.int64]) -> Floats:
        """The terms of f(placed, s) as [s, r]."""
        log_c = self._log_choices
        with np.errstate(divide="ignore"):
            log_sets = log_c[placed] + np.log(-np.expm1(log_c[placed - sizes] - log_c[placed]))
        r = np.arange(1, self.n_nodes - placed + 1)
        return self._log_binomials(placed) + self._diagonal(placed) + r * log_sets[:, None]

    def _log_binomials(self, placed: int) -> Floats:
        """log C(n - placed, r) for r from 1."""
        left = self.n_nodes - placed
        r = np.arange(1, left + 1)
        return self._log_factorial[left] - self._log_factorial[r] - self._log_factorial[left - r]

    def _diagonal(self, placed: int) -> Floats:
        """log f(placed + r, r) for r from 1."""
        r = np.arange(1, self.n_nodes - placed + 1)
        return self._log_f[placed + r, r]


def _log_choices(n: int, max_parents: int | None) -> Floats:
    """log c(p) for p from 0 to n: all subsets of p nodes, or those of at most `max_parents`."""
    placed = np.arange(n + 1)
    if max_parents is None:
        return placed * np.log(2.0)
    log_term = np.zeros(n + 1)  # log C(p, k), k rising
    log_total = np.zeros(n + 1)
    with np.errstate(divide="ignore"):
        for k in range(1, min(max_parents, n) + 1):
            log_term = log_term + np.log(np.maximum(placed - k + 1, 0)) - np.log(k)
            log_total = np.logaddexp(log_total, log_term)
    return log_total


@lru_cache(maxsize=8)
def layer_weights(n_nodes: int, max_parents: int | None = None) -> LayerWeights:
    """The weights for one size, kept because every draw of that size uses them again."""
    return LayerWeights(n_nodes, max_parents)

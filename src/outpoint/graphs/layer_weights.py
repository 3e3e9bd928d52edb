"""The number of ways to go on adding layers, in floating point, for large graphs.

The integers of `counting` have about n^2/2 bits, too many beyond some hundred nodes. The same
counts come from a recursion without any subtraction, which floating point carries with ease in
logs: with p nodes placed, the last layer of s nodes among them,

    f(p, s) = sum_{r=1..n-p} C(n-p, r) (c(p) - c(p-s))^r f(p+r, r),      f(n, s) = 1,

c(p) being the number of parent sets among p nodes. Every term is positive, so the relative error of
f stays near n times that of one addition, some 1e-13 for n = 1000: no number of draws could tell.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Floats

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

"""Missing cells of Gaussian columns: parameters given the DAG, then cells given parameters.

A node v owns columns C and has parent columns P. Given the completed table, with posterior matrix
R, posterior mean m and weight k = alpha_mu + N as in :mod:`outpoint.scores.gaussian`,

    S       ~  inverse Wishart(R[C|P], alpha_w - m + N + |P| + |C|),
    B | S   ~  matrix normal(R[P,P]^-1 R[P,C], R[P,P]^-1, S),
    a | B,S ~  normal(m[C] - B' m[P], S / k),            x[C] = a + B' x[P] + normal(0, S),

independently of the other nodes. The nodes that were not set from outside in a row add up to its
precision matrix K and linear term h: its log density is -x' K x / 2 + h' x. That of the table is a
sum over rows, so that missing numbers z which stand in rows as x = c + s z have the precision
sum s K s and the linear term sum s (h - K c). Those of a row, or of one time in a table of slices,
are drawn together given all others; a missing level of a categorical variable, which owns several
columns, has a probability proportional to the density at its codes.

Formulas: docs/math.md#missing-values.
"""

from typing import Any

import numpy as np

from outpoint.arrays import Booleans, Floats
from outpoint.data import Dataset
from outpoint.errors import DataError
from outpoint.kernels import inlined, kernel
from outpoint.missing.categorical import pick_level
from outpoint.missing.cells import Cells
from outpoint.naming import enumerate_names, named
from outpoint.scores import FamilyScorer
from outpoint.scores.blocks import contrasts
from outpoint.scores.gaussian import GaussianScorer, scales_of


class GaussianCells(Cells):
    """Missing cells under the scores of Gaussian columns: BGe, and blocks with their levels."""

    def __init__(self, data: Dataset, score: Any) -> None:
        super().__init__(data, score)
        self._levels = [
            None if levels is None else np.unique(data.values[~data.missing[:, v], v])
            for v, levels in enumerate(data.levels)
        ]
        self._codings = [self._coding(v) for v in range(data.n_nodes)]
        widths = [1 if one is None else one.shape[1] for one in self._codings]
        self._first = np.concatenate([[0], np.cumsum(widths)])
        self._scales = scales_of(data)
        self._patterns, self._group = np.unique(self.is_used.T, axis=0, return_inverse=True)
        self._used_patterns, self._used_group = np.unique(self.is_used, axis=0, return_inverse=True)
        is_continuous = np.array([one is None for one in self._levels])
        self._numbers = self.unknowns.of(is_continuous)
        self._categories = self.unknowns.of(~is_continuous)
        self._codes = self._pad_codings()

    def _coding(self, v: int) -> Floats | None:
        """The columns of each observed level, centred by how often levels were observed."""
        observed = self._levels[v]
        if observed is None:
            return None
        codes = self.data.values[~self.missing[:, v], v]
        table = contrasts(len(observed))
        return np.asarray(table - table[np.searchsorted(observed, codes)].mean(axis=0))

    def _pad_codings(self) -> Floats:
        """The columns of each level (node, level, column), NaN for levels without any."""
        n_levels = max([1, *(len(levels or ()) for levels in self.data.levels)])
        width = max([1, *(one.shape[1] for one in self._codings if one is not None)])
        codes = np.full((self.data.n_nodes, n_levels, width), np.nan)
        for v, (one, observed) in enumerate(zip(self._codings, self._levels, strict=True)):
            if one is not None and observed is not None:
                codes[v, observed.astype(np.intp)] = 0.0
                codes[v, observed.astype(np.intp), : one.shape[1]] = one
        return codes

    def start(self, rng: np.random.Generator) -> Floats:
        """A first table, of levels that have a code wherever they stand."""
        values = super().start(rng)
        own, is_known = self._categories, ~np.isnan(self._codes[:, :, 0])
        for begin, end in zip(own.first[:-1], own.first[1:], strict=True):
            possible = np.flatnonzero(is_known[own.nodes[begin:end]].all(axis=0))
            if not possible.size:
                names = enumerate_names([self.data.names[v] for v in own.nodes[begin:end]])
                raise DataError(
                    f"No level was observed in all of {names}, which hold the same values at "
                    f"different times: leave the column out with {named('drop')}."
                )
            if values[own.rows[begin], own.nodes[begin]] not in possible:
                values[own.rows[begin:end], own.nodes[begin:end]] = rng.choice(possible)
        return values

    def columns(self, values: Floats) -> Floats:
        """The Gaussian columns of a completed table."""
        out = np.empty((len(values), self._first[-1]))
        for v, (coding, observed) in enumerate(zip(self._codings, self._levels, strict=True)):
            own = out[:, self._first[v] : self._first[v + 1]]
            if coding is None or observed is None:
                own[:, 0] = values[:, v]
            else:
                own[:] = coding[np.searchsorted(observed, values[:, v])]
        return out

    def score_rows(self, values: Floats, rows: Booleans) -> FamilyScorer:
        """The scores of some rows of a completed table, whose levels are coded by all of them."""
        columns = self.columns(values)[rows]
        return GaussianScorer(columns, self._first, self.score, self._scales)

    def draw(self, values: Floats, dag: Booleans, rng: np.random.Generator) -> None:
        """Draw parameters, then all missing cells, in place."""
        columns = self.columns(values)
        precision, linear = self._draw_precisions(columns, dag, rng)
        densities = precision, linear, self._used_group.ravel(), self._first
        for draw, own in ((_draw_levels, self._categories), (_draw_numbers, self._numbers)):
            places = own.first, own.rows, own.nodes, own.shifts, own.slopes, own.groups
            draw(columns, values, densities, places, self._codes, rng)

    def _draw_precisions(
        self, columns: Floats, dag: Booleans, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """K and h for each set of nodes that follow their families, at drawn parameters."""
        n_columns = columns.shape[1]
        prior = self.score
        scale, alpha_mu = prior.scale(n_columns, "columns"), float(prior.alpha_mu)
        freedom = prior.freedom(n_columns, "columns") - n_columns
        of_rows = [_posterior(columns[rows], scale, alpha_mu, freedom) for rows in self._patterns]
        matrices, means, weights, freedoms = (
            np.stack(parts) for parts in zip(*of_rows, strict=True)
        )
        precision = np.zeros((len(self._used_patterns), n_columns, n_columns))
        linear = np.zeros((len(self._used_patterns), n_columns))
        _add_families(
            dag,
            self._first,
            self._group.ravel(),
            self._used_patterns,
            (matrices, means, weights, freedoms),
            (precision, linear),
            rng,
        )
        return precision, linear


def _posterior(
    columns: Floats, scale: float, alpha_mu: float, freedom: float
) -> tuple[Floats, Floats, float, float]:
    """R, the posterior mean, its weight and the degrees of freedom on no column."""
    n_rows, n_columns = columns.shape
    mean = columns.mean(axis=0) if n_rows else np.zeros(n_columns)
    centred = columns - mean
    weight = alpha_mu + n_rows
    matrix = scale * np.eye(n_columns) + centred.T @ centred
    matrix += alpha_mu * n_rows / weight * np.outer(mean, mean)
    return matrix, n_rows * mean / weight, weight, freedom + n_rows


@kernel
def _add_families(dag, first, group, is_used, posteriors, sums, rng):
    """Draw the parameters of every node, and add them to K and h of rows in which they hold."""
    matrices, means, weights, freedoms = posteriors
    precision, linear = sums
    n_columns = matrices.shape[1]
    both = np.empty(n_columns, dtype=np.int64)
    root = np.zeros((n_columns, n_columns))
    for v in range(dag.shape[0]):
        size = first[v + 1] - first[v]
        n_parents = 0
        for u in range(dag.shape[0]):
            if dag[u, v]:
                for c in range(first[u], first[u + 1]):
                    both[n_parents] = c
                    n_parents += 1
        for i in range(size):
            both[n_parents + i] = first[v] + i
        used = both[: n_parents + size]
        if size == 0:
            continue
        of = group[v]
        _factorise(matrices[of], used, root)
        bartlett = _draw_bartlett(freedoms[of] + n_parents + size, size, rng)
        factors, intercept, inverse = _draw_family(
            root, bartlett, n_parents, size, means[of][used], weights[of], rng
        )
        weighted = inverse @ factors
        square, pull = factors.T @ weighted, weighted.T @ intercept
        for pattern in range(is_used.shape[0]):
            if is_used[pattern, v]:
                for i in range(used.size):
                    linear[pattern, used[i]] += pull[i]
                    for j in range(used.size):
                        precision[pattern, used[i], used[j]] += square[i, j]


@kernel
def _factorise(matrix, used, root):
    """The lower Cholesky factor of a matrix on some of its columns, in a corner of ``root``."""
    for i in range(used.size):
        for j in range(i + 1):
            value = matrix[used[i], used[j]]
            for k in range(j):
                value -= root[i, k] * root[j, k]
            root[i, j] = np.sqrt(value) if i == j else value / root[j, j]


@kernel
def _draw_bartlett(freedom, size, rng):
    """Lower triangular A with A A' Wishart of these degrees of freedom and unit scale."""
    factor = np.zeros((size, size))
    for i in range(size):
        factor[i, i] = np.sqrt(2.0 * rng.standard_gamma((freedom - i) / 2.0))
        for j in range(i):
            factor[i, j] = rng.standard_normal()
    return factor


@kernel
def _draw_family(root, bartlett, n_parents, size, mean, weight, rng):
    """(-B', I), the intercepts and the inverse residual covariance of a node's columns.

    With R = L L' on parents and then own columns, and L_C its last block, W = M M' with
    M = L_C^-T A is Wishart with scale R[C|P]^-1, and Y' with Y = A^-1 L_C' is a root of W^-1.
    """
    spread, inverse_root = np.empty((size, size)), np.empty((size, size))
    for c in range(size):
        for i in range(size):  # A Y = L_C'
            value = root[n_parents + c, n_parents + i] if i <= c else 0.0
            for k in range(i):
                value -= bartlett[i, k] * spread[k, c]
            spread[i, c] = value / bartlett[i, i]
        for i in range(size - 1, -1, -1):  # L_C' M = A
            value = bartlett[i, c]
            for k in range(i + 1, size):
                value -= root[n_parents + k, n_parents + i] * inverse_root[k, c]
            inverse_root[i, c] = value / root[n_parents + i, n_parents + i]
    factors = np.zeros((size, n_parents + size))
    noise = np.empty(size)
    intercept = mean[n_parents:].copy()
    for p in range(n_parents - 1, -1, -1):  # L_P' B = L_P^-1 R[P,C] + Z Y
        for i in range(size):
            noise[i] = rng.standard_normal()
        for c in range(size):
            value = root[n_parents + c, p]
            for i in range(size):
                value += noise[i] * spread[i, c]
            for k in range(p + 1, n_parents):
                value += root[k, p] * factors[c, k]
            factors[c, p] = -value / root[p, p]
    for i in range(size):
        noise[i] = rng.standard_normal() / np.sqrt(weight)
    for c in range(size):
        factors[c, n_parents + c] = 1.0
        for p in range(n_parents):
            intercept[c] += factors[c, p] * mean[p]
        for i in range(size):
            intercept[c] += noise[i] * spread[i, c]
    return factors, intercept, inverse_root @ inverse_root.T


@kernel
def _draw_levels(columns, values, densities, places, codes, rng):
    """Draw the missing levels one after the other."""
    precision, linear, group, first_column = densities
    first, rows, nodes, _, _, _ = places
    log_weights = np.empty(codes.shape[1])
    for own in range(first.size - 1):
        size = codes.shape[1]
        for level in range(size):
            log_weights[level] = 0.0
            for i in range(first[own], first[own + 1]):
                row, node = rows[i], nodes[i]
                k, h, x = precision[group[row]], linear[group[row]], columns[row]
                start, stop = first_column[node], first_column[node + 1]
                for c in range(start, stop):
                    x[c] = codes[node, level, c - start]
                for c in range(start, stop):
                    term = h[c]
                    for d in range(columns.shape[1]):
                        is_own = start <= d < stop
                        term -= (0.5 if is_own else 1.0) * k[c, d] * x[d]
                    log_weights[level] += x[c] * term
            if np.isnan(log_weights[level]):  # a level without a code
                log_weights[level] = -np.inf
        level = pick_level(log_weights, size, rng)
        for i in range(first[own], first[own + 1]):
            row, node = rows[i], nodes[i]
            start, stop = first_column[node], first_column[node + 1]
            for c in range(start, stop):
                columns[row, c] = codes[node, level, c - start]
            values[row, node] = level


@kernel
def _draw_numbers(columns, values, densities, places, codes, rng):
    """Draw the missing numbers of each group together, given all others."""
    precision, linear, group, first_column = densities
    first, rows, nodes, shifts, slopes, groups = places
    largest = np.diff(groups).max() if groups.size > 1 else 0
    factor, target = np.empty((largest, largest)), np.empty(largest)
    for g in range(groups.size - 1):
        heads = first[groups[g] : groups[g + 1]]
        size, n_rows = heads.size, first[groups[g] + 1] - first[groups[g]]
        factor[:size, :size] = 0.0
        target[:size] = 0.0
        for r in range(n_rows):
            row = rows[heads[0] + r]
            k, h, x = precision[group[row]], linear[group[row]], columns[row]
            for a in range(size):
                x[first_column[nodes[heads[a] + r]]] = shifts[heads[a] + r]
            for a in range(size):
                i = heads[a] + r
                c = first_column[nodes[i]]
                value = h[c]
                for d in range(columns.shape[1]):
                    value -= k[c, d] * x[d]
                target[a] += slopes[i] * value
                for b in range(a + 1):
                    j = heads[b] + r
                    factor[a, b] += slopes[i] * slopes[j] * k[c, first_column[nodes[j]]]
        _draw_normal(factor, target, size, rng)
        for a in range(size):
            for i in range(heads[a], heads[a] + n_rows):
                values[rows[i], nodes[i]] = shifts[i] + slopes[i] * target[a]
                columns[rows[i], first_column[nodes[i]]] = values[rows[i], nodes[i]]


@inlined
def _draw_normal(precision, linear, size, rng):
    """Draw from the normal law of a precision matrix and a linear term, which are overwritten."""
    for a in range(size):
        for b in range(a + 1):
            value = precision[a, b]
            for s in range(b):
                value -= precision[a, s] * precision[b, s]
            precision[a, b] = np.sqrt(value) if a == b else value / precision[b, b]
    for a in range(size):
        for b in range(a):
            linear[a] -= precision[a, b] * linear[b]
        linear[a] /= precision[a, a]
    for a in range(size):
        linear[a] += rng.standard_normal()
    for a in range(size - 1, -1, -1):
        for b in range(a + 1, size):
            linear[a] -= precision[b, a] * linear[b]
        linear[a] /= precision[a, a]

"""Missing cells of Gaussian columns: parameters given the DAG, then cells given parameters.

A node v owns columns C and has parent columns P. Given the completed table, with posterior matrix
R, posterior mean m and weight k = alpha_mu + N as in :mod:`outpoint.scores.gaussian`,

    S       ~  inverse Wishart(R[C|P], alpha_w - m + N + |P| + |C|),
    B | S   ~  matrix normal(R[P,P]^-1 R[P,C], R[P,P]^-1, S),
    a | B,S ~  normal(m[C] - B' m[P], S / k),            x[C] = a + B' x[P] + normal(0, S),

independently of the other nodes. The nodes that were not set from outside in a row add up to its
precision matrix K and linear term h. The missing continuous cells of a row are then one draw from
normal(K^-1 (h - K x), K^-1) restricted to them; a missing level of a categorical variable, which
owns several columns, has a probability proportional to the density at its code.

Formulas: docs/math.md#missing-values.
"""

from typing import Any

import numpy as np

from outpoint.arrays import Booleans, Floats
from outpoint.data import Dataset
from outpoint.kernels import kernel
from outpoint.missing.categorical import listed
from outpoint.missing.cells import Cells, rows_by_targets
from outpoint.scores import FamilyScorer
from outpoint.scores.blocks import contrasts
from outpoint.scores.gaussian import GaussianScorer, scales_of
from outpoint.scores.interventions import score_observed


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
        self._patterns, self._group = rows_by_targets(self.data)
        self._set_patterns, self._set_group = np.unique(
            self.data.is_set, axis=0, return_inverse=True
        )
        self._set_group = self._set_group.ravel()
        is_continuous = np.array([one is None for one in self._levels])
        self._continuous = listed(self.missing & is_continuous)
        self._categorical = listed(self.missing & ~is_continuous)
        self._padded = self._pad_codings()

    def _coding(self, v: int) -> Floats | None:
        """The columns of each observed level, centred by how often levels were observed."""
        observed = self._levels[v]
        if observed is None:
            return None
        codes = self.data.values[~self.missing[:, v], v]
        table = contrasts(len(observed))
        return np.asarray(table - table[np.searchsorted(observed, codes)].mean(axis=0))

    def _pad_codings(self) -> tuple[Floats, Floats, Any]:
        """Codings (node, level, column) and levels (node, level), with the number of levels."""
        n_levels = np.array([0 if one is None else len(one) for one in self._levels])
        width = max([1, *(one.shape[1] for one in self._codings if one is not None)])
        codings = np.zeros((len(n_levels), max(1, n_levels.max()), width))
        levels = np.zeros(codings.shape[:2])
        for v, (one, observed) in enumerate(zip(self._codings, self._levels, strict=True)):
            if one is not None and observed is not None:
                codings[v, : len(one), : one.shape[1]] = one
                levels[v, : len(one)] = observed
        return codings, levels, n_levels

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

    def scorer(self, values: Floats) -> FamilyScorer:
        """The scores of a completed table, whose levels are coded as those of any other."""
        columns = self.columns(values)
        return score_observed(
            self.complete(values),
            lambda rows: GaussianScorer(columns[rows], self._first, self.score, self._scales),
        )

    def redraw(self, values: Floats, dag: Booleans, rng: np.random.Generator) -> None:
        """Draw parameters, then all missing cells, in place."""
        columns = self.columns(values)
        precision, linear = self._draw_precisions(columns, dag, rng)
        _draw_cells(
            columns,
            values,
            precision,
            linear,
            self._set_group,
            self._first,
            self._continuous,
            self._categorical,
            self._padded,
            rng,
        )

    def _draw_precisions(
        self, columns: Floats, dag: Booleans, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """K and h for each set of variables that were set together, at drawn parameters."""
        n_columns = columns.shape[1]
        prior = self.score
        scale, alpha_mu = prior.scale(n_columns, "columns"), float(prior.alpha_mu)
        freedom = prior.freedom(n_columns, "columns") - n_columns
        of_rows = [_posterior(columns[rows], scale, alpha_mu, freedom) for rows in self._patterns]
        matrices, means, weights, freedoms = (
            np.stack(parts) for parts in zip(*of_rows, strict=True)
        )
        precision = np.zeros((len(self._set_patterns), n_columns, n_columns))
        linear = np.zeros((len(self._set_patterns), n_columns))
        _add_families(
            dag,
            self._first,
            self._group,
            self._set_patterns,
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
def _add_families(dag, first, group, is_set, posteriors, sums, rng):
    """Draw the parameters of every node, and add them to K and h of rows in which it is not set."""
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
        for pattern in range(is_set.shape[0]):
            if not is_set[pattern, v]:
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
def _draw_cells(
    columns, values, precision, linear, group, first, continuous, categorical, codings, rng
):
    """Draw the missing levels of each row one by one, then its missing numbers together."""
    nodes, first_node = continuous
    classes, first_class = categorical
    codes, levels, n_levels = codings
    n_columns = columns.shape[1]
    weights = np.empty(codes.shape[1])
    place = np.empty(n_columns, dtype=np.int64)
    factor, target = np.empty((n_columns, n_columns)), np.empty(n_columns)
    for row in range(columns.shape[0]):
        k, h, x = precision[group[row]], linear[group[row]], columns[row]
        for i in range(first_class[row], first_class[row + 1]):
            node = classes[i]
            start, stop = first[node], first[node + 1]
            for level in range(n_levels[node]):
                for c in range(start, stop):
                    x[c] = codes[node, level, c - start]
                weight = 0.0
                for c in range(start, stop):
                    term = h[c]
                    for d in range(n_columns):
                        is_own = start <= d < stop
                        term -= (0.5 if is_own else 1.0) * k[c, d] * x[d]
                    weight += x[c] * term
                weights[level] = weight
            largest = weights[: n_levels[node]].max()
            total = 0.0
            for level in range(n_levels[node]):
                total += np.exp(weights[level] - largest)
                weights[level] = total
            pick = rng.random() * total
            level = 0
            while level < n_levels[node] - 1 and weights[level] <= pick:
                level += 1
            for c in range(start, stop):
                x[c] = codes[node, level, c - start]
            values[row, node] = levels[node, level]
        size = first_node[row + 1] - first_node[row]
        for a in range(size):
            place[a] = first[nodes[first_node[row] + a]]
            x[place[a]] = 0.0
        for a in range(size):
            target[a] = h[place[a]]
            for d in range(n_columns):
                target[a] -= k[place[a], d] * x[d]
            for b in range(a + 1):
                value = k[place[a], place[b]]
                for s in range(b):
                    value -= factor[a, s] * factor[b, s]
                factor[a, b] = np.sqrt(value) if a == b else value / factor[b, b]
        for a in range(size):
            for b in range(a):
                target[a] -= factor[a, b] * target[b]
            target[a] /= factor[a, a]
        for a in range(size):
            target[a] += rng.standard_normal()
        for a in range(size - 1, -1, -1):
            for b in range(a + 1, size):
                target[a] -= factor[b, a] * target[b]
            target[a] /= factor[a, a]
            x[place[a]] = target[a]
            values[row, nodes[first_node[row] + a]] = target[a]

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
from scipy.linalg import solve_triangular

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
        """K and h of each set of variables that were set together, at parameters that are drawn."""
        n_columns = columns.shape[1]
        prior = self.score
        scale, alpha_mu = prior.scale(n_columns, "columns"), float(prior.alpha_mu)
        freedom = prior.freedom(n_columns, "columns") - n_columns
        of_rows = [_posterior(columns[rows], scale, alpha_mu, freedom) for rows in self._patterns]
        precision = np.zeros((len(self._set_patterns), n_columns, n_columns))
        linear = np.zeros((len(self._set_patterns), n_columns))
        for v in range(len(dag)):
            own = np.arange(self._first[v], self._first[v + 1])
            if not own.size:
                continue
            parents = np.flatnonzero(np.repeat(dag[:, v], np.diff(self._first)))
            intercept, slopes, inverse = _draw_family(of_rows[self._group[v]], own, parents, rng)
            both = np.append(own, parents)
            factors = np.hstack([np.eye(own.size), -slopes.T])
            weighted = factors.T @ inverse
            free = np.flatnonzero(~self._set_patterns[:, v])
            precision[np.ix_(free, both, both)] += weighted @ factors
            linear[np.ix_(free, both)] += weighted @ intercept
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


def _draw_family(
    posterior: tuple[Floats, Floats, float, float],
    own: np.ndarray[Any, Any],
    parents: np.ndarray[Any, Any],
    rng: np.random.Generator,
) -> tuple[Floats, Floats, Floats]:
    """Intercepts, slopes (parent, own) and inverse residual covariance of a node's columns."""
    matrix, mean, weight, freedom = posterior
    root = np.linalg.cholesky(matrix[np.ix_(parents, parents)])
    cross = solve_triangular(root, matrix[np.ix_(parents, own)], lower=True)
    residual = np.linalg.cholesky(matrix[np.ix_(own, own)] - cross.T @ cross)
    size = own.size
    degrees = freedom + parents.size + size - np.arange(size)
    bartlett = np.tril(rng.standard_normal((size, size)), -1) + np.diag(
        np.sqrt(rng.chisquare(degrees))
    )
    # W = (L^-T A)(L^-T A)' is Wishart with scale (L L')^-1, and L A^-T a root of its inverse
    spread = solve_triangular(bartlett, residual.T, lower=True).T
    inverse_root = solve_triangular(residual, bartlett, lower=True, trans="T")
    noise = rng.standard_normal((parents.size, size)) @ spread.T
    slopes = solve_triangular(root, cross + noise, lower=True, trans="T")
    shift = spread @ rng.standard_normal(size) / np.sqrt(weight)
    intercept = mean[own] - slopes.T @ mean[parents] + shift
    return intercept, slopes, inverse_root @ inverse_root.T


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

"""Conditional Gaussian: continuous variables that are Gaussian given the categorical ones.

The networks of Lauritzen & Wermuth (1989), as bnlearn has them: a categorical variable has
categorical parents only, with free tables and BDeu's prior; a continuous one has, for every
configuration d of its categorical parents D, a linear regression of its own on its continuous
parents G, with BGe's prior,

    s(v, D + G) = sum over observed d of F_d(G + v) - F_d(G),

F_d being that of :mod:`outpoint.scores.gaussian` from the rows of d. Both are differences of one
function of node sets, H(D + G) = BDeu's F(D) + sum over d of F_d(G), so that those equivalent DAGs
that have no edge from a continuous to a categorical variable score the same; such edges score -inf.
Continuous data alone give BGe, categorical ones BDeu.

Formulas: docs/math.md#conditional-gaussian.
"""

from concurrent.futures import Executor
from dataclasses import dataclass
from math import inf, lgamma, log

import numpy as np
from numpy.typing import NDArray

from outpoint.data import Dataset
from outpoint.errors import DataError
from outpoint.kernels import kernel
from outpoint.scores.base import (
    FamilyScorer,
    Members,
    Nodes,
    Scores,
    SetScorer,
    size_offsets,
    subsets_of_size,
)
from outpoint.scores.bdeu import MAX_LEVELS
from outpoint.scores.binding import (
    check_sample_size,
    refuse_degenerate,
    refuse_many_levels,
    score_observed,
)
from outpoint.scores.contingency import count_sensible_parents
from outpoint.scores.gaussian import NormalWishart, add_log_likelihoods, size_constants

LARGE = 1e100
"""Products of larger numbers may overflow."""
FEW = 6
"""States with at most this number of rows are scored in the space of rows."""
MODERATE = 1e6
"""Squares up to this many times t leave digits for the pivots in the space of rows."""


@dataclass(frozen=True, kw_only=True)
class ConditionalGaussian(NormalWishart):
    """Settings of the conditional Gaussian score for tables with columns of both kinds.

    Edges from continuous to categorical variables are excluded. ``alpha_mu`` is the prior weight
    of the mean and ``alpha_w`` the degrees of freedom of the Wishart prior (default: number of
    continuous columns + alpha_mu + 1), in every configuration of the categorical parents;
    ``equivalent_sample_size`` is BDeu's. Continuous columns are centred and scaled first, over all
    rows; ``standardize=False`` takes them as they are.
    """

    equivalent_sample_size: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_sample_size(self.equivalent_sample_size, "ConditionalGaussian")

    @property
    def name(self) -> str:
        """Short name of the score."""
        return "conditional-gaussian"

    def bind(self, data: Dataset, *, allow_degenerate: bool = False) -> FamilyScorer:
        """Check the data and part the columns by their kinds."""
        refuse_many_levels(data, MAX_LEVELS, "ConditionalGaussian")
        refuse_degenerate(data, "ConditionalGaussian", allow_degenerate)
        values = data.standardized().values if self.standardize else data.values
        counts = [0 if levels is None else len(levels) for levels in data.levels]
        cardinalities = np.array(counts, dtype=np.int64)
        return score_observed(
            data, lambda rows: ConditionalScorer(values[rows], cardinalities, self)
        )


class ConditionalScorer(SetScorer):
    """Conditional Gaussian scores of one data set; continuous columns have the cardinality 0."""

    def __init__(
        self, values: Scores, cardinalities: NDArray[np.int64], prior: ConditionalGaussian
    ) -> None:
        self.n_nodes = len(cardinalities)
        self._is_continuous = cardinalities == 0
        self.possible_edges = ~np.outer(self._is_continuous, ~self._is_continuous)
        order = np.argsort(~self._is_continuous, kind="stable")  # categorical columns last
        self._number = np.argsort(order).astype(np.int16)
        n_continuous = int(self._is_continuous.sum())
        self._columns = np.ascontiguousarray(values[:, order[:n_continuous]].T)
        self._codes = np.ascontiguousarray(values[:, order[n_continuous:]].T, dtype=np.int32)
        self._cardinalities = cardinalities[order[n_continuous:]]
        self.sensible_parents = count_sensible_parents(
            self._cardinalities, len(values), is_child=n_continuous == 0
        )
        self._sample_size = float(prior.equivalent_sample_size)
        self._prior = (
            float(prior.alpha_mu),
            prior.freedom(n_continuous, "continuous columns") - n_continuous,
            prior.scale(n_continuous, "continuous columns"),
        )
        with np.errstate(over="ignore"):
            squares = self._columns**2
            if not np.isfinite(squares.sum()):
                raise DataError(
                    "the values are too large for ConditionalGaussian: rescale the columns first."
                )
        self._few = FEW if squares.max(initial=0.0) <= MODERATE * self._prior[2] else 1
        for array in (self._columns, self._codes, self._cardinalities):
            array.flags.writeable = False

    def score_sets(self, members: Members, out: Scores, start: int, stop: int) -> None:
        """Write H of the rows ``start..stop`` of ``members``.

        They are scored in colex order with the categorical members last, so that sets with the
        same ones follow each other.
        """
        sets = np.sort(self._number[members[start:stop]], axis=1)
        ranked = np.lexsort(sets.T) if sets.shape[1] else np.arange(len(sets))
        scores = np.zeros(len(sets))
        _add_sets(
            self._columns,
            self._codes,
            self._cardinalities,
            self._prior,
            self._few,
            self._sample_size,
            sets[ranked],
            scores,
        )
        out[start:stop][ranked] = scores

    def families(self, child: int, parents: NDArray[np.integer]) -> Scores:
        """Scores of ``child`` with each row of ``parents``."""
        parents = np.asarray(parents, dtype=np.int16)
        allowed = self._allowed(child, parents)
        out = np.full(len(parents), -inf)
        out[allowed] = super().families(child, parents[allowed])
        return out

    def fill_families(
        self, children: Nodes, max_parents: int, out: Scores, pool: Executor | None = None
    ) -> None:
        """Write the rows of ``children`` in the table of :meth:`every_family`."""
        super().fill_families(children, max_parents, out, pool)
        offsets = size_offsets(self.n_nodes - 1, max_parents)
        for size in range(max_parents + 1):
            others = subsets_of_size(self.n_nodes - 1, size)
            for child in children[~self._is_continuous[children]]:
                allowed = self._allowed(int(child), others + (others >= child))
                out[child, offsets[size] : offsets[size + 1]][~allowed] = -inf

    def _allowed(self, child: int, parents: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Which parent sets can occur: those of a categorical child are categorical."""
        if self._is_continuous[child]:
            return np.ones(len(parents), dtype=np.bool_)
        return np.asarray(~self._is_continuous[parents].any(axis=1))


@kernel
def _add_sets(columns, codes, cardinalities, prior, few, sample_size, sets, out):
    """Add H of each of ``sets``, in colex order with the categorical members last, to ``out``."""
    n_continuous = columns.shape[0]
    n_obs = columns.shape[1]
    size = sets.shape[1]
    configuration = np.empty(n_obs, dtype=np.int64)
    begin = 0
    while begin < sets.shape[0]:
        n_inside = size
        while n_inside > 0 and sets[begin, n_inside - 1] >= n_continuous:
            n_inside -= 1
        end = begin + 1
        while end < sets.shape[0] and _same_from(sets, begin, end, n_inside, n_continuous):
            end += 1
        chosen = sets[begin, n_inside:] - n_continuous
        n_states, n_cells = _number_states(codes, cardinalities, chosen, configuration)
        first = np.zeros(n_states + 1, dtype=np.int64)
        rows = _sort_rows(configuration, first)
        if chosen.size > 0:
            tables = _dirichlet(first, sample_size / n_cells, sample_size)
            for i in range(begin, end):
                out[i] += tables
        if n_inside > 0:
            _add_regressions(
                columns, rows, first, prior, few, sets[begin:end, :n_inside], out[begin:end]
            )
        begin = end


@kernel
def _same_from(sets, one, other, n_inside, n_continuous):
    """Whether two sets have the same categorical members."""
    for i in range(n_inside, sets.shape[1]):
        if sets[one, i] != sets[other, i]:
            return False
    return n_inside == 0 or sets[other, n_inside - 1] < n_continuous


@kernel
def _number_states(codes, cardinalities, chosen, configuration):
    """Number the observed states of the chosen columns; return how many there are, and could be."""
    n_obs = configuration.size
    n_states, n_cells = 1, 1.0
    configuration[:] = 0
    for i in range(chosen.size):
        cardinality = cardinalities[chosen[i]]
        n_cells *= cardinality
        seen = np.full(n_states * cardinality, -1, dtype=np.int64)
        n_states = 0
        for row in range(n_obs):
            cell = configuration[row] * cardinality + codes[chosen[i], row]
            if seen[cell] < 0:
                seen[cell] = n_states
                n_states += 1
            configuration[row] = seen[cell]
    return n_states, n_cells


@kernel
def _sort_rows(configuration, first):
    """The rows by their states; those of state d stand at ``first[d]..first[d + 1]``."""
    for row in range(configuration.size):
        first[configuration[row] + 1] += 1
    for d in range(first.size - 1):
        first[d + 1] += first[d]
    place = first.copy()
    rows = np.empty(configuration.size, dtype=np.int64)
    for row in range(configuration.size):
        rows[place[configuration[row]]] = row
        place[configuration[row]] += 1
    return rows


@kernel
def _dirichlet(first, cell, sample_size):
    """BDeu's F of categorical columns: log probability of their states, up to what cancels."""
    score = 0.0
    base = lgamma(cell)
    for d in range(first.size - 1):
        score += lgamma(cell + (first[d + 1] - first[d])) - base
    n_obs = first[first.size - 1]
    return score - (lgamma(sample_size + n_obs) - lgamma(sample_size))


@kernel
def _add_regressions(columns, rows, first, prior, few, sets, out):
    """Add the sum over states d of F_d of ``sets``, continuous columns, to ``out``."""
    alpha_mu, freedom, t = prior
    size = sets.shape[1]
    used, members = _compress(sets, columns.shape[0])
    n_used = used.size
    counts = np.diff(first)
    for count in range(1, few + 1):
        starts = first[:-1][counts == count]
        if starts.size > 0:
            _add_small_states(columns[used], rows, starts, count, prior, members, out)
    own = np.arange(n_used + 1)
    scatter = np.zeros((n_used, n_used))
    shift = np.empty(n_used)
    weights = np.zeros(size + 1)
    centred = np.empty((n_used, counts.max()))
    for d in np.flatnonzero(counts > few):
        count = counts[d]
        for i in range(n_used):
            for k in range(count):
                centred[i, k] = columns[used[i], rows[first[d] + k]]
        _fill_posterior(centred, count, alpha_mu, t, size == 1, scatter, shift)
        constants = size_constants(size, count, alpha_mu, freedom, t)
        weights[size] = (freedom + size + count) / 2.0
        add_log_likelihoods(scatter, shift, t, own, weights, constants, members, out, 0, out.size)


@kernel
def _fill_posterior(values, count, alpha_mu, t, only_diagonal, scatter, shift):
    """A and s of ``gaussian.posterior_matrix`` from the first ``count`` of ``values``."""
    for i in range(values.shape[0]):
        mean = 0.0
        for k in range(count):
            mean += values[i, k]
        mean /= count
        shift[i] = np.sqrt(alpha_mu * count / (alpha_mu + count)) * mean
        for k in range(count):
            values[i, k] -= mean
        for j in range(i if only_diagonal else 0, i + 1):
            product = 0.0
            for k in range(count):
                product += values[i, k] * values[j, k]
            scatter[i, j] = scatter[j, i] = product
        scatter[i, i] += t


@kernel
def _add_small_states(columns, rows, starts, count, prior, members, out):
    """Add F of the states with ``count`` rows, those from ``starts`` on.

    With Z the coordinates of :func:`_rotate`, det R[X] = t^|X| det(I + Z[X] Z[X]' / t), a matrix of
    few rows that is a sum over the columns X. Sums are shared between sets like factors in
    ``add_log_likelihoods``; the lower triangle's entries of all states stand side by side.
    """
    alpha_mu, freedom, t = prior
    size, n_states = members.shape[1], starts.size
    n_entries = count * (count + 1) // 2
    products = _rotate(columns, rows, starts, count, alpha_mu, t)
    sums = np.zeros((size + 1, n_entries, n_states))
    for a in range(count):
        sums[size, a * (a + 3) // 2] = 1.0
    weight = (freedom + size + count) / 2.0
    constant = size_constants(size, count, alpha_mu, freedom, t)[size] - weight * size * log(t)
    for row in range(members.shape[0]):
        fresh = size - 1
        if row > 0:
            while fresh > 0 and members[row, fresh] == members[row - 1, fresh]:
                fresh -= 1
        for i in range(fresh, -1, -1):
            column = members[row, i]
            for e in range(n_entries):
                for k in range(n_states):
                    sums[i, e, k] = sums[i + 1, e, k] + products[column, e, k]
        out[row] += n_states * constant - weight * _log_determinants(sums[0], count)


@kernel
def _rotate(columns, rows, starts, count, alpha_mu, t):
    """Products of coordinates Z / sqrt(t), (column, entry of the lower triangle, state).

    The first coordinate is the mean times sqrt(c), the others are orthonormal contrasts: each row
    against the mean of those before it.
    """
    z = np.empty(count)
    products = np.empty((columns.shape[0], count * (count + 1) // 2, starts.size))
    for i in range(columns.shape[0]):
        for k in range(starts.size):
            mean = 0.0
            for a in range(count):
                gap = columns[i, rows[starts[k] + a]] - mean
                z[a] = np.sqrt(a / (a + 1.0)) * gap
                mean += gap / (a + 1.0)
            z[0] = np.sqrt(alpha_mu * count / (alpha_mu + count)) * mean
            e = 0
            for a in range(count):
                for b in range(a + 1):
                    products[i, e, k] = z[a] * z[b] / t
                    e += 1
    return products


@kernel
def _log_determinants(matrices, count):
    """Sum of log det of I + something positive, (entry, state); the pivots take their places.

    No pivot can be below 1. Logarithms of products are taken, a few pivots at a time.
    """
    total, product = 0.0, 1.0
    for a in range(count):
        pivot = matrices[a * (a + 3) // 2]
        for b in range(a + 1, count):
            left = matrices[b * (b + 1) // 2 + a]
            for c in range(a + 1, b + 1):
                above, entry = matrices[c * (c + 1) // 2 + a], matrices[b * (b + 1) // 2 + c]
                for k in range(pivot.size):
                    entry[k] -= left[k] * above[k] / pivot[k]
        for k in range(pivot.size):
            if product > LARGE or pivot[k] > LARGE:
                total += log(product)
                product = 1.0
            product *= max(pivot[k], 1.0)
    return total + log(product)


@kernel
def _compress(sets, n_columns):
    """The columns in any of ``sets``, ascending, and the sets as places among them."""
    place = np.full(n_columns, -1, dtype=np.int64)
    for row in range(sets.shape[0]):
        for i in range(sets.shape[1]):
            place[sets[row, i]] = 0
    used = np.flatnonzero(place == 0)
    for i in range(used.size):
        place[used[i]] = i
    members = np.empty(sets.shape, dtype=np.int64)
    for row in range(sets.shape[0]):
        for i in range(sets.shape[1]):
            members[row, i] = place[sets[row, i]]
    return used, members

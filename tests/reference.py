"""Plain oracles: slow, short, and sharing no algorithm with the package.

Everything here is a direct transcription of a definition: scores from their closed forms, sums
over parent sets by listing the sets, posteriors by listing the DAGs. The package is tested against
these; where the two disagree, this file is the one to read first because it is easier to read.

Conventions are the package's: nodes are 0..n-1, adjacency is [parent, child], scores are natural
logs, and a family score is a function ``score(child, parents) -> float`` of a node and an ascending
tuple of nodes, -inf for a family that must not occur.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import exp, fsum, inf, lgamma, log, pi, prod

import numpy as np
from numpy.typing import NDArray

Score = Callable[[int, tuple[int, ...]], float]


# Sums of logs


def log_sum_exp(values: Iterable[float]) -> float:
    """log of the sum of exp(values), correct to rounding; -inf for an empty sum."""
    finite = [float(value) for value in values if value > -inf]
    if not finite:
        return -inf
    top = max(finite)
    return top + log(fsum(exp(value - top) for value in finite))


def subsets(items: Iterable[int], max_size: int | None = None) -> Iterator[tuple[int, ...]]:
    """All subsets as ascending tuples, by size."""
    ordered = sorted(set(items))
    top = len(ordered) if max_size is None else min(max_size, len(ordered))
    for size in range(top + 1):
        yield from combinations(ordered, size)


def admissible_sets(
    child: int,
    allowed: Iterable[int],
    required: Iterable[int] | None = None,
    max_size: int | None = None,
) -> list[tuple[int, ...]]:
    """The parent sets within ``allowed`` that meet ``required`` (None: no requirement)."""
    sets = subsets(set(allowed) - {child}, max_size)
    if required is None:
        return list(sets)
    wanted = set(required)
    return [parents for parents in sets if wanted & set(parents)]


def log_tau(
    score: Score, child: int, allowed: Iterable[int], required: Iterable[int] | None = None
) -> float:
    """Log sum of exp score over the parent sets within ``allowed`` that meet ``required``.

    With ``required=None`` there is no requirement (the order-MCMC sum); with ``required=()`` no
    set qualifies and the answer is -inf.
    """
    return log_sum_exp(score(child, s) for s in admissible_sets(child, allowed, required))


# Scores


def bge_family_score(
    values: NDArray[np.float64],
    child: int,
    parents: Sequence[int],
    alpha_mu: float = 1.0,
    alpha_w: float | None = None,
) -> float:
    """BGe from its closed form, determinants by ``numpy.linalg.slogdet``."""
    n_obs, n = values.shape
    alpha_w = n + alpha_mu + 1 if alpha_w is None else alpha_w
    t = alpha_mu * (alpha_w - n - 1) / (alpha_mu + 1)
    family = values[:, [*parents, child]]
    mean = family.mean(axis=0)
    scatter = (family - mean).T @ (family - mean)
    shrink = alpha_mu * n_obs / (alpha_mu + n_obs)
    r = t * np.eye(len(parents) + 1) + scatter + shrink * np.outer(mean, mean)
    log_det_family = float(np.linalg.slogdet(r)[1])
    log_det_parents = float(np.linalg.slogdet(r[:-1, :-1])[1])  # 0 for no parents
    return _bge_from_determinants(
        n, n_obs, len(parents), alpha_mu, alpha_w, t, log_det_family, log_det_parents
    )


def exact_bge_family_score(
    values: NDArray[np.float64],
    child: int,
    parents: Sequence[int],
    alpha_mu: float = 1.0,
    alpha_w: float | None = None,
) -> float:
    """The same in rational arithmetic, for data on which floating-point determinants are poor.

    The data are taken to be exactly the doubles given, so the answer is right to about 1e-14
    relative whatever their scale. For small tables only.
    """
    n_obs, n = values.shape
    weight = Fraction(alpha_mu)
    alpha = n + weight + 1 if alpha_w is None else Fraction(alpha_w)
    t = weight * (alpha - n - 1) / (weight + 1)
    family = [*parents, child]
    columns = [[Fraction(float(x)) for x in values[:, v]] for v in family]
    mean = [sum(column) / n_obs for column in columns]
    shrink = weight * n_obs / (weight + n_obs)
    size = len(family)
    r = [[Fraction(0)] * size for _ in range(size)]
    for i in range(size):
        for j in range(size):
            products = sum(a * b for a, b in zip(columns[i], columns[j], strict=True))
            r[i][j] = products - n_obs * mean[i] * mean[j] + shrink * mean[i] * mean[j]
            r[i][j] += t if i == j else 0
    return _bge_from_determinants(
        n,
        n_obs,
        len(parents),
        float(weight),
        float(alpha),
        float(t),
        _log_of(_determinant(r)),
        _log_of(_determinant([row[:-1] for row in r[:-1]])),
    )


def _bge_from_determinants(
    n: int,
    n_obs: int,
    n_parents: int,
    alpha_mu: float,
    alpha_w: float,
    t: float,
    log_det_family: float,
    log_det_parents: float,
) -> float:
    a = alpha_w - n + n_parents + 1
    return (
        -n_obs / 2 * log(pi)
        + 0.5 * log(alpha_mu / (alpha_mu + n_obs))
        + lgamma((a + n_obs) / 2)
        - lgamma(a / 2)
        + (a + n_parents) / 2 * log(t)
        - (a + n_obs) / 2 * log_det_family
        + (a + n_obs - 1) / 2 * log_det_parents
    )


def _determinant(matrix: list[list[Fraction]]) -> Fraction:
    """Gaussian elimination; the matrices here are positive definite, so no pivot is 0."""
    rows = [list(row) for row in matrix]
    result = Fraction(1)
    for k in range(len(rows)):
        result *= rows[k][k]
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]
    return result


def _log_of(value: Fraction) -> float:
    """Log of a fraction whose parts may be far beyond the range of doubles."""
    shift = value.numerator.bit_length() - value.denominator.bit_length()
    scaled = value / Fraction(2) ** shift
    return log(scaled) + shift * log(2)


def bdeu_family_score(
    codes: NDArray[np.integer],
    cardinalities: Sequence[int],
    child: int,
    parents: Sequence[int],
    ess: float,
) -> float:
    """BDeu from counts, one factor per observed parent configuration.

    ``ess`` is the equivalent sample size; configurations that were not seen contribute 0.
    """
    rows = np.asarray(codes).tolist()
    q = prod(int(cardinalities[u]) for u in parents)
    r = int(cardinalities[child])
    of_parents = Counter(tuple(row[u] for u in parents) for row in rows)
    of_family = Counter((tuple(row[u] for u in parents), row[child]) for row in rows)
    terms = [lgamma(ess / q) - lgamma(ess / q + count) for count in of_parents.values()]
    cell = ess / q / r
    terms += [lgamma(cell + count) - lgamma(cell) for count in of_family.values()]
    return fsum(terms)


def gaussian_log_likelihood(
    values: NDArray[np.float64], alpha_mu: float, freedom: float, t0: NDArray[np.float64]
) -> float:
    """Log marginal likelihood of rows under a normal-Wishart prior with mean 0, row by row.

    ``freedom`` are the degrees of freedom on these columns. Each row is predicted from those before
    it by a multivariate t distribution, and then updates mean and scale matrix.
    """
    size = values.shape[1]
    mean, scale = np.zeros(size), np.array(t0, dtype=np.float64)
    weight, total = alpha_mu, 0.0
    for row in values:
        nu = freedom - size + 1
        shape = scale * (weight + 1) / (weight * nu)
        gap = row - mean
        distance = float(gap @ np.linalg.solve(shape, gap)) if size else 0.0
        total += lgamma((nu + size) / 2) - lgamma(nu / 2) - size / 2 * log(nu * pi)
        total -= float(np.linalg.slogdet(shape)[1]) / 2
        total -= (nu + size) / 2 * log(1 + distance / nu)
        scale += weight / (weight + 1) * np.outer(gap, gap)
        mean += gap / (weight + 1)
        weight, freedom = weight + 1, freedom + 1
    return total


def blocks_family_score(
    values: NDArray[np.float64],
    cardinalities: Sequence[int],
    child: int,
    parents: Sequence[int],
    alpha_mu: float = 1.0,
    alpha_w: float | None = None,
    left_out: int = 0,
    shape: Callable[[int], NDArray[np.float64]] | None = None,
) -> float:
    """Blocks of columns, with the indicators of all levels but one (``left_out``) as columns.

    A cardinality of 0 is that of a continuous column, whose values are taken as they are. ``shape``
    gives T0 / t of the indicators of a variable: by default their covariance where all levels are
    equally frequent. Densities of the package's contrasts differ from those of the indicators
    by the factor r^(-r/2) in every row.
    """
    n_obs = len(values)
    sizes = [1 if r == 0 else r - 1 for r in cardinalities]
    m = sum(sizes)
    alpha_w = m + alpha_mu + 1 if alpha_w is None else alpha_w
    t = alpha_mu * (alpha_w - m - 1) / (alpha_mu + 1)
    shape = shape or (lambda r: (np.eye(r - 1) - 1 / r) / r)

    def total(nodes: Sequence[int]) -> float:
        columns, t0, change = [np.zeros((n_obs, 0))], [], 0.0
        for v in nodes:
            r = cardinalities[v]
            if r == 0:
                columns.append(values[:, [v]])
                t0.append(t * np.eye(1))
            else:
                levels = [k for k in range(r) if k != left_out % r]
                indicators = (values[:, [v]] == levels).astype(np.float64)
                columns.append(indicators - indicators.mean(axis=0))
                t0.append(t * shape(r))
                change -= n_obs * r / 2 * log(r)
        block = np.hstack(columns)
        size = block.shape[1]
        matrix, at = np.zeros((size, size)), 0
        for part in t0:
            matrix[at : at + len(part), at : at + len(part)] = part
            at += len(part)
        return change + gaussian_log_likelihood(block, alpha_mu, alpha_w - m + size, matrix)

    return total([*parents, child]) - total(parents)


def conditional_gaussian_family_score(
    values: NDArray[np.float64],
    cardinalities: Sequence[int],
    child: int,
    parents: Sequence[int],
    alpha_mu: float = 1.0,
    alpha_w: float | None = None,
    ess: float = 1.0,
) -> float:
    """Row by row: shares of levels with prior counts, regressions for each state of parents."""
    inside = [u for u in parents if cardinalities[u] == 0]
    outside = [u for u in parents if cardinalities[u] > 0]
    if cardinalities[child] > 0:
        if inside:
            return -inf
        cells = prod(cardinalities[u] for u in outside) * cardinalities[child]
        seen: Counter[tuple[float, ...]] = Counter()
        total = 0.0
        for row in values.tolist():
            state = tuple(row[u] for u in outside)
            prior = ess / cells
            total += log(seen[*state, row[child]] + prior)
            total -= log(seen[state] + prior * cardinalities[child])
            seen[*state, row[child]] += 1
            seen[state] += 1
        return total
    n = sum(r == 0 for r in cardinalities)
    alpha_w = n + alpha_mu + 1 if alpha_w is None else alpha_w
    t = alpha_mu * (alpha_w - n - 1) / (alpha_mu + 1)
    score = 0.0
    for state in {tuple(row) for row in values[:, outside].tolist()}:
        rows = values[(values[:, outside] == state).all(axis=1)]
        for columns, sign in (([*inside, child], 1), (inside, -1)):
            freedom = alpha_w - n + len(columns)
            score += sign * gaussian_log_likelihood(
                rows[:, columns], alpha_mu, freedom, t * np.eye(len(columns))
            )
    return score


def gaussian_bic_family_score(
    values: NDArray[np.float64], child: int, parents: Sequence[int], penalty: float = 1.0
) -> float:
    """Log likelihood of the least-squares regression, minus log(N)/2 for each parameter."""
    n_obs = len(values)
    design = np.column_stack([np.ones(n_obs), values[:, list(parents)]])
    coefficients, *_ = np.linalg.lstsq(design, values[:, child], rcond=None)
    variance = float(np.mean((values[:, child] - design @ coefficients) ** 2))
    log_likelihood = -n_obs / 2 * (log(2 * pi * variance) + 1)
    return log_likelihood - penalty * log(n_obs) / 2 * (len(parents) + 2)


def categorical_bic_family_score(
    codes: NDArray[np.integer],
    cardinalities: Sequence[int],
    child: int,
    parents: Sequence[int],
    penalty: float = 1.0,
) -> float:
    """Log likelihood of the observed frequencies, minus log(N)/2 for each free probability."""
    rows = np.asarray(codes).tolist()
    of_parents = Counter(tuple(row[u] for u in parents) for row in rows)
    of_family = Counter((tuple(row[u] for u in parents), row[child]) for row in rows)
    log_likelihood = fsum(
        count * log(count / of_parents[state]) for (state, _), count in of_family.items()
    )
    n_parameters = (int(cardinalities[child]) - 1) * prod(int(cardinalities[u]) for u in parents)
    return log_likelihood - penalty * log(len(rows)) / 2 * n_parameters


# Posteriors by listing all DAGs


def labelled_partitions(nodes: Sequence[int]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """The nodes in layers, in every way: 1, 3, 13, 75, 541, 4683, ... of them."""
    if not nodes:
        yield ()
    for size in range(1, len(nodes) + 1):
        for layer in combinations(nodes, size):
            for later in labelled_partitions([v for v in nodes if v not in layer]):
                yield (layer, *later)


@lru_cache
def dag_parent_masks(n: int) -> NDArray[np.int64]:
    """All DAGs on n nodes, one per row, as a bit mask of parents for each node.

    Each DAG on n-1 nodes is extended by a last node in all ways, and cycles are thrown out.
    """
    if n > 6:
        raise ValueError("more than 6 nodes are too many to list")
    if n == 0:
        return np.zeros((1, 0), dtype=np.int64)
    smaller = dag_parent_masks(n - 1)
    half = 1 << (n - 1)
    parents_of_last, children_of_last = np.divmod(np.arange(half * half), half)
    masks = np.empty((len(smaller), half * half, n), dtype=np.int64)
    for v in range(n - 1):
        masks[:, :, v] = smaller[:, None, v] | (children_of_last >> v & 1) << (n - 1)
    masks[:, :, n - 1] = parents_of_last
    masks = masks.reshape(-1, n)
    left = np.full(len(masks), (1 << n) - 1)
    for _ in range(n):  # a graph is acyclic if taking away outpoints leaves nothing
        for v in range(n):
            left = np.where(masks[:, v] & left == 0, left & ~(1 << v), left)
    masks = masks[left == 0]
    masks.flags.writeable = False
    return masks


@lru_cache
def all_dags(n: int) -> NDArray[np.bool_]:
    """Adjacency matrices [parent, child] of all DAGs on n <= 6 nodes, shape (D, n, n)."""
    masks = dag_parent_masks(n)
    adjacencies = (masks[:, None, :] >> np.arange(n)[:, None] & 1).astype(np.bool_)
    adjacencies.flags.writeable = False
    return adjacencies


@lru_cache
def ancestor_matrices(n: int) -> NDArray[np.bool_]:
    """Whether [a, b] a directed path leads from a to b, for every DAG of ``all_dags``."""
    reach = all_dags(n).copy()
    for k in range(n):
        reach |= reach[:, :, k, None] & reach[:, k, None, :]
    reach.flags.writeable = False
    return reach


@dataclass(frozen=True)
class ReferencePosterior:
    """What ``enumerate_posterior`` finds out.

    adjacencies     bool (D, n, n), all DAGs, [parent, child]
    log_weights     (D,), sum of the family scores of each DAG, unnormalised
    log_evidence    log sum of all weights
    edges           (n, n), posterior probability of each edge [parent, child]
    ancestors       (n, n), posterior probability of a directed path [from, to]
    best_log_score  the largest log weight
    parent_sets     one dict per child, parent tuple -> posterior probability (zeros included)
    """

    adjacencies: NDArray[np.bool_]
    log_weights: NDArray[np.float64]
    log_evidence: float
    edges: NDArray[np.float64]
    ancestors: NDArray[np.float64]
    best_log_score: float
    parent_sets: tuple[dict[tuple[int, ...], float], ...]

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Posterior probability of every DAG."""
        return np.exp(self.log_weights - self.log_evidence)


def enumerate_posterior(n: int, score: Score) -> ReferencePosterior:
    """The posterior over all DAGs on n <= 6 nodes with log weight sum over v of score(v, Pa_v).

    ``score(child, parents)`` is asked once per family and may be -inf; a limit on the number of
    parents is a score of -inf beyond it. ValueError if no DAG is possible. About 0.1 s for n = 5
    and 10 s for n = 6.
    """
    families = np.full((n, 1 << n), -inf)
    members = [tuple(u for u in range(n) if mask >> u & 1) for mask in range(1 << n)]
    for child in range(n):
        for mask, parents in enumerate(members):
            if child not in parents:
                families[child, mask] = score(child, parents)
    masks = dag_parent_masks(n)
    log_weights = families[np.arange(n), masks].sum(axis=1)
    best = float(log_weights.max())
    if best == -inf:
        raise ValueError("no DAG has a positive weight")
    weights = np.exp(log_weights - best)
    total = float(weights.sum())
    weights /= total
    parent_sets = []
    for child in range(n):
        by_mask = np.bincount(masks[:, child], weights=weights, minlength=1 << n)
        parent_sets.append({s: float(by_mask[m]) for m, s in enumerate(members) if child not in s})
    return ReferencePosterior(
        adjacencies=all_dags(n),
        log_weights=log_weights,
        log_evidence=best + log(total),
        edges=np.tensordot(weights, all_dags(n), axes=1),
        ancestors=np.tensordot(weights, ancestor_matrices(n), axes=1),
        best_log_score=best,
        parent_sets=tuple(parent_sets),
    )

"""Data from the priors that scores stand for: parameters of every family, then rows.

The parameters of different families are independent. Those of Gaussian columns B of a node given
columns P of its parents come from a normal-Wishart law of all m columns: a covariance from the
inverse Wishart law with alpha_w = m + alpha_mu + 1 degrees of freedom and scale matrix t I, a mean
with covariance / alpha_mu, of which the regression of B on P is taken. It is independent of the
mean and covariance of P, so that P may be whatever it is, also set from outside.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats


def order_of(dag: np.ndarray) -> list[int]:
    """The nodes, each after its parents."""
    ancestors = np.linalg.inv(np.eye(len(dag)) - dag)  # entries count paths
    return np.argsort(ancestors.sum(axis=0), kind="stable").tolist()


def draw_regression(
    rng: np.random.Generator,
    given: np.ndarray,
    own: list[int],
    parents: list[int],
    m: int,
    alpha_mu: float,
) -> np.ndarray:
    """Values of the columns ``own``, of m, given those of ``parents``."""
    alpha_w = m + alpha_mu + 1
    t = alpha_mu * (alpha_w - m - 1) / (alpha_mu + 1)
    covariance = np.atleast_2d(stats.invwishart.rvs(alpha_w, t * np.eye(m), random_state=rng))
    mean = rng.multivariate_normal(np.zeros(m), covariance / alpha_mu)
    slopes = np.linalg.solve(covariance[np.ix_(parents, parents)], covariance[np.ix_(parents, own)])
    rest = covariance[np.ix_(own, own)] - covariance[np.ix_(own, parents)] @ slopes
    centre = mean[own] + (given - mean[parents]) @ slopes
    return centre + rng.multivariate_normal(np.zeros(len(own)), rest, size=len(given))


def draw_levels(
    rng: np.random.Generator,
    codes: np.ndarray,
    parent_levels: list[int],
    n_levels: int,
    sample_size: float,
) -> np.ndarray:
    """Levels of a node given the codes of its parents, with a table from BDeu's prior."""
    q = int(np.prod(parent_levels, dtype=int))
    tables = rng.dirichlet([sample_size / (q * n_levels)] * n_levels, size=q)
    state = np.zeros(len(codes), dtype=int)
    for column, size in zip(codes.T, parent_levels, strict=True):
        state = state * size + column.astype(int)
    return np.array([rng.choice(n_levels, p=tables[k]) for k in state])


def draw_blocks(
    rng: np.random.Generator,
    dag: np.ndarray,
    sizes: Sequence[int],
    is_set: np.ndarray,
    alpha_mu: float,
    known: Mapping[int, np.ndarray] | None = None,
) -> np.ndarray:
    """Gaussian columns, of which node v owns ``sizes[v]``; those of ``known`` nodes are given.

    Where a node is set (row, node), its columns are drawn around 2.
    """
    start = np.cumsum([0, *sizes])
    columns = [list(range(start[v], start[v + 1])) for v in range(len(dag))]
    values = np.zeros((len(is_set), start[-1]))
    for v in order_of(dag):
        if known and v in known:
            values[:, columns[v]] = known[v]
            continue
        parents = [c for u in np.flatnonzero(dag[:, v]) for c in columns[u]]
        given = values[:, parents]
        own = draw_regression(rng, given, columns[v], parents, int(start[-1]), alpha_mu)
        own[is_set[:, v]] = 2 + rng.normal(size=(is_set[:, v].sum(), sizes[v]))
        values[:, columns[v]] = own
    return values


def draw_conditional(
    rng: np.random.Generator,
    dag: np.ndarray,
    cardinalities: Sequence[int],
    is_set: np.ndarray,
    alpha_mu: float,
    sample_size: float,
) -> np.ndarray:
    """Columns of both kinds, a cardinality of 0 being that of a continuous one.

    A regression for each state of categorical parents; categorical nodes have such parents only.
    Where a node is set (row, node), it is drawn around 2, or each level is as likely.
    """
    values = np.zeros(is_set.shape)
    place = {v: i for i, v in enumerate(v for v, r in enumerate(cardinalities) if not r)}
    for v in order_of(dag):
        parents = np.flatnonzero(dag[:, v]).tolist()
        outside = [u for u in parents if cardinalities[u]]
        inside = [u for u in parents if not cardinalities[u]]
        n_set = is_set[:, v].sum()
        if r := cardinalities[v]:
            sizes = [cardinalities[u] for u in outside]
            values[:, v] = draw_levels(rng, values[:, outside], sizes, r, sample_size)
            values[is_set[:, v], v] = rng.integers(r, size=n_set)
            continue
        for state in np.ndindex(*(cardinalities[u] for u in outside)):
            rows = (values[:, outside] == state).all(axis=1)
            given, places = values[np.ix_(rows, inside)], [place[u] for u in inside]
            values[rows, v] = draw_regression(rng, given, [place[v]], places, len(place), alpha_mu)[
                :, 0
            ]
        values[is_set[:, v], v] = 2 + rng.normal(size=n_set)
    return values

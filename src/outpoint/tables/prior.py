"""The prior alone, as a table: what its weights add up to makes evidences comparable."""

from fractions import Fraction
from math import exp

import numpy as np

from outpoint.graphs.counting import log_weight_of_dags
from outpoint.scores import StructurePrior
from outpoint.scores.families import count_subsets
from outpoint.tables.dense import fill_dense
from outpoint.tables.outside import no_outside
from outpoint.tables.table import ScoreTable


def prior_table(table: ScoreTable, prior: StructurePrior) -> ScoreTable:
    """The log prior weights of all families that have a score in a complete table."""
    n, size = table.n_nodes, table.max_parents
    families = np.zeros((n, count_subsets(n - 1, size)))
    prior.add_to(families, size)
    dense = fill_dense(families, size, table.candidates)
    dense.values[np.isneginf(table.dense.values)] = -np.inf
    return ScoreTable(table.names, size, table.candidates, dense, no_outside(n))


def log_sum_by_size(table: ScoreTable, prior: StructurePrior) -> float | None:
    """Log of the sum of the prior weights of all DAGs if a family's depends on its size alone.

    None if it does not, or if the score excludes families.
    """
    n, most = table.n_nodes, table.max_parents
    odds = prior.edge_log_weight[~np.eye(n, dtype=np.bool_)]
    n_scored = n * count_subsets(n - 1, most)
    is_alike = not prior.required.any() and np.isfinite(odds).all() and (odds == odds[:1]).all()
    if not is_alike or np.isfinite(table.dense.values).sum() != n_scored:
        return None
    factor = Fraction(exp(odds[0])) if n > 1 else Fraction(1)
    return log_weight_of_dags(
        [
            Fraction(exp(prior.size_log_weight[k])) * factor**k if k <= most else Fraction(0)
            for k in range(n)
        ]
    )

"""The exact posterior, for up to about 21 nodes, and the best DAG."""

from outpoint.exact.engine import (
    DenseParentSets,
    ExactSolution,
    find_best,
    find_descents,
    find_optima,
    log_sum_of_dags,
    solve,
)
from outpoint.exact.feasibility import (
    MAX_TOLD_NODES,
    describe_cost,
    estimate_best_memory,
    estimate_memory,
    is_best_quick,
    is_quick,
    require_best_feasible,
    require_feasible,
    require_in_time,
)

__all__ = [
    "MAX_TOLD_NODES",
    "DenseParentSets",
    "ExactSolution",
    "describe_cost",
    "estimate_best_memory",
    "estimate_memory",
    "find_best",
    "find_descents",
    "find_optima",
    "is_best_quick",
    "is_quick",
    "log_sum_of_dags",
    "require_best_feasible",
    "require_feasible",
    "require_in_time",
    "solve",
]

"""Exact by parts: background knowledge splits a problem into smaller ones.

A cycle can only run inside a strongly connected component of the graph of all edges that are
allowed. Each component, a *part*, is solved by itself, once the variables before it are summed out
of its local scores; evidences add up, draws are made part by part. Formulas:
docs/math.md#exact-by-parts.
"""

from outpoint.parts.solution import PartsSolution, find_parts_optima, solve_parts
from outpoint.parts.split import (
    Beside,
    Split,
    can_be_scored,
    describe_parts,
    find_split,
    limit_beside,
    limit_parents,
    require_scorable,
    separate_parts,
)

__all__ = [
    "Beside",
    "PartsSolution",
    "Split",
    "can_be_scored",
    "describe_parts",
    "find_parts_optima",
    "find_split",
    "limit_beside",
    "limit_parents",
    "require_scorable",
    "separate_parts",
    "solve_parts",
]

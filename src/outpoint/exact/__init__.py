"""The exact posterior, for up to about 20 nodes."""

from outpoint.exact.engine import ExactSolution, solve
from outpoint.exact.feasibility import (
    estimate_memory,
    estimate_seconds,
    is_quick,
    require_feasible,
)

__all__ = [
    "ExactSolution",
    "estimate_memory",
    "estimate_seconds",
    "is_quick",
    "require_feasible",
    "solve",
]

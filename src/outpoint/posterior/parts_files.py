"""Posteriors that were computed by parts, in files: the likely parent sets of every node."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats
from outpoint.errors import require
from outpoint.exact.engine import StoredDraws
from outpoint.parts.likely_sets import LikelySet, LikelySets, Members
from outpoint.parts.part import everyone_else
from outpoint.parts.solution import PartsSolution
from outpoint.posterior import checks
from outpoint.posterior.partly import ExactParts
from outpoint.posterior.sealed import PARTLY_FIELDS, PARTS_FIELDS, Content


@dataclass(frozen=True)
class StoredParts(StoredDraws):
    """What was found part by part, as far as it was stored.

    ``sets`` are the likely parent sets of each node, most probable first, with their logs.
    """

    names: tuple[str, ...]
    log_evidence: float
    edges: Floats
    ancestors: Floats
    drawn_ancestors: Booleans
    part_sizes: tuple[int, ...]
    sets: LikelySets
    best_adjacency: Booleans
    best_log_score: float
    discrepancy: float
    dags: Booleans
    log_scores: Floats

    @property
    def candidates(self) -> NDArray[np.int32]:
        """All other nodes, for each node."""
        return everyone_else(len(self.names))

    @property
    def is_quickly_drawn(self) -> bool:
        """Draws are not made but read."""
        return True

    def log_parent_set(self, child: int, parents: Collection[int]) -> float:
        """Log probability that these are the parents of a node; -inf if it was not stored."""
        return self.sets.log_of(child, parents)

    def likely_sets(self, child: int, at_least: float) -> list[LikelySet]:
        """Parent sets of at least this probability, with its log, most probable first."""
        return self.sets.of(child, at_least)

    def likely_arrays(self, child: int, at_least: float) -> tuple[Members, Floats]:
        """The same as arrays; all that were stored, as these are likely enough."""
        return self.sets.arrays(child)


def parts_arrays(solution: PartsSolution | StoredParts, at_least: float) -> dict[str, Any]:
    """The arrays of a solution, without its draws; parent sets of less probability are left out."""
    n = len(solution.names)
    return {
        "edges": solution.edges,
        "ancestors": solution.ancestors,
        "drawn_ancestors": solution.drawn_ancestors.astype(np.uint8),
        "part_size": np.array(solution.part_sizes, dtype=np.int32),
        **set_arrays(LikelySets.join(solution.likely_arrays(v, at_least) for v in range(n))),
        "best_adjacency": solution.best_adjacency.astype(np.uint8),
    }


def exact_arrays(exact: ExactParts) -> dict[str, Any]:
    """The arrays of parts that are exact beside sampled ones."""
    return {
        "exact_edges": exact.edges,
        "part_size": np.array(exact.sizes, dtype=np.int32),
        "sampled_size": np.array(exact.sampled_sizes, dtype=np.int32),
        **set_arrays(exact.sets),
    }


def set_arrays(sets: LikelySets) -> dict[str, Any]:
    """The parent sets of all nodes in one list."""
    return {
        "set_child": sets.children.astype(np.int32),
        "set_members": sets.members,
        "set_log_probability": sets.log_probability,
    }


def read_parts(names: tuple[str, ...], content: Content) -> dict[str, Any]:
    """All arrays of a :class:`StoredParts`, checked."""
    n = len(names)
    stored = content.read(PARTS_FIELDS)
    sizes = stored.pop("part_size")
    require(len(sizes) > 1 and sizes.sum() == n, "the parts are not made of the variables")
    require(content.sizes["draw"], "there are no draws")
    checks.check_dags(stored["dags"])
    checks.check_dags(stored["best_adjacency"][None])
    sets = _read_sets(stored, n)
    require(sets.has_sets.all(), "a variable has no parent sets")
    for name in ("dags", "best_adjacency", "drawn_ancestors"):
        stored[name] = stored[name].astype(np.bool_)
    return {**stored, "part_sizes": tuple(sizes.tolist()), "sets": sets}


def read_exact(names: tuple[str, ...], content: Content) -> tuple[ExactParts, Floats]:
    """Parts that are exact beside sampled ones, and the log scores of draws within these."""
    n = len(names)
    stored = content.read(PARTLY_FIELDS)
    sizes, sampled = (tuple(stored[name].tolist()) for name in ("part_size", "sampled_size"))
    is_split = min(sizes, default=0) > 0 and min(sampled, default=0) > 0
    require(is_split and sum(sizes + sampled) == n, "the parts are not made of the variables")
    sets, edges = _read_sets(stored, n), stored["exact_edges"]
    exact = ExactParts(edges, sets, sizes, sampled, float(content.number("discrepancy")))
    require(exact.nodes.sum() == sum(sizes), "the exact parts have no parent sets")
    require(not edges[:, ~exact.nodes].any(), "an edge into a sampled variable is exact")
    return exact, stored["part_log_score"]


def _read_sets(stored: dict[str, Any], n: int) -> LikelySets:
    """The parent sets of each node, checked and taken from ``stored``."""
    children, members = stored.pop("set_child"), stored.pop("set_members")
    return LikelySets.read(children, members, stored.pop("set_log_probability"), n)

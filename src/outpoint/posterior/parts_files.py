"""Posteriors that were computed by parts, in files: the likely parent sets of every node."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats
from outpoint.errors import require
from outpoint.exact.sets import StoredDraws
from outpoint.parts.part import everyone_else
from outpoint.posterior import checks
from outpoint.posterior.exact import Solution
from outpoint.posterior.fields import PARTS_FIELDS
from outpoint.posterior.sealed import Content


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
    sets: tuple[tuple[tuple[tuple[int, ...], float], ...], ...]
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
        return dict(self.sets[child]).get(tuple(sorted(parents)), -np.inf)

    def likely_sets(self, child: int, at_least: float) -> list[tuple[tuple[int, ...], float]]:
        """Parent sets of at least this probability, with its log, most probable first."""
        return [one for one in self.sets[child] if one[1] >= np.log(at_least)]


def parts_arrays(solution: Solution, at_least: float) -> dict[str, Any]:
    """The arrays of a solution, without its draws; parent sets of less probability are left out."""
    n = len(solution.names)
    sets = [(v, *one) for v in range(n) for one in solution.likely_sets(v, at_least)]
    members = np.full((len(sets), max(1, *(len(one[1]) for one in sets))), -1, dtype=np.int16)
    for row, (_, parents, _) in enumerate(sets):
        members[row, : len(parents)] = parents
    assert solution.drawn_ancestors is not None
    return {
        "edges": solution.edges,
        "ancestors": solution.ancestors,
        "drawn_ancestors": solution.drawn_ancestors.astype(np.uint8),
        "part_size": np.array(solution.part_sizes, dtype=np.int32),
        "set_child": np.array([one[0] for one in sets], dtype=np.int32),
        "set_members": members,
        "set_log_probability": np.array([one[2] for one in sets]),
        "best_adjacency": solution.best_adjacency.astype(np.uint8),
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
    children, members = stored.pop("set_child"), stored.pop("set_members")
    logs = stored.pop("set_log_probability")
    require(
        members.size and -1 <= members.min() <= members.max() < n,
        "a member of a parent set is not a node",
    )
    require(children.min() >= 0 and children.max() < n, "a parent set is that of no node")
    totals = np.bincount(children, np.exp(logs), minlength=n)
    require((abs(totals - 1) < 1e-3).all(), "probabilities of parent sets do not add up to 1")
    sets: list[list[tuple[tuple[int, ...], float]]] = [[] for _ in names]
    for child, row, log_probability in zip(
        children.tolist(), members.tolist(), logs.tolist(), strict=True
    ):
        parents = tuple(u for u in row if u >= 0)
        require(
            child not in parents and len(set(parents)) == len(parents),
            "a parent set holds its child, or a node twice",
        )
        sets[child].append((parents, log_probability))
    for name in ("dags", "best_adjacency", "drawn_ancestors"):
        stored[name] = stored[name].astype(np.bool_)
    return {
        **stored,
        "part_sizes": tuple(sizes.tolist()),
        "sets": tuple(tuple(sorted(own, key=lambda one: -one[1])) for own in sets),
    }

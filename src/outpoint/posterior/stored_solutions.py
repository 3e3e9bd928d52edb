"""Posteriors that were computed exactly, in files: the parent sets of every node.

For one that was computed by parts, only the likely ones.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats
from outpoint.errors import require
from outpoint.exact.engine import DenseParentSets, StoredDraws
from outpoint.exact.feasibility import MAX_NODES
from outpoint.parts import PartsSolution
from outpoint.parts.likely_sets import LikelySet, LikelySets, Members
from outpoint.parts.part import everyone_else
from outpoint.posterior import checks
from outpoint.posterior.exact import ExactPosterior
from outpoint.posterior.info import RunInfo
from outpoint.store import ROUNDING, Content, Field, bit, code, probability, real
from outpoint.tables.parent_sets import check_lists

SMALLEST_KEPT = 1e-12
"""Parent sets of an exact posterior that are less probable are not stored."""

SMALLEST_OF_PARTS = 1e-9
"""The same for one that was computed by parts, where there can be millions of sets."""


NUMBERS = ("log_evidence", "best_log_score", "discrepancy")
"""What the header says of every exact solution."""

Parts = tuple[dict[str, Any], dict[str, NDArray[Any]]]
"""Header and arrays of a file."""

CANDIDATES = {"candidates": code("node", "candidate")}
SOLUTION_FIELDS = {
    "edges": probability("parent", "child"),
    "ancestors": probability("parent", "child"),
    "log_parent_sets": Field(("node", "parent_set"), most=ROUNDING, finite=False),
    "best_adjacency": bit("parent", "child"),
    "dags": bit("draw", "parent", "child"),
    "log_scores": real("draw"),
}
SET_FIELDS = {
    "set_child": code("set"),
    "set_members": Field(("set", "set_member"), "i2"),
    "set_log_probability": Field(("set",), most=ROUNDING),
}
PARTS_FIELDS = {
    **{name: field for name, field in SOLUTION_FIELDS.items() if name != "log_parent_sets"},
    "drawn_ancestors": bit("parent", "child"),
    "part_size": code("part"),
    **SET_FIELDS,
}


@dataclass(frozen=True)
class StoredSolution(DenseParentSets, StoredDraws):
    """What the exact engine had found, as far as it was stored."""

    names: tuple[str, ...]
    candidates: NDArray[np.int32]
    log_evidence: float
    edges: Floats
    ancestors: Floats
    log_parent_sets: Floats
    best_adjacency: Booleans
    best_log_score: float
    discrepancy: float
    dags: Booleans
    log_scores: Floats


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
        """True, as draws are not made but read."""
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


def _parts_arrays(solution: PartsSolution | StoredParts) -> dict[str, Any]:
    """The arrays of a solution, without its draws and the sets that are not likely."""
    n = len(solution.names)
    return {
        "edges": solution.edges,
        "ancestors": solution.ancestors,
        "drawn_ancestors": solution.drawn_ancestors.astype(np.uint8),
        "part_size": np.array(solution.part_sizes, dtype=np.int32),
        **set_arrays(
            LikelySets.join(solution.likely_arrays(v, SMALLEST_OF_PARTS) for v in range(n))
        ),
        "best_adjacency": solution.best_adjacency.astype(np.uint8),
    }


def set_arrays(sets: LikelySets) -> dict[str, Any]:
    """The parent sets of all nodes in one list."""
    return {
        "set_child": sets.children.astype(np.int32),
        "set_members": sets.members,
        "set_log_probability": sets.log_probability,
    }


def _read_parts(names: tuple[str, ...], content: Content) -> dict[str, Any]:
    """All arrays of a :class:`StoredParts`, checked."""
    n = len(names)
    stored = content.read(PARTS_FIELDS)
    sizes = stored.pop("part_size")
    require(len(sizes) > 1 and sizes.sum() == n, "the parts are not made of the variables")
    require(content.sizes["draw"], "there are no draws")
    checks.check_dags(stored["dags"])
    checks.check_dags(stored["best_adjacency"][None])
    sets = read_sets(stored, n)
    require(sets.has_sets.all(), "a variable has no parent sets")
    for name in ("dags", "best_adjacency", "drawn_ancestors"):
        stored[name] = stored[name].astype(np.bool_)
    return {**stored, "part_sizes": tuple(sizes.tolist()), "sets": sets}


def read_sets(stored: dict[str, Any], n: int) -> LikelySets:
    """The parent sets of each node, checked and taken from ``stored``."""
    children, members = stored.pop("set_child"), stored.pop("set_members")
    return LikelySets.read(children, members, stored.pop("set_log_probability"), n)


def exact_parts(posterior: ExactPosterior) -> Parts:
    """Header and arrays of a posterior that was computed."""
    solution = posterior.solution
    dags, log_scores = (part[0] for part in posterior._sample(posterior._n_feature_draws))
    if isinstance(solution, DenseParentSets):
        likely = solution.log_parent_sets >= np.log(SMALLEST_KEPT)
        arrays = {
            "edges": solution.edges,
            "ancestors": solution.ancestors,
            "log_parent_sets": np.where(likely, solution.log_parent_sets, -np.inf),
            "best_adjacency": solution.best_adjacency.astype(np.uint8),
            "candidates": posterior.candidates,
        }
    else:
        assert isinstance(solution, PartsSolution | StoredParts)
        arrays = _parts_arrays(solution)
    header: dict[str, Any] = {
        "posterior": "exact" if isinstance(solution, DenseParentSets) else "parts",
        **{name: getattr(solution, name) for name in NUMBERS},
    }
    if posterior.log_prior_sum is not None:
        header["log_prior_sum"] = posterior.log_prior_sum
    return header, arrays | {"dags": dags.astype(np.uint8), "log_scores": log_scores}


def read_exact(info: RunInfo, names: tuple[str, ...], content: Content) -> ExactPosterior:
    """A posterior over all DAGs at once, checked."""
    n = len(names)
    require(info.method == "exact" and n <= MAX_NODES, "it cannot have been computed exactly")
    content.sizes |= {"candidate": n - 1, "parent_set": 2 ** (n - 1)}
    parts: dict[str, Any] = content.read({**SOLUTION_FIELDS, **CANDIDATES})
    require(content.sizes["draw"], "there are no draws")
    check_lists(parts["candidates"])
    checks.check_log_probabilities(parts["log_parent_sets"])
    checks.check_dags(parts["best_adjacency"][None])
    checks.check_dags(parts["dags"])
    for name in ("best_adjacency", "dags"):
        parts[name] = parts[name].astype(np.bool_)
    parts |= _numbers(content)
    return ExactPosterior(
        info, StoredSolution(names=names, **parts), log_prior_sum=_log_prior_sum(content)
    )


def read_by_parts(info: RunInfo, names: tuple[str, ...], content: Content) -> ExactPosterior:
    """A posterior that was computed part by part, checked."""
    require(info.method == "exact", "it cannot have been computed exactly")
    parts = _read_parts(names, content) | _numbers(content)
    return ExactPosterior(
        info, StoredParts(names=names, **parts), log_prior_sum=_log_prior_sum(content)
    )


def _numbers(content: Content) -> dict[str, float]:
    """The numbers of every exact solution."""
    found = {name: content.number(name) for name in NUMBERS}
    highest = found["log_evidence"] + ROUNDING * max(1.0, abs(found["log_evidence"]))
    require(found["best_log_score"] <= highest, "the best DAG scores more than the evidence")
    return found


def _log_prior_sum(content: Content) -> float | None:
    """The sum of the prior weights, where it was known."""
    return content.number("log_prior_sum") if "log_prior_sum" in content.header else None

"""What the parts of a posterior must obey, so that no computation on them can go wrong.

A forged file may hold anything. Single fields are checked where they are read (`store`); here it is
checked that they fit together. Every check raises a ValueError.
"""

import ast
from collections.abc import Iterable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from outpoint import scores
from outpoint.errors import OutpointError, require
from outpoint.graphs.validation import check_n_nodes, validate_names
from outpoint.posterior.info import RunInfo
from outpoint.store import ROUNDING
from outpoint.tables.parent_sets import ParentSets, are_acyclic, check_lists, count_candidates

MOST_TEXT = 10_000
"""Characters of a score with its settings."""

DAGS_PER_BLOCK = 500
"""Matrices that are looked at together."""


def checked_names(names: Any) -> tuple[str, ...]:
    """The names of the variables: at least two, all different."""
    require(isinstance(names, list) and len(names) >= 2, "its names are not a list of two or more")
    check_n_nodes(len(names))
    return validate_names(names)


def checked_info(facts: Any, names: Sequence[str], seconds: float | None) -> RunInfo:
    """The description of a run, every part of the type it is declared to have."""
    require(isinstance(facts, dict), "the description of the run is not a table")
    types = get_type_hints(RunInfo)
    given = {**facts, "elapsed_seconds": seconds}
    for name, value in given.items():
        require(name in types, f"the run has no {name!r}")
        if get_origin(types[name]) is tuple and isinstance(value, list):
            given[name] = tuple(value)
        require(_fits(given[name], types[name]), f"{name!r} of the run has the wrong type")
    info = RunInfo(**given)
    require(min(info.seed, info.n_observations) >= 0, "its seed or number of rows is negative")
    require(1 <= info.max_parents < len(names), "max_parents is out of range")
    require(len(info.kinds) in (0, len(names)), "there is not one kind for each variable")
    require(info.fingerprint.isprintable(), "the fingerprint of the data is not printable")
    _check_knowledge(info.knowledge, names)
    _check_interventions(info, names)
    _check_python(info)
    return info


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value read from JSON is of a declared type."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return any(_fits(value, part) for part in parts)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(item, parts[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(_fits(item, parts[1]) for item in value.values())
    if kind is Any or kind is None or kind is NoneType:
        return kind is Any or value is None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is float:
        return is_number
    return isinstance(value, kind) and (is_number or kind is not int)


def _check_knowledge(known: Mapping[str, Any], names: Sequence[str]) -> None:
    try:
        scores.Knowledge.from_dict(known).bind(names)
    except (OutpointError, TypeError, AttributeError) as error:
        raise ValueError(f"the background knowledge is wrong: {error}") from None


def _check_interventions(info: RunInfo, names: Sequence[str]) -> None:
    """The sets of variables must differ, and their rows must be all rows."""
    known, n_rows, seen = set(names), 0, set()
    for one in info.interventions:
        require(one.keys() == {"targets", "n_rows"}, "an intervention has no targets or rows")
        targets, count = one["targets"], one["n_rows"]
        is_list = isinstance(targets, list) and all(isinstance(name, str) for name in targets)
        require(is_list, "an intervention has no targets")
        require(_fits(count, int) and count >= 1, "an intervention has no rows")
        chosen = frozenset(targets)
        require(chosen <= known and len(chosen) == len(targets), "a target is not a variable")
        n_rows += count
        seen.add(chosen)
    require(len(seen) == len(info.interventions), "a set of targets occurs twice")
    require(not seen or n_rows == info.n_observations, "interventions are not those of the rows")


def _check_python(info: RunInfo) -> None:
    """The run is shown as Python code that makes it again, so nothing else may be in it."""
    options = {**info.options, **info.taken, **(info.reading or {})}
    require(all(name.isidentifier() for name in options), "an option has no name")
    start = info.options.get("start")
    if isinstance(start, dict):
        edges = start.get("edges")
        is_start = isinstance(start.get("names"), list) and isinstance(edges, list)
        require(
            is_start and all(isinstance(edge, list) for edge in edges or ()),
            "the start is not a DAG",
        )
    if info.score_settings:
        _check_call(info.score_settings)


def _check_call(text: str) -> None:
    """A score with its settings, which are plain values."""
    require(len(text) <= MOST_TEXT, "the score has too long a text")
    call = ast.parse(text, mode="eval").body
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
        raise ValueError("the score is not one of outpoint's")
    is_score = hasattr(getattr(scores, call.func.id, None), "bind")
    require(is_score and not call.args, "the score is not one of outpoint's")
    for setting in call.keywords:
        ast.literal_eval(setting.value)


def checked_moves(moves: Any) -> tuple[str, ...]:
    """The moves that are counted."""
    require(isinstance(moves, list), "moves are a list")
    return validate_names(moves)


def check_parent_sets(sets: ParentSets, fewest_candidates: int = 1) -> None:
    """Candidates and outside sets are sets of nodes."""
    check_lists(sets.candidates, fewest_candidates)
    n, members = len(sets.candidates), sets.members
    require(
        not members.size or -1 <= members.min() <= members.max() < n,
        "a member of a parent set is not a node",
    )
    ranked = np.sort(members, axis=1)
    twice = (np.diff(ranked, axis=1) == 0) & (ranked[:, 1:] >= 0)
    require(not twice.any(), "a parent set has a node twice")


def check_codes(codes: Iterable[NDArray[np.int32]], sets: ParentSets) -> None:
    """Codes stand for parent sets, and the graphs that they make are acyclic."""
    n_inside, n_outside = 1 << count_candidates(sets.candidates), len(sets.members)
    for own in codes:
        if own.size:
            is_known = -n_outside <= own.min() and (own < n_inside).all()
            require(is_known, "a parent set does not exist")
            require(are_acyclic(own, sets), "a graph has a cycle")


def check_outside_pairs(pairs: NDArray[np.int32], candidates: NDArray[np.int32]) -> None:
    """Edges that are counted apart are different ones, and not from candidates."""
    n = len(candidates)
    if not len(pairs):
        return
    require(pairs.min() >= 0 and pairs.max() < n, "an edge is not between the variables")
    taken = np.eye(n, dtype=np.bool_)
    children, places = np.nonzero(candidates >= 0)
    taken[candidates[children, places], children] = True
    require(not taken[*pairs.T].any(), "an edge from a candidate is counted apart")
    require(len(np.unique(pairs @ [n, 1])) == len(pairs), "an edge is counted twice")


def check_powers(power: NDArray[np.float64]) -> None:
    """Powers of replicas: some numbers from 0 to 1, then nothing."""
    given = np.isfinite(power)
    require(given[:, 0].all() and not (given[:, 1:] & ~given[:, :-1]).any(), "a ladder has gaps")


def check_dags(matrices: NDArray[np.uint8]) -> None:
    """Adjacency matrices (draw, parent, child) of DAGs: taking away outpoints leaves nothing."""
    require(not matrices.diagonal(axis1=1, axis2=2).any(), "a node is its own parent")
    for start in range(0, len(matrices), DAGS_PER_BLOCK):
        edges = matrices[start : start + DAGS_PER_BLOCK].astype(np.float32)
        left = np.ones(edges.shape[::2], dtype=np.bool_)
        while left.any():
            has_parent = (left[:, None, :].astype(np.float32) @ edges)[:, 0] > 0
            require((left & ~has_parent)[left.any(axis=1)].any(axis=1).all(), "a graph has a cycle")
            left &= has_parent


def check_log_probabilities(log_probabilities: NDArray[np.float64]) -> None:
    """Check that rows of log probabilities add up to 1, except for what is too small to matter."""
    require(
        not (np.isnan(log_probabilities) | (log_probabilities > ROUNDING)).any(),
        "log probabilities are not numbers up to 0",
    )
    totals = np.exp(log_probabilities).sum(axis=1)
    require((abs(totals - 1.0) < 1e-3).all(), "probabilities of parent sets do not add up to 1")

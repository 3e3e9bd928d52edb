"""From a score and a prior to the table of all families."""

from concurrent.futures import Executor
from math import comb
from typing import Any

import numpy as np

from outpoint.errors import OptionError, TooLargeError
from outpoint.scores import FamilyScorer, StructurePrior
from outpoint.scores.families import count_subsets
from outpoint.tables.candidates import choose_candidates
from outpoint.tables.dense import add_larger_sets, fill_dense
from outpoint.tables.ranked import rank_outside
from outpoint.tables.table import ScoreTable

LARGE_NETWORK_CANDIDATES = 14
"""Candidate parents per node where a dense table over all nodes does not fit."""

MAX_CANDIDATES = 28

MAX_FAMILIES = 40_000_000
"""Most families that are scored one by one; beyond, large sets must lie within the candidates."""

MAX_OMEGA_BYTES = 2**30
"""Room for the dense sums: all nodes are candidates while these fit, which is up to 20 nodes."""


def default_max_parents(n_nodes: int) -> int:
    """No limit up to 20 nodes; 3 beyond."""
    return n_nodes - 1 if n_nodes <= 20 else 3


def check_max_parents(n_nodes: int, max_parents: Any) -> int:
    """The limit to use, or a refusal."""
    if max_parents is None:
        return default_max_parents(n_nodes)
    if isinstance(max_parents, bool) or not isinstance(max_parents, int | np.integer):
        raise OptionError(f"max_parents is a whole number, not {max_parents!r}.")
    if not 1 <= max_parents <= n_nodes - 1:
        raise OptionError(
            f"max_parents must be from 1 to {n_nodes - 1} for {n_nodes} variables, "
            f"not {max_parents}."
        )
    return int(max_parents)


def default_candidates(n_nodes: int) -> int:
    """All other nodes if the dense sums over them fit, otherwise the most promising ones."""
    if _omega_bytes(n_nodes, n_nodes - 1) <= MAX_OMEGA_BYTES:
        return n_nodes - 1
    n_candidates = LARGE_NETWORK_CANDIDATES
    while n_candidates > 1 and _omega_bytes(n_nodes, n_candidates) > MAX_OMEGA_BYTES:
        n_candidates -= 1
    return n_candidates


def _omega_bytes(n_nodes: int, n_candidates: int) -> int:
    return 8 * n_nodes * n_candidates * 2 ** (n_candidates - 1) if n_candidates else 0


def build_table(
    names: tuple[str, ...],
    scorer: FamilyScorer,
    prior: StructurePrior,
    *,
    max_parents: int,
    n_candidates: int | None = None,
    pool: Executor | None = None,
) -> ScoreTable:
    """Score every admissible family, by the workers of ``pool`` if there is one.

    Parent sets have at most ``max_parents`` members. Where there would be too many of them, sets
    that leave the candidates are limited further; the table says so in ``outside_parents``.
    """
    n = len(names)
    n_candidates = default_candidates(n) if n_candidates is None else min(n_candidates, n - 1)
    if n_candidates < 0:
        raise OptionError(f"n_candidates must not be negative, but is {n_candidates}.")
    if n_candidates > MAX_CANDIDATES:
        raise TooLargeError(
            f"a dense table over {n_candidates} candidate parents does not fit; "
            f"use at most {MAX_CANDIDATES}."
        )
    max_required = int(prior.required.sum(axis=0).max())
    if max_required > n_candidates:
        raise OptionError(
            f"a node has {max_required} required parents, more than the {n_candidates} candidates."
        )
    scored_parents = _parents_scored_everywhere(n, max_parents, n_candidates)
    families = scorer.every_family(scored_parents, pool)
    prior.add_to(families, scored_parents)
    candidates = choose_candidates(families, scored_parents, n_candidates, prior.required)
    dense = fill_dense(families, scored_parents, candidates)
    if scored_parents < max_parents:
        sizes = range(scored_parents + 1, min(max_parents, n_candidates) + 1)
        add_larger_sets(dense, candidates, scorer, prior, sizes)
    outside = rank_outside(families, scored_parents, candidates)
    return ScoreTable(names, max_parents, candidates, dense, outside, scored_parents)


def _parents_scored_everywhere(n: int, max_parents: int, n_candidates: int) -> int:
    """The largest set size, up to ``max_parents``, at which all sets can be scored."""
    if n_candidates == n - 1:
        return max_parents
    size = max_parents
    while size > 1 and n * count_subsets(n - 1, size) > MAX_FAMILIES:
        size -= 1
    if n * comb(n - 1, size) > MAX_FAMILIES:
        raise TooLargeError(f"{n} variables are too many for a table of single parents.")
    return size

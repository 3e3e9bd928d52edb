"""Greedy hill climbing on DAGs with a tabu list: the search most users know, as a baseline.

From a DAG the best change of one edge (add, delete, turn around) is taken. Where none improves the
score the least bad one is, but a pair of nodes just changed is left alone for a while, so that the
climb does not fall back at once. It ends after a number of steps without a new best DAG, and is
repeated from other DAGs. It says nothing about what it has missed.
"""

from typing import NamedTuple

import numpy as np

from outpoint.arrays import Booleans, Floats
from outpoint.graphs.blocks import sort_nodes
from outpoint.graphs.order import random_order
from outpoint.kernels import kernel, run_chunked
from outpoint.progress import FractionCallback, tell_fractions
from outpoint.search.annealing import finite, is_better
from outpoint.tables import ScoreTable
from outpoint.tables.lookup import FamilyLookup, family_log_score, index_families

TABU = 10
"""Steps for which a changed pair of nodes is left alone."""

PATIENCE = 15
"""Steps without a new best DAG after which a climb ends."""

DELETE, ADD, TURN = 0, 1, 2


class Climbs(NamedTuple):
    """Where each climb ended, and the log score there (-inf: no admissible DAG was met)."""

    adjacencies: list[Booleans]
    log_scores: Floats


def climb_hills(
    table: ScoreTable,
    required: Booleans,
    *,
    n_runs: int,
    seed: int,
    tabu: int = TABU,
    patience: int = PATIENCE,
    progress: FractionCallback | None = None,
) -> Climbs:
    """Climb from the required edges alone, then ``n_runs - 1`` times from random DAGs."""
    lookup = index_families(table)
    streams = np.random.SeedSequence(seed).spawn(n_runs)
    adjacencies = [required.copy() for _ in range(n_runs)]
    log_scores = np.empty(n_runs)

    def work(begin: int, end: int) -> None:
        for run in range(begin, end):
            dag = adjacencies[run]
            if run > 0:
                _add_random_edges(lookup, dag, np.random.default_rng(streams[run]))
            log_scores[run] = climb_hill(lookup, dag, tabu, patience)

    run_chunked(work, n_runs, chunks_per_thread=n_runs, done=tell_fractions(n_runs, progress))
    return Climbs(adjacencies, log_scores)


def _add_random_edges(lookup: FamilyLookup, dag: Booleans, rng: np.random.Generator) -> None:
    """Add up to two more parents for each node, along a random order, where that is admissible."""
    order = random_order(dag, rng)
    for place, child in enumerate(order):
        n_more = min(place, int(rng.integers(3)))
        more = rng.choice(order[:place], size=n_more, replace=False)
        chosen = np.union1d(np.flatnonzero(dag[:, child]), more).astype(np.int64)
        if family_log_score(lookup, child, chosen, len(chosen)) > -np.inf:
            dag[chosen, child] = True


@kernel
def climb_hill(lookup, dag, tabu, patience):
    """Climb from ``dag``, which becomes the best DAG met; return its log score."""
    n = dag.shape[0]
    current = dag.copy()
    score = np.empty(n)
    toggled = np.empty((n, n))
    for child in range(n):
        _score_changes(lookup, current, child, score, toggled)
    total = best = score.sum()
    free_after = np.zeros((n, n), dtype=np.int64)
    reach = np.empty((n, n), dtype=np.bool_)
    step = 0
    last_success = 0
    while step - last_success < patience:
        step += 1
        _fill_reach(current, reach)
        kind, u, v = _best_change(current, reach, score, toggled, free_after, step, best - total)
        if kind < 0:
            break
        current[u, v] = kind == ADD
        current[v, u] = kind == TURN
        free_after[u, v] = free_after[v, u] = step + tabu
        _score_changes(lookup, current, v, score, toggled)
        if kind == TURN:
            _score_changes(lookup, current, u, score, toggled)
        total = score.sum()
        if is_better(total, best):
            best = total
            last_success = step
            dag[:] = current
    return best if best > 0.5 * finite(-np.inf) else -np.inf


@kernel
def _score_changes(lookup, dag, child, score, toggled):
    """``score[child]``, and ``toggled[u, child]`` with the edge from u added or taken away."""
    n = dag.shape[0]
    parents = np.empty(n, dtype=np.int64)
    for u in range(-1, n):
        if u == child:
            continue
        size = 0
        for w in range(n):
            if dag[w, child] != (w == u):
                parents[size] = w
                size += 1
        value = finite(family_log_score(lookup, child, parents, size))
        if u < 0:
            score[child] = value
        else:
            toggled[u, child] = value


@kernel
def _fill_reach(dag, reach):
    """``reach[u, v]``: whether a directed path leads from u to v."""
    n = dag.shape[0]
    order = np.empty(n, dtype=np.int64)
    sort_nodes(dag, order, np.empty(n, dtype=np.int64))
    reach[:] = False
    for u in order:
        for v in range(n):
            if dag[u, v]:
                reach[u, v] = True
                for w in range(n):
                    reach[w, v] |= reach[w, u]


@kernel
def _best_change(dag, reach, score, toggled, free_after, step, to_beat):
    """The best admissible change: its kind (-1: none), and u and v of the edge u -> v.

    A pair on the tabu list may change only if the gain exceeds ``to_beat``.
    """
    n = dag.shape[0]
    impossible = finite(-np.inf)
    best_gain, best_kind, best_u, best_v = -np.inf, -1, -1, -1
    for v in range(n):
        for u in range(n):
            if u == v or dag[v, u] or (not dag[u, v] and reach[v, u]):
                continue
            gain = toggled[u, v] - score[v]
            kind = DELETE if dag[u, v] else ADD
            if dag[u, v] and toggled[v, u] > impossible and _can_turn(dag, reach, u, v):
                turned = gain + toggled[v, u] - score[u]
                if turned > gain:
                    gain = turned
                    kind = TURN
            if toggled[u, v] <= impossible and score[v] > impossible:
                continue
            if step <= free_after[u, v] and not gain > to_beat + 1e-9:
                continue
            if gain > best_gain:
                best_gain, best_kind, best_u, best_v = gain, kind, u, v
    return best_kind, best_u, best_v


@kernel
def _can_turn(dag, reach, u, v):
    """Whether v -> u instead of u -> v leaves the graph acyclic: no other path from u to v."""
    other = False
    for w in range(dag.shape[0]):
        other |= w != u and dag[w, v] and reach[u, w]
    return not other

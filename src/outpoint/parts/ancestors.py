"""Ancestors across parts: the law of the descendants of a node, followed from part to part.

Let D be the nodes before a part T that descend from u, and u itself. Put one more node in front of
T in place of all of D: it is a parent of v wherever a set of v has a member in D. What descends
from this node within T descends from u, and the exact sums have the law of that set.
There is one such problem for every D; where there are too many of them, draws are used instead.
"""

from collections.abc import Callable, Sequence

import numpy as np

from outpoint.arrays import Booleans, Floats, Integers
from outpoint.exact.engine import QUICKLY_DRAWN
from outpoint.graphs.blocks import add_ancestors
from outpoint.parts.part import NEGLIGIBLE, Law, Part
from outpoint.parts.split import find_paths
from outpoint.streams import named_seed

WORK = 3e8
"""Terms that may be summed for paths through several parts, all sources together: seconds."""

OVERHEAD = 5e5
"""Terms that take as long as preparing a sum."""

PER_FAMILY = 2.0
"""Terms that take as long as folding a family."""

MANY_DRAWS, FEW_DRAWS, PER_BLOCK = 10_000, 2_000, 500
"""Draws for what is not summed, where drawing is quick and where it is not."""


def find_ancestors(
    parts: Sequence[Part],
    possible: Booleans,
    draw: Callable[[int, int], Booleans],
) -> tuple[Floats, Booleans]:
    """[u, v]: the probability that u is an ancestor of v, and where it comes from draws.

    ``draw`` makes a number of draws from a seed.
    """
    n = len(possible)
    ancestors, is_drawn = np.zeros((n, n)), np.zeros((n, n), dtype=np.bool_)
    reached = find_paths(possible)
    work, n_left = WORK, n
    for number, part in enumerate(parts):
        if part.solution is not None:
            ancestors[np.ix_(part.nodes, part.nodes)] = part.solution.ancestors
        for place, u in enumerate(part.nodes.tolist()):
            later = [one for one in parts[number + 1 :] if reached[u, one.nodes].any()]
            if later:
                spent = _follow(
                    part, place, later, possible, work / n_left, ancestors[u], is_drawn[u]
                )
                work -= spent
            n_left -= 1
    if is_drawn.any():
        drawn = np.zeros((n, n))
        largest = max(len(part.nodes) for part in parts)
        n_draws = MANY_DRAWS if largest <= QUICKLY_DRAWN else FEW_DRAWS
        for block in range(n_draws // PER_BLOCK):
            dags = draw(PER_BLOCK, named_seed(0, "ancestors", block))
            add_ancestors(dags, np.full(PER_BLOCK, 1 / n_draws), drawn)
        ancestors[is_drawn] = drawn[is_drawn]
    return ancestors, is_drawn


def _follow(
    part: Part,
    place: int,
    later: Sequence[Part],
    possible: Booleans,
    work: float,
    ancestors: Floats,
    is_drawn: Booleans,
) -> float:
    """Follow what descends from one node through the later parts; returns the work done.

    Where that would be more than ``work``, the rest is left to draws.
    """
    spent = 0.0
    law = part.descendants_of(place) if _work(part) <= work else {}
    for number, one in enumerate(later):
        into = _mask_of_parents(possible[:, one.nodes])
        fronts = {front for descendants in law if (front := descendants & into)}
        if not law or spent + len(fronts) * _work(one) > work:
            is_drawn[np.concatenate([left.nodes for left in later[number:]])] = True
            break
        spent += len(fronts) * _work(one)
        laws = {front: one.descendants_of_front(_unmask(front, len(possible))) for front in fronts}
        left = np.concatenate([p.nodes for p in later[number + 1 :]] or [np.zeros(0, np.intp)])
        needed = _mask_of_parents(possible[:, left])
        law = _combine(law, laws, into, needed, one.nodes, ancestors)
    return spent


def _combine(
    law: Law, laws: dict[int, Law], into: int, needed: int, nodes: Integers, ancestors: Floats
) -> Law:
    """What descends from a node in one more part; only nodes that matter later are told apart."""
    found: Law = {}
    for before, p in law.items():
        for own, q in laws.get(before & into, {0: 1.0}).items():
            for v in nodes.tolist():
                if own >> v & 1:
                    ancestors[v] += p * q
            both = (before | own) & needed
            found[both] = found.get(both, 0.0) + p * q
    lost = 0.0
    for both in sorted(found, key=found.__getitem__):
        lost += found[both]
        if lost > NEGLIGIBLE:
            break
        del found[both]
    return found


def _work(part: Part) -> float:
    """Terms of one sum with a node in front of a part, and families to be folded for it."""
    n_families = sum(len(one.scores) for one in part.families)
    terms = 0.0 if part.solution is None else 3.0 ** (len(part.nodes) + 1)
    return OVERHEAD + terms + PER_FAMILY * n_families


def _mask_of_parents(edges: Booleans) -> int:
    """The nodes with an edge into one of some columns."""
    return sum(1 << int(v) for v in np.flatnonzero(edges.any(axis=1)))


def _unmask(mask: int, n_nodes: int) -> Booleans:
    return np.array([mask >> v & 1 for v in range(n_nodes)], dtype=np.bool_)

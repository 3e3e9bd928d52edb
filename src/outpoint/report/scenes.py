"""What the graph of a report can show: all variables at once, or one with its neighbourhood.

A *scene* is a drawing of some of the variables: where they are, and a curve for each connection
among them. All scenes refer to one list of *pairs* of variables that are connected probably enough
to be looked at. Everything is computed when the report is written, so that the page only draws.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from outpoint.arrays import Booleans, Floats, Integers
from outpoint.report.layout import Layout, Router, compute_layout, orient_pairs

LEAST_SHOWN = 0.05
"""Least probability of a connection that a graph can show, and of a member of a blanket."""
MOST_PAIRS = 4000
USUAL_THRESHOLD = 0.5
CONNECTIONS_PER_NODE = 2
FEW_CONNECTIONS = 60
"""A graph with more connections is no longer legible, unless it has many variables."""
LARGEST_THRESHOLD = 0.9
"""What is as probable as this is always shown at first."""
NEAR = 0.1
"""Least probability of a connection that makes a neighbour."""
MOST_NEIGHBOURS = 24
MOST_LINES = 80
"""Connections in the drawing of a neighbourhood."""
LEGIBLE = (1900.0, 1900.0)
"""Width and height of a drawing whose labels can be read when it is as wide as the page."""


def choose_threshold(connection: Floats) -> float:
    """The probability from which on connections are shown at first: 0.5, or more if that is many.

    ``connection`` is an upper triangle. Above 0.9 it never goes, however many connections remain.
    """
    most = max(FEW_CONNECTIONS, CONNECTIONS_PER_NODE * len(connection))
    wanted = _round_up(_next_to_largest(connection, most))
    return float(np.clip(wanted, USUAL_THRESHOLD, LARGEST_THRESHOLD))


def choose_pairs(connection: Floats, wanted: Booleans) -> tuple[Integers, float]:
    """The pairs (pair, 2) that scenes draw, and from which probability on all are among them.

    Those are the most probable ones, and ``wanted`` pairs [either way] whatever their probability.
    """
    least = max(LEAST_SHOWN, _round_up(_next_to_largest(connection, MOST_PAIRS)))
    return np.argwhere((connection >= least) | np.triu(wanted | wanted.T, 1)), least


def _next_to_largest(values: Floats, count: int) -> float:
    """The largest value but ``count``; 0 if there are not that many."""
    flat = values.ravel()
    return float(np.partition(flat, -count - 1)[-count - 1]) if flat.size > count else 0.0


def _round_up(value: float) -> float:
    """The next of the hundredths that the slider can be set to; a certain one stays certain."""
    return min(1.0, (math.floor(value * 100 + 1e-9) + 1) / 100) if value > 0 else 0.0


def draw_whole(
    edges: Floats, pairs: Integers, labels: list[str], threshold: float
) -> tuple[dict[str, Any], bool]:
    """The scene of all variables, laid out for what is shown at first and a bit more.

    And whether its labels can be read when it is as wide as the page.
    """
    layout = compute_layout(orient_pairs(edges, 0.6 * threshold), labels)
    scene = _draw(layout, np.arange(len(labels)), list(enumerate(pairs.tolist())))
    return scene, layout.size[0] <= LEGIBLE[0] and layout.size[1] <= LEGIBLE[1]


def draw_neighbourhoods(
    edges: Floats, blanket: Floats, pairs: Integers, labels: list[str]
) -> list[dict[str, Any]]:
    """For each variable the scene of it and its neighbours.

    Neighbours are those connected with it with probability ``NEAR`` and those probably in its
    Markov blanket, the most probable ones if they are many.
    """
    connection = edges + edges.T
    near = np.where((connection >= NEAR) | (blanket >= 0.5), np.maximum(connection, blanket), 0.0)
    own: list[list[int]] = [[] for _ in labels]
    for number, pair in enumerate(pairs.tolist()):
        for v in pair:
            own[v].append(number)
    scenes = []
    for v in range(len(labels)):
        ranked = np.argsort(-near[:, v], kind="stable")[:MOST_NEIGHBOURS]
        nodes = np.sort([v, *(u for u in ranked if near[u, v] > 0 and u != v)])
        inside = np.isin(np.arange(len(labels)), nodes)
        numbers = {i for u in nodes for i in own[u] if inside[pairs[i]].all()}
        strongest = sorted(numbers, key=lambda i: (-connection[*pairs[i]], i))[:MOST_LINES]
        lines = [(i, pairs[i].tolist()) for i in sorted(strongest)]
        adjacency = orient_pairs(edges[np.ix_(nodes, nodes)], NEAR)
        layout = compute_layout(adjacency, [labels[u] for u in nodes])
        scenes.append(_draw(layout, nodes, lines))
    return scenes


def _draw(layout: Layout, nodes: Integers, pairs: list[tuple[int, list[int]]]) -> dict[str, Any]:
    """Places of nodes and curves of pairs, each [number, whether turned, coordinates].

    A curve leads from the upper to the lower node; it is turned if that is the second of the pair.
    """
    place = {int(node): i for i, node in enumerate(nodes)}
    router = Router(layout)
    lines = []
    for number, (first, second) in pairs:
        (upper, _), curve = router.route(place[first], place[second])
        lines.append([number, int(upper == place[second]), _whole_numbers(curve.ravel())])
    places = np.column_stack([layout.positions, layout.widths])
    return {
        "nodes": nodes.tolist(),
        "places": [_whole_numbers(row) for row in places],
        "order": [int(nodes[i]) for i in layout.order],
        "lines": lines,
        "stretch": round(layout.stretch, 2),
    }


def _whole_numbers(values: Floats) -> list[int]:
    return [int(value) for value in np.rint(values)]

"""The curves by which a layered drawing connects two nodes.

A route is a chain of cubic Bézier curves, an array (3 k + 1, 2) of end and control points that
leads from the lower side of the upper node to the upper side of the lower one. It starts and ends
vertically, so that an arrow head at either end points straight at the node.
"""

import numpy as np

from outpoint.arrays import Floats
from outpoint.report.layout import NODE_HEIGHT, ROW_HEIGHT, Layout

Edge = tuple[int, int]

MARGIN = 10.0
"""How close to the corners of a node an edge may end."""


class Router:
    """Routes in one layout; the edges it was laid out for have ends of their own."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._lower = self._ports(0)
        self._upper = self._ports(1)

    def route(self, first: int, second: int) -> tuple[Edge, Floats]:
        """The pair as (upper, lower) and the curve that connects them."""
        y = self._layout.positions[:, 1]
        if y[first] == y[second]:
            return (first, second), self._arc(first, second)
        upper, lower = (first, second) if y[first] < y[second] else (second, first)
        bends = self._layout.bends.get((upper, lower), np.zeros((0, 2)))
        start = self._end(upper, lower, self._lower, NODE_HEIGHT / 2)
        stop = self._end(lower, upper, self._upper, -NODE_HEIGHT / 2)
        return (upper, lower), _smooth(np.vstack([start, bends, stop]))

    def _end(self, node: int, other: int, ports: dict[Edge, float], dy: float) -> Floats:
        """Where the connection with ``other`` meets ``node``."""
        positions = self._layout.positions
        room = max(0.0, self._layout.widths[node] / 2 - MARGIN)
        towards = float(np.clip((positions[other, 0] - positions[node, 0]) / 4, -room, room))
        return positions[node] + [ports.get((node, other), towards), dy]

    def _ports(self, side: int) -> dict[Edge, float]:
        """Offsets of the ends of edges along the lower (0) or upper (1) side of their nodes."""
        positions, widths = self._layout.positions, self._layout.widths
        ends: dict[int, list[tuple[float, int]]] = {}
        for edge, bends in self._layout.bends.items():
            node, other = edge[side], edge[1 - side]
            along = bends[-1 if side else 0, 0] if len(bends) else positions[other, 0]
            ends.setdefault(node, []).append((float(along), other))
        ports = {}
        for node, others in ends.items():
            step = min(16.0, (widths[node] - 2 * MARGIN) / max(1, len(others) - 1))
            for place, (_, other) in enumerate(sorted(others)):
                ports[node, other] = step * (place - (len(others) - 1) / 2)
        return ports

    def _arc(self, first: int, second: int) -> Floats:
        """Between two nodes of a layer: down, along and up again."""
        below = [0.0, NODE_HEIGHT / 2]
        start = self._layout.positions[first] + below
        stop = self._layout.positions[second] + below
        dip = [0.0, ROW_HEIGHT * 0.5]
        return np.stack([start, start + dip, stop + dip, stop])


def _smooth(points: Floats) -> Floats:
    """A chain of curves through the points, vertical at both ends and straight between them."""
    x, y = points.T
    slope = np.zeros(len(points))  # dx / dy
    slope[1:-1] = (x[2:] - x[:-2]) / (y[2:] - y[:-2])
    pull = np.diff(y) / 3
    pull[[0, -1]] *= 1.4 if len(points) > 2 else 1.5
    curve = np.zeros((3 * len(points) - 2, 2))
    curve[::3] = points
    curve[1::3] = points[:-1] + np.stack([slope[:-1] * pull, pull], axis=1)
    curve[2::3] = points[1:] - np.stack([slope[1:] * pull, pull], axis=1)
    return curve

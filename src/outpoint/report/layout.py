"""A layered drawing of a DAG, causes on top, computed here so that no other program is needed.

The steps are those of Sugiyama, Tagawa & Toda (1981). Nodes go into layers below their parents, no
layer wider than the drawing should be (Coffman & Graham 1972). An edge that passes a layer gets a
place of its own there, a *bend*, unless the graph is too dense. Sweeps up and down sort each layer
by the mean position of the neighbours (barycentre), and the order with the fewest crossings is
kept. Finally each layer is placed near its neighbours with the room that every label needs. Nodes
without edges follow in rows below. Units are those of the page: a letter is about 7 wide.

`orient_pairs` makes the DAG that is arranged from the edge probabilities of a posterior, and
`Router` draws the curves between its nodes.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from outpoint.arrays import Booleans, Floats, Integers
from outpoint.graphs.layers import Reach, peel_order

Rows = list[list[int]]
Edge = tuple[int, int]

LETTER = 7.2
PADDING = 22.0
GAP = 26.0
BEND = 8.0
"""The width of the place that an edge takes where it passes a layer."""
MOST_BENDS = 4
"""Bends per node in the whole drawing; the longest edges of a dense graph do without."""
ROW_HEIGHT = 72.0
LONGEST_LABEL = 16
"""Letters of a name in a node of a graph of many variables."""
LONGEST_NAME = 24
"""Letters of a name in a sentence, a legend, on an axis, or in a node where there is room."""
MOST_WITH_ROOM = 10
"""Variables up to which a graph with long names still fits a page."""
SWEEPS = 24
BEST_RATIO = 1.7
"""Width over height of a drawing that is free to choose: that of a screen."""
BEST_WIDTH = 1400.0
"""A drawing is stretched at most to this width, that of a page."""
HOPELESS_WIDTH = 3000.0
"""The width of a drawing that can only be looked at piece by piece, however it is arranged."""
MOST_STRETCH = 3.0
"""A tall and narrow drawing is made wider by up to this factor, a wide and flat one taller."""


NODE_HEIGHT = 30.0
MARGIN = 10.0
"""How close to the corners of a node an edge may end."""


def orient_pairs(edges: Floats, at_least: float = 0.3) -> Booleans:
    """Adjacency of a DAG with every pair whose connection has at least this probability.

    It only decides where nodes are drawn. Each pair points the more probable way, or the other way
    if that would close a cycle with more probable edges; the consensus DAG of a posterior
    (`posterior.consensus`) leaves such edges out.
    """
    n = len(edges)
    kept = np.zeros((n, n), dtype=np.bool_)
    reach = Reach(n)
    parents, children = np.nonzero(np.triu(edges + edges.T, 1) >= max(at_least, 1e-12))
    turned = edges[children, parents] > edges[parents, children]
    parents, children = np.where(turned, (children, parents), (parents, children))
    for i in np.argsort(-edges[parents, children], kind="stable"):
        u, v = parents[i], children[i]
        if reach.closes_cycle(u, v):
            u, v = v, u
        kept[u, v] = True
        reach.add(u, v)
    return kept


@dataclass(frozen=True)
class Layout:
    """Centres of the nodes (node, 2), y downwards, and the bends of edges that pass layers.

    Where there is less room, all x may be divided by anything up to ``stretch``.
    """

    positions: Floats
    widths: Floats
    bends: dict[Edge, Floats]
    stretch: float

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the drawing."""
        right = float((self.positions[:, 0] + self.widths / 2).max())
        bends = [float(points[:, 0].max()) for points in self.bends.values() if len(points)]
        return max([right, *bends]), float(self.positions[:, 1].max()) + ROW_HEIGHT / 2

    @property
    def order(self) -> list[int]:
        """Nodes from the top to the bottom and from left to right."""
        return np.lexsort((self.positions[:, 0], self.positions[:, 1])).tolist()


def clip_label(name: str, room: int = LONGEST_LABEL) -> str:
    """A name in one line of at most ``room`` characters, none of them invisible."""
    shown = "".join(c if c.isprintable() else "\ufffd" for c in name)
    return shown if len(shown) <= room else shown[: room - 1] + "…"


def node_labels(names: Sequence[str]) -> list[str]:
    """The names as they stand in the nodes of a graph, cut where there is no room for them."""
    room = LONGEST_NAME if len(names) <= MOST_WITH_ROOM else LONGEST_LABEL
    return [clip_label(name, room) for name in names]


@dataclass(frozen=True)
class _Arrangement:
    """Nodes and bends in rows: their places, the room they need, and the bends of each edge."""

    x: Floats
    y: Floats
    room: Floats
    chains: dict[Edge, list[int]]


def compute_layout(adjacency: Booleans, labels: list[str]) -> Layout:
    """Positions for the nodes of a DAG [parent, child] with these labels.

    A drawing too wide for a page is tried with fewer nodes in a row, if it is not hopeless.
    """
    n = len(adjacency)
    widths = np.array([LETTER * len(label) + PADDING for label in labels])
    most = max(4, round(np.sqrt(n * BEST_RATIO * ROW_HEIGHT / (widths.mean() + GAP))))
    best = _arrange(adjacency, widths, most)
    while BEST_WIDTH < best.x.max() < HOPELESS_WIDTH and most > 4:
        most = max(4, most * 3 // 4)
        other = _arrange(adjacency, widths, most)
        if other.y.max() > BEST_WIDTH:
            break
        best = min(best, other, key=lambda found: float(found.x.max()))
    return _fit(best, widths)


def _arrange(adjacency: Booleans, widths: Floats, most: int) -> _Arrangement:
    """Layers of at most ``most`` nodes, sorted and placed, and below them nodes without edges."""
    connected: Booleans = np.any(adjacency | adjacency.T, axis=0)
    layers = assign_layers(adjacency, connected, most)
    rows, up, chains = _with_bends(adjacency, layers, connected)
    rows = _order_rows(rows, up)
    room = np.concatenate([widths, np.full(len(up) - len(widths), BEND)])
    x = _place(rows, up, room)
    y = np.zeros(len(up))
    for depth, row in enumerate(rows):
        y[row] = ROW_HEIGHT * (depth + 0.5)
    breadth = max(most * float(widths.mean() + GAP), float(x.max()))
    _place_alone(np.flatnonzero(~connected).tolist(), widths, x, y, len(rows), breadth)
    return _Arrangement(x, y, room, chains)


def _fit(found: _Arrangement, widths: Floats) -> Layout:
    """The layout stretched to the ratio of a screen."""
    x, y = found.x, found.y
    height = float(y.max()) + ROW_HEIGHT / 2
    wanted = min(BEST_WIDTH, BEST_RATIO * height)
    stretch = float(np.clip(wanted / max(float(x.max()), 1.0), 1, MOST_STRETCH))
    x = x * stretch
    x += float((found.room / 2 - x).max())
    y = y * np.clip(float(x.max()) / (BEST_RATIO * height), 1, MOST_STRETCH)
    where = np.stack([x, y], axis=1)
    bends = {edge: where[path] for edge, path in found.chains.items()}
    return Layout(where[: len(widths)], widths, bends, stretch)


def assign_layers(adjacency: Booleans, connected: Booleans, most: int) -> Integers:
    """The layer of each node: below all its parents, at most ``most`` nodes in a layer.

    Nodes come parents first; among those that are ready, the ones with the longest way below them.
    """
    n = len(adjacency)
    below = np.zeros(n, dtype=np.intp)
    order = peel_order(adjacency)
    for v in reversed(order):
        below[v] = (1 + below[adjacency[v]]).max(initial=0)
    layers = np.zeros(n, dtype=np.intp)
    filled: dict[int, int] = {}
    waiting = {v: int(adjacency[:, v].sum()) for v in order}
    ready = [v for v in order if waiting[v] == 0]
    while ready:
        ready.sort(key=lambda v: -below[v])
        v = ready.pop(0)
        layer = int((1 + layers[adjacency[:, v]]).max(initial=0))
        while connected[v] and filled.get(layer, 0) >= most:
            layer += 1
        layers[v] = layer
        filled[layer] = filled.get(layer, 0) + bool(connected[v])
        for child in np.flatnonzero(adjacency[v]).tolist():
            waiting[child] -= 1
            if waiting[child] == 0:
                ready.append(child)
    _sink_roots(adjacency, layers, filled, most)
    return layers


def _sink_roots(adjacency: Booleans, layers: Integers, filled: dict[int, int], most: int) -> None:
    """Move nodes without parents down to just above their first child, where there is room."""
    for v in np.flatnonzero(~adjacency.any(axis=0) & adjacency.any(axis=1)).tolist():
        wanted = int(layers[adjacency[v]].min()) - 1
        while wanted > layers[v] and filled.get(wanted, 0) >= most:
            wanted -= 1
        if wanted > layers[v] and filled[int(layers[v])] > 1:
            filled[int(layers[v])] -= 1
            filled[wanted] = filled.get(wanted, 0) + 1
            layers[v] = wanted


def _with_bends(
    adjacency: Booleans, layers: Integers, connected: Booleans
) -> tuple[Rows, list[list[int]], dict[Edge, list[int]]]:
    """Rows of nodes and bends, the neighbours of each in the row above, and each edge's bends."""
    n = len(adjacency)
    depth = int(layers[connected].max(initial=-1)) + 1
    rows: Rows = [[] for _ in range(depth)]
    for v in np.flatnonzero(connected).tolist():
        rows[layers[v]].append(v)
    up: list[list[int]] = [[] for _ in range(n)]
    chains: dict[Edge, list[int]] = {}
    edges = np.argwhere(adjacency)
    spans = layers[edges[:, 1]] - layers[edges[:, 0]] - 1
    shortest_first = np.argsort(spans, kind="stable")
    bent = np.cumsum(spans[shortest_first]) <= MOST_BENDS * max(n, 30)
    for (u, v), with_bends in zip(edges[shortest_first].tolist(), bent.tolist(), strict=True):
        above = u
        chain = []
        for layer in range(int(layers[u]) + 1, int(layers[v])) if with_bends else ():
            bend = len(up)
            up.append([above])
            rows[layer].append(bend)
            chain.append(bend)
            above = bend
        up[v].append(above)
        chains[u, v] = chain
    return rows, up, chains


def _order_rows(rows: Rows, up: list[list[int]]) -> Rows:
    """Sort rows by barycentres, down and up in turn; return the order with the fewest crossings."""
    down: list[list[int]] = [[] for _ in up]
    for v, above in enumerate(up):
        for u in above:
            down[u].append(v)
    place = np.zeros(len(up))
    rows = [list(row) for row in rows]
    _number(rows, place)
    best, fewest = [list(row) for row in rows], _count_crossings(rows, up, place)
    for sweep in range(SWEEPS):
        neighbours = up if sweep % 2 == 0 else down
        for row in rows if sweep % 2 == 0 else reversed(rows):
            centre = {v: _mean_place(v, neighbours[v], place) for v in row}
            row.sort(key=centre.__getitem__)
            place[row] = _spread(len(row))
        crossings = _count_crossings(rows, up, place)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def _number(rows: Rows, place: Floats) -> None:
    for row in rows:
        place[row] = _spread(len(row))


def _spread(n: int) -> Floats:
    """Positions of ``n`` places in a row about 0."""
    return np.arange(n, dtype=np.float64) - (n - 1) / 2


def _count_crossings(rows: Rows, up: list[list[int]], place: Floats) -> int:
    """Pairs of edges into the same row whose ends are in opposite order above and below."""
    total = 0
    for row in rows[1:]:
        passed: list[float] = []
        for _, below in sorted((place[u], place[v]) for v in row for u in up[v]):
            index = bisect_right(passed, below)
            total += len(passed) - index
            passed.insert(index, below)
    return total


def _place(rows: Rows, up: list[list[int]], room: Floats) -> Floats:
    """Horizontal positions: near the neighbours, in the given order, with enough room."""
    neighbours: list[list[int]] = [list(above) for above in up]
    for v, above in enumerate(up):
        for u in above:
            neighbours[u].append(v)
    x = np.zeros(len(up))
    for row in rows:
        x[row] = _apart(np.zeros(len(row)), room[row])
    for sweep in range(SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wish = np.array([_mean_place(v, neighbours[v], x) for v in row])
            x[row] = _apart(wish, room[row])
    return x - min((float(x[row].min()) for row in rows), default=0.0)


def _mean_place(v: int, neighbours: list[int], place: Floats) -> float:
    """The mean place of the neighbours; without any its own."""
    return sum(place.item(u) for u in neighbours or [v]) / (len(neighbours) or 1)


def _apart(wish: Floats, room: Floats) -> Floats:
    """The positions closest to ``wish`` (least squares) that keep order and distance.

    Less the distances that are due, positions may not decrease: an isotonic regression, solved by
    pooling neighbours that would come too close.
    """
    due = np.concatenate([[0.0], np.cumsum((room[:-1] + room[1:]) / 2 + GAP / 2)])
    blocks: list[tuple[float, int]] = []
    for target in wish - due:
        mean, count = float(target), 1
        while blocks and blocks[-1][0] >= mean:
            before, size = blocks.pop()
            mean = (before * size + mean * count) / (size + count)
            count += size
        blocks.append((mean, count))
    return np.repeat([mean for mean, _ in blocks], [count for _, count in blocks]) + due


def _place_alone(
    alone: list[int], widths: Floats, x: Floats, y: Floats, depth: int, breadth: float
) -> None:
    """Nodes without edges, in rows below the others and as broad as they are."""
    left = 0.0
    for v in alone:
        if left > 0 and left + widths[v] > breadth:
            left, depth = 0.0, depth + 1
        x[v] = left + widths[v] / 2
        y[v] = ROW_HEIGHT * (depth + 0.5)
        left += widths[v] + GAP


class Router:
    """Routes in one layout; the edges it was laid out for have ends of their own.

    A route is a chain of cubic Bézier curves, an array (3 k + 1, 2) of end and control points that
    leads from the lower side of the upper node to the upper side of the lower one. It starts and
    ends vertically, so that an arrow head at either end points straight at the node.
    """

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
        """The curve between two nodes of a layer: down, along and up again."""
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

"""What the page of a report knows: plain lists of numbers and names, as JSON.

Its graph can show all variables at once, or one with its neighbourhood. A *scene* is a drawing of
some of the variables: where they are, and a curve for each connection among them. All scenes refer
to one list of *pairs* of variables that are connected probably enough to be looked at. Everything
is computed when the report is written, so that the page only draws.

Variables go by their index everywhere, so that no name is ever used as a key. Everything that is
too improbable to be looked at is left out, and the page says how much that is: neither the file nor
the memory of the browser grows with the square of the number of variables.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from outpoint.arrays import Booleans, Floats, Integers
from outpoint.posterior import Posterior
from outpoint.posterior.posterior import plain_log_scores
from outpoint.report.answers import EffectTable, RankedDag
from outpoint.report.layout import (
    NODE_HEIGHT,
    Layout,
    Router,
    compute_layout,
    node_labels,
    orient_pairs,
)

if TYPE_CHECKING:
    import pandas as pd

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
    """The least probability of a connection shown at first: 0.5, or more if those are many.

    ``connection`` is an upper triangle. It is never above 0.9, however many connections remain.
    """
    most = max(FEW_CONNECTIONS, CONNECTIONS_PER_NODE * len(connection))
    wanted = _round_up(_next_to_largest(connection, most))
    return float(np.clip(wanted, USUAL_THRESHOLD, LARGEST_THRESHOLD))


def choose_pairs(connection: Floats, wanted: Booleans) -> tuple[Integers, float]:
    """The pairs (pair, 2) that scenes draw, and the least probability at which none is left out.

    They are the most probable ones, and ``wanted`` pairs [either way] whatever their probability.
    """
    least = max(LEAST_SHOWN, _round_up(_next_to_largest(connection, MOST_PAIRS)))
    return np.argwhere((connection >= least) | np.triu(wanted | wanted.T, 1)), least


def _next_to_largest(values: Floats, count: int) -> float:
    """The largest value after the ``count`` largest; 0 if there is none."""
    flat = values.ravel()
    return float(np.partition(flat, -count - 1)[-count - 1]) if flat.size > count else 0.0


def _round_up(value: float) -> float:
    """The next of the hundredths that the slider can be set to; a certain one stays certain."""
    return min(1.0, (math.floor(value * 100 + 1e-9) + 1) / 100) if value > 0 else 0.0


def draw_whole(
    edges: Floats, pairs: Integers, labels: list[str], threshold: float
) -> tuple[dict[str, Any], bool]:
    """The scene of all variables, laid out for what is shown at first and a bit more.

    Also returns whether its labels can be read when it is as wide as the page.
    """
    layout = compute_layout(orient_pairs(edges, 0.6 * threshold), labels)
    scene = _draw(layout, np.arange(len(labels)), list(enumerate(pairs.tolist())))
    return scene, layout.size[0] <= LEGIBLE[0] and layout.size[1] <= LEGIBLE[1]


def draw_neighbourhoods(
    edges: Floats, blanket: Floats, pairs: Integers, labels: list[str]
) -> list[dict[str, Any]]:
    """For each variable the scene of it and its neighbours.

    Neighbours are those connected with it with at least probability ``NEAR`` and those probably in
    its Markov blanket, the most probable ones if they are many.
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


MOST_ROWS = 5000
MOST_PARENT_SETS = 12
MOST_MEMBERS = 40

TITLES = {
    "parent": "Parent",
    "child": "Child",
    "probability": "Probability",
    "reversed": "Reversed",
    "mcse": "MC error",
    "rhat": "R-hat",
    "ess": "Eff. draws",
    "ess_tail": "Eff. draws (tail)",
    "status": "Status",
}


@dataclass(frozen=True)
class Features:
    """What the posterior says about pairs of variables: probabilities, each [row, column]."""

    compelled: Floats
    """The edge row -> column is in the CPDAG with this direction."""
    reversible: Floats
    """The two are connected in the CPDAG by an undirected edge (symmetric)."""
    blanket: Floats
    """The row variable is in the Markov blanket of the column variable (symmetric)."""


def build_payload(
    posterior: Posterior,
    diagnostics: pd.DataFrame,
    dags: list[RankedDag],
    effects: EffectTable | None = None,
) -> dict[str, Any]:
    """The graph, the details of every node, the best DAGs, the table of edges, and effects."""
    edges = posterior.edge_probabilities.to_numpy()
    features = count_features(posterior)
    return {
        "names": list(posterior.names),
        "n_draws": int(plain_log_scores(posterior).size),
        "graph": _graph(posterior.names, edges, features, dags),
        "nodes": _details(posterior, features),
        "dags": [np.argwhere(ranked.dag.adjacency).tolist() for ranked in dags],
        "table": _table(posterior.names, edges, diagnostics),
        "effects": [] if effects is None else _effects(posterior.names, effects),
    }


def _effects(names: tuple[str, ...], effects: EffectTable) -> list[dict[str, Any]]:
    """Effects by structure: [parents of the cause, share, mean, lower, upper] each."""
    index = {name: i for i, name in enumerate(names)}
    return [
        {
            "cause": index[one.cause],
            "effect": index[one.effect],
            "none": _rounded(one.no_path),
            "groups": [
                [
                    None if own.parents is None else list(own.parents),
                    *(_cell(value) for value in (own.share, own.mean, own.lower, own.upper)),
                ]
                for own in one.groups
            ],
        }
        for one in effects.groups
    ]


def count_features(posterior: Posterior) -> Features:
    """CPDAG and Markov blanket probabilities of a posterior."""
    return Features(
        posterior.cpdag_probabilities.to_numpy(),
        posterior.undirected_probabilities.to_numpy(),
        posterior.blanket_probabilities.to_numpy(),
    )


def to_json(payload: dict[str, Any]) -> str:
    """JSON that may stand inside a script element: no character of it can end the element."""
    text = json.dumps(payload, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _graph(
    names: tuple[str, ...], edges: Floats, features: Features, dags: list[RankedDag]
) -> dict[str, Any]:
    """The scenes, and the probabilities of every connection that they can show.

    A pair is [first, second, forward, backward, compelled forward, compelled backward,
    reversible]. ``hub`` is the variable whose neighbourhood is shown first if the whole is not
    ``legible``.
    """
    labels = node_labels(names)
    connection = np.triu(edges + edges.T, 1)
    threshold = choose_threshold(connection)
    wanted = np.any([ranked.dag.adjacency for ranked in dags], axis=0)
    pairs, least = choose_pairs(connection, wanted)
    whole, legible = draw_whole(edges, pairs, labels, threshold)
    strength = np.where(connection >= threshold, connection, 0.0)
    hub = int(np.argmax(strength.sum(axis=0) + strength.sum(axis=1)))
    matrices = (edges, edges.T, features.compelled, features.compelled.T, features.reversible)
    return {
        "labels": labels,
        "height": NODE_HEIGHT,
        "least": least,
        "threshold": threshold,
        "pairs": [
            [a, b, *(_rounded(matrix[a, b]) for matrix in matrices)] for a, b in pairs.tolist()
        ],
        "whole": whole,
        "around": draw_neighbourhoods(edges, features.blanket, pairs, labels),
        "legible": legible,
        "hub": hub,
    }


def _details(posterior: Posterior, features: Features) -> list[dict[str, Any]]:
    """What the panel of each node shows: its parent sets and its Markov blanket."""
    index = {name: i for i, name in enumerate(posterior.names)}
    details = []
    for node, blanket in enumerate(features.blanket.T):
        sets = posterior.parent_set_probabilities(node, at_least=0.001)[:MOST_PARENT_SETS]
        members = np.argsort(-blanket, kind="stable")[:MOST_MEMBERS]
        details.append(
            {
                "sets": [[[index[name] for name in names], _rounded(p)] for names, p in sets],
                "blanket": [
                    [int(i), _rounded(blanket[i])] for i in members if blanket[i] >= LEAST_SHOWN
                ],
            }
        )
    return details


def _table(names: tuple[str, ...], edges: Floats, diagnostics: pd.DataFrame) -> dict[str, Any]:
    """The rows of ``diagnostics()``, the most uncertain edges first.

    Columns that say the same of every edge are left out; a status that all share is in ``status``.
    """
    frame = diagnostics.iloc[:MOST_ROWS]
    frame = frame.iloc[np.argsort((frame["probability"] - 0.5).abs().to_numpy(), kind="stable")]
    index = {name: i for i, name in enumerate(names)}
    parents = [index[name] for name in frame["parent"]]
    children = [index[name] for name in frame["child"]]
    columns: dict[str, list[Any]] = {"parent": parents, "child": children}
    columns["probability"] = [_rounded(p) for p in frame["probability"]]
    columns["reversed"] = [_rounded(p) for p in edges[children, parents]]
    for name in frame.columns.difference([*columns, "status"], sort=False):
        values = [_cell(value) for value in frame[name]]
        if any(values):
            columns[name] = values
    statuses = sorted(set(frame["status"]))
    if len(statuses) > 1:
        columns["status"] = frame["status"].tolist()
    return {
        "columns": [{"key": name, "title": TITLES.get(name, name)} for name in columns],
        "rows": [list(row) for row in zip(*columns.values(), strict=True)],
        "status": statuses[0] if len(statuses) == 1 else None,
        "left_out": len(diagnostics) - len(frame),
    }


def _cell(value: Any) -> float | None:
    """A number with six digits; None for NaN and infinities."""
    number = float(value)
    return float(f"{number:.6g}") if math.isfinite(number) else None


def _rounded(value: float) -> float:
    """Six digits: three are shown, and rounding twice must not change them."""
    return round(float(value), 6)

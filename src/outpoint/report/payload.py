"""What the page of a report knows: plain lists of numbers and names, as JSON.

Variables go by their index everywhere, so that no name is ever used as a key. Everything that is
too improbable to be looked at is left out, and the page says how much that is.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from outpoint.posterior import Posterior
from outpoint.report.consensus import Features, build_consensus, count_features
from outpoint.report.layout import NODE_HEIGHT, clip_label, compute_layout
from outpoint.report.routes import Router

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

LEAST_SHOWN = 0.05
"""Least probability of a connection that the graph can show, and of a blanket member."""
MOST_PAIRS = 4000
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


def build_payload(posterior: Posterior, diagnostics: pd.DataFrame) -> dict[str, Any]:
    """The graph, the details of every node, and the table of edges with their diagnostics."""
    edges = posterior.edge_probabilities.to_numpy()
    features = count_features(posterior)
    return {
        "names": list(posterior.names),
        "n_draws": int(posterior.log_scores.size),
        "graph": _graph(posterior, edges, features),
        "nodes": [_details(posterior, node, features) for node in range(len(posterior.names))],
        "table": _table(posterior.names, edges, diagnostics),
    }


def to_json(payload: dict[str, Any]) -> str:
    """JSON that may stand inside a script element: no character of it can end the element."""
    text = json.dumps(payload, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _graph(posterior: Posterior, edges: Floats, features: Features) -> dict[str, Any]:
    """Positions and curves, and the probabilities of every connection that can be shown."""
    labels = [clip_label(name) for name in posterior.names]
    layout = compute_layout(build_consensus(edges), labels)
    router = Router(layout)
    connection = np.triu(edges + edges.T, 1)
    least = max(LEAST_SHOWN, _nth_largest(connection, MOST_PAIRS))
    pairs = []
    for first, second in np.argwhere(connection >= least).tolist():
        (upper, lower), curve = router.route(first, second)
        pairs.append(
            {
                "upper": upper,
                "lower": lower,
                "down": _rounded(edges[upper, lower]),
                "up": _rounded(edges[lower, upper]),
                "compelled_down": _rounded(features.compelled[upper, lower]),
                "compelled_up": _rounded(features.compelled[lower, upper]),
                "reversible": _rounded(features.reversible[upper, lower]),
                "curve": np.round(curve, 1).tolist(),
            }
        )
    return {
        "size": [round(side, 1) for side in layout.size],
        "height": NODE_HEIGHT,
        "labels": labels,
        "places": np.round(np.column_stack([layout.positions, layout.widths]), 1).tolist(),
        "order": layout.order,
        "pairs": pairs,
        "least": math.ceil(least * 100) / 100,
    }


def _nth_largest(values: Floats, count: int) -> float:
    flat = values.ravel()
    return float(np.partition(flat, -count)[-count]) if flat.size > count else 0.0


def _details(posterior: Posterior, node: int, features: Features) -> dict[str, Any]:
    """What the panel of one node shows: its parent sets and its Markov blanket."""
    index = {name: i for i, name in enumerate(posterior.names)}
    sets = posterior.parent_set_probabilities(node, at_least=0.001)[:MOST_PARENT_SETS]
    blanket = features.blanket[:, node]
    members = np.argsort(-blanket, kind="stable")[:MOST_MEMBERS]
    return {
        "sets": [[[index[name] for name in names], _rounded(p)] for names, p in sets],
        "blanket": [[int(i), _rounded(blanket[i])] for i in members if blanket[i] >= LEAST_SHOWN],
    }


def _table(names: tuple[str, ...], edges: Floats, diagnostics: pd.DataFrame) -> dict[str, Any]:
    """The rows of ``diagnostics()``; columns with nothing but 0 and NaN are left out."""
    frame = diagnostics.iloc[:MOST_ROWS]
    index = {name: i for i, name in enumerate(names)}
    parents = [index[name] for name in frame["parent"]]
    children = [index[name] for name in frame["child"]]
    columns: dict[str, list[Any]] = {"parent": parents, "child": children}
    columns["probability"] = [_rounded(p, 6) for p in frame["probability"]]
    columns["reversed"] = [_rounded(p, 6) for p in edges[children, parents]]
    for name in frame.columns.difference(list(columns), sort=False):
        values = frame[name].tolist()
        if not all(isinstance(value, float) and not abs(value) > 0 for value in values):
            columns[name] = [_cell(value) for value in values]
    keys = sorted(columns, key=lambda name: name == "status")
    return {
        "columns": [{"key": name, "title": TITLES.get(name, name)} for name in keys],
        "rows": [list(row) for row in zip(*(columns[name] for name in keys), strict=True)],
        "left_out": len(diagnostics) - len(frame),
    }


def _cell(value: Any) -> Any:
    """A number with six digits, nothing for what is no number, or a word."""
    if isinstance(value, str):
        return value
    number = float(value)
    return float(f"{number:.6g}") if math.isfinite(number) else None


def _rounded(value: float, digits: int = 4) -> float:
    return round(float(value), digits)

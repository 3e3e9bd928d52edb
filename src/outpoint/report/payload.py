"""What the page of a report knows: plain lists of numbers and names, as JSON.

Variables go by their index everywhere, so that no name is ever used as a key. Everything that is
too improbable to be looked at is left out, and the page says how much that is: neither the file
nor the memory of the browser grows with the square of the number of variables.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from outpoint.arrays import Floats
from outpoint.posterior import Posterior
from outpoint.report.answers import EffectTable, RankedDag
from outpoint.report.layout import NODE_HEIGHT, node_labels
from outpoint.report.scenes import (
    LEAST_SHOWN,
    choose_pairs,
    choose_threshold,
    draw_neighbourhoods,
    draw_whole,
)

if TYPE_CHECKING:
    import pandas as pd


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
        "n_draws": int(posterior.log_scores.size),
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

    Columns that say the same of every edge are left out; ``status`` is then what they say.
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

"""Answers of a posterior as short tables: best DAGs, the largest effects, the next experiment."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from outpoint.graphs import Dag
from outpoint.posterior import Posterior
from outpoint.posterior.effects import EFFECT_DRAWS, network_behind, standardized_means
from outpoint.posterior.posterior import plain_log_scores
from outpoint.report.by_structure import PairGroups, group_by_parents
from outpoint.report.layout import LONGEST_NAME, clip_label

if TYPE_CHECKING:
    import pandas as pd

N_EXPERIMENTS = 5
LEAST_BITS = 0.05
"""Bits of directions that are worth an experiment."""
LEAST_REMOVED = 0.01
MOST_EXPERIMENTS = 100
"""Variables beyond which nearly all draws differ, so that entropies mean little."""
N_DAGS = 5
LEAST_DRAWS = 10
"""Least number of draws of a DAG at which its share of all draws is worth telling."""
MOST_CHANGES = 8
"""Most differences between two DAGs that are written out; the others are counted."""
N_EFFECTS = 30
MOST_PAIRS = 200
"""Effects that can be chosen to be seen by structure, the largest ones."""
LEAST_PATH = 0.01
"""Least probability of a causal path between two variables whose effect is listed."""
EFFECT_BYTES = 2**27
"""Draws of effects are n² numbers each: with many variables, fewer are drawn."""
LEAST_EFFECTS, SUMMED_EFFECTS = 100, 1_000_000
"""The least number of draws, and the number of effects in all, where levels are summed over: ALARM
takes about 5 ms for each draw, and 30 ms if levels are simulated."""


@dataclass(frozen=True)
class RankedDag:
    """One of the best DAGs; ``probability`` is None if it is not among the draws."""

    dag: Dag
    probability: float | None
    log_score: float
    changes: str
    """What distinguishes it from the best one."""


@dataclass(frozen=True)
class EffectRow:
    """The total effect of one variable on another, in the units of the data."""

    cause: str
    effect: str
    probability: float
    mean: float
    lower: float
    upper: float
    standardized: float
    """The mean in standard deviations of the effect per standard deviation of the cause."""


@dataclass(frozen=True)
class EffectTable:
    """The largest effects, their draws, the level of their intervals, and what has no effects."""

    rows: list[EffectRow]
    n_draws: int
    n_pairs: int
    level: float
    left_out: list[str]
    """Categorical variables of a time series."""
    groups: list[PairGroups]
    """Effects by structure, the largest ones first."""


def list_dags(posterior: Posterior) -> list[RankedDag]:
    """The best DAG, and those with the largest probabilities.

    A DAG that was drawn a few times only is left out: its share of the draws means little.
    """
    best = posterior.map_dag
    top = posterior.top_dags(N_DAGS + 1)
    exact = posterior.log_evidence is not None
    least = 0.0 if exact else LEAST_DRAWS / plain_log_scores(posterior).size
    found = {
        dag: (float(probability), float(log_score))
        for dag, probability, log_score in zip(
            top["graph"], top["probability"], top["log_score"], strict=True
        )
        if probability >= least
    }
    probability = found.pop(best, (posterior.map_probability, 0.0))[0]
    rows = [RankedDag(best, probability, posterior.map_log_score, "")]
    for dag, (share, log_score) in list(found.items())[: N_DAGS - 1]:
        rows.append(RankedDag(dag, share, log_score, describe_changes(best, dag)))
    return rows


def describe_changes(best: Dag, other: Dag) -> str:
    """The edges that ``other`` turns, adds and leaves out."""
    ours, theirs = set(best.edges), set(other.edges)
    turned = [(a, b) for a, b in other.edges if (b, a) in ours]
    added = [edge for edge in other.edges if edge not in ours and edge not in turned]
    lost = [(a, b) for a, b in best.edges if (a, b) not in theirs and (b, a) not in theirs]
    parts = [
        f"{word} {_written(edges)}"
        for word, edges in (("turns", turned), ("adds", added), ("leaves out", lost))
        if edges
    ]
    return "; ".join(parts)


def _written(edges: list[tuple[str, str]]) -> str:
    names = [[clip_label(name, LONGEST_NAME) for name in edge] for edge in edges[:MOST_CHANGES]]
    shown = [" → ".join(pair) for pair in names]
    rest = len(edges) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def list_effects(posterior: Posterior) -> EffectTable | None:
    """The largest effects in standard deviations; None if the score has no model of the data."""
    model, network = posterior.model, network_behind(posterior)
    if network is None and (model is None or len(model.with_units) < 2):
        return None
    if network is not None and network.given.any() and not network.coding.is_continuous.all():
        return None
    n = len(posterior.names) if model is None else len(model.owner)
    n_draws = max(1, min(EFFECT_DRAWS, EFFECT_BYTES // (4 * n * n)))
    if network is not None and not network.coding.is_continuous.all():
        n_draws = min(n_draws, max(LEAST_EFFECTS, SUMMED_EFFECTS // (n * n)))
    effects = posterior.causal_effects(n_draws=n_draws)
    table = effects.table()
    table["standardized"] = standardized_means(effects, table, posterior)
    likely = table[table["probability"] >= LEAST_PATH]
    order = np.argsort(-likely["standardized"].abs().to_numpy(), kind="stable")
    columns = likely.iloc[order[:N_EFFECTS]][[field.name for field in fields(EffectRow)]]
    rows = [EffectRow(*row) for row in columns.itertuples(index=False, name=None)]
    left_out = [name for name in posterior.names if name not in effects.names]
    chosen = likely.iloc[order[:MOST_PAIRS]]
    pairs = list(zip(chosen["cause"], chosen["effect"], strict=True))
    groups = group_by_parents(effects, posterior.names, pairs)
    return EffectTable(rows, effects.n_draws, len(likely), effects.level, left_out, groups)


def list_experiments(posterior: Posterior) -> pd.DataFrame | None:
    """The most useful experiments; None where observations leave no direction open."""
    if posterior.is_series or len(posterior.names) > MOST_EXPERIMENTS:
        return None
    table = posterior.next_experiment()
    if table["before"].iloc[0] < LEAST_BITS:
        return None
    return table[table["removed"] >= LEAST_REMOVED].head(N_EXPERIMENTS)
